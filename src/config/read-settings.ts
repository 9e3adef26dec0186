/** The values of a configuration file, checked against the table of settings, each with its line. */
import { closestMatch } from "../lib/text.ts";
import {
  DEMO_PROFILE,
  hookSettings,
  NAMED_SETTINGS,
  type NamedSection,
  PROFILE_SETTINGS,
  ruleSettings,
  SETTINGS,
} from "./schema.ts";
import type { Setting } from "./setting.ts";
import { mistakesError, readToml, type TomlFile } from "./toml.ts";
import { expectation, readValue } from "./value-schemas.ts";

export interface FoundValue {
  readonly value: unknown;
  readonly line: number | undefined;
}

export type FileSettings = Pick<SettingsReader, "values" | "profiles" | "rules" | "named" | "hooks" | "warnings">;

type SettingTable = Readonly<Record<string, Setting<unknown>>>;
type Path = readonly (string | number)[];

interface Message {
  readonly path: Path;
  readonly text: string;
}

/**
 * All mistakes of a file are one error. Without a mistake, unknown keys are only warnings. `file` is its name in
 * messages.
 */
export function readSettings(text: string, file: string): FileSettings {
  const toml = readToml(text);
  const reader = new SettingsReader(toml, file);
  for (const [section, table] of Object.entries(toml.data)) {
    if (section === "models" || section === "model") reader.readProfiles(section, table);
    else if (section === "model_rules") reader.readRules(table);
    else if (section === "hooks") reader.readHooks(table);
    else if (section === "api") reader.readSingleProfile(table);
    else if (Object.hasOwn(NAMED_SETTINGS, section)) reader.readNamed(section as keyof typeof NAMED_SETTINGS, table);
    else if (Object.hasOwn(SETTINGS, section)) {
      const known: SettingTable = SETTINGS[section as keyof typeof SETTINGS];
      for (const [key, found] of reader.readTable([section], table, known)) {
        reader.values.set(`${section}.${key}`, found);
      }
    } else reader.warnUnknownSection(section, table);
  }
  reader.finish();
  return reader;
}

class SettingsReader {
  /** By "section.key". */
  readonly values = new Map<string, FoundValue>();
  /** By profile, then key. */
  readonly profiles = new Map<string, Map<string, FoundValue>>();
  readonly rules: Map<string, FoundValue>[] = [];
  /** By "section.name" ("mcp.grafana"), then key. */
  readonly named = new Map<string, Map<string, FoundValue>>();
  readonly hooks: Map<string, FoundValue>[] = [];
  readonly warnings: string[] = [];
  readonly #problems: Message[] = [];
  readonly #unknown: Message[] = [];
  readonly #toml: TomlFile;
  readonly #file: string;

  constructor(toml: TomlFile, file: string) {
    this.#toml = toml;
    this.#file = file;
  }

  readTable(path: Path, table: unknown, known: SettingTable): Map<string, FoundValue> {
    const found = new Map<string, FoundValue>();
    if (!isTable(table)) {
      this.#problem(path, `${dotted(path)} must be a table, ${foundText(table)}`);
      return found;
    }
    for (const [written, raw] of Object.entries(table)) {
      const at = [...path, written];
      const renamed = RENAMED_KEYS[at.join(".")];
      if (renamed !== undefined) {
        this.#warning(at, `${dotted(at)} is now called ${dotted([...path, renamed])}`);
        if (Object.hasOwn(table, renamed)) continue;
      }
      const key = renamed ?? OLDER_KEYS[at.join(".")] ?? written;
      const setting = Object.hasOwn(known, key) ? known[key] : undefined;
      if (setting === undefined) {
        this.#warnUnknown(at, key, Object.keys(known));
        continue;
      }
      // An optional text left empty (`api_key = ""`) counts as not set.
      if (raw === "" && setting.fallback === undefined) continue;
      const value = readValue(setting, raw);
      if (value !== undefined) found.set(key, this.#found(value, at));
      else {
        const shown = key === "api_key" ? "" : `, ${foundText(raw)}`;
        this.#problem(at, `${dotted(at)} must be ${expectation(setting.of)}${shown}`);
      }
    }
    return found;
  }

  readProfiles(section: string, table: unknown): void {
    if (!isTable(table)) {
      this.#problem([section], `${section} must be a table of profiles, ${foundText(table)}`);
      return;
    }
    for (const [name, profile] of Object.entries(table)) {
      const path = [section, name];
      if (this.profiles.has(name)) {
        this.#problem(path, `profile ${name} is defined twice, below [models] and below [model]; keep one`);
        continue;
      }
      if (name === DEMO_PROFILE)
        this.#problem(path, `${DEMO_PROFILE} is built in and cannot be redefined; choose another name`);
      const found = this.readTable(path, profile, PROFILE_SETTINGS);
      this.profiles.set(name, found);
      const sources = KEY_SOURCES.filter((key) => found.has(key));
      if (sources.length > 1) {
        const lines = sources.map((key) => `${key} on line ${found.get(key)?.line ?? "?"}`).join(", ");
        this.#problem(
          [...path, sources[1] ?? ""],
          `profile ${name} has ${sources.length} key sources: ${lines}; keep one`,
        );
      }
      const url = found.get("api_base_url")?.value;
      if (typeof url === "string" && !URL.canParse(url)) {
        this.#problem([...path, "api_base_url"], `${section}.${name}.api_base_url is not a valid URL: "${url}"`);
      }
    }
  }

