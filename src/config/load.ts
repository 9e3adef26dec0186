/** The configuration in effect: flags override environment, files and defaults; with the origin of every value. */
import { statSync } from "node:fs";
import { dirname, join } from "node:path";
import { DURATION_FORMAT } from "../lib/durations.ts";
import { BuddyError } from "../lib/errors.ts";
import { fileError } from "../lib/files.ts";
import { hideFromChildren } from "../lib/processes.ts";
import { words } from "../lib/text.ts";
import { once, variablesIn } from "../lib/values.ts";
import {
  buddyPaths,
  buddyVariable,
  type ConfigFile,
  describeOrigin,
  type Env,
  findConfigFiles,
  type Origin,
  type Place,
  shownPath,
} from "./paths.ts";
import type { FileSettings, FoundValue } from "./read-settings.ts";
import {
  BUILT_IN_PROFILES,
  type Config,
  defaultsOf,
  type HookSettings,
  hookSettings,
  machineRuleSettings,
  type ModelRule,
  NAMED_SETTINGS,
  PROFILE_SETTINGS,
  ruleSettings,
  SETTINGS,
} from "./schema.ts";
import { type Setting, shownValue } from "./setting.ts";
import type { AskTrust } from "./trust.ts";
import { quote } from "../lib/quote.ts";

export interface LoadOptions {
  readonly flags?: ConfigFlags;
  readonly env: Env;
  readonly cwd: string;
  /** Asks whether to trust a file of the working directory; absent without a terminal. */
  readonly ask?: AskTrust | undefined;
  /** Write the template when the file is missing; true by default. */
  readonly create?: boolean;
}

/** The options of the command line that are settings. */
export interface ConfigFlags {
  readonly config?: string | undefined;
  readonly model?: string | undefined;
  readonly baseUrl?: string | undefined;
  readonly apiKey?: string | undefined;
}

export interface LoadedConfig extends Place {
  readonly config: Config;
  /** By "section.key" and "models.NAME.key"; without those of defaults. */
  readonly origins: ReadonlyMap<string, Origin>;
  readonly warnings: readonly string[];
  /** The files that were read: the operator's own, then that of the working directory. */
  readonly files: readonly string[];
  /** Variables with keys of the profiles of all files, also of replaced profiles; hidden from children. */
  readonly keyVariables: readonly string[];
  /** The profile that the files choose (or the default), ignoring -m and BUDDY_MODEL. */
  readonly profileOfFile: string;
  /** The file was written just now. */
  readonly created: boolean;
  /** --base-url or BUDDY_BASE_URL: replaces the address of the profile chosen at the start. */
  readonly endpoint?: { readonly url: string; readonly origin: Origin };
  /** --api-key or BUDDY_API_KEY: overrides the keys of profiles. */
  readonly key?: { readonly value: string; readonly origin: Origin };
}

export async function loadConfig(options: LoadOptions): Promise<LoadedConfig> {
  const { flags = {}, env, cwd } = options;
  const warnings: string[] = [];
  let { own, directory } = findConfigFiles(flags.config, { env, cwd });
  const created = own === undefined && options.create !== false ? await createFile({ env, cwd }, warnings) : undefined;
  own ??= created;
  const layers: Layer[] = [];
  if (own !== undefined) layers.push({ path: own.path, settings: await readFile(own, { env, cwd }, warnings) });
  if (directory !== undefined) {
    const settings = await readFile(directory, { env, cwd }, warnings);
    await checkTrust(directory, { settings, own: layers[0]?.settings }, options, warnings);
    layers.push({ path: directory.path, settings });
  }
  const merged = new Layers(layers);
  await merged.setFromEnv(env);
  merged.setFromFlags(flags);
  const files = layers.map(({ path }) => path).filter((path) => path !== "");
  const wrote = created !== undefined && created.path !== "";
  const loaded = {
    ...merged.result(),
    env,
    cwd,
    warnings,
    files,
    created: wrote,
    ...(await overrides(flags, env)),
  };
  hideFromChildren(loaded.keyVariables);
  return loaded;
}

