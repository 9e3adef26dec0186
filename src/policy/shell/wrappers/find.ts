/** find: what its actions run, delete or write, and whether a test limits them to some files. */
import { type Field, field, isFixed, ONE, UNKNOWN } from "../syntax/field.ts";
import type { Wrapped } from "./wrapped.ts";

export interface FindPlan {
  readonly starts: readonly Field[];
  readonly actions: readonly FindAction[];
  /** There is an unknown word: what follows may mean anything. */
  readonly odd: boolean;
}

export type FindAction =
  | { readonly kind: "delete"; readonly narrowed: boolean; readonly named: string | undefined }
  /** `named`: the name of the files it runs on, with stand-ins for what a pattern leaves open. */
  | {
      readonly kind: "run";
      readonly argv: readonly Field[];
      readonly narrowed: boolean;
      readonly named: string | undefined;
      /** It gets the name without the path (`-execdir`). */
      readonly bare: boolean;
      /** It gets many names at once (`{} +`). */
      readonly many: boolean;
    }
  | { readonly kind: "write"; readonly file: Field | undefined };

/** Any number of names is checked as three: some programs write to their second or third file. */
const MANY = [1, 2, 3];

export function findRuns(argv: readonly Field[]): Wrapped | undefined {
  const plan = findPlan(argv);
  const commands: Field[][] = [];
  for (const action of plan.actions) {
    if (action.kind !== "run") continue;
    const starts = plan.starts.length === 0 ? [field(".")] : plan.starts;
    for (const start of starts) {
      const below = `${start.value === "/" ? "" : start.value}/${UNKNOWN}`;
      const found = action.narrowed && action.named !== undefined ? `${below}/${action.named}` : below;
      const on = (path: string) =>
        action.argv.flatMap((word) => {
          if (!word.value.includes("{}")) return [word];
          const name = field(word.value.replaceAll("{}", path), word.source);
          return action.many ? MANY.map(() => name) : [name];
        });
      // A file's name may be anything, also text that a shell would run.
      commands.push(on(found));
      // GNU find puts ./ in front of the name; in other versions it may look like an option.
      if (action.bare) commands.push(on(UNKNOWN));
      if (!action.narrowed) commands.push(recursive(on(start.value)));
    }
  }
  return commands.length === 0 ? undefined : { harmless: true, commands, input: { kind: "inherited" } };
}