  /** The older form with one endpoint: `[api]` is a profile of that name, and the active one. */
  readSingleProfile(table: unknown): void {
    const found = this.readTable(["api"], table, PROFILE_SETTINGS);
    if (found.size === 0 || this.profiles.has("api")) return;
    this.profiles.set("api", found);
    if (!this.values.has("agent.model")) this.values.set("agent.model", this.#found("api", ["api"]));
  }

  readRules(rules: unknown): void {
    for (const [i, { found, table }] of this.#readTables("model_rules", rules, ruleSettings()).entries()) {
      const matches = ["exact", "prefix", "contains"].filter((key) => key in table);
      if (matches.length !== 1 && this.#toml.mistakes.length === 0) {
        this.#problem(["model_rules", i], "a [[model_rules]] table needs exactly one of exact, prefix, contains");
      }
      this.rules.push(found);
    }
  }

  readNamed(section: keyof typeof NAMED_SETTINGS, tables: unknown): void {
    const named: NamedSection = NAMED_SETTINGS[section];
    const { name: pattern, expects, most, strict = false } = named;
    const keys = named.keys();
    if (!isTable(tables)) {
      this.#problem([section], `${section} must be written as [${section}.NAME] tables, ${foundText(tables)}`);
      return;
    }
    for (const [name, table] of Object.entries(tables)) {
      const path = [section, name];
      if (!pattern.test(name) || name.length > most) {
        this.#problem(path, `${dotted(path)}: the name must be ${expects}, at most ${most}`);
        continue;
      }
      if (strict && isTable(table)) this.#checkKeys(path, table, keys);
      const found = this.readTable(path, table, keys);
      this.named.set(`${section}.${name}`, found);
      if (section === "mcp" && isTable(table)) this.#checkServer(path, table, found);
      else if (section === "targets" && isTable(table)) {
        const empty = !Object.keys(table).some((key) => Object.hasOwn(keys, key));
        this.#checkTarget(path, found, empty);
      }
    }
  }

  #checkKeys(path: Path, table: Record<string, unknown>, keys: SettingTable): void {
    for (const key of Object.keys(table).filter((one) => !Object.hasOwn(keys, one))) {
      const meant = closestMatch(key.slice(0, 100), Object.keys(keys));
      const hint = meant === undefined ? `: it has ${Object.keys(keys).join(", ")}` : `; did you mean ${meant}?`;
      this.#problem([...path, key], `unknown key ${dotted([...path, key])}${hint}`);
    }
  }

  #checkTarget(path: Path, found: ReadonlyMap<string, FoundValue>, empty: boolean): void {
    const [via, attach] = ["via", "attach_via"].map((key) => found.get(key)?.value as readonly unknown[] | undefined);
    // A key that could not be read may be the one that is missing.
    if (this.#toml.mistakes.length > 0) return;
    const problem =
      path.at(-1) === "local"
        ? "is this machine; choose another name"
        : empty
          ? "needs one of ssh, container, via, include"
          : found.has("include") && found.size > 1
            ? "is a group, because it has include: ssh, container, via, cd and tmux belong to its members"
            : attach !== undefined && attach.length !== via?.length
              ? "needs one command in attach_via for each of via"
              : undefined;
    if (problem !== undefined) this.#problem(path, `${dotted(path)} ${problem}`);
  }

