/** From words to arguments: quotes, tildes, braces, globs and values of variables, as far as the text shows them. */
import type { Assignment, Script, Word, WordPart } from "unbash";
import { activated, cleaned, type Field, HOME, isFixed, NUMBER, ONE, SPLIT, STAR, UNKNOWN } from "./field.ts";
import { expandBraces, parameterValues } from "./expansions.ts";
import type { Scope, Value } from "./scope.ts";

/** What expanding needs from the walk: the scope, and functions for commands inside words. */
export interface Expansion {
  readonly scope: Scope;
  /** Walks a substitution; returns all texts it may print. */
  substituted(script: Script | undefined, text: string): readonly string[];
  /** Walks `<( )` or `>( )`; returns what it prints, if known. */
  process(script: Script | undefined, text: string): string | undefined;
  /** Walks whatever runs inside arithmetic. */
  arithmetic(part: WordPart): void;
  /** A word whose value is computed: a subscript, an offset, a length. */
  computed(word: Word, values: readonly string[]): void;
  /** `${x:=value}`, `read`, `for`. */
  assign(name: string, values: readonly Value[]): void;
  /** Name and possible values of an assignment; the caller decides whether the scope gets them. */
  assignment(node: Assignment): { name: string; values: readonly Value[] };
  setVariable(name: string, values: readonly Value[]): void;
  /** A redirection reads this file. */
  reads(file: string): void;
  /** A variable is used that the text does not set. */
  fromEnvironment(name: string): void;
  readonly uncertain: (why: string) => void;
  /** Walks text that runs later, or may run. */
  runText(text: string): void;
  /** Walks text that the parser may have split wrongly; never certain. */
  reread(text: string): void;
  /** Counts towards the limit of work. */
  spend(cost: number): void;
}

/** The arguments of one possible expansion of a word. */
export type Outcome = readonly Field[];

/** More combinations of possible values become one unknown argument. */
const MOST_OUTCOMES = 32;

/** All possible expansions of a word. */
export function expandWord(word: Word, by: Expansion): readonly Outcome[] {
  const { parts } = word;
  if (word.text.includes("\\'") && endsInBackslash(word.text))
    by.uncertain("a quoted text that ends in a backslash, which fish reads differently");
  if (parts === undefined) {
    const value = cleanedOnce(word.value, word.text);
    return [[{ value: word.text.startsWith("~") ? withHome(value, by) : value, source: word.text }]];
  }
  by.spend(parts.length / 2);
  let outcomes: Field[][] = [[]];
  // Every list is expanded, even if there are too many outcomes: commands inside must be found.
  for (const list of expandBraces(parts, by.uncertain)) {
    const ways = expandParts(list, word.text, by);
    if (outcomes.length * ways.length > MOST_OUTCOMES) outcomes = [[{ value: UNKNOWN, source: word.text }]];
    else if (ways.length === 1) for (const outcome of outcomes) outcome.push(...(ways[0] as Outcome));
    else outcomes = outcomes.flatMap((outcome) => ways.map((way) => outcome.concat(way)));
  }
  return outcomes;
}

