/** The rules of machines, [rules."PATTERN"]: which apply to a machine, and the strictest of them combined. */
import { addressOf } from "../lib/address-spelling.ts";
import { globsMeet, matchesGlob, matchNames, splitList } from "../lib/names.ts";
import type { ShellRules } from "./verdict.ts";

/** One rule as written; undefined keys have no effect. */
export interface MachineRule {
  /** Compared with every name of a machine; `*` and `?` are wildcards, case is ignored. */
  readonly pattern: string;
  readonly mode?: MachineMode | undefined;
  readonly label?: string | undefined;
  readonly autoApprove?: AutoApprove | undefined;
  readonly deny?: readonly string[] | undefined;
  readonly allow?: readonly string[] | undefined;
  readonly approveMaxMs?: number | undefined;
  readonly notes?: string | undefined;
}

/** `guarded`: high risk requires typing the machine's name. `read-only`: no change can be approved. */
export type MachineMode = "normal" | "guarded" | "read-only";
type AutoApprove = ShellRules["autoApprove"];

/** The rules that apply on one machine. */
export interface EffectiveRules {
  readonly mode: MachineMode;
  /** The machine that makes it read-only, if that is another one. */
  readonly because?: string;
  /** The machine whose name must be typed, if that is not the one that the command is sent to. */
  readonly named?: string;
  /** The machine's name in questions, prompts and events: "PROD". */
  readonly label?: string;
  /** Replace shell_auto_approve and shell_allow, unless undefined. */
  readonly autoApprove?: AutoApprove;
  readonly allow?: readonly string[];
  /** In addition to shell_denylist. */
  readonly deny: readonly string[];
  /** The longest time for which approvals without a question are valid. */
  readonly approveMaxMs?: number;
  readonly notes: readonly string[];
  /** The patterns that matched, in the order of the files. */
  readonly patterns: readonly string[];
}

export const NO_RULES: EffectiveRules = { mode: "normal", deny: [], notes: [], patterns: [] };

/** `names`: all names of the machine. A rule applies if it matches any of them, so no name avoids a rule. */
export function effectiveRules(rules: readonly MachineRule[], names: readonly string[]): EffectiveRules {
  const known = names.flatMap(spellings);
  return strictest(rules.filter(({ pattern }) => known.some((name) => matchesName(pattern, name))));
}

/** The strictest of several rules, or of the rules of several machines. */
export function strictest(rules: readonly MachineRule[]): EffectiveRules {
  const modes = new Set(rules.flatMap(({ mode }) => mode ?? []));
  const presets = rules.flatMap(({ autoApprove }) => autoApprove ?? []);
  const windows = rules.flatMap(({ approveMaxMs }) => approveMaxMs ?? []);
  const lists = rules.flatMap(({ allow }) => (allow === undefined ? [] : [allow]));
  const labels = eachOnce(rules.flatMap(({ label }) => label ?? []));
  return {
    mode: MODES.findLast((mode) => modes.has(mode)) ?? "normal",
    ...(labels.length === 0 ? {} : { label: labels.join(" ") }),
    ...(presets.length === 0 ? {} : { autoApprove: inAll(presets) }),
    ...(lists.length === 0 ? {} : { allow: lists.reduce(inBoth) }),
    ...(windows.length === 0 ? {} : { approveMaxMs: Math.min(...windows) }),
    deny: unique(rules.flatMap(({ deny }) => deny ?? [])),
    notes: unique(rules.flatMap(({ notes }) => notes ?? [])).filter((note) => note.trim() !== ""),
    patterns: rules.map(({ pattern }) => pattern),
  };
}

/** From the loosest to the strictest. */
const MODES: readonly MachineMode[] = ["normal", "guarded", "read-only"];
/** What all of them allow: `operator` and `developer` have only the reads in common. */
function inAll(presets: readonly AutoApprove[]): AutoApprove {
  const [first = "none", ...others] = unique(presets);
  return others.length === 0 ? first : presets.includes("none") ? "none" : "read-only";
}

/** Those of several machines may be joined already: `DB` is in `DB PROD`. */
function eachOnce(labels: readonly string[]): string[] {
  const has = (label: string, part: string) => ` ${label} `.includes(` ${part} `);
  return unique(labels).filter((one, _, all) => one !== "" && !all.some((other) => other !== one && has(other, one)));
}

const unique = <T>(list: readonly T[]): T[] => [...new Set(list)];

/** What both lists of word prefixes allow: the narrower entry of each pair. */
function inBoth(a: readonly string[], b: readonly string[]): readonly string[] {
  return unique([
    ...a.filter((entry) => b.some((other) => wordsCover(other, entry))),
    ...b.filter((entry) => a.some((other) => wordsCover(other, entry))),
  ]);
}

/** A prefix covers a longer one, unless that has options, which a shorter entry does not allow. */
function wordsCover(entry: string, longer: string): boolean {
  const [given, wanted] = [entry, longer].map((text) => text.trim().split(/\s+/)) as [string[], string[]];
  return (
    given.every((word, at) => wanted[at] === word) &&
    wanted.slice(given.length).every((word) => !word.startsWith("-") && !word.includes("="))
  );
}

/** The ways to write a name: without user and port, the first label of a host name. */
function spellings(name: string): string[] {
  const bare = name.trim().replace(/\.$/, "");
  const host = bare.replace(/^ssh:\/\//, "").replace(/^[^@\s]*@/, "");
  const plain = /^\[([^\]]+)\](?::\d+)?$/.exec(host)?.[1] ?? host.replace(/^([^:\s]+):\d+$/, "$1");
  const isHostName = /^[a-z0-9-]+(?:\.[a-z0-9-]+)+$/i.test(plain) && !/^[\d.]+$/.test(plain);
  return unique([bare, host, plain, ...(isHostName ? [plain.slice(0, plain.indexOf("."))] : [])]).filter(Boolean);
}

export function matchesName(pattern: string, name: string): boolean {
  const [first = "", ...more] = splitList(pattern);
  if (more.length > 0) return [first, ...more].some((part) => matchesName(part, name));
  const wanted = first.toLowerCase().replace(/\.$/, "");
  // The user of an address is compared only if the pattern has one: ro* does not match root@web1.
  const known = name.toLowerCase().replace(wanted.includes("@") ? "" : /^[^@\s]*@/, "");
  if (matchesGlob(wanted, known) || (wanted.includes("[") && matchNames([wanted], [known]).length > 0)) return true;
  // A command may name machines by a pattern: a rule for some of them holds.
  if (PATTERN.test(known) && globsMeet(anyIn(wanted), anyIn(known))) return true;
  const [one, other] = [addressOf(wanted), addressOf(known)];
  if (one !== undefined && one === other) return true;
  // Ids of machines and containers: with or without hyphens, whole or shortened.
  const [a, b] = [wanted, known].map((id) => id.replaceAll("-", "")) as [string, string];
  return ID.test(a) && ID.test(b) && (a.startsWith(b) || b.startsWith(a));
}

const ID = /^[0-9a-f]{12,64}$/;
/** Wildcards, or a range; the brackets of an address have colons. */
const PATTERN = /[*?]|\[[^\]:]*\]/;
const anyIn = (pattern: string): string => pattern.replaceAll(/\[[^\]:]*\]/g, "*");
