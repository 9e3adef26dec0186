/** Readers for programs whose arguments the table cannot describe. */
import { isDeviceToRead } from "../dangers/protected-paths.ts";
import { areNumbers, field, isFixed, isGlob, isUnknown, maybeOption, SPLIT, UNKNOWN } from "../syntax/field.ts";
import { findPlan } from "../wrappers/find.ts";
import { awk } from "./awk.ts";
import type { Refusal } from "../../effects/argv.ts";
import { sed } from "./sed.ts";

/** Undefined if proven to change nothing. */
export type Reader = (args: readonly string[]) => Refusal | undefined;

const several = (args: readonly string[]) => args.some((word) => word.includes(SPLIT));
const SEVERAL_WORDS = "with words that are only known when it runs";

/** For programs that read files: no device among the words. */
function reads(reader: Reader): Reader {
  return (args) => {
    if (several(args)) return SEVERAL_WORDS;
    if (args.some((word) => isDeviceToRead(word) || (isGlob(word) && word.startsWith("/dev/"))))
      return { does: "reads a device" };
    return reader(args);
  };
}

const find: Reader = (args) => {
  if (several(args)) return SEVERAL_WORDS;
  // A pattern that ends in a suffix cannot become an action.
  const mayAct = (word: string, before: string | undefined) =>
    maybeOption(word) &&
    !word.startsWith("-") &&
    !(/^-i?(?:name|path|regex|wholename)$/.test(before ?? "") && isHarmlessPattern(word));
  if (args.some((word, index) => mayAct(word, args[index - 1]))) return "with a word that may be an action";
  const plan = findPlan([field("find"), ...args.map((word) => field(word))]);
  if (plan.odd) return "with words that are not known";
  if (plan.actions.some((action) => action.kind === "delete")) return { does: "-delete removes files" };
  if (plan.actions.some((action) => action.kind === "write")) return { does: "writes its list into a file" };
  if (args.includes("-files0-from")) return { does: "starts in directories that a file names" };
  return args.some((word) => /^-ok(?:dir)?$/.test(word)) ? { does: "-ok asks on the terminal" } : undefined;
};

/** A quoted unknown is one word; a glob may be several words, but actions do not end in a suffix. */
const isHarmlessPattern = (word: string) => (isGlob(word) ? /\.\w+$/.test(word) : word.startsWith(UNKNOWN));

/** With more than one directory `cd` fails, and the text continues in another directory than it seems to. */
const cd: Reader = (args) => {
  const ends = args.indexOf("--");
  const words = args.filter((word, at) => (ends >= 0 && at > ends) || !/^(?:-[LPe@]+|--)$/.test(word));
  if (words.length > 1) return "with more than one directory";
  return /^-./.test(words[0] ?? "") && ends < 0 ? `with ${words[0]}` : undefined;
};

const NUMERIC = /^-(?:eq|ne|lt|le|gt|ge)$/;
const isNumber = (word: string | undefined) => word === undefined || isUnknown(word) || /^\s*[-+]?\d+\s*$/.test(word);

/** Some shells evaluate a number as arithmetic, where a name means its value and a subscript runs commands. */
const test: Reader = (args) => {
  // An unquoted value may be -v and a subscript.
  if (several(args) || args.some((word) => word === "-v" || word === "-R"))
    return { does: "with -v evaluates a subscript" };
  if (args.some((word, at) => word === "-t" && !isNumber(args[at + 1]) && args[at + 1] !== "]"))
    return { does: "evaluates a number" };
  return args.some((word, at) => NUMERIC.test(word) && !(isNumber(args[at - 1]) && isNumber(args[at + 1])))
    ? { does: "evaluates a number" }
    : undefined;
};

const PLAIN_NAME = /^[A-Za-z_]\w*$/;

