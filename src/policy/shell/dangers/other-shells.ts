/**
 * How other shells read a text: fish, zsh and plain POSIX shells find commands where bash finds none. Used only to find
 * dangers.
 */
import { words } from "../../../lib/text.ts";
import { once } from "../../../lib/values.ts";
import { dataTable } from "./data.ts";
import { lockoutTable } from "./lockout.ts";
import { inQuotes } from "../../../lib/quote.ts";

/** Texts for bash with the commands that other shells would find; none if all shells read the text alike. */
export function otherReadings(text: string): readonly string[] {
  if (text.length > LONGEST || !DIVERGES.test(text)) return [];
  const plain = withoutData(text);
  const tokens = tokensOf(plain);
  const substituted = asSubstitutions(tokens);
  if (!DANGEROUS.test(substituted) && !inTables(substituted) && !/\|\s*\w+\s*&/.test(plain)) return [];
  const found = new Set<string>([substituted]);
  if (STRUCTURE.test(unquoted(tokens))) for (const piece of piecesOf(tokens)) found.add(piece);
  for (const [pattern, bash] of IN_BASH) {
    const rewritten = plain.replace(pattern, bash);
    if (rewritten !== plain) found.add(rewritten);
  }
  found.delete(text);
  return [...found].slice(0, MOST_READINGS);
}

const LONGEST = 4_096;
const MOST_READINGS = 24;

