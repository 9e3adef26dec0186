/**
 * A configuration file of the working directory may tighten the operator's settings; to loosen them it must be trusted.
 */
import { readFileSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { isByProcess } from "../lib/byte-names.ts";
import { writeFileAtomic } from "../lib/files.ts";
import { buddyPaths, type ConfigFile, type Place } from "./paths.ts";
import type { FileSettings, FoundValue } from "./read-settings.ts";
import { DEMO_PROFILE, hookSettings, NAMED_SETTINGS, PROFILE_SETTINGS, SETTINGS } from "./schema.ts";
import { type Setting, shownValue } from "./setting.ts";

/** Shown to the user; the answer applies to this content of this file. */
export interface TrustQuestion {
  readonly file: string;
  /** Lines such as `tools.shell_confirm = false (line 3): commands would run without a question`. */
  readonly settings: readonly string[];
}

/** Undefined when the user gave no answer; that is not remembered. */
export type AskTrust = (question: TrustQuestion) => Promise<boolean | undefined>;

interface WeakSetting {
  /** "tools.shell_confirm", "models.NAME" for a whole profile, "model_rules" and "hooks" for all of them. */
  readonly key: string;
  readonly shown: string;
  readonly line: number | undefined;
  readonly why: string;
  /** The value used without trust, such as the operator's list with its entries added. */
  readonly instead?: unknown;
}

/** Settings of a directory's file that are weaker than the operator's values, or that always need trust. */
export function weakSettings(directory: FileSettings, own: FileSettings | undefined, keyGiven: boolean): WeakSetting[] {
  const weak: WeakSetting[] = [];
  for (const [key, found] of directory.values) {
    const ownValue = own?.values.has(key) === true ? own.values.get(key)?.value : settingOf(key)?.fallback;
    const why = whyWeaker(key, found.value, ownValue, { own, keyGiven });
    if (why === undefined) continue;
    const instead = RULES[key]?.tightened?.(found.value, ownValue);
    const shown = `${key} = ${writtenValue(found, settingOf(key))}`;
    weak.push({ key, shown, line: found.line, why, ...(instead === undefined ? {} : { instead }) });
  }
  for (const [name, profile] of directory.profiles) {
    const why = "your conversation, and perhaps one of your keys, would be sent to this endpoint";
    weak.push(wholeTable(`models.${name}`, profile, PROFILE_SETTINGS, why));
  }
  for (const [name, table] of directory.named) {
    const { keys, why } = NAMED_SETTINGS[name.slice(0, name.indexOf(".")) as keyof typeof NAMED_SETTINGS];
    if (name.startsWith("rules.")) weak.push(...weakRuleKeys(name, table, own));
    else weak.push(wholeTable(name, table, keys(), why));
  }
  const rule = directory.rules[0];
  if (rule !== undefined) {
    const line = [...rule.values()][0]?.line;
    weak.push({ key: "model_rules", shown: "[[model_rules]]", line, why: "limits and prices of models would change" });
  }
  for (const [number, hook] of directory.hooks.entries()) {
    const why = "a program named by the file would run on this machine and see what you do";
    weak.push({ ...wholeTable(`hooks.${number}`, hook, hookSettings(), why), key: "hooks" });
  }
  return weak;
}

function wholeTable(key: string, table: ReadonlyMap<string, FoundValue>, known: object, why: string): WeakSetting {
  const entry = entryOf(known);
  const shown = [...table].map((one) => (one[0] === "api_key" ? "api_key = …" : entry(one))).join(", ");
  return { key, shown: `${key}: ${shown || "(empty)"}`, line: [...table.values()][0]?.line, why };
}

/** Of several rules for a machine the strictest applies, so only keys that allow commands and texts need trust. */
function weakRuleKeys(
  name: string,
  table: ReadonlyMap<string, FoundValue>,
  own: FileSettings | undefined,
): WeakSetting[] {
  return [...table].flatMap(([key, found]) => {
    const setting = RULE_KEYS[key];
    const like = setting === undefined ? undefined : RULES[setting];
    const ownValue =
      setting === undefined ? undefined : (own?.values.get(setting)?.value ?? settingOf(setting)?.fallback);
    const why = RULE_TEXTS[key] ?? like?.why;
    if (why === undefined || like?.allows(found.value, ownValue) === true) return [];
    const shown = `${name}.${entryOf(NAMED_SETTINGS.rules.keys())([key, found])}`;
    return [{ key: `${name}${IN_TABLE}${key}`, shown, line: found.line, why }];
  });
}

/** Keys of a rule with the meaning of a setting. */
const RULE_KEYS: Readonly<Record<string, string>> = {
  shell_auto_approve: "tools.shell_auto_approve",
  allow: "tools.shell_allow",
};
/** Texts of a rule that people or the model rely on. */
const RULE_TEXTS: Readonly<Record<string, string>> = {
  notes: "the model would follow it as your instructions",
  label: "questions could call a machine by a misleading name",
};
/** Between the name of a table and one of its keys. */
const IN_TABLE = "\0";

/** Removes the weak settings, or replaces them with what is used without trust. */
export function dropSettings(settings: FileSettings, weak: readonly WeakSetting[]): void {
  for (const { key, instead } of weak) {
    const found = settings.values.get(key);
    const [table = "", inTable] = key.split(IN_TABLE);
    if (inTable !== undefined) settings.named.get(table)?.delete(inTable);
    else if (key === "model_rules") settings.rules.length = 0;
    else if (settings.named.has(key)) settings.named.delete(key);
    else if (key === "hooks") settings.hooks.length = 0;
    else if (found === undefined) settings.profiles.delete(key.slice("models.".length));
    else if (instead === undefined) settings.values.delete(key);
    else settings.values.set(key, { ...found, value: instead });
  }
}

/** How an untrusted file may change one setting; `own` is the operator's value. */
interface Rule {
  /** Ends "is ignored, because". */
  readonly why: string;
  allows(value: unknown, own: unknown): boolean;
  /** The value used instead of one that is not allowed. */
  tightened?(value: unknown, own: unknown): unknown;
}

const free: Rule = { why: "", allows: () => true };

/** Only the operator's value or a stricter one. */
function ordered(why: string, ...strictestFirst: readonly unknown[]): Rule {
  return {
    why,
    allows: (value, own) =>
      strictestFirst.indexOf(value) <= strictestFirst.indexOf(own) && strictestFirst.includes(value),
  };
}

function atMost(why: string): Rule {
  return { why, allows: (value, own) => Number(value) <= Number(own) };
}

/** A limit where 0 means no limit. */
function limited(why: string): Rule {
  return { why, allows: (value, own) => Number(value) > 0 && (Number(own) === 0 || Number(value) <= Number(own)) };
}

/** A list of what is denied: entries may be added. */
function adding(why: string): Rule {
  const extended = (value: unknown, own: unknown) => [...new Set([...list(own), ...list(value)])];
  return { why, allows: (value, own) => list(own).every((entry) => list(value).includes(entry)), tightened: extended };
}

/** An allow list: entries may be removed, or narrowed where `covers` says so. */
function narrowing(
  why: string,
  covers: (own: string, entry: string) => boolean,
  emptyMeans: "nothing" | "all" | "default",
): Rule {
  return {
    why,
    allows: (value, own) => {
      const entries = list(value);
      const known = list(own);
      if (entries.length === 0) return emptyMeans === "nothing" || known.length === 0;
      if (known.length === 0) return emptyMeans === "all";
      return entries.every((entry) => known.some((one) => covers(one, entry)));
    },
  };
}

const same = (own: string, entry: string) => own === entry;
const below = (own: string, entry: string) =>
  entry === own || (!entry.split("/").includes("..") && entry.startsWith(own.endsWith("/") ? own : `${own}/`));
/** Only a bare name: `10.0.0.1/.example.com` would allow the address. */
const subdomain = (own: string, entry: string) =>
  entry === own || (/^[a-z0-9*._-]+$/i.test(entry) && entry.endsWith(`.${own.replace(/^\*\./, "")}`));

const UNASKED = "more commands would run without a question";
const OFFERED = "a tool that you switched off would be offered";
const CHECK = "a check would be weaker";

/** Settings that are not listed here always need trust: prompts, addresses, session names, and future settings. */
const RULES: Readonly<Record<string, Rule>> = {
  "agent.max_iterations": atMost("one prompt could take more model turns"),
  "agent.temperature": free,
  "agent.top_p": free,
  "agent.reasoning_effort": free,
  "tools.shell_enabled": ordered(OFFERED, false, true),
  "tools.files_enabled": ordered(OFFERED, false, true),
  "tools.fetch_enabled": ordered(OFFERED, false, true),
  "tools.search_enabled": ordered(OFFERED, false, true),
  "tools.shell_confirm": ordered("commands would run without a question", true, false),
  "tools.fetch_confirm": ordered("pages would be fetched without a question", true, "new-domain", false),
  // `operator` and `developer` each add something else to `read-only`.
  "tools.shell_auto_approve": {
    why: UNASKED,
    allows: (value, own) => value === own || value === "none" || (value === "read-only" && own !== "none"),
  },
  "tools.shell_allow": narrowing("these commands would run without a question", same, "nothing"),
  "tools.shell_denylist": adding("commands that you denied would be allowed"),
  "tools.shell_roots": narrowing("commands could run outside your shell_roots", below, "all"),
  "tools.shell_timeout": free,
  "tools.shell_timeout_slow": free,
  "tools.background_timeout": atMost("background shells could run longer"),
  // Only identical entries: a directory below one of them may be a link to elsewhere.
  "tools.files_allowed_paths": narrowing("files there could be written, protected ones included", same, "default"),
  "tools.fetch_allowed_domains": narrowing(
    "these hosts could be fetched, private addresses included",
    subdomain,
    "default",
  ),
  "tools.fetch_blocked_domains": adding("hosts that you blocked could be fetched"),
  "safety.git_add": ordered(CHECK, "block", "ask", "off"),
  "safety.force_push": ordered(CHECK, "block", "ask", "off"),
  "safety.dangerous_rm": ordered(CHECK, "block", "ask", "off"),
  "safety.disk": ordered(CHECK, "block", "ask", "off"),
  "safety.fork_bomb": ordered(CHECK, "block", "ask", "off"),
  "safety.lockout": ordered(CHECK, "block", "guard", "ask", "off"),
  "safety.data": ordered(CHECK, "block", "ask", "off"),
  "safety.read_only_namespace": ordered(CHECK, "required", "auto", "off"),
  "privacy.to_model": ordered("secrets would be sent to the model", "mask", "off"),
  "privacy.mask_output": adding("secrets would be sent to the model"),
  "limits.shell": free,
  "limits.file": free,
  "limits.page": free,
  "limits.search": free,
  "limits.capture": free,
  "limits.mcp": free,
  "limits.cost_session": limited("a session could cost more"),
  "limits.tokens_turn": limited("one prompt could take more tokens"),
  "audit.journal": ordered("less would be recorded", true, false),
  "audit.required": ordered("changes would be made without a record", true, false),
  "tmux.max_sessions": atMost("more tmux sessions could be made"),
  "tmux.max_panes": atMost("more tmux panes could be made"),
  "fleet.parallel": atMost("more machines would be worked on at once"),
  "network.api_timeout": free,
  "network.answer_timeout": free,
  "network.fetch_timeout": free,
  "network.retries": free,
  "display.color": free,
  "display.markdown": free,
  "display.show_tokens": free,
  "display.show_tool_calls": ordered("tool calls would not be shown", true, false),
  "display.show_reasoning": free,
  "display.persist_history": ordered("typed lines would be kept", false, true),
  "display.theme": free,
  "display.notify": free,
};

interface Owner {
  readonly own: FileSettings | undefined;
  /** --api-key or BUDDY_API_KEY is set, which is sent to whichever profile is active. */
  readonly keyGiven: boolean;
}

function whyWeaker(key: string, value: unknown, ownValue: unknown, { own, keyGiven }: Owner): string | undefined {
  if (JSON.stringify(value) === JSON.stringify(ownValue)) return undefined;
  if (key === "agent.model") {
    const known = own?.profiles.has(String(value)) === true || value === DEMO_PROFILE;
    return known && !keyGiven ? undefined : "another model would be used";
  }
  const rule = RULES[key];
  if (rule === undefined) return NEEDS_TRUST[key] ?? "it is not one of the settings that a directory may change";
  return rule.allows(value, ownValue) ? undefined : rule.why;
}

const NEEDS_TRUST: Readonly<Record<string, string>> = {
  "fleet.inventory": "programs that it names could run, and names could lead to other machines",
  "agent.system_prompt": "the model would follow it as your instructions",
  "agent.name": "commands could run in another of your tmux sessions",
  "tmux.socket": "commands could run on another of your tmux servers",
  "tmux.idle": "your tmux sessions, and what runs in them, could end sooner",
};

type Table = Readonly<Record<string, Setting<unknown>>>;

function settingOf(key: string): Setting<unknown> | undefined {
  const [section = "", name = ""] = key.split(".");
  return (SETTINGS[section as keyof typeof SETTINGS] as Table | undefined)?.[name];
}

function list(value: unknown): readonly string[] {
  return Array.isArray(value) ? (value as readonly string[]) : [];
}

function entryOf(table: object): (entry: readonly [string, FoundValue]) => string {
  return ([key, found]) => `${key} = ${writtenValue(found, (table as Table)[key])}`;
}

/** As it is written in the file. */
function writtenValue({ value }: FoundValue, setting: Setting<unknown> | undefined): string {
  return setting === undefined ? String(JSON.stringify(value)) : shownValue(setting, value);
}

// ── trust.json: the operator's answers about files and folders of working directories, each for one exact content.

/** The answer for a file or folder with this path and hash. */
export function rememberedTrust(path: string, sha256: string, place: Place): boolean | undefined {
  if (isByProcess(path)) return undefined;
  const answers = readAnswers(place);
  const answer = Object.hasOwn(answers, path) ? answers[path] : undefined;
  return answer?.sha256 === sha256 ? answer.trusted : undefined;
}

/** Returns the error if it could not be stored. */
export function rememberTrust(name: string, sha256: string, trusted: boolean, place: Place): unknown {
  const path = buddyPaths(place.env)?.trust;
  if (path === undefined) return new Error("HOME is not set");
  if (isByProcess(name)) return new Error("the name of the directory is not UTF-8");
  try {
    const answers = { ...readAnswers(place), [name]: { sha256, trusted } };
    writeFileAtomic(path, `${JSON.stringify({ version: 1, files: answers }, null, 2)}\n`);
    return undefined;
  } catch (error) {
    return error;
  }
}

/** A hash of the file and of the files in its directory that it would run or read. */
export function fingerprint({ path, text }: ConfigFile, weak: readonly WeakSetting[]): string {
  const hash = new Bun.CryptoHasher("sha256").update(text);
  for (const [name, content] of namedBeside(dirname(path), weak)) hash.update(`\0${name}\0`).update(content);
  return hash.digest("hex");
}

/** Files in the directory that the settings name: programs, scripts and settings, not data that changes often. */
function namedBeside(directory: string, weak: readonly WeakSetting[]): (readonly [string, Buffer | string])[] {
  const words = weak.flatMap(({ shown }) => shown.match(/[^\s"'`=,;|&()<>[\]{}]+/g) ?? []);
  return [...new Set(words)].toSorted().flatMap((word): (readonly [string, Buffer | string])[] => {
    const file = resolve(directory, word);
    if (!file.startsWith(`${directory}/`)) return [];
    try {
      const stat = statSync(file, { throwIfNoEntry: false });
      if (stat?.isFile() !== true || ((stat.mode & 0o111) === 0 && !IS_READ.test(word))) return [];
      return [[word, readFileSync(file)]];
    } catch {
      return [[word, "unreadable"]];
    }
  });
}

const IS_READ =
  /(?:^|\/)[^./]+$|\.(?:[cm]?[jt]sx?|py|rb|pl|php|lua|sh|bash|zsh|fish|awk|jar|wasm|ya?ml|toml|json|ini|cfg|conf|env|pem|crt)$/i;

type Answers = Readonly<Record<string, { readonly sha256: string; readonly trusted: boolean }>>;

/** Empty if the file is missing or damaged: then the questions are asked again, which is safe. */
function readAnswers(place: Place): Answers {
  const path = buddyPaths(place.env)?.trust;
  if (path === undefined) return {};
  try {
    const stored = JSON.parse(readFileSync(path, "utf8")) as { files?: unknown };
    return typeof stored.files === "object" && stored.files !== null ? (stored.files as Answers) : {};
  } catch {
    return {};
  }
}
