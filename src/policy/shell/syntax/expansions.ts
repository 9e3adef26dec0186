/** `${…}` (all possible values of a parameter expansion) and `{a,b}` (brace expansion). */
import type {
  BraceExpansionPart,
  LiteralPart,
  ParameterExpansionPart,
  ParameterOperation,
  Word,
  WordPart,
} from "unbash";
import { isVariableName } from "./arithmetic.ts";
import { isFixed, NUMBER, patternToRegExp, UNKNOWN } from "./field.ts";
import type { Value } from "./scope.ts";
import { expandWord, type Expansion, simpleValues, wordValues } from "./words.ts";

export function parameterValues(part: ParameterExpansionPart, by: Expansion): readonly Value[] {
  const { prefix, operation } = part;
  if (part.index !== undefined && part.index.text !== "@" && part.index.text !== "*")
    by.computed(part.index, wordValues(part.index, by));
  if (prefix === "#") return [NUMBER];
  let values = plainValues(part, by);
  if (prefix === "!") {
    if (operation?.type === "Names") return [UNKNOWN];
    if (part.index !== undefined) {
      // The names of an array's elements, or the value of the variable that an element names.
      if (!/^[@*]$/.test(part.index.text)) by.uncertain("an element of an array is read as a name");
      return [UNKNOWN];
    }
    if (operation?.type === "Default" && operation.operator.endsWith("="))
      by.uncertain("a variable is set whose name is in another variable");
    values = values.flatMap((value) => {
      if (typeof value === "string" && isVariableName(value)) return simpleValues(value, by);
      // A value such as a[$(command)] is evaluated.
      by.uncertain("the value of a variable is read as a name, and its contents may run");
      return [UNKNOWN];
    });
  }
  return operation === undefined ? values : operated(values, operation, part, by);
}

function plainValues(part: ParameterExpansionPart, by: Expansion): readonly Value[] {
  const { parameter, index } = part;
  if (index === undefined || !/^[A-Za-z_]/.test(parameter)) return simpleValues(parameter, by);
  const values = by.scope.get(parameter);
  if (values === undefined) {
    by.fromEnvironment(parameter);
    return [UNKNOWN];
  }
  if (index.text === "@" || index.text === "*")
    return values.map((value) => (typeof value === "string" ? [value] : value));
  return values.flatMap((value) => {
    const items = typeof value === "string" ? [value] : value;
    const item = /^\d+$/.test(index.text) ? items[Number(index.text)] : undefined;
    return item === undefined ? [...items, UNKNOWN] : [item];
  });
}