/** Where shells disagree on where commands begin: parentheses, [[ and ((, names after =, keywords. */
const STRUCTURE =
  /(?<![$<>\\])\(|\[\[|(?:^|[\s;&|])(?:=\S|-\s|(?:end|begin|repeat|foreach|and|or|not|function|always|noglob|nocorrect|switch|set)(?=[\s;&|]|$))|\$\{?[=~^]|\$\{[\s|]/;
/** Also escapes that mean other characters in fish. */
const DIVERGES = new RegExp(`${STRUCTURE.source}|\\\\[xXuU0-7cnt]|\\\\'`);
/** Programs that the dangers are about. */
const DANGEROUS =
  /(?:^|[^\w-])(?:g?rm|srm|rmtree|git|dd|dcfldd|tee|cp|mv|g?find|rsync|ch(?:mod|own|grp)|mk\w+|newfs\w*|wipe\w*|shred|truncate|fallocate|blkdiscard|badblocks|s?g?c?fdisk|gdisk|parted|cryptsetup|(?:lv|vg|pv)\w+|lvm|zpool|zfs|btrfs|mdadm|hdparm|nvme|sg_format|flash\w+|diskutil|eval|sh|bash|source)(?![\w-])|of=|\/dev\//;

const inTable = once(() => new Set([...dataTable().programs(), ...lockoutTable().programs()]));

/** Whether it contains a program of the tables of dangers. */
function inTables(text: string): boolean {
  for (const [word] of text.matchAll(/[\w.-]+/g)) if (inTable().has(word)) return true;
  return false;
}

/** Words that come before a command in other shells. */
const IN_FRONT = new Set(
  words(`if then else elif fi while until do done case esac in time coproc and or not begin end switch always noglob
    nocorrect command builtin exec ! - { } ; [[ ]] repeat`),
);

/** Syntax of other shells, and the same for bash. */
const IN_BASH: readonly (readonly [RegExp, string])[] = [
  // fish: functions and variables
  [/\bfunction\s+([\w:-]+)[^;\n]*[;\n]([^]*?)[;\n]\s*end\b/g, "$1(){ $2; };"],
  [/(^|[;\n&|]\s*)set\s+(?:-\w+\s+)*([A-Za-z_]\w*)\s+([^\s;&|]+)/g, "$1$2=$3"],
  // zsh: splitting and patterns in values
  [/\$\{?[=~^]+([A-Za-z_]\w*)\}?/g, "$$$1"],
  // mksh, bash 5.3: the output of commands
  [/\$\{[\s|]([^{}]*)\}/g, "$($1)"],
];

type Token =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "quoted"; readonly text: string }
  | { readonly kind: "open" | "close" | "end" | "blank"; readonly text: string };

/** Split as fish does: an escape is a character, also a quote inside single quotes. */
function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  const pattern =
    /\$?'((?:[^'\\]|\\[^])*)'|\$?"((?:[^"\\]|\\[^])*)"|\\(x[0-9a-fA-F]{1,2}|X[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}|c[a-z]|\n[ \t]*|[^])|(#[^\n]*)|(\(+)|(\)+)|(&&|\|\||[;&|\n])|([ \t]+)|([^'"\\()&|;\n \t#]+|[^])/g;
  let blank = true;
  for (const [whole, single, double, escape, comment, open, close, end, space, other] of text.matchAll(pattern)) {
    if (comment !== undefined) {
      if (!blank) tokens.push({ kind: "text", text: whole });
    } else if (single !== undefined)
      tokens.push({
        kind: "quoted",
        text: whole.startsWith("$")
          ? single.replace(ESCAPE, (_, escape: string) => unescaped(escape))
          : single.replace(/\\([\\'])/g, "$1"),
      });
    else if (double !== undefined)
      tokens.push(
        /[$`]/.test(double)
          ? { kind: "text", text: whole }
          : { kind: "quoted", text: double.replace(/\\([\\"])/g, "$1") },
      );
    else if (escape?.startsWith("\n") === true) tokens.push({ kind: "text", text: "" });
    else if (escape !== undefined) tokens.push({ kind: "quoted", text: unescaped(escape) });
    else if (open !== undefined) tokens.push({ kind: "open", text: whole });
    else if (close !== undefined) tokens.push({ kind: "close", text: whole });
    else if (end !== undefined) tokens.push({ kind: "end", text: whole });
    else if (space !== undefined) tokens.push({ kind: "blank", text: whole });
    else tokens.push({ kind: "text", text: other as string });
    blank = space !== undefined || end !== undefined || open !== undefined;
  }
  // Empty quotes inside a word are dropped: `r''m` is rm.
  return tokens.filter(
    ({ kind, text }, at) => !(kind === "quoted" && text === "" && (isWord(tokens[at - 1]) || isWord(tokens[at + 1]))),
  );
}

function isWord(token: Token | undefined): boolean {
  return token?.kind === "text" || token?.kind === "quoted";
}

const ESCAPE = /\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}|c[a-z]|[^])/g;

function unquoted(tokens: readonly Token[]): string {
  return tokens.map((token) => (token.kind === "quoted" || token.text.startsWith('"') ? "x" : token.text)).join("");
}

function unescaped(escape: string): string {
  const code = /^[xXuU]/.test(escape)
    ? Number.parseInt(escape.slice(1), 16)
    : /^[0-7]/.test(escape)
      ? Number.parseInt(escape, 8)
      : undefined;
  if (code !== undefined) return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : "";
  return { n: "\n", t: "\t", r: "\r", e: "", a: "", b: "", f: "", v: "" }[escape] ?? escape;
}

const quoted = (text: string) => (/^[\w./:=@%+-]+$/.test(text) ? text : inQuotes(text));

/** fish: `(…)` is what `$(…)` is in other shells, except in place of a command, where it is an error. */
function asSubstitutions(tokens: readonly Token[]): string {
  let piece = "";
  return tokens
    .map(({ kind, text }) => {
      const before = piece;
      // No command begins after a substitution.
      if (kind === "open" || kind === "end") piece = "";
      else piece += text;
      if (kind === "quoted") return quoted(text);
      if (kind !== "open" || /[$<>]$/.test(before) || withoutKeywords(before.trim()) === "") return text;
      return text.replaceAll("(", "$(");
    })
    .join("");
}

/** Every run of words between separators, parentheses and keywords, as its own command. */
function piecesOf(tokens: readonly Token[]): string[] {
  const pieces: string[] = [];
  let piece = "";
  const flush = () => {
    const command = withoutKeywords(piece.trim());
    if (command !== "") pieces.push(command);
    piece = "";
  };
  for (const token of tokens) {
    if (token.kind === "open" || token.kind === "close" || token.kind === "end") flush();
    else piece += token.kind === "quoted" ? quoted(token.text) : token.text;
    // A substitution in double quotes contains commands.
    if (token.kind === "text" && /^\$?"[^]*\$\(/.test(token.text))
      pieces.push(...piecesOf(tokensOf(token.text.replace(/^\$?"|"$/g, ""))));
  }
  flush();
  return pieces;
}

function withoutKeywords(piece: string): string {
  let rest = piece.replace(/\s+[{}]\s*$/, "");
  for (;;) {
    const [first = "", ...others] = rest.split(/\s+/);
    if (first === "repeat" || first === "function") rest = others.slice(1).join(" ");
    else if (IN_FRONT.has(first)) rest = others.join(" ");
    else break;
    if (rest === "") break;
  }
  // zsh: `=rm` is the path of rm.
  return rest.replace(/^=(?=\w)/, "").replace(/\s+\]\]$/, "");
}

/** Here-documents are data in every shell that has them. */
function withoutData(text: string): string {
  return text.replace(/(<<-?[ \t]*(['"]?)(\w+)\2[^\n]*)\n[^]*?\n[ \t]*\3(?=\n|$)/g, "$1");
}