/** Writes the template; if that is impossible (no HOME, or a read-only one), its text is used anyway. */
async function createFile(place: Place, warnings: string[]): Promise<ConfigFile> {
  const { CONFIG_TEMPLATE: text, createConfigFile } = await import("./create.ts");
  const path = buddyPaths(place.env)?.config;
  if (path === undefined) {
    const { HOME } = place.env;
    if (HOME) warnings.push(`the home directory ${HOME} does not exist; buddy uses the defaults`);
    return { path: "", text };
  }
  try {
    createConfigFile(path);
    return { path, text };
  } catch (error) {
    if (!(error instanceof BuddyError)) throw error;
    warnings.push(`${error.message}; buddy uses the defaults`);
    return { path: "", text };
  }
}

/** `tools.shell_timeout = "5m" from ./buddy.toml line 12`. */
export function explainSetting(loaded: LoadedConfig, key: string): string {
  const [section = "", name = ""] = key.split(".");
  const table = SETTINGS[section as keyof typeof SETTINGS] as Readonly<Record<string, Setting<unknown>>> | undefined;
  const value = (loaded.config as unknown as Record<string, Record<string, unknown>>)[section]?.[name];
  const setting = table?.[name];
  const origin = loaded.origins.get(key) ?? { kind: "default" };
  const shown = setting === undefined ? String(value) : shownValue(setting, value);
  return `${key} = ${shown} ${describeOrigin(origin, loaded)}`;
}

async function readFile(file: ConfigFile, place: Place, warnings: string[]): Promise<FileSettings> {
  const shown = file.path === "" ? "the built-in template" : shownPath(file.path, place);
  // With zod and smol-toml, in a chunk of its own: 1.5 ms of a start.
  const { readSettings } = await import("./read-settings.ts");
  const settings = readSettings(file.text, shown);
  warnings.push(...settings.warnings);
  warnIfReadable(file, settings, shown, warnings);
  return settings;
}

/** Removes from a directory's settings what loosens the operator's, unless the operator trusts this content. */
async function checkTrust(
  file: ConfigFile,
  { settings, own }: { readonly settings: FileSettings; readonly own: FileSettings | undefined },
  { flags = {}, env, cwd, ask }: LoadOptions,
  warnings: string[],
): Promise<void> {
  const { dropSettings, fingerprint, rememberedTrust, rememberTrust, weakSettings } = await import("./trust.ts");
  const keyGiven = flags.apiKey !== undefined || buddyVariable(env, "API_KEY") !== undefined;
  const weak = weakSettings(settings, own, keyGiven);
  if (weak.length === 0) return;
  const shown = shownPath(file.path, { env, cwd });
  const hash = fingerprint(file, weak);
  let trusted = rememberedTrust(file.path, hash, { env, cwd });
  if (trusted === undefined && ask !== undefined) {
    const lines = weak.map(({ shown, line, why }) => `${shown} (line ${line ?? "?"}): ${why}`);
    trusted = await ask({ file: shown, settings: lines });
    // A program that changed while the question waited is not the one that was asked about.
    if (fingerprint(file, weak) !== hash) trusted = undefined;
    const failure = trusted === undefined ? undefined : rememberTrust(file.path, hash, trusted, { env, cwd });
    if (failure !== undefined) warnings.push(`the answer cannot be remembered: ${fileError(failure)}`);
  }
  if (trusted === true) return;
  dropSettings(settings, weak);
  for (const { shown: text, line, why, instead } of weak) {
    const effect = instead === undefined ? "is ignored" : "only adds to your list";
    warnings.push(`${shown} line ${line ?? "?"}: ${text} ${effect}, because ${why} and the file is not trusted`);
  }
  warnings.push(`to use ${shown} as it is, instead of your own file: --config ${shown}`);
}

/** Warns of a key in a file that others can read. */
function warnIfReadable(file: ConfigFile, settings: FileSettings, shown: string, warnings: string[]): void {
  let profile: string | undefined;
  for (const [name, keys] of settings.profiles) if (keys.has("api_key")) profile ??= name;
  if (profile === undefined) return;
  const mode = statSync(file.path, { throwIfNoEntry: false })?.mode ?? 0;
  if ((mode & 0o077) !== 0) {
    warnings.push(
      `${shown} contains a key (profile ${profile}) and others can read it; run: chmod 600 ${quote(file.path)}`,
    );
  }
}

