/** What simple commands print, as far as the text shows it, so that text piped into a shell can be judged. */
import { findPlan } from "../wrappers/find.ts";
import type { Input } from "../wrappers/wrapped.ts";
import {
  type Field,
  GUESS,
  HOME,
  isFixed,
  isGlob,
  LISTED,
  maybeOption,
  NUMBER,
  NUMBERS,
  PERHAPS,
  programName,
  SPLIT,
  STAR,
  UNKNOWN,
  WORD,
  WORDS,
} from "./field.ts";
import type { Scope } from "./scope.ts";

/** `anyShell`: the builtins may be those of any shell. Uncertain text contains GUESS. */
export function printed(argv: readonly Field[], input: Input, scope: Scope, anyShell: boolean): string | undefined {
  const words = argv.slice(1).map((word) => word.value);
  const text = input.kind === "known" ? (input.guessed === true ? GUESS : "") + input.text : undefined;
  const name = programName(argv[0]?.value ?? "");
  const places = words.filter((word) => !word.startsWith("-"));
  // It prints the names that match: the pattern is their stand-in.
  if (name === "ls" && places.length > 0 && words.some((word) => /^-[1a-zA-Z]*d/.test(word)))
    return GUESS + places.join("\n");
  const names = namesPrinted(name, words, text);
  if (names !== undefined) return names;
  if (words.some(isGlob) && name !== "echo" && name !== "printf") return undefined;
  switch (name) {
    case "echo":
      return echoed(words, anyShell);
    case "printf":
      return words[0] === "-v" ? "" : formatted(words[0] === "--" ? words.slice(1) : words);
    case "ls":
      return words.every((word) => /^(?:-[1AaUtrSd]+|\.\/?|\/)$/.test(word)) && places.length <= 1
        ? words.some((word) => /^-\w*[aA]/.test(word))
          ? `${STAR}\n.${STAR}\n`
          : `${STAR}\n`
        : undefined;
    case "dirname":
    case "basename":
      return words.length === 1 && isFixed(words[0] as string) && !words[0]?.startsWith("-")
        ? `${pathPart(name, words[0] as string)}\n`
        : undefined;
    case "realpath":
    case "readlink": {
      const path = words.at(-1) ?? "";
      return words.length <= 2 && words.slice(0, -1).every((word) => /^-[fem]$/.test(word)) && /^[/\uFDD3]/.test(path)
        ? `${GUESS}${path}\n`
        : undefined;
    }
    case "git":
      return words.join(" ") === "rev-parse --show-toplevel" ? ".\n" : undefined;
    case "true":
    case ":":
    case "cd":
    case "sleep":
      return "";
    case "pwd":
      return `${scope.cwd}\n`;
    case "which":
      return words.length === 1 && /^\w[\w.+-]*$/.test(words[0] as string)
        ? `${PERHAPS}/usr/bin/${words[0]}\n`
        : undefined;
    case "cat":
    case "tee":
      if (argv.length === 2 && argv[1]?.process === true) return argv[1].prints;
      return words.length === 0 || (words.length === 1 && words[0] === "-") || name === "tee" ? text : undefined;
    case "base64":
      if (
        text === undefined ||
        !words.every((word) => /^(?:-d|-D|-i|-di|--decode|--ignore-garbage)$/.test(word)) ||
        words.length === 0
      )
        return undefined;
      return isFixed(text) ? decoded(text) : undefined;
    case "xxd":
      return text !== undefined && isFixed(text) && /^(?:-r -ps?|-ps? -r)$/.test(words.join(" "))
        ? decoded(text, "hex")
        : undefined;
    case "rev":
      return text !== undefined && words.length === 0
        ? text
            .split("\n")
            .map((line) => [...line].toReversed().join(""))
            .join("\n")
        : undefined;
    case "find": {
      // At least its starting points, unless a test excludes them.
      const plan = findPlan(argv);
      if (plan.odd || plan.actions.length > 0) return undefined;
      const end = argv.some((word) => word.value === "-print0") ? "\0" : "\n";
      const starts = plan.starts.length === 0 ? ["."] : plan.starts.map((start) => start.value);
      const narrowed = words.some((word) => /^-i?(?:name|path|regex|mtime|size|newer|mmin|empty|user)/.test(word));
      const named = words[words.indexOf("-name") + 1] ?? "";
      if (narrowed && (!words.includes("-name") || /[*?[\\]/.test(named) || !isFixed(named))) return undefined;
      return [
        ...starts.flatMap((start) => {
          const below = `${start === "/" ? "" : start}/${UNKNOWN}`;
          return narrowed ? [`${below}/${named}`] : [start, below];
        }),
        UNKNOWN,
      ]
        .map((path) => path + end)
        .join("");
    }
    default:
      return undefined;
  }
}

/** For a command that may not run. Unknown numbers and names may be nothing anyway. */
export function perhaps(out: string | undefined): string | undefined {
  return out === undefined || isNames(out) ? out : PERHAPS + out;
}

function pathPart(name: "dirname" | "basename", path: string): string {
  const trimmed = path.replace(/(?<=.)\/+$/, "");
  const slash = trimmed.lastIndexOf("/");
  if (name === "basename") return trimmed === "/" ? "/" : trimmed.slice(slash + 1);
  if (trimmed === HOME) return `${HOME}/..`;
  return slash < 0 ? "." : slash === 0 ? "/" : trimmed.slice(0, slash).replace(/(?<=.)\/+$/, "");
}

/** What printf prints for a format and its arguments. */
export function printedByPrintf(argv: readonly Field[]): string | undefined {
  const words = argv.map((word) => word.value);
  return words.length === 0 || words.some(isGlob) ? undefined : formatted(words);
}

function echoed(words: readonly string[], anyShell: boolean): string {
  let at = 0;
  let escapes = false;
  let newline = true;
  for (; at < words.length && /^-[neE]+$/.test(words[at] as string); at++) {
    if (words[at]?.includes("e") === true) escapes = true;
    if (words[at]?.includes("n") === true) newline = false;
  }
  const text = words.slice(at).join(" ");
  // Some shells have no options of echo, and read escapes without one.
  const sure = anyShell ? at === 0 && !text.includes("\\") : !escapes || !text.includes("\\");
  return (sure ? "" : GUESS) + (escapes ? unescaped(text) : text) + (newline ? "\n" : "");
}

function formatted(words: readonly string[]): string | undefined {
  const format = words[0];
  if (format === undefined || format.length > 8192) return undefined;
  const args = words.slice(1);
  let out = isPlainFormat(format, args) ? "" : GUESS;
  let used = 0;
  do {
    const before = used;
    let known = true;
    out += unescaped(format).replace(
      /%(%|[-+ #0]*\d*(?:\.\d+)?([sbdciqux]))/g,
      (_, whole: string, kind: string | undefined) => {
        if (whole === "%") return "%";
        const value = args[used++] ?? "";
        if (kind !== "s" && kind !== "b" && kind !== "d" && kind !== "q" && kind !== "i") known = false;
        return kind === "b" ? unescaped(value) : value;
      },
    );
    if (!known) return undefined;
    if (used === before) break;
  } while (used < args.length && out.length < 65_536);
  return out;
}

/** Every printf prints the same for it. */
function isPlainFormat(format: string, args: readonly string[]): boolean {
  if (!/^(?:[^%\\]|%[%sd]|\\[nt\\])*$/.test(format)) return false;
  return !format.includes("%d") || args.every((word) => /^(?:0|-?[1-9]\d*|\uFDD4)$/.test(word));
}

function unescaped(text: string): string {
  return text.replace(
    /\\(?:x([0-9a-fA-F]{1,2})|0?([0-7]{1,3})|(.))/g,
    (whole, hex?: string, octal?: string, other?: string) => {
      if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
      if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8) & 255);
      return ESCAPES[other as string] ?? whole;
    },
  );
}
const ESCAPES: Readonly<Record<string, string>> = {
  n: "\n",
  t: "\t",
  r: "\r",
  a: "\x07",
  b: "\b",
  e: "\x1b",
  f: "\f",
  v: "\v",
  "\\": "\\",
  '"': '"',
  "'": "'",
};

function decoded(text: string, from: "base64" | "hex" = "base64"): string | undefined {
  const guess = text.startsWith(GUESS) ? GUESS : "";
  const compact = text.slice(guess.length).replace(/\s+/g, "");
  if (!(from === "hex" ? /^(?:[\da-fA-F]{2})*$/ : /^[A-Za-z0-9+/]*=*$/).test(compact)) return undefined;
  const bytes = Buffer.from(compact, from).toString("utf8");
  return bytes.includes("\uFFFD") || /[\uFDD0-\uFDEF]/.test(bytes) ? undefined : guess + bytes;
}

// ── Commands whose words show that they print only numbers or plain names on every machine.

const ONE_NUMBER = `${NUMBER}\n`;
const ONE_NAME = `${WORD}\n`;
const SOME_NUMBERS = `${NUMBERS}\n`;

/** Unknown numbers and names, perhaps none. */
function isNames(out: string | undefined): boolean {
  return out !== undefined && /^(?:[\uFDD4\uFDD8-\uFDDB]\n?)+$/.test(out);
}

/** The output if some of these run, one after the other. */
export function namesOfAll(outs: readonly (string | undefined)[]): string | undefined {
  const some = outs.filter((out) => out !== "");
  if (some.length === 1 && isNames(some[0])) return some[0];
  return some.every((out) => /^(?:[\uFDD4\uFDD8]|\d+)\n$/.test(out ?? "")) ? SOME_NUMBERS : undefined;
}

/** `text`: the input, if known. */
function namesPrinted(name: string, words: readonly string[], text: string | undefined): string | undefined {
  if (words.some((word) => isGlob(word) || word.includes(SPLIT))) return undefined;
  if (isNames(text) && Object.hasOwn(FILTERS, name) && FILTERS[name]?.test(words.join(" ")) === true) return text;
  return Object.hasOwn(PRINTERS, name) ? PRINTERS[name]?.(words) : undefined;
}

/** Programs that drop or sort lines, or remove blanks. */
const FILTERS: Readonly<Record<string, RegExp>> = {
  head: /^-(?:n ?)?1$/,
  tail: /^-(?:n ?)?1$/,
  sort: /^(?:-[rnu]+)?$/,
  uniq: /^$/,
  tr: /^-d (?: |\\n|\[:space:\]|\[:blank:\])$/,
};

type Printer = (words: readonly string[]) => string | undefined;

const all = (words: readonly string[], pattern: RegExp) => words.every((word) => pattern.test(word));
/** A word that cannot be an option. */
const isOperand = (word: string) => !maybeOption(word);
const isName = (word: string) => isFixed(word) && isOperand(word);
/** Whether the joined words match; none of them may contain a blank. */
const call = (words: readonly string[], pattern: RegExp) => all(words, /^[^ ]+$/) && pattern.test(words.join(" "));

const pgrep: Printer = (words) => {
  let single = false;
  let between = "\n";
  let operands = 0;
  for (let at = 0; at < words.length; at++) {
    const word = words[at] as string;
    const [, flags, valued, glued] = /^-([fxinov]*)([duUPtgG]?)(.*)$/.exec(word) ?? [];
    if (flags !== undefined) {
      single ||= /[no]/.test(flags);
      if (valued === "") {
        if (glued !== "" || flags === "") return undefined;
      } else {
        const value = glued === "" ? (words[++at] ?? "") : (glued as string);
        if (valued === "d") between = value;
        else if (!/^[\w.-]+$/.test(value)) return undefined;
      }
    } else if (!isName(word) || ++operands > 1) return undefined;
  }
  if (single) return ONE_NUMBER;
  return between === "," ? `${LISTED}\n` : /^\s$/.test(between) ? SOME_NUMBERS : undefined;
};

const pidof: Printer = (words) => {
  const names = words.filter((word) => !/^-[sx]+$/.test(word));
  if (names.length === 0 || !names.every(isName)) return undefined;
  return words.some((word) => /^-x*s/.test(word)) ? ONE_NUMBER : SOME_NUMBERS;
};

/** The number of matching lines, or the digits that a pattern matches, in one file or the input. */
const grep: Printer = (words) => {
  const at = words.findIndex((word) => !/^-[cohivwsxEFPm1]+$/.test(word));
  const options = words.slice(0, at < 0 ? undefined : at).join("");
  const [pattern, file, ...more] = at < 0 ? [] : words.slice(at);
  if (pattern === undefined || !isName(pattern) || more.length > 0 || !isOperand(file ?? ".")) return undefined;
  if (/c/.test(options) && !/[m1]/.test(options)) return ONE_NUMBER;
  if (/[Fv]/.test(options)) return undefined;
  const digits = /P/.test(options) ? PERL_DIGITS : /E/.test(options) ? EXTENDED_DIGITS : PLAIN_DIGITS;
  const whole = /^\^([^]*)\$$/.exec(pattern)?.[1];
  // A line that matches as a whole contains nothing else.
  const only = /o/.test(options) ? pattern : /\\K/.test(pattern) ? undefined : /x/.test(options) ? pattern : whole;
  return only !== undefined && digits.test(only.replace(/^\^/, "")) ? SOME_NUMBERS : undefined;
};
const PLAIN_DIGITS = /^(?:\[0-9\]|\[\[:digit:\]\]){1,9}\*?\$?$/;
const EXTENDED_DIGITS = /^(?:(?:\[0-9\]|\[\[:digit:\]\])(?:[+*]|\{\d+(?:,\d*)?\})?){1,9}\$?$/;
/** Text before \K is not printed; it must not have an alternative. */
const PERL_DIGITS = /^(?:[\w\s:="'<>/,;.*+-]*\\K)?(?:\[0-9\]|\\d)[+*]?\$?$/;

const date: Printer = (words) => {
  const format = words.at(-1) ?? "";
  const rest = words.slice(0, -1);
  if (rest[0] === "-u") rest.shift();
  const dated = rest.length === 2 ? rest[0] === "-d" : rest.length === 0 || rest[0]?.startsWith("--date=") === true;
  if (!dated || rest.length > 2) return undefined;
  if (/^\+%[sYmdHMSjuw]$/.test(format)) return ONE_NUMBER;
  return /^\+%[FYmdHMSj](?:%[FYmdHMSj]|[-_.])*$/.test(format) ? ONE_NAME : undefined;
};

const stat: Printer = (words) => {
  const [first = "", ...rest] = words;
  const [, format = first === "-c" ? rest.shift() : undefined] = /^(?:-c|--format=)(.+)$/.exec(first) ?? [];
  return rest.length === 1 && /^%[sXYZugbhi]$/.test(format ?? "") ? ONE_NUMBER : undefined;
};

/** A property that is a number. */
const systemctl: Printer = (words) => {
  if (words[0] !== "show" || !words.includes("--value")) return undefined;
  const rest = words
    .slice(1)
    .join(" ")
    .replace(/(?:^| )(?:-p ?|--property[= ])(?:(?:Exec)?MainPID|NRestarts|ExecMainStatus)(?= |$)/, " #")
    .replace(/(?:^| )(?:--value|--no-pager|--user)(?= |$)/g, "");
  return all(words, /^[^ ]+$/) &&
    /^ *#? *[\w.@:\\-]* *#? *$/.test(rest) &&
    /^[^#]*#[^#]*$/.test(rest) &&
    !/ -/.test(` ${rest}`)
    ? ONE_NUMBER
    : undefined;
};

const FIGURES = "Mem(?:Total|Free|Available)|Swap(?:Total|Free)|Buffers|Dirty|Committed_AS|CommitLimit";
const MEMORY = new RegExp(
  `^(?:/\\^?(?:${FIGURES}):?/|\\$1 ?== ?"(?:${FIGURES}):") ?\\{ ?print \\$2;?(?: ?exit;?)? ?\\}$`,
);
const awk: Printer = ([program = "", file, ...more]) => {
  if (more.length > 0) return undefined;
  if (file === "/proc/meminfo" && MEMORY.test(program)) return ONE_NUMBER;
  return file === "/proc/uptime" && /^\{ ?print int\(\$1\);? ?\}$/.test(program) ? ONE_NUMBER : undefined;
};

/** Files in which the kernel shows a number. */
const KERNEL_NUMBERS =
  /^\/(?:proc\/sys\/(?:fs\/(?:file-max|nr_open|aio-(?:max-)?nr|inotify\/\w+)|vm\/(?:swappiness|max_map_count|overcommit_(?:memory|ratio)|dirty_\w+|vfs_cache_pressure|min_free_kbytes|nr_hugepages)|kernel\/(?:pid_max|threads-max|shm(?:max|all))|net\/(?:core\/(?:somaxconn|[rw]mem_(?:max|default)|netdev_max_backlog)|netfilter\/nf_conntrack_(?:count|max|buckets)|ipv4\/(?:ip_forward|tcp_(?:max_syn_backlog|fin_timeout|tw_reuse|syncookies|keepalive_time))))|sys\/(?:class\/(?:net\/[\w-][\w.@-]*\/(?:statistics\/\w+|mtu|speed)|thermal\/thermal_zone\d+\/temp)|block\/\w+\/(?:size|queue\/(?:rotational|nr_requests))|fs\/cgroup\/(?:[\w-][\w.@-]*\/)*(?:memory|pids)\.current))$/;

/** With -q they print one id per line. */
const containers: Printer = (words) => {
  const rest = words
    .slice(1)
    .join(" ")
    .replace(/(?:-f |--filter[= ])[\w.=:/-]+/g, "");
  return /^(?:ps|images)$/.test(words[0] ?? "") &&
    /^(?: *(?:-[aql]+|--all|--quiet))+ *$/.test(rest) &&
    /-\w*q/.test(rest)
    ? `${WORDS}\n`
    : undefined;
};

const git: Printer = (words) =>
  call(words, /^rev-parse (?:--short )?HEAD$|^merge-base \w[\w./-]* \w[\w./-]*$/) ? ONE_NAME : undefined;

const egrep: Printer = (words) => grep(["-E", ...words]);

const PRINTERS: Readonly<Record<string, Printer>> = {
  nproc: (words) => (all(words, /^(?:--all|--ignore=\d+)$/) ? ONE_NUMBER : undefined),
  // One number if it reads its input and counts one thing.
  wc: (words) => (call(words, /^-[lwcm]$/) ? ONE_NUMBER : undefined),
  date,
  pgrep,
  pidof,
  stat,
  id: ([which = "", ...rest]) =>
    /^-[ug]$/.test(which) && rest.length <= 1 && rest.every(isName) ? ONE_NUMBER : undefined,
  grep,
  egrep,
  cat: ([file = "", ...more]) => (more.length === 0 && KERNEL_NUMBERS.test(file) ? ONE_NUMBER : undefined),
  // Removes everything but digits.
  tr: (words) =>
    call(words, /^-(?:dc|cd) (?:0-9|\[:digit:\])$/)
      ? NUMBER
      : call(words, /^-(?:dc|cd) (?:0-9|\[:digit:\])(?:\\n)+$/)
        ? SOME_NUMBERS
        : undefined,
  cut: (words) => (call(words, /^-d ?['"]?\. -f ?1 \/proc\/uptime$/) ? ONE_NUMBER : undefined),
  systemctl,
  docker: containers,
  podman: containers,
  git,
  uname: (words) => (call(words, /^-[rm]$/) ? ONE_NAME : undefined),
  awk,
  gawk: awk,
  mawk: awk,
};
