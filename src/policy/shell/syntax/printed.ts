/** What simple commands print, as far as the text shows it, so that text piped into a shell can be judged. */
import { type Field, GUESS, HOME, isFixed, isGlob, PERHAPS, programName, STAR, UNKNOWN } from "./field.ts";
import { findPlan } from "../wrappers/find.ts";
import { isNames, namesPrinted } from "./printed-names.ts";
import type { Scope } from "./scope.ts";
import type { Input } from "../wrappers/wrapped.ts";

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
