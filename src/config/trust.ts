/**
 * A configuration file of the working directory may tighten the operator's settings; to loosen them it must be trusted.
 */
import type { FileSettings, FoundValue } from "./read-settings.ts";
import { hookSettings, NAMED_SETTINGS, PROFILE_SETTINGS, SETTINGS } from "./schema.ts";
import type { Setting } from "./setting.ts";

/** Shown to the user, who answers for this content of this file. */
export interface TrustQuestion {
  readonly file: string;
  /** Lines such as `tools.shell_confirm = false (line 3): commands would run without a question`. */
  readonly settings: readonly string[];
}

/** Undefined when the user gave no answer; that is not remembered. */
export type AskTrust = (question: TrustQuestion) => Promise<boolean | undefined>;

export interface WeakSetting {
  /** "tools.shell_confirm", "models.NAME" for a whole profile, "model_rules" and "hooks" for all of them. */
  readonly key: string;
  readonly shown: string;
  readonly line: number | undefined;
  readonly why: string;
  /** What counts of it without trust, such as the entries it adds to a list. */
  readonly instead?: unknown;
}

/** What the file of a directory sets that is weaker than the operator's own values, or needs trust whatever it says. */
export function weakSettings(directory: FileSettings, own: FileSettings | undefined, keyGiven: boolean): WeakSetting[] {
  const weak: WeakSetting[] = [];
  for (const [key, found] of directory.values) {
    const ownValue = own?.values.has(key) === true ? own.values.get(key)?.value : settingOf(key)?.fallback;
    const why = whyWeaker(key, found.value, ownValue, { own, keyGiven });
    if (why === undefined) continue;
    const instead = RULES[key]?.tightened?.(found.value, ownValue);
    const shown = `${key} = ${shownValue(found, settingOf(key))}`;
    weak.push({ key, shown, line: found.line, why, ...(instead === undefined ? {} : { instead }) });
  }
  for (const [name, profile] of directory.profiles) {
    const shown = [...profile].filter(([key]) => key !== "api_key").map(entryOf(PROFILE_SETTINGS));
    const secret = profile.has("api_key") ? ["api_key = …"] : [];
    const line = [...profile.values()][0]?.line;
    const why = "your conversation, and perhaps a key of yours, would be sent to this endpoint";
    weak.push({
      key: `models.${name}`,
      shown: `models.${name}: ${[...shown, ...secret].join(", ") || "(empty)"}`,
      line,
      why,
    });
  }
  for (const [name, table] of directory.named) {
    if (name.startsWith("rules.")) {
      weak.push(...weakRuleKeys(name, table, own));
      continue;
    }
    const section = name.slice(0, name.indexOf(".")) as keyof typeof NAMED_SETTINGS;
    const shown = [...table].map(entryOf(NAMED_SETTINGS[section].keys()));
    const line = [...table.values()][0]?.line;
    weak.push({
      key: name,
      shown: `${name}: ${shown.join(", ") || "(empty)"}`,
      line,
      why: NAMED_SETTINGS[section].why,
    });
  }
  const rule = directory.rules[0];
  if (rule !== undefined) {
    const line = [...rule.values()][0]?.line;
    weak.push({ key: "model_rules", shown: "[[model_rules]]", line, why: "limits and prices of models would change" });
  }
  for (const [number, hook] of directory.hooks.entries())
    weak.push({
      key: "hooks",
      shown: `hooks.${number}: ${[...hook].map(entryOf(hookSettings())).join(", ")}`,
      line: hook.get("command")?.line,
      why: "a program named by the file would run on this machine and see what you do",
    });
  return weak;
}

/** Rules of machines only add up, the strictest holds: what could loosen is more that runs unasked, and their texts. */
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

/** Keys of a rule that mean what a setting means. */
const RULE_KEYS: Readonly<Record<string, string>> = {
  shell_auto_approve: "tools.shell_auto_approve",
  allow: "tools.shell_allow",
};
/** Texts of a rule, which people or the model believe. */
const RULE_TEXTS: Readonly<Record<string, string>> = {
  notes: "the model would follow it as your instructions",
  label: "questions could call a machine by a misleading name",
};
/** Between the name of a table and a key of it. */
const IN_TABLE = "\0";

/** Takes the weak settings out, or leaves what counts of them without trust. */
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
  /** What counts of a value that is not allowed as a whole. */
  tightened?(value: unknown, own: unknown): unknown;
}

const free: Rule = { why: "", allows: () => true };

/** Values from the strictest to the loosest: only the operator's own or a stricter one. */
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

/** A list of what is allowed: entries may be removed, or narrowed where `covers` says so. */
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
/** Only a bare name: of `10.0.0.1/.example.com` the list would take the address. */
const subdomain = (own: string, entry: string) =>
  entry === own || (/^[a-z0-9*._-]+$/i.test(entry) && entry.endsWith(`.${own.replace(/^\*\./, "")}`));

const UNASKED = "more commands would run without a question";
const OFFERED = "a tool that you switched off would be offered";
const CHECK = "a check would be weaker";

/**
 * What is missing here needs trust whatever it says: prompts, addresses, names of sessions, and whatever comes later.
 */
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
  // `operator` and `developer` both add to `read-only`, and neither has what the other adds.
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
  // Only whole entries: a link below one of them would be followed to where it leads.
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
  "safety.second_lock": ordered(CHECK, "required", "auto", "off"),
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
  /** --api-key or BUDDY_API_KEY: it goes to whichever profile is active. */
  readonly keyGiven: boolean;
}

function whyWeaker(key: string, value: unknown, ownValue: unknown, { own, keyGiven }: Owner): string | undefined {
  if (JSON.stringify(value) === JSON.stringify(ownValue)) return undefined;
  if (key === "agent.model") {
    const known = own?.profiles.has(String(value)) === true || value === "demo";
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
  return ([key, found]) => `${key} = ${shownValue(found, (table as Table)[key])}`;
}

/** As one would write it: a duration is kept in milliseconds. */
function shownValue({ value }: FoundValue, setting: Setting<unknown> | undefined): string {
  return setting?.show(value) ?? String(JSON.stringify(value));
}