function operated(
  values: readonly Value[],
  operation: ParameterOperation,
  part: ParameterExpansionPart,
  by: Expansion,
): readonly Value[] {
  switch (operation.type) {
    case "Default":
      return withDefault(values, operation.operator, operation.operand, part.parameter, by);
    case "Remove": {
      const [pattern] = operandValues(operation.operand, by);
      return each(values, (value) => removed(value, operation.operator, pattern));
    }
    case "Replace": {
      // unbash 6.0.3 ends the pattern at a slash inside a substitution: commands in it are read again, as a whole.
      const operands = part.text.slice(operation.operatorEnd - part.pos, -1);
      if (/\$\(|[`]|[<>]\(/.test(operands)) by.reread(operands);
      const [pattern] = operandValues(operation.pattern, by);
      const [replacement = UNKNOWN] = wordValues(operation.replacement, by);
      return each(values, (value) => replaced(value, operation.operator, pattern, replacement));
    }
    case "Slice": {
      const offsets = wordValues(operation.offset, by);
      const lengths = operation.length === undefined ? [] : wordValues(operation.length, by);
      by.computed(operation.offset, offsets);
      if (operation.length !== undefined) by.computed(operation.length, lengths);
      const offset = offsets[0]?.trim() ?? "";
      const length = operation.length === undefined ? undefined : (lengths[0]?.trim() ?? "");
      // A slice of an array has elements, not characters.
      return values.map((value) =>
        typeof value === "string" && isFixed(value) ? (sliced(value, offset, length) ?? UNKNOWN) : UNKNOWN,
      );
    }
    case "CaseModification":
      if (operation.operand !== undefined && operation.operand.text !== "") {
        wordValues(operation.operand, by);
        return [UNKNOWN];
      }
      return each(values, (value) => recased(value, operation.operator));
    case "Transform":
      // @P expands prompt escapes, and with them command substitutions in the value.
      wordValues(operation.operand, by);
      if (!/^[QELUuKk]$/.test(operation.operand.text)) {
        by.uncertain("the value of a variable is expanded again (@P)");
        for (const value of values.flat())
          if (/\$\(|`/.test(value)) by.runText(`: <<END_OF_PROMPT\n${value}\nEND_OF_PROMPT\n`);
      }
      return [UNKNOWN];
    case "Names":
      return [UNKNOWN];
    case "Unknown":
      by.uncertain("an expansion this parser does not know");
      return [UNKNOWN];
  }
}

function withDefault(
  values: readonly Value[],
  operator: string,
  operand: Word,
  name: string,
  by: Expansion,
): readonly Value[] {
  const other = operandValues(operand, by);
  if (operator.endsWith("?")) return values;
  if (operator.endsWith("+")) return values.every((value) => value === "") && values.length > 0 ? [""] : [...other, ""];
  const out: Value[] = [];
  const known = values.length > 0 && values.every((value) => value !== UNKNOWN && value !== "");
  for (const value of values) if (value !== "" || !operator.startsWith(":")) out.push(value);
  const all = known ? out : [...out, ...other];
  if (operator.endsWith("=") && !known) by.assign(name, all);
  return all;
}

function each(values: readonly Value[], change: (value: string) => string | undefined): readonly Value[] {
  return values.map((value) => {
    if (typeof value === "string") return isFixed(value) ? (change(value) ?? UNKNOWN) : UNKNOWN;
    return value.map((item) => (isFixed(item) ? (change(item) ?? UNKNOWN) : UNKNOWN));
  });
}

function operandValues(word: Word, by: Expansion): readonly string[] {
  return expandWord(word, by).map((fields) => fields.map((item) => item.value).join(" "));
}

function removed(value: string, operator: string, pattern: string | undefined): string | undefined {
  if (pattern === undefined || value.length > 4096) return undefined;
  const greedy = operator.length === 2;
  const source = patternToRegExp(pattern, operator.startsWith("#") ? greedy : true);
  if (source === undefined) return undefined;
  if (operator.startsWith("#")) return value.replace(new RegExp(`^${source}`), "");
  const whole = new RegExp(`^${source}$`);
  const starts = Array.from({ length: value.length + 1 }, (_, i) => (greedy ? i : value.length - i));
  const at = value.length > 512 ? undefined : starts.find((i) => whole.test(value.slice(i)));
  return value.length > 512 ? undefined : at === undefined ? value : value.slice(0, at);
}

function replaced(
  value: string,
  operator: string,
  pattern: string | undefined,
  replacement: string,
): string | undefined {
  if (pattern === undefined || value.length > 4096) return undefined;
  const source = patternToRegExp(pattern, true);
  if (source === undefined || source === "") return source === "" ? value : undefined;
  const anchored = operator === "/#" ? `^${source}` : operator === "/%" ? `${source}$` : source;
  return value.replace(new RegExp(anchored, operator === "//" ? "g" : ""), () => replacement);
}

function sliced(value: string, offset: string, length: string | undefined): string | undefined {
  if (!/^-?\d+$/.test(offset) || (length !== undefined && !/^-?\d+$/.test(length))) return undefined;
  const from = Number(offset) < 0 ? value.length + Number(offset) : Number(offset);
  if (from < 0) return "";
  if (length === undefined) return value.slice(from);
  return Number(length) < 0
    ? value.slice(from, value.length + Number(length))
    : value.slice(from, from + Number(length));
}

function recased(value: string, operator: string): string {
  const change = (text: string) => (operator.startsWith("^") ? text.toUpperCase() : text.toLowerCase());
  return operator.length === 2 ? change(value) : change(value.slice(0, 1)) + value.slice(1);
}

// ── Brace expansion, before any other expansion, as in bash: one list of word parts becomes several.

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
