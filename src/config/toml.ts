/** Parses TOML, with the line of every key. */
import { BuddyError } from "../lib/errors.ts";

export interface TomlFile {
  readonly data: Readonly<Record<string, unknown>>;
  /** Line of a key, or of the nearest table around it; undefined if neither is in the file. */
  lineOf(path: readonly (string | number)[]): number | undefined;
}

/** Parsed by Bun in 0.2 ms; smol-toml, which takes 1.2 (and its JIT as much again), locates errors. */
export async function parseToml(text: string, file: string): Promise<TomlFile> {
  const source = text.startsWith("\uFEFF") ? text.slice(1) : text;
  const data = parseNatively(source) ?? (await parseWithPositions(source, file));
  // Computed when the first line is needed: most files give no reason for a message.
  let lines: ReadonlyMap<string, number> | undefined;
  return { data, lineOf: (path) => nearestLine((lines ??= keyLines(source)), path) };
}

function parseNatively(source: string): Record<string, unknown> | undefined {
  try {
    return Bun.TOML.parse(source) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

async function parseWithPositions(source: string, file: string): Promise<Record<string, unknown>> {
  const { parse, TomlError } = await import("smol-toml");
  try {
    return parse(source, { maxDepth: 64 });
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const what = (error.message.split("\n", 1)[0] ?? "").replace(/^Invalid TOML document: /, "");
    const line = source.split(/\r?\n/)[error.line - 1]?.trim().slice(0, 60) ?? "";
    const shown = line.replace(/(\bapi_key["']?\s*=).*/, "$1 …");
    throw new BuddyError("config", `${file} line ${error.line}, column ${error.column}: ${what}`, {
      hint: [...(shown === "" ? [] : [`The line reads: ${shown}`]), "Correct it; nothing was changed."].join("\n"),
      // The parser's message quotes the lines around it.
      ...(source.includes("api_key") ? {} : { cause: error }),
    });
  }
}

/** No setting is nested deeper; one endless dotted key in a hostile file must not take quadratic time. */
const DEEPEST = 6;

function nearestLine(lines: ReadonlyMap<string, number>, path: readonly (string | number)[]): number | undefined {
  for (let length = Math.min(path.length, DEEPEST); length > 0; length--) {
    const line = lines.get(pathKey(path.slice(0, length)));
    if (line !== undefined) return line;
  }
  return undefined;
}

function pathKey(path: readonly (string | number)[]): string {
  return JSON.stringify(path.map(String));
}

/**
 * The line of every key. The parsers report no positions, so headers and keys are located here, in text that is known
 * to be valid; keys inside an inline table get the line of that table.
 */
function keyLines(text: string): Map<string, number> {
  const lines = new Map<string, number>();
  const arrays = new Map<string, number>();
  let table: (string | number)[] = [];
  const scan = { text, at: 0, line: 1 };
  while (scan.at < text.length) {
    skipBlank(scan);
    if (scan.at >= text.length) break;
    const line = scan.line;
    if (text[scan.at] === "[") {
      const isArray = text.startsWith("[[", scan.at);
      scan.at += isArray ? 2 : 1;
      const keys = withIndexes(readKey(scan).slice(0, DEEPEST), arrays);
      table = keys;
      if (isArray) {
        const name = pathKey(keys);
        setOnce(lines, name, line);
        const index = (arrays.get(name) ?? -1) + 1;
        arrays.set(name, index);
        table = [...keys, index];
      }
      setOnce(lines, pathKey(table), line);
      skipLine(scan);
    } else {
      const keys = readKey(scan);
      for (let length = 1; length <= Math.min(keys.length, DEEPEST); length++) {
        setOnce(lines, pathKey([...table, ...keys.slice(0, length)]), line);
      }
      scan.at++; // the equals sign
      skipValue(scan);
    }
  }
  return lines;
}

/** [[a]] then [a.b]: the b of the last a. */
function withIndexes(keys: readonly string[], arrays: ReadonlyMap<string, number>): (string | number)[] {
  const path: (string | number)[] = [];
  for (const [i, key] of keys.entries()) {
    path.push(key);
    const index = i < keys.length - 1 ? arrays.get(pathKey(path)) : undefined;
    if (index !== undefined) path.push(index);
  }
  return path;
}

function setOnce(lines: Map<string, number>, key: string, line: number): void {
  if (!lines.has(key)) lines.set(key, line);
}

interface Scan {
  readonly text: string;
  at: number;
  line: number;
}

/** A dotted key up to `=` or `]`. */
function readKey(scan: Scan): string[] {
  const keys: string[] = [];
  while (scan.at < scan.text.length) {
    const char = scan.text[scan.at] ?? "";
    if (char === "=" || char === "]") break;
    if (char === '"' || char === "'") {
      const start = scan.at;
      skipString(scan);
      const raw = scan.text.slice(start, scan.at);
      keys.push(char === '"' ? unescape(raw) : raw.slice(1, -1));
    } else if (/[A-Za-z0-9_-]/.test(char)) {
      const word = /^[A-Za-z0-9_-]+/.exec(scan.text.slice(scan.at, scan.at + 256))?.[0] ?? char;
      keys.push(word);
      scan.at += word.length;
    } else scan.at++;
  }
  return keys;
}

/** JSON knows the escapes that occur in keys. */
function unescape(raw: string): string {
  try {
    return JSON.parse(raw) as string;
  } catch {
    return raw.slice(1, -1);
  }
}

/** Skips to the end of the line, or of a bracket or long string that began on it. */
function skipValue(scan: Scan): void {
  let depth = 0;
  while (scan.at < scan.text.length) {
    const char = scan.text[scan.at];
    if (char === '"' || char === "'") {
      skipString(scan);
      continue;
    }
    if (char === "#") {
      while (scan.at < scan.text.length && scan.text[scan.at] !== "\n") scan.at++;
      continue;
    }
    if (char === "[" || char === "{") depth++;
    if (char === "]" || char === "}") depth--;
    if (char === "\n") {
      if (depth === 0) return;
      scan.line++;
    }
    scan.at++;
  }
}

function skipString(scan: Scan): void {
  const quote = scan.text[scan.at] ?? '"';
  const long = quote.repeat(3);
  const end = scan.text.startsWith(long, scan.at) ? long : quote;
  scan.at += end.length;
  while (scan.at < scan.text.length && !scan.text.startsWith(end, scan.at)) {
    if (scan.text[scan.at] === "\\" && quote === '"') scan.at++;
    if (scan.text[scan.at] === "\n") scan.line++;
    scan.at++;
  }
  scan.at += end.length;
  // A long string may end in up to two quotes of its own.
  if (end === long) while (scan.text[scan.at] === quote) scan.at++;
}

function skipBlank(scan: Scan): void {
  while (scan.at < scan.text.length) {
    const char = scan.text[scan.at] ?? "";
    if (char === "#") skipLine(scan);
    else if (/\s/.test(char)) {
      if (char === "\n") scan.line++;
      scan.at++;
    } else return;
  }
}

function skipLine(scan: Scan): void {
  while (scan.at < scan.text.length && scan.text[scan.at] !== "\n") scan.at++;
}