  #checkServer(path: Path, table: Record<string, unknown>, found: ReadonlyMap<string, FoundValue>): void {
    const [program, address] = ["command" in table, "url" in table];
    if (program === address) {
      if (this.#toml.mistakes.length > 0) return;
      this.#problem(
        path,
        `${dotted(path)} needs ${program ? "only one of" : "either"} command ${program ? "and" : "or"} url`,
      );
      return;
    }
    const url = found.get("url")?.value;
    if (typeof url === "string" && !URL.canParse(url))
      this.#problem([...path, "url"], `${dotted(path)}.url is not a valid URL: ${JSON.stringify(url)}`);
    for (const key of program ? (["headers", "oauth_client_id"] as const) : (["env"] as const))
      if (found.has(key))
        this.#problem([...path, key], `${dotted(path)}.${key} works only with ${program ? "url" : "command"}`);
  }

  readHooks(hooks: unknown): void {
    for (const [i, { found, table }] of this.#readTables("hooks", hooks, hookSettings()).entries()) {
      for (const key of ["on", "command"])
        if (!(key in table) && this.#toml.mistakes.length === 0)
          this.#problem(["hooks", i], `a [[hooks]] table needs ${key}`);
      this.hooks.push(found);
    }
  }

  /** `table` also has the keys whose values are wrong. */
  #readTables(section: string, tables: unknown, known: SettingTable) {
    if (Array.isArray(tables) && tables.every(isTable))
      return tables.map((table, i) => ({ found: this.readTable([section, i], table, known), table }));
    this.#problem([section], `${section} must be written as [[${section}]] tables`);
    return [];
  }

  warnUnknownSection(section: string, value: unknown): void {
    const home = Object.entries(SETTINGS).find(([, keys]) => Object.hasOwn(keys, section))?.[0];
    if (!isTable(value) && home !== undefined) {
      this.#warning([section], `${section} belongs below [${home}] and is ignored here`);
    } else
      this.#warnUnknown([section], section, [
        ...Object.keys(SETTINGS),
        ...Object.keys(NAMED_SETTINGS),
        "models",
        "model_rules",
        "hooks",
      ]);
  }

  /** Throws the mistakes found. */
  finish(): void {
    const { mistakes } = this.#toml;
    if (mistakes.length + this.#problems.length > 0) {
      // In a broken file an unknown key is part of what must be fixed.
      const others = [...this.#problems, ...this.#unknown].slice(0, MAX_PLACED);
      throw mistakesError(this.#file, mistakes, this.#placed(others));
    }
    const named = this.#unknown.slice(0, MAX_UNKNOWN);
    const ignored = (text: string) => text.replace(/(;.*)?$/, " is ignored$1");
    this.warnings.push(...this.#placed(named.map(({ path, text }) => ({ path, text: ignored(text) }))));
    const more = this.#unknown.length - named.length;
    if (more > 0) this.warnings.push(`${this.#file}: ${more} more unknown keys are ignored`);
  }

  #found(value: unknown, at: Path): FoundValue {
    const toml = this.#toml;
    return {
      value,
      get line() {
        return toml.lineOf(at);
      },
    };
  }

  #warnUnknown(path: Path, key: string, known: readonly string[]): void {
    const meant = closestMatch(key.slice(0, 100), known);
    const hint = meant === undefined ? "" : `; did you mean ${dotted([...path.slice(0, -1), meant])}?`;
    this.#unknown.push({ path, text: `unknown key ${dotted(path)}${hint}` });
  }

  #warning(path: Path, text: string): void {
    this.warnings.push(...this.#placed([{ path, text }]));
  }

  #problem(path: Path, text: string): void {
    this.#problems.push({ path, text });
  }

  /** With file and line, in the order of the file. */
  #placed(messages: readonly Message[]): string[] {
    return messages
      .map(({ path, text }) => ({ line: this.#toml.lineOf(path), text }))
      .toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0))
      .map(({ line, text }) => `${this.#file}${line === undefined ? "" : ` line ${line}`}: ${text}`);
  }
}

/** Names of earlier versions. */
const OLDER_KEYS: Readonly<Record<string, string>> = {
  "network.api_timeout_secs": "api_timeout",
  "network.fetch_timeout_secs": "fetch_timeout",
  "api.base_url": "api_base_url",
  "api.protocol": "api",
};

/** Still read, with a notice of the new name. */
const RENAMED_KEYS: Readonly<Record<string, string>> = { "safety.second_lock": "read_only_namespace" };

/** Unknown keys that are named one by one. */
const MAX_UNKNOWN = 10;
/** Mistakes whose line is looked up. */
const MAX_PLACED = 50;

/** A profile may have one of these. */
const KEY_SOURCES = ["api_key_env", "api_key_file", "api_key", "api_key_command"] as const;

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

function dotted(path: Path): string {
  return path.map((part) => (/^[\w-]+$/.test(String(part)) ? String(part) : JSON.stringify(part))).join(".");
}

function foundText(value: unknown): string {
  if (isTable(value)) return "found a table";
  if (Array.isArray(value))
    return value.some(isTable) ? "found a list of tables" : `found ${clip(JSON.stringify(value), "…]")}`;
  if (typeof value === "object") return "found a date";
  return `found ${clip(typeof value === "string" ? JSON.stringify(value) : String(value), '…"')}`;
}

function clip(text: string, end: string): string {
  return text.length > 60 ? `${text.slice(0, 57)}${end}` : text;
}
