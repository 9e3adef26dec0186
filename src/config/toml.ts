/** Reads TOML with smol-toml: every mistake of a file with its line, in words, and the line of a key. */
import { parse, TomlError } from "smol-toml";
import { BuddyError } from "../lib/errors.ts";

export interface TomlFile {
  /** Without the lines that are not TOML. */
  readonly data: Readonly<Record<string, unknown>>;
  readonly mistakes: readonly TomlMistake[];
  /** The line of a key, or of the nearest table around it; undefined if neither is in the file. */
  lineOf(path: readonly (string | number)[]): number | undefined;
}

export interface TomlMistake {
  readonly line: number;
  readonly column: number;
  readonly text: string;
  /** The line itself; empty if it may contain a secret. */
  readonly shown: string;
}

type Table = Readonly<Record<string, unknown>>;

const MAX_MISTAKES = 10;

export function readToml(text: string): TomlFile {
  const source = text.startsWith("\uFEFF") ? text.slice(1) : text;
  let found = parsed(source);
  if (!(found instanceof TomlError)) return { data: found, mistakes: [], lineOf: lineFinder(source, found) };
  const lines = source.split(/\r?\n/);
  const mistakes: TomlMistake[] = [];
  while (found instanceof TomlError && mistakes.length < MAX_MISTAKES) {
    const { line, column } = found;
    const start = firstLineOf(found, lines);
    const text = lines[start - 1] ?? "";
    const shown = MAY_BE_SECRET.test(text) ? "" : text.trim();
    mistakes.push({ line: start, column: start === line ? column : 1, text: inWords(found, text, start), shown });
    // Cut out, so that the rest can be checked too. What follows something that never ends is part of it.
    const after = neverEnds(found) ? lines.length : Math.max(start, line - (start < line ? 1 : 0));
    for (let at = start; at <= after; at++) lines[at - 1] = at === start ? replacement(lines[at - 1], start) : "";
    found = parsed(lines.join("\n"));
  }
  const data = found instanceof TomlError ? {} : withoutUnreadable(found);
  return { data, mistakes, lineOf: lineFinder(lines.join("\n"), data) };
}

/** The content of a file without mistakes; throws an error that names them all. */
export function parseToml(text: string, file: string): Table {
  const { data, mistakes } = readToml(text);
  if (mistakes.length > 0) throw mistakesError(file, mistakes);
  return data;
}

const MAX_SHOWN = 20;

/** One error for a whole file: first what is not TOML, then `others`, each with its file and line. */
export function mistakesError(file: string, mistakes: readonly TomlMistake[], others: readonly string[] = []) {
  const [first = "", ...more] = [
    ...mistakes.map(({ line, column, text }) => `${file} line ${line}, column ${column}: ${text}`),
    ...others,
  ];
  const shown = more.length === 0 ? mistakes[0]?.shown.slice(0, 60) : "";
  const hint = [
    ...more.slice(0, MAX_SHOWN - 1),
    ...(more.length >= MAX_SHOWN ? [`and ${more.length - MAX_SHOWN + 1} more`] : []),
    ...(shown ? [`The line reads: ${shown}`] : []),
    more.length === 0 ? "Fix the line and try again." : "Fix these lines and try again.",
  ];
  return new BuddyError("config", first, { hint: hint.join("\n") });
}

function parsed(source: string): Table | TomlError {
  try {
    return parse(source, { maxDepth: 64 });
  } catch (error) {
    if (error instanceof TomlError) return error;
    throw error;
  }
}

// ── Mistakes.

/** The first line of the statement in which the parser stopped. */
function firstLineOf({ line }: TomlError, lines: readonly string[]): number {
  for (let start = line; start > Math.max(0, line - MAX_STATEMENT_LINES); start--)
    if (!(parsed(lines.slice(0, start - 1).join("\n")) instanceof TomlError)) return start;
  return line;
}

const MAX_STATEMENT_LINES = 200;

function neverEnds(error: TomlError): boolean {
  return /unfinished (?:string|array|table)/.test(error.message);
}

/** A table's keys must not be read as those of the table before it. */
function replacement(line = "", number: number): string {
  return line.trimStart().startsWith("[") ? `["${UNREADABLE} ${number}"]` : "";
}

const UNREADABLE = "\u{10FFFF} unreadable";

function withoutUnreadable(data: Table): Table {
  return Object.fromEntries(Object.entries(data).filter(([name]) => !name.startsWith(UNREADABLE)));
}

/** A line with a key or a password is not repeated in a message. */
const MAY_BE_SECRET = /key|token|secret|passw|auth|credential|cookie/i;