const printf: Reader = (args) => {
  const [first = ""] = args;
  let at = 0;
  if (first === "-v") {
    if (!PLAIN_NAME.test(args[1] ?? "")) return { does: "with -v evaluates a name" };
    at = 2;
  } else if (first === "--") at = 1;
  else if (first.startsWith("-") && first !== "-") return `with ${first}`;
  else if (maybeOption(first)) return "with a word that may be an option";
  const format = args[at] ?? "";
  if (!isFixed(format) && /%/.test(format)) return "with a format that is only known when it runs";
  const conversions = [...format.matchAll(/%(%|[^a-zA-Z%]*[a-zA-Z])/g)]
    .map(([whole]) => whole)
    .filter((whole) => whole !== "%%");
  if (conversions.some((one) => one.endsWith("n"))) return { does: "with %n sets a variable" };
  const kinds = conversions.flatMap((one) =>
    [...one.slice(1).matchAll(/\*/g)].map(() => "d").concat(one.at(-1) as string),
  );
  const values = args.slice(at + 1);
  if (kinds.every((kind) => TEXTS.test(kind))) return undefined;
  if (several(values)) return SEVERAL_WORDS;
  return values.every((value, index) => TEXTS.test(kinds[index % kinds.length] as string) || isPrintfNumber(value))
    ? undefined
    : { does: "evaluates a number" };
};
const TEXTS = /[sbqcT]/;
const isPrintfNumber = (value: string) =>
  isUnknown(value) || /^(?:\s*[-+]?(?:[\d.]+(?:[eE][-+]?\d+)?|0[xX][\da-fA-F]+)|['"][^]?|)$/.test(value);

/** `read`: options with their values, then plain names. What it assigns is judged as an assignment. */
function readsNames(flags: string, values: string): Reader {
  return (args) => {
    if (several(args)) return SEVERAL_WORDS;
    for (let at = 0; at < args.length; at++) {
      const word = args[at] as string;
      if (!isFixed(word)) return SEVERAL_WORDS;
      if (!word.startsWith("-") || word === "-") {
        if (!PLAIN_NAME.test(word)) return { does: "evaluates a name" };
        continue;
      }
      const letters = word.slice(1);
      const valued = [...letters].findIndex((letter) => values.includes(letter));
      const plain = valued < 0 ? letters : letters.slice(0, valued);
      if (![...plain].every((letter) => flags.includes(letter))) return `with ${word}`;
      if (valued === letters.length - 1 && valued >= 0) at++;
    }
    return undefined;
  };
}
/** Not with -s: the hidden input is a password, which the text could show to the model. */
const readNames = readsNames("er", "dinNptu");
/** After -a follows the name of an array, which is a plain name too. */
const read: Reader = (args) =>
  readNames(
    args.map((word) => (/^-[ers]*a$/.test(word) ? word.replace("a", "") : word)).filter((word) => word !== "-"),
  );

export const READERS: Readonly<Record<string, Reader>> = {
  any: () => undefined,
  awk: reads(awk),
  cd,
  find,
  mapfile: readsNames("t", "dnOsu"),
  printf,
  ps,
  read,
  sed: reads(sed),
  test,
  /** `$!` is a number that only the shell knows. */
  wait: (args) =>
    args.every((word) => /^[\d%\uFDD2\uFDD4\uFDD5]+$/.test(word)) ? undefined : "with a name it evaluates",
};

/**
 * Any form that does not show the environment of processes, which contains keys. `e` without a dash shows it, `-e`
 * selects all processes. If a bundle with a dash is invalid, procps reads it again without the dash (`-auxe`, `-efx`),
 * so a bundle with an `e` may have only letters that are options in both readings. It reads all words again if one is
 * invalid (`-e -x`) or two cannot be combined (`-e -T -m`).
 */
function ps(args: readonly string[]): string | undefined {
  if (args.some((word) => word.includes(SPLIT) && !areNumbers(word))) return SEVERAL_WORDS;
  let bsd = false;
  let everything = false;
  const threads = new Set<string>();
  for (let at = 0; at < args.length; at++) {
    const word = args[at] as string;
    if (areNumbers(word)) continue;
    if (!isFixed(word)) return "with a word that may be an option";
    const value = VALUED.find(({ option }) => option.test(word));
    if (value !== undefined) {
      const given = value.glued ? word.slice(word.indexOf("=") + 1) : (args[++at] ?? "");
      // Without a number ps takes the next word for one, and fails.
      if (!fits(value.shape, given) || (areNumbers(given) && !PROCESSES.test(word)))
        return `with that value for ${word.replace(/=.*/, "")}`;
    } else if (!FLAGS.test(word)) return `with ${word}`;
    if (/^-[a-zA-Z]*e/.test(word)) everything = true;
    if (/^(?:[a-zA-Z]|-[a-zA-Z]*[hrSvxX])/.test(word)) bsd = true;
    if (value === undefined && /^-[a-zA-Z]*u/.test(word)) bsd = true;
    for (const letter of /^-[a-zA-Z]+/.exec(word)?.[0].match(/[LTm]/g) ?? []) threads.add(letter);
  }
  return (bsd || threads.size > 1) && everything
    ? "with options that may show the environment of processes"
    : undefined;
}

const fits = (shape: RegExp, value: string) => (isUnknown(value) ? shape !== COLUMNS : shape.test(value));

const PROCESSES = /^(?:-[a-zA-Z]*[pq]|--p?pid)$/;

/** No column that shows the environment. */
const COLUMNS = /^(?!.*env)[\w,=%:. +-]+$/i;
const WHO = /^[\w.,@:+/-]+$/;

const FLAGS =
  /^(?:-[AacdefFHjlLPTwyZMmV]+|-[AajlvwxfrhSTcHXZmu]+|-p\d+|\d+(?:,\d+)*|[acdfghjlmnrStTuvwxXZHL]+|--(?:forest|no-headers?|headers?|deselect|cumulative|help|version|info))$/;

const VALUED: readonly { readonly option: RegExp; readonly shape: RegExp; readonly glued: boolean }[] = [
  { option: /^-[AacdefFHjlLPTwyZ]*[oO]$/, shape: COLUMNS, glued: false },
  { option: /^-[Aacjlmrwx]*[oO]$/, shape: COLUMNS, glued: false },
  { option: /^[afjlmrTuvwxHL]*[oOk]$/, shape: COLUMNS, glued: false },
  { option: /^-[AadfFHjlLPTwyZ]*[CGgpstUuq]$/, shape: WHO, glued: false },
  { option: /^--(?:format|sort)=/, shape: COLUMNS, glued: true },
  { option: /^--(?:format|sort)$/, shape: COLUMNS, glued: false },
  { option: /^--(?:pid|ppid|user|User|group|Group|sid|tty|cols|columns|width|rows|lines)=/, shape: WHO, glued: true },
  { option: /^--(?:pid|ppid|user|User|group|Group|sid|tty|cols|columns|width|rows|lines)$/, shape: WHO, glued: false },
];