/** find runs the command on every file below: it is treated as recursive. */
export function recursive(words: Field[]): Field[] {
  const name = words[0]?.value.replace(/^.*\//, "");
  return name === "rm" || name === "chmod" || name === "chown" || name === "chgrp"
    ? [words[0] as Field, field(name === "rm" ? "-r" : "-R", ""), ...words.slice(1)]
    : words;
}

/** Tests, actions and options with one argument. */
const ONE_WORD =
  /^-(?:i?name|i?path|i?wholename|i?regex|i?lname|[acm]time|[acm]min|newer..|newer|anewer|cnewer|size|user|group|uid|gid|inum|samefile|perm|links|fstype|used|type|xtype|maxdepth|mindepth|regextype|context|printf|D|files0-from)$/;
const NO_WORD =
  /^-(?:empty|nouser|nogroup|readable|writable|executable|true|false|daystart|depth|d|follow|ignore_readdir_race|noignore_readdir_race|mount|xdev|noleaf|warn|nowarn|print|print0|ls|prune|quit|delete|help|-help|version|-version|X|E|x|s|H|L|P|O[0-3])$/;

export function findPlan(argv: readonly Field[]): FindPlan {
  let at = 1;
  while (at < argv.length && /^-(?:H|L|P|E|X|d|s|x|O[0-3])$/.test(argv[at]?.value ?? "")) at++;
  if (argv[at]?.value === "-D") at += 2;
  const starts: Field[] = [];
  for (; at < argv.length; at++) {
    const word = (argv[at] as Field).value;
    if (/^-./.test(word) || word === "(" || word === "!" || word === ")" || word === ",") break;
    starts.push(argv[at] as Field);
  }
  const parser = new Expression(argv, at);
  parser.or(false);
  const { actions } = parser;
  if (parser.odd) {
    const other = new Expression(argv, at, true);
    other.or(false);
    actions.push(...other.actions);
  }
  return { starts, actions, odd: parser.odd || parser.at < argv.length };
}

/** find's grammar: `,` and `-o` separate, everything else is and-ed; a test before an action narrows it. */
class Expression {
  readonly actions: FindAction[] = [];
  odd = false;
  #named: string | undefined;

  constructor(
    readonly argv: readonly Field[],
    public at: number,
    /** In busybox any `+` ends a command, in other versions only one after `{}`. */
    readonly busybox = false,
  ) {}

  /** Whether the expression excludes some files. */
  or(outer: boolean, depth = 0): boolean {
    let all = true;
    for (;;) {
      if (!this.and(outer, depth)) all = false;
      const word = this.argv[this.at]?.value;
      if (word !== "-o" && word !== "-or" && word !== ",") return all;
      this.at++;
    }
  }

  and(outer: boolean, depth: number): boolean {
    let narrowed = outer;
    let own = false;
    if (!outer) this.#named = undefined;
    while (this.at < this.argv.length) {
      const word = (this.argv[this.at] as Field).value;
      if (word === "-o" || word === "-or" || word === "," || word === ")") break;
      this.at++;
      if (word === "-a" || word === "-and") continue;
      const narrows = this.primary(word, narrowed, depth);
      narrowed ||= narrows;
      own ||= narrows;
    }
    return own;
  }

  primary(word: string, narrowed: boolean, depth: number): boolean {
    if (word === "!" || word === "-not") {
      const next = this.argv[this.at++]?.value;
      const named = this.#named;
      if (next !== undefined) this.primary(next, narrowed, depth);
      this.#named = named;
      return false;
    }
    if (word === "(") {
      if (depth > 40) {
        this.odd = true;
        this.at = this.argv.length;
        return false;
      }
      const narrows = this.or(narrowed, depth + 1);
      if (this.argv[this.at]?.value === ")") this.at++;
      else this.odd = true;
      return narrows;
    }
    if (/^-(?:exec|execdir|ok|okdir)$/.test(word)) {
      const from = this.at;
      while (this.at < this.argv.length && !this.endsRun()) this.at++;
      const bare = word.endsWith("dir");
      const many = this.argv[this.at]?.value === "+";
      const argv = this.argv.slice(from, this.at);
      this.actions.push({ kind: "run", argv, narrowed, named: this.#named, bare, many });
      this.at++;
      return false;
    }
    if (/^-(?:fprint0?|fls)$/.test(word)) {
      this.actions.push({ kind: "write", file: this.argv[this.at++] });
      return false;
    }
    if (word === "-fprintf") {
      this.actions.push({ kind: "write", file: this.argv[this.at] });
      this.at += 2;
      return false;
    }
    if (word === "-delete") {
      this.actions.push({ kind: "delete", narrowed, named: this.#named });
      return false;
    }
    if (ONE_WORD.test(word)) {
      const value = this.argv[this.at++]?.value ?? "";
      if (/^-i?name$/.test(word) && isFixed(value)) this.#named = patternName(value);
      return narrows(word, value);
    }
    if (!NO_WORD.test(word)) this.odd = true;
    return /^-(?:empty|nouser|nogroup|false)$/.test(word);
  }

  endsRun(): boolean {
    const word = this.argv[this.at]?.value;
    if (word !== "+" || this.argv[this.at - 1]?.value === "{}") return word === ";" || word === "+";
    this.odd = true;
    return this.busybox;
  }
}

/** The names that a pattern matches, with stand-ins for what it leaves open. */
export function patternName(pattern: string): string {
  return pattern.replace(
    /\\(.)|\*+|\[[^\]]*\]|\?/g,
    (found, escaped?: string) => escaped ?? (found.startsWith("*") ? UNKNOWN : ONE),
  );
}

/** Whether `test value` excludes most files. An unknown value does not. */
function narrows(test: string, value: string): boolean {
  switch (test.replace(/^-i?(?=name|path|wholename|regex|lname)/, "-").replace(/^-[acm](?=time|min)/, "-")) {
    case "-name":
    case "-lname":
      return !/^[*?.\uFDD0-\uFDD2]*$/.test(value.replace(/\[[^\]]*\]/g, "?"));
    case "-path":
    case "-wholename":
      return !/^[*?./\uFDD0-\uFDD2]*$/.test(value.replace(/\[[^\]]*\]/g, "?"));
    case "-regex":
      return !/^[.*+?^$|/()\\\uFDD0-\uFDD2]*$/.test(value.replace(/\[[^\]]*\]/g, "."));
    case "-size":
      return sizeNarrows(value);
    case "-time":
      return ageNarrows(value, 1, 365);
    case "-min":
      return ageNarrows(value, 2, 365 * 24 * 60);
    case "-used":
    case "-links":
      return /^(?:[2-9]|[1-9]\d+|\+[1-9]\d*)$/.test(value);
    case "-user":
    case "-group":
      return !/^(?:root|wheel|admin|0+|[-+].*|[*?\uFDD0-\uFDD2]*)$/.test(value);
    case "-uid":
    case "-gid":
      return /^[1-9]\d*$/.test(value);
    case "-inum":
      return /^\d+$/.test(value);
    case "-perm":
      return modeNarrows(value);
    case "-samefile":
    case "-newer":
    case "-anewer":
    case "-cnewer":
      return true;
    default:
      if (/^-newer[aBcm]t$/.test(test)) return isRecent(value);
      return /^-newer[aBcm][aBcm]$/.test(test);
  }
}

const UNITS: Readonly<Record<string, number>> = {
  c: 1,
  w: 2,
  b: 512,
  k: 1024,
  M: 2 ** 20,
  G: 2 ** 30,
  T: 2 ** 40,
  P: 2 ** 50,
};

/** Most files are larger than nothing and smaller than a megabyte. */
function sizeNarrows(value: string): boolean {
  const [, sign, digits, unit = "b"] = /^([-+]?)(\d+)([cwbkMGTP]?)$/.exec(value) ?? [];
  if (digits === undefined) return false;
  const bytes = Number(digits) * (UNITS[unit === "" ? "b" : unit] ?? 512);
  if (sign === "+") return bytes >= 4096;
  if (sign === "-") return bytes < 2 ** 20;
  return true;
}

/** `+N`: older than N; `-N`: younger. Nearly every file is older than a minute and younger than a few years. */
function ageNarrows(value: string, least: number, most: number): boolean {
  const [, sign, digits] = /^([-+]?)(\d+(?:\.\d+)?)[smhdw]?$/.exec(value) ?? [];
  if (digits === undefined) return false;
  if (sign === "+") return Number(digits) >= least;
  return sign === "-" ? Number(digits) < most : true;
}

const YEAR = 365 * 24 * 60 * 60 * 1000;

/** Within the last year, as a date or in common words. */
function isRecent(value: string): boolean {
  const [, count, unit = ""] =
    /^-?(\d{1,4}) ?(sec|second|min|minute|hour|day|week|month)s?(?: ago)?$/.exec(value) ?? [];
  if (count !== undefined) return Number(count) < (unit === "month" ? 12 : unit === "week" ? 52 : 365);
  if (/^(?:today|yesterday|now|last (?:hour|day|week|month))$/.test(value)) return true;
  if (!/^\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?)?$/.test(value)) return false;
  const at = Date.parse(value.replace(" ", "T"));
  return !Number.isNaN(at) && Date.now() - at < YEAR;
}

/** Exact modes, and bits that few files have: set-id, sticky, writable for others. */
function modeNarrows(value: string): boolean {
  const [, prefix, octal] = /^([-/+]?)([0-7]{1,4})$/.exec(value) ?? [];
  if (octal === undefined) return /^[-/+]?(?:[ugo]*\+?[=+][st]+|[go]+[+=]w)$/.test(value);
  const mode = Number.parseInt(octal, 8);
  const rare = 0o7022;
  if (prefix === "") return true;
  return prefix === "-" ? (mode & rare) !== 0 : mode !== 0 && (mode & ~rare) === 0;
}
