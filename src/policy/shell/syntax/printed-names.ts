/** Commands whose words show that they print only numbers or plain names on every machine. */
import { isFixed, isGlob, LISTED, maybeOption, NUMBER, NUMBERS, SPLIT, WORD, WORDS } from "./field.ts";

const ONE_NUMBER = `${NUMBER}\n`;
const ONE_NAME = `${WORD}\n`;
const SOME_NUMBERS = `${NUMBERS}\n`;

/** Unknown numbers and names, perhaps none. */
export function isNames(out: string | undefined): boolean {
  return out !== undefined && /^(?:[\uFDD4\uFDD8-\uFDDB]\n?)+$/.test(out);
}

/** The output if some of these run, one after the other. */
export function namesOfAll(outs: readonly (string | undefined)[]): string | undefined {
  const some = outs.filter((out) => out !== "");
  if (some.length === 1 && isNames(some[0])) return some[0];
  return some.every((out) => /^(?:[\uFDD4\uFDD8]|\d+)\n$/.test(out ?? "")) ? SOME_NUMBERS : undefined;
}

/** `text`: the input, if known. */
export function namesPrinted(name: string, words: readonly string[], text: string | undefined): string | undefined {
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