async function overrides(flags: ConfigFlags, env: Env): Promise<Pick<LoadedConfig, "endpoint" | "key">> {
  const url = flagOrVariable(flags.baseUrl, "--base-url", buddyVariable(env, "BASE_URL"));
  const key = flagOrVariable(flags.apiKey, "--api-key", buddyVariable(env, "API_KEY"));
  if (url?.origin.kind === "env") {
    const { expectation, readValue } = await import("./value-schemas.ts");
    const setting = PROFILE_SETTINGS.api_base_url;
    if (readValue(setting, url.value) === undefined || !URL.canParse(url.value))
      throw new BuddyError("config", `${url.origin.name} must be ${expectation(setting.of)}`);
  }
  return {
    ...(url === undefined ? {} : { endpoint: { url: url.value, origin: url.origin } }),
    ...(key === undefined ? {} : { key }),
  };
}

function flagOrVariable(
  value: string | undefined,
  flag: string,
  variable: ReturnType<typeof buddyVariable>,
): { readonly value: string; readonly origin: Origin } | undefined {
  if (value !== undefined) return { value, origin: { kind: "flag", flag } };
  return variable && { value: variable.value.trim(), origin: { kind: "env", name: variable.name } };
}

interface Layer {
  readonly path: string;
  readonly settings: FileSettings;
}

/** Values other than defaults, each with its origin; a later file replaces single values and whole profiles. */
class Layers {
  readonly #values = new Map<string, unknown>();
  readonly #origins = new Map<string, Origin>();
  readonly #profiles = new Map<string, ReadonlyMap<string, FoundValue>>();
  readonly #rules: ReadonlyMap<string, FoundValue>[] = [];
  readonly #machineRules: (readonly [pattern: string, table: ReadonlyMap<string, FoundValue>])[] = [];
  readonly #named = new Map<string, ReadonlyMap<string, FoundValue>>();
  readonly #hooks: HookSettings[] = [];
  readonly #keyVariables = new Set<string>();
  readonly #profileOfFile: string;

  constructor(layers: readonly Layer[]) {
    for (const { path, settings } of layers) {
      for (const [key, found] of settings.values) this.#set(key, found.value, originIn(path, found));
      for (const [name, profile] of settings.profiles) this.#addProfile(path, name, profile);
      this.#rules.unshift(...settings.rules);
      for (const [name, table] of settings.named) this.#addNamed(path, name, table);
      this.#hooks.push(...settings.hooks.map((found) => hookOf(path, found)));
    }
    const chosen = this.#values.get("agent.model");
    this.#profileOfFile = typeof chosen === "string" ? chosen : SETTINGS.agent.model.fallback;
  }

  async setFromEnv(env: Env): Promise<void> {
    const model = buddyVariable(env, "MODEL");
    if (model !== undefined) this.#set("agent.model", model.value, { kind: "env", name: model.name });
    for (const key of ["api_timeout", "fetch_timeout"] as const) {
      const variable = buddyVariable(env, key.toUpperCase()) ?? buddyVariable(env, `${key.toUpperCase()}_SECS`);
      if (variable === undefined) continue;
      const { readValue } = await import("./value-schemas.ts");
      const value = readValue(SETTINGS.network[key], variable.value);
      if (value === undefined) {
        throw new BuddyError("config", `${variable.name} must be ${DURATION_FORMAT}, found "${variable.value}"`, {
          hint: `Correct it, or unset it: unset ${variable.name}`,
        });
      }
      this.#set(`network.${key}`, value, { kind: "env", name: variable.name });
    }
  }

  setFromFlags(flags: ConfigFlags): void {
    if (flags.model !== undefined) this.#set("agent.model", flags.model, { kind: "flag", flag: "--model" });
  }