function inWords(error: TomlError, line: string, start: number): string {
  const what = /^Invalid TOML document: (.*)/.exec(error.message)?.[1] ?? "";
  const at = error.line === start ? line.slice(error.column - 1) : "";
  const words = WORDS.find(([pattern]) => pattern.test(what))?.[1];
  return typeof words === "function" ? words(at, line) : (words ?? what);
}

/** What smol-toml reports, and what was probably meant; `at` is the rest of the line, from where the parser stopped. */
const WORDS: readonly (readonly [RegExp, string | ((at: string, line: string) => string)])[] = [
  [
    /control characters are not allowed in strings/,
    (at) =>
      at === ""
        ? "a string is not closed: the quote at its end is missing"
        : "a string contains a control character: remove it, or write it as \\u and four hex digits",
  ],
  [/control characters/, "a comment contains a control character"],
  [/unfinished string/, "a string begins here and is never closed"],
  [/unfinished array/, "a list begins here and is never closed: ] is missing"],
  [/unfinished table/, "a table begins here and is never closed: } is missing"],
  [/expected comma or end/, "a list or table is not closed, or a comma between two values is missing"],
  [/followed by an end-of-line/, "there is more text after the value; a text needs quotes around all of it"],
  [/redefine/, (at, line) => (isHeader(line) ? "this table is there twice" : "this key is there twice")],
  [/expected end of table array|illegal character in key/, (at, line) => keyInWords(at, line)],
  [/cannot find end of key/, "= is missing: write key = value"],
  [/end of key|empty bare key/, "the key is missing before = or ]"],
  [/multiline/, "a key cannot have several lines"],
  [/escape/, "after \\ comes something unknown: write \\\\ for one \\, or use single quotes"],
  [/cannot be represented/, "the number is too large"],
  [/nested/, "too many lists or tables are inside each other"],
  [/unsafe property/, "this key cannot be used"],
  [/invalid|illegal|unfinished/, (at, line) => valueInWords(at, line)],
];

function isHeader(line: string): boolean {
  return line.trimStart().startsWith("[");
}

function keyInWords(at: string, line: string): string {
  if (isHeader(line) && !line.includes("]")) return "the ] at the end of the table's name is missing";
  if (at.startsWith(":")) return "write key = value, with = instead of :";
  return "a name with other characters than letters, digits, - and _ needs quotes";
}

function valueInWords(at: string, line: string): string {
  const value = at.replace(/#.*/, "").trim();
  if (value === "") return "the value after = is missing";
  if (/^[“”„‘’«]/.test(value)) return "use plain quotes: \" or '";
  if (/^(?:yes|no|on|off|true|false)$/i.test(value)) return "write true or false";
  return MAY_BE_SECRET.test(line) || value.length > 60
    ? "this is not a value; a text needs quotes"
    : `${value} is not a value; a text needs quotes: ${JSON.stringify(value)}`;
}

// ── The line of a key: smol-toml does not report it. A key is on the line before which the file does not have it yet.

/** Characters that may be parsed to find lines; a hostile file could otherwise take minutes. */
const MAX_PARSED = 64 * 1024 * 1024;
/** No setting is nested deeper. */
const MAX_DEPTH = 6;

function lineFinder(source: string, data: Table): TomlFile["lineOf"] {
  let lines: readonly string[] | undefined;
  const before = new Map<number, Table | undefined>();
  let left = MAX_PARSED;

  /** What the first lines say; undefined in the middle of a value. */
  function startOf(count: number): Table | undefined {
    if (!before.has(count)) {
      const text = (lines ?? []).slice(0, count).join("\n");
      left -= text.length + 1;
      const found = left < 0 ? undefined : parsed(text);
      before.set(count, found instanceof TomlError ? undefined : found);
    }
    return before.get(count);
  }

  function find(path: readonly (string | number)[], from: number): number | undefined {
    const name = String(path.findLast((part) => typeof part === "string"));
    for (let line = from; line <= (lines ?? []).length; line++) {
      const text = lines?.[line - 1] ?? "";
      if (!text.includes(name) || text.trimStart().startsWith("#")) continue;
      const [without, through] = [startOf(line - 1), startOf(line)];
      if (without !== undefined && !has(without, path) && (through === undefined || has(through, path))) return line;
    }
    return undefined;
  }

  return (path) => {
    lines ??= source.split(/\r?\n/);
    let line: number | undefined;
    for (let length = 1; length <= Math.min(path.length, MAX_DEPTH); length++) {
      const part = path.slice(0, length);
      if (!has(data, part)) break;
      line = find(part, line ?? 1) ?? line;
    }
    return line;
  };
}

function has(data: Table, path: readonly (string | number)[]): boolean {
  let at: unknown = data;
  for (const part of path) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, part)) return false;
    at = (at as Record<string | number, unknown>)[part];
  }
  return true;
}