/** A text in single quotes has an unescaped backslash before its closing quote. */
function endsInBackslash(text: string): boolean {
  for (const [token] of text.matchAll(/\\[^]|"(?:[^"\\]|\\[^])*"|'[^']*'/g))
    if (token.startsWith("'") && /(?<!\\)(?:\\\\)*\\'$/.test(token)) return true;
  return false;
}

/** All possible values of a word that is not split: in assignments, redirections, case words, here-strings. */
export function wordValues(word: Word, by: Expansion): readonly string[] {
  const { parts } = word;
  if (parts === undefined) {
    const value = cleanedOnce(word.value, word.text);
    return [word.text.startsWith("~") ? withHome(value, by) : value];
  }
  let values: string[] = [""];
  let first = true;
  for (const part of parts) {
    const pieces = pieceValues(part, true, by);
    if (first && part.type === "Literal" && part.text.startsWith("~"))
      pieces[0] = [{ text: withHome(literal(part), by) }];
    first = false;
    const texts = pieces.map((piece) => piece.map((bit) => ("list" in bit ? bit.list.join(" ") : bit.text)).join(""));
    by.spend((values.length * texts.length) / 2 + (texts[0]?.length ?? 0) / 128);
    if (values.length * texts.length > MOST_OUTCOMES) values = [UNKNOWN];
    else values = values.flatMap((value) => texts.map((text) => within(value + text)));
  }
  return values;
}

/** Text to append; text to split at blanks; or the elements of an array, one argument each. */
type Bit =
  { readonly text: string; readonly split?: boolean } | { readonly list: readonly string[]; readonly split: boolean };
type Bits = Bit[];

/** A longer value becomes unknown: variables that double themselves would fill the memory. */
const LONGEST_VALUE = 4_096;
/** Replaced by one UNKNOWN. */
const TWICE = UNKNOWN + UNKNOWN;
const UNKNOWN_RUN = /\uFDD2{2,}/g;

function within(value: string): string {
  if (value.length > LONGEST_VALUE) return UNKNOWN;
  return value.length > 1 && value.includes(TWICE) ? value.replace(UNKNOWN_RUN, UNKNOWN) : value;
}

function expandParts(parts: readonly WordPart[], source: string, by: Expansion): readonly Outcome[] {
  by.spend(1 + parts.length / 2);
  let ways: Bits[] = [[]];
  let quoted = false;
  let prints: string | undefined;
  let process = false;
  for (const [index, part] of parts.entries()) {
    if (part.type === "ProcessSubstitution") {
      prints = by.process(part.script, part.text);
      process = true;
      for (const way of ways) way.push({ text: "/dev/fd/63" });
      continue;
    }
    let values = pieceValues(part, false, by);
    if (index === 0 && part.type === "Literal" && part.text.startsWith("~"))
      values = [[{ text: withHome(literal(part), by) }]];
    if (
      part.type === "SingleQuoted" ||
      part.type === "DoubleQuoted" ||
      part.type === "AnsiCQuoted" ||
      part.type === "LocaleString"
    )
      quoted ||= !(part.type === "DoubleQuoted" && part.parts.length === 1 && isListPart(part.parts[0]));
    if (ways.length * values.length > 1) by.spend(ways.length * values.length);
    ways = followed(ways, values);
  }
  return ways.map((way) =>
    assembled(way, quoted, by).map((value) => (process ? { value, source, prints, process } : { value, source })),
  );
}

/** Each way followed by each value; too many combinations become one unknown. */
function followed(ways: Bits[], values: readonly Bits[]): Bits[] {
  if (ways.length * values.length > MOST_OUTCOMES) return [[{ text: UNKNOWN, split: true }]];
  if (values.length !== 1) return ways.flatMap((way) => values.map((bits) => way.concat(bits)));
  for (const way of ways) way.push(...(values[0] as Bits));
  return ways;
}

function assembled(bits: Bits, quoted: boolean, by: Expansion): string[] {
  const fields: string[] = [];
  let current: string | undefined = quoted ? "" : undefined;
  const breakField = () => {
    if (current !== undefined) fields.push(within(current));
    current = undefined;
  };
  const append = (pieces: readonly string[]) => {
    for (const [at, piece] of pieces.entries()) {
      if (at > 0) breakField();
      current = (current ?? "") + piece;
    }
  };
  for (const bit of bits) {
    if ("list" in bit) {
      for (const [index, item] of bit.list.entries()) {
        if (index > 0) breakField();
        append(bit.split ? splitText(item) : [item]);
      }
    } else if (bit.split === true && by.scope.ifsChanged && bit.text !== "") {
      by.uncertain("words are split in a way the text changes (IFS)");
      const blanks = changedBlanks(by);
      append(blanks === undefined ? [`${UNKNOWN}${SPLIT}`] : splitText(bit.text, blanks));
    } else if (bit.split === true && /\s/.test(bit.text)) {
      if (/^\s/.test(bit.text) && current !== undefined && current !== "") breakField();
      append(splitText(bit.text));
      if (/\s$/.test(bit.text)) breakField();
    } else if (bit.text !== "" || bit.split !== true) {
      append([bit.split === true ? activated(splittable(bit.text)) : bit.text]);
    }
  }
  breakField();
  return fields;
}

/** File names that a command prints may contain blanks, too. */
function splittable(text: string): string {
  return /[\uFDD0-\uFDD2\uFDD8\uFDDB]/.test(text) ? text.replace(/[\uFDD0-\uFDD2\uFDD8\uFDDB]/g, `$&${SPLIT}`) : text;
}

function splitText(text: string, blanks: RegExp = /[ \t\n]+/): string[] {
  return splittable(text)
    .split(blanks)
    .filter((piece) => piece !== "")
    .map(activated);
}

/** Where a changed IFS splits; undefined if unknown. */
function changedBlanks(by: Expansion): RegExp | undefined {
  const [value, ...others] = by.scope.get("IFS") ?? [];
  if (others.length > 0 || typeof value !== "string" || value === "" || !isFixed(value)) return undefined;
  return new RegExp(`[${value.replace(/[\\\]^-]/g, "\\$&")}]+`);
}

function isListPart(part: WordPart | undefined): boolean {
  if (part === undefined) return false;
  if (part.type === "SimpleExpansion") return part.text === "$@";
  return part.type === "ParameterExpansion" && (part.parameter === "@" || part.index?.text === "@");
}

/** All possible expansions of one part of a word. */
function pieceValues(part: WordPart, quoted: boolean, by: Expansion): Bits[] {
  switch (part.type) {
    case "Literal":
      return [[{ text: literal(part) }]];
    case "SingleQuoted":
      return [[{ text: part.value }]];
    case "AnsiCQuoted":
      return [[{ text: cleanedOnce(part.value, part.text) }]];
    case "Glob":
      inside(part.parts, by);
      return [[{ text: quoted ? part.text : part.kind === "star" ? STAR : ONE }]];
    case "ExtendedGlob":
      inside(part.parts, by);
      if (quoted) return [[{ text: part.text }]];
      by.uncertain(`extended patterns such as ${part.text} depend on the shell's settings`);
      return [[{ text: STAR }]];
    case "BraceExpansion":
      inside(part.parts, by);
      return [[{ text: cleaned(part.text) }]];
    case "DoubleQuoted":
    case "LocaleString": {
      let ways: Bits[] = [[]];
      for (const inner of part.parts) ways = followed(ways, pieceValues(inner, true, by));
      return ways;
    }
    case "SimpleExpansion":
      return bitsOf(simpleValues(part.text.slice(1), by), quoted, part.text === "$@");
    case "ParameterExpansion":
      if (quoted) quotesInQuotes(part, by);
      return bitsOf(parameterValues(part, by), quoted, isListPart(part));
    case "CommandExpansion":
      return bitsOf(by.substituted(part.script, part.text), quoted, false);
    case "ArithmeticExpansion":
      by.arithmetic(part);
      return [[{ text: NUMBER }]];
    case "ProcessSubstitution":
      by.process(part.script, part.text);
      return [[{ text: "/dev/fd/63" }]];
  }
}

/**
 * In `"${x:-'$(id)'}"`, and in a here-document, the single quotes are text and the substitution runs; in `"${x#'$y'}"`
 * they quote. With POSIXLY_CORRECT set, bash ends `"${x:-'}"` at the brace, otherwise at a later one.
 */
export function quotesInQuotes(part: WordPart, by: Expansion): void {
  const rest = part.type === "ParameterExpansion" ? part.text.slice(2, -1) : "";
  if (rest.includes("'") && /[$`"{}\\]/.test(rest)) by.uncertain("single quotes in an expansion that is quoted itself");
}

/** Walks commands inside a pattern. */
function inside(parts: readonly WordPart[] | undefined, by: Expansion): void {
  for (const part of parts ?? []) pieceValues(part, true, by);
}

function bitsOf(values: readonly Value[], quoted: boolean, list: boolean): Bits[] {
  return values.map((value) => {
    // "$@" may be any number of words even in quotes.
    if (typeof value === "string")
      return [quoted ? { text: list ? splittable(value) : value } : { text: value, split: true }];
    if (quoted && !list) return [{ text: value.join(" ") }];
    return [{ list: value, split: !quoted }];
  });
}

/** `$x`, `$1`, `$@`, `$?`. */
export function simpleValues(name: string, by: Expansion): readonly Value[] {
  const { scope } = by;
  if (/^[A-Za-z_]/.test(name)) {
    const values = scope.get(name);
    if (values === undefined) by.fromEnvironment(name);
    return values?.map((value) => (typeof value === "string" ? value : (value[0] ?? ""))) ?? [UNKNOWN];
  }
  const { positional } = scope;
  if (/^[?#$!]$/.test(name)) return [NUMBER];
  if (name === "0") return [scope.zeroth ?? UNKNOWN];
  if (name === "@" || name === "*") return positional;
  if (/^[1-9]\d*$/.test(name))
    return positional.map((given) => (typeof given === "string" ? UNKNOWN : (given[Number(name) - 1] ?? "")));
  return [UNKNOWN];
}

function literal(part: { readonly value: string; readonly text: string }): string {
  return cleanedOnce(part.value, part.text);
}

/** Replaces stand-in characters that come from an escape such as $'\uFDD0', not those in the parsed text. */
function cleanedOnce(value: string, text: string): string {
  return value === text || !/[\uFDD0-\uFDEF]/.test(value) || /[\uFDD0-\uFDEF]/.test(text) ? value : cleaned(value);
}

function withHome(value: string, by: Expansion): string {
  const slash = value.indexOf("/");
  const name = slash < 0 ? value.slice(1) : value.slice(1, slash);
  const rest = slash < 0 ? "" : value.slice(slash);
  if (name === "") {
    const home = by.scope.get("HOME");
    return (home?.length === 1 && typeof home[0] === "string" ? home[0] : HOME) + rest;
  }
  if (name === "+") return by.scope.cwd + rest;
  if (name === "-") return UNKNOWN + rest;
  return /^[A-Za-z_][\w.-]*$/.test(name) && isFixed(name) ? HOME + rest : value;
}