  result(): Pick<LoadedConfig, "config" | "origins" | "profileOfFile" | "keyVariables"> {
    const sections: Record<string, Record<string, unknown>> = {};
    for (const [section, table] of Object.entries(SETTINGS)) sections[section] = defaultsOf(table);
    for (const [key, value] of this.#values) {
      const dot = key.indexOf(".");
      const section = sections[key.slice(0, dot)];
      if (section !== undefined) section[key.slice(dot + 1)] = value;
    }
    // fromEntries makes own properties of any name, __proto__ included.
    const own = [...this.#profiles].map(([name, found]) => [name, tableOf(PROFILE_SETTINGS, found)] as const);
    const models = Object.fromEntries([...Object.entries(BUILT_IN_PROFILES), ...own]);
    const rules = this.#rules.map((found) => tableOf(ruleSettings(), found) as ModelRule);
    const machineRules = this.#machineRules.map(([pattern, found]) => ({
      ...tableOf(machineRuleSettings(), found),
      pattern,
    }));
    const config = {
      ...sections,
      ...this.#namedTables(),
      models,
      model_rules: rules,
      hooks: this.#hooks,
      rules: machineRules,
    } as unknown as Config;
    return {
      config,
      origins: this.#origins,
      profileOfFile: this.#profileOfFile,
      keyVariables: [...this.#keyVariables],
    };
  }

  #addProfile(path: string, name: string, profile: ReadonlyMap<string, FoundValue>): void {
    for (const key of this.#profiles.get(name)?.keys() ?? []) this.#origins.delete(`models.${name}.${key}`);
    this.#profiles.set(name, profile);
    for (const [key, found] of profile) this.#origins.set(`models.${name}.${key}`, originIn(path, found));
    const variable = profile.get("api_key_env")?.value;
    if (typeof variable === "string") this.#keyVariables.add(variable);
    this.#addHeaderVariables(profile);
  }

  /** A variable in a header is nearly always a key. */
  #addHeaderVariables(table: ReadonlyMap<string, FoundValue>): void {
    for (const text of Object.values(table.get("headers")?.value ?? {}))
      for (const name of variablesIn(String(text))) if (!everyday().has(name)) this.#keyVariables.add(name);
  }

  /** A later file replaces a whole table. Rules of machines are all kept: the strictest applies. */
  #addNamed(path: string, name: string, table: ReadonlyMap<string, FoundValue>): void {
    if (name.startsWith("rules.")) this.#machineRules.push([name.slice("rules.".length), table]);
    else {
      for (const key of this.#named.get(name)?.keys() ?? []) this.#origins.delete(`${name}.${key}`);
      this.#named.set(name, table);
      this.#addHeaderVariables(table);
    }
    for (const [key, found] of table) this.#origins.set(`${name}.${key}`, originIn(path, found));
  }

  #namedTables(): Record<string, unknown> {
    const tables: Record<string, unknown> = {};
    for (const [section, { keys }] of Object.entries(NAMED_SETTINGS)) {
      if (section === "rules") continue;
      const start = `${section}.`;
      const own = [...this.#named].filter(([name]) => name.startsWith(start));
      tables[section] = Object.fromEntries(
        own.map(([name, found]) => [
          name.slice(start.length),
          { ...tableOf(keys(), found), written: [...found.keys()] },
        ]),
      );
    }
    return tables;
  }

  #set(key: string, value: unknown, origin: Origin): void {
    this.#values.set(key, value);
    this.#origins.set(key, origin);
  }
}

/** A relative path of a program is relative to the file that names it. */
function hookOf(file: string, found: ReadonlyMap<string, FoundValue>): HookSettings {
  const hook = tableOf(hookSettings(), found) as HookSettings;
  const [program = "", ...args] = hook.command;
  const relative = program.includes("/") && !/^[/~]/.test(program);
  return relative ? { ...hook, command: [join(dirname(file), program), ...args] } : hook;
}

/** Never hidden from children, even if a header uses them. */
const everyday = once(() => new Set(words("HOME USER LOGNAME PATH SHELL LANG TERM TMPDIR PWD HOSTNAME")));

function originIn(file: string, found: FoundValue): Origin {
  if (file === "") return { kind: "default" };
  return {
    kind: "file",
    file,
    get line() {
      return found.line;
    },
  };
}

function tableOf(table: Readonly<Record<string, Setting<unknown>>>, found: ReadonlyMap<string, FoundValue>) {
  const values = defaultsOf(table);
  for (const [key, { value }] of found) values[key] = value;
  return values;
}
