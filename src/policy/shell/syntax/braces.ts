/** Brace expansion, before any other expansion, as in bash: one list of word parts becomes several. */
import type { BraceExpansionPart, LiteralPart, WordPart } from "unbash";

const MOST_WORDS = 64;
const DEEPEST = 8;

export function expandBraces(
  parts: readonly WordPart[],
  uncertain: (why: string) => void,
): readonly (readonly WordPart[])[] {
  if (parts.some(hasOddRange)) uncertain("a range in braces that shells read differently");
  if (!parts.some((part) => part.type === "BraceExpansion")) return [parts];
  if (parts.some((part, index) => part.type === "BraceExpansion" && joinsName(part, parts[index - 1])))
    uncertain("braces that make the name of a variable");
  if (parts.some((part) => part.type === "BraceExpansion" && part.text.split("{").length > DEEPEST))
    uncertain("more braces than are checked");
  let lists: WordPart[][] = [[]];
  let full = false;
  for (const part of parts) {
    // Commands inside a part must be found even if its words are no longer separated.
    if (full) {
      (lists[0] as WordPart[]).push(...(part.type === "BraceExpansion" ? (part.parts ?? []) : [part]));
      continue;
    }
    const ways = part.type === "BraceExpansion" ? waysOf(part) : [[part]];
    if (lists.length * ways.length > MOST_WORDS) {
      uncertain("more words from braces than are checked");
      lists = [[...(lists[0] as WordPart[]), ...ways.flat()]];
      full = true;
    } else if (ways.length === 1) for (const list of lists) list.push(...(ways[0] as readonly WordPart[]));
    else lists = lists.flatMap((list) => ways.map((way) => list.concat(way)));
  }
  return lists;
}

/**
 * Only ranges of plain numbers, and of letters of one case, are expanded. Between Z and a are the backquote and the
 * backslash, which bash reads as syntax after the expansion; leading zeros and long numbers are not computed.
 */
function hasOddRange(part: WordPart): boolean {
  if (part.type !== "BraceExpansion" && part.type !== "Literal") return false;
  return (part.text.match(/\{[^{},]*\.\.[^{},]*\}/g) ?? []).some((range) => !PLAIN_RANGE.test(range));
}

const PLAIN_RANGE =
  /^\{(?:(?:0|-?[1-9]\d{0,8})\.\.(?:0|-?[1-9]\d{0,8})|[a-z]\.\.[a-z]|[A-Z]\.\.[A-Z])(?:\.\.-?\d{1,9})?\}$/;

/** `$x{a,b}` is `$xa $xb`, and `{$,b}x` is `$x bx`: braces come before variables. */
function joinsName(part: WordPart, before: WordPart | undefined): boolean {
  return (before?.type === "SimpleExpansion" && /^\$\w+$/.test(before.text)) || /\$\w*[{},]/.test(part.text);
}

function waysOf(part: BraceExpansionPart): readonly (readonly WordPart[])[] {
  return lists(tokensOf(part.parts ?? [literal(part.text.slice(1, -1))]), 0);
}

/** A character of plain text, which may be brace syntax, or another part. */
type Token = string | WordPart;

function tokensOf(parts: readonly WordPart[]): Token[] {
  const tokens: Token[] = [];
  for (const part of parts) {
    if (part.type === "BraceExpansion")
      tokens.push("{", ...tokensOf(part.parts ?? [literal(part.text.slice(1, -1))]), "}");
    else if (part.type !== "Literal") tokens.push(part);
    else
      for (let i = 0; i < part.text.length; i++) {
        const character = part.text[i] as string;
        // An escaped character is not syntax: it becomes a separate literal.
        if (character === "\\" && i + 1 < part.text.length)
          tokens.push(literal(part.text[++i] as string, `\\${part.text[i]}`));
        else tokens.push(character);
      }
  }
  return tokens;
}

/** The alternatives between braces: split at commas of this level, with nested braces expanded. */
function lists(tokens: readonly Token[], depth: number): WordPart[][] {
  const branches: Token[][] = [[]];
  let level = 0;
  for (const token of tokens) {
    if (token === "{") level++;
    if (token === "}") level--;
    if (token === "," && level === 0) branches.push([]);
    else (branches.at(-1) as Token[]).push(token);
  }
  if (branches.length === 1 && depth === 0) {
    const range = sequence(textOf(branches[0] as Token[]));
    if (range !== undefined) return range.map((text) => [literal(text)]);
  }
  return branches.flatMap((branch) => nested(branch, depth));
}

function nested(branch: readonly Token[], depth: number): WordPart[][] {
  const open = branch.indexOf("{");
  if (open < 0 || depth > DEEPEST) return [partsOf(branch)];
  let level = 0;
  let close = -1;
  for (let i = open; i < branch.length; i++) {
    if (branch[i] === "{") level++;
    if (branch[i] === "}" && --level === 0) {
      close = i;
      break;
    }
  }
  const inner = branch.slice(open + 1, close);
  if (close < 0 || !(inner.includes(",") || textOf(inner).includes(".."))) return [partsOf(branch)];
  const head = partsOf(branch.slice(0, open));
  const tails = nested(branch.slice(close + 1), depth + 1);
  const out: WordPart[][] = [];
  for (const middle of lists(inner, sequence(textOf(inner)) === undefined ? depth + 1 : 0))
    for (const tail of tails) if (out.length < MOST_WORDS) out.push([...head, ...middle, ...tail]);
  return out;
}

function textOf(tokens: readonly Token[]): string {
  return tokens.map((token) => (typeof token === "string" ? token : token.text)).join("");
}

function partsOf(tokens: readonly Token[]): WordPart[] {
  const parts: WordPart[] = [];
  let text = "";
  const flush = () => {
    if (text !== "") parts.push(...globbed(text));
    text = "";
  };
  for (const token of tokens) {
    if (typeof token === "string") text += token;
    else {
      flush();
      parts.push(token);
    }
  }
  flush();
  return parts;
}

/** The parser leaves globs in plain text between braces. */
function globbed(text: string): WordPart[] {
  return text
    .split(/(\*+|\?)/)
    .filter((piece) => piece !== "")
    .map((piece): WordPart => {
      if (piece.startsWith("*")) return { type: "Glob", kind: "star", pos: 0, end: 0, text: piece, value: piece };
      if (piece === "?") return { type: "Glob", kind: "question", pos: 0, end: 0, text: piece, value: piece };
      return literal(piece);
    });
}

/** `1..9`, `a..e`, `1..9..2`. */
function sequence(text: string): string[] | undefined {
  const numbers = /^(-?\d{1,9})\.\.(-?\d{1,9})(?:\.\.(-?\d{1,9}))?$/.exec(text);
  const letters = numbers ?? /^([A-Za-z])\.\.([A-Za-z])(?:\.\.(-?\d{1,9}))?$/.exec(text);
  if (letters === null) return undefined;
  const value = (item: string | undefined) => (numbers === null ? (item ?? "").charCodeAt(0) : Number(item));
  const [from, to] = [value(letters[1]), value(letters[2])];
  const step = Math.max(1, Math.abs(Number(letters[3] ?? 1))) * (from <= to ? 1 : -1);
  const out: string[] = [];
  for (let at = from; (step > 0 ? at <= to : at >= to) && out.length <= MOST_WORDS; at += step)
    out.push(numbers === null ? String.fromCharCode(at) : String(at));
  return out;
}

function literal(value: string, text: string = value): LiteralPart {
  return { type: "Literal", pos: 0, end: 0, value, text };
}
