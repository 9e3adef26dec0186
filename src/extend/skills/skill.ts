/** Reads SKILL.md (the open Agent Skills format, and the keys that make a skill a runbook) and the folder it is in. */
import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { basename, join, relative, resolve, sep } from "node:path";
import { messageOf } from "../../lib/errors.ts";
import { readTextFile } from "../../lib/files.ts";
import { collapseSpaces, shorten, words } from "../../lib/text.ts";
import { defined, isRecord } from "../../lib/values.ts";

export interface SkillText {
  readonly name: string;
  /** One line. */
  readonly description: string;
  readonly body: string;
  /** Undefined for a skill that only the model loads. */
  readonly runbook?: Runbook;
}

/** What a person can run by name. */
export interface Runbook {
  readonly parameters: readonly Parameter[];
  /** Patterns of the targets it may run on; empty: any. */
  readonly on: readonly string[];
  /** `mode: read-only`: nothing it does may change anything. */
  readonly readOnly: boolean;
}

export interface Parameter {
  readonly name: string;
  readonly description: string;
  readonly required: boolean;
  readonly fallback?: string;
  /** The only values it takes; empty: any. */
  readonly choices: readonly string[];
  /** Its value names the machine to run on. */
  readonly target: boolean;
}

interface ParsedSkill {
  /** Undefined if `problems` make it unusable. */
  readonly skill?: SkillText;
  readonly problems: readonly string[];
  /** Problems that do not make it unusable. */
  readonly warnings: readonly string[];
}

/** `folder`: the name of its directory, which must be its own name. */
export function parseSkill(text: string, folder: string): ParsedSkill {
  const matter = readFrontMatter(text);
  if (matter.kind === "damaged") return { problems: [matter.problem], warnings: [] };
  const reader = new Reader(matter.data);
  const name = reader.text("name", MOST_NAME, true);
  if (name !== "" && !NAME.test(name))
    reader.problems.push(`name "${shown(name)}" must be lower-case letters, digits and single hyphens`);
  else if (name !== "" && name !== folder)
    reader.problems.push(`name "${name}" must equal the name of its folder, "${shown(folder)}"`);
  const description = collapseSpaces(reader.text("description", MOST_DESCRIPTION, true));
  reader.text("license", MOST_DESCRIPTION, false);
  reader.text("compatibility", MOST_COMPATIBILITY, false);
  const runbook = reader.runbook();
  reader.warnUnknown();
  if (matter.body === "") reader.problems.push("there are no instructions below the front matter");
  const unknown = undeclared(matter.body, runbook?.parameters ?? []);
  if (runbook !== undefined && unknown.length > 0)
    reader.problems.push(
      `the text uses ${unknown.map((one) => `{{${one}}}`).join(", ")}, which parameters does not list`,
    );
  const { problems, warnings } = reader;
  if (problems.length > 0) return { problems, warnings };
  return { skill: { name, description, body: matter.body, ...defined({ runbook }) }, problems, warnings };
}

/** Names in {{…}} that are not parameters. */
function undeclared(body: string, parameters: readonly Parameter[]): string[] {
  const used = new Set([...body.matchAll(PLACEHOLDER)].map(([, name = ""]) => name));
  return [...used].filter((name) => !parameters.some((parameter) => parameter.name === name));
}

/** In the body of a runbook. */
export const PLACEHOLDER = /\{\{\s*([a-z][a-z0-9_-]*)\s*\}\}/g;

class Reader {
  readonly problems: string[] = [];
  readonly warnings: string[] = [];
  readonly #data: Readonly<Record<string, unknown>>;

  constructor(data: Readonly<Record<string, unknown>>) {
    this.#data = data;
  }

  text(key: string, most: number, required: boolean): string {
    const value = this.#data[key];
    if (value === undefined || value === null || value === "") {
      if (required) this.problems.push(`${key} is missing`);
      return "";
    }
    if (typeof value !== "string") {
      this.problems.push(`${key} must be a string`);
      return "";
    }
    if (value.trim().length > most)
      this.problems.push(`${key} has ${value.trim().length} characters, at most ${most} are allowed`);
    if (UNPRINTABLE.test(value)) this.problems.push(`${key} has control characters in it`);
    return value.trim();
  }

  runbook(): Runbook | undefined {
    const { parameters, on, mode } = this.#data;
    if (parameters === undefined && on === undefined && mode === undefined) return undefined;
    if (mode !== undefined && mode !== "read-only") this.problems.push("mode must be read-only, or left out");
    return { parameters: this.#parameters(parameters), on: this.#texts("on", on), readOnly: mode === "read-only" };
  }

  warnUnknown(): void {
    const unknown = Object.keys(this.#data).filter((key) => !KNOWN.has(key));
    if (unknown.length > 0)
      this.warnings.push(`unknown keys are ignored: ${unknown.map(shown).slice(0, 10).join(", ")}`);
    if (this.#data["allowed-tools"] !== undefined)
      this.warnings.push("allowed-tools has no effect: calls are checked and need approval as usual");
  }

  /** A map from name to description or details, or a list of details. */
  #parameters(value: unknown): Parameter[] {
    if (value === undefined || value === null) return [];
    const entries: [unknown, unknown][] = isRecord(value)
      ? Object.entries(value)
      : Array.isArray(value)
        ? value.map((one: unknown) => (isRecord(one) ? [one["name"], one] : [one, ""]))
        : [];
    if (entries.length === 0 && !isRecord(value) && !Array.isArray(value)) {
      this.problems.push("parameters must be a map from names to descriptions, or a list");
      return [];
    }
    if (entries.length > MOST_PARAMETERS) this.problems.push(`more than ${MOST_PARAMETERS} parameters`);
    const found = entries.slice(0, MOST_PARAMETERS).flatMap(([name, details]) => this.#parameter(name, details) ?? []);
    const twice = found.find(({ name }, at) => found.findIndex((other) => other.name === name) !== at);
    if (twice !== undefined) this.problems.push(`parameter ${twice.name} is given twice`);
    if (found.filter(({ target }) => target).length > 1) this.problems.push("only one parameter can name the target");
    return found;
  }

  #parameter(name: unknown, details: unknown): Parameter | undefined {
    if (typeof name !== "string" || !PARAMETER.test(name)) {
      this.problems.push(`"${shown(String(name))}" is not a valid parameter name: lower-case letters, digits, - and _`);
      return undefined;
    }
    const given = isRecord(details) ? details : { description: details ?? "" };
    const { description = "", default: fallback, required, choices, target = false } = given;
    const scalar = fallback === undefined || ["string", "number", "boolean"].includes(typeof fallback);
    if (
      typeof description !== "string" ||
      !scalar ||
      ![undefined, true, false].includes(required as boolean) ||
      typeof target !== "boolean"
    ) {
      this.problems.push(
        `parameter ${name}: description and default must be strings, required and target true or false`,
      );
      return undefined;
    }
    const values = this.#texts(`choices of parameter ${name}`, choices);
    if (fallback !== undefined && values.length > 0 && !values.includes(String(fallback)))
      this.problems.push(`parameter ${name}: the default is not one of its choices`);
    return {
      name,
      description: collapseSpaces(description),
      required: (required as boolean | undefined) ?? fallback === undefined,
      ...(fallback === undefined ? {} : { fallback: String(fallback) }),
      choices: values,
      target,
    };
  }

  #texts(key: string, value: unknown): string[] {
    if (value === undefined || value === null) return [];
    const list = (Array.isArray(value) ? value : [value]) as readonly unknown[];
    if (list.every((one) => typeof one === "string" && one.trim() !== "" && !UNPRINTABLE.test(one)))
      return (list as string[]).map((one) => one.trim());
    this.problems.push(`${key} must be a string or a list of strings`);
    return [];
  }
}

function shown(text: string): string {
  return JSON.stringify(shorten(text, 80)).slice(1, -1);
}

const NAME = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const PARAMETER = /^[a-z][a-z0-9_-]{0,31}$/;
const UNPRINTABLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
const KNOWN = new Set(words("name description license compatibility metadata allowed-tools parameters on mode"));
const MOST_NAME = 64;
const MOST_DESCRIPTION = 1024;
const MOST_COMPATIBILITY = 500;
const MOST_PARAMETERS = 32;

/** Front matter: the YAML between `---` lines at the head of a Markdown file, and the text below it. */
type FrontMatter =
  | { readonly kind: "read"; readonly data: Readonly<Record<string, unknown>>; readonly body: string }
  | { readonly kind: "damaged"; readonly problem: string };

/** Without front matter, the whole file is the body. */
export function readFrontMatter(text: string): FrontMatter {
  const source = text.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n");
  const opened = /^---[ \t]*\n/.exec(source);
  if (opened === null) return { kind: "read", data: {}, body: source.trim() };
  const rest = source.slice(opened[0].length);
  const closed = /^---[ \t]*(?:\n|$)/m.exec(rest);
  if (closed === null) return { kind: "damaged", problem: "the front matter has no closing --- line" };
  if (closed.index > MOST) return { kind: "damaged", problem: `the front matter has more than ${MOST} characters` };
  const body = rest.slice(closed.index + closed[0].length).trim();
  let data: unknown;
  try {
    data = Bun.YAML.parse(rest.slice(0, closed.index));
  } catch (error) {
    const why = error instanceof Error ? error.message.replace(/^YAML Parse error: /, "") : String(error);
    return { kind: "damaged", problem: `the front matter is not valid YAML (${why})` };
  }
  if (data === null || data === undefined) return { kind: "read", data: {}, body };
  if (!isRecord(data)) return { kind: "damaged", problem: "the front matter must be keys and values" };
  return { kind: "read", data, body };
}

const MOST = 16_384;

// ── The files of a skill's folder: listed, read, hashed and checked, never outside the folder.

export const SKILL_FILE = "SKILL.md";

type Listing =
  /** Relative to the folder, with /. */
  { readonly kind: "files"; readonly files: readonly string[] } | { readonly kind: "refused"; readonly why: string };

/** Every file below the folder, always in the same order; refused if a link leads out of it, or it is too large. */
export function listFolder(folder: string): Listing {
  const root = realpathSync(folder);
  const files: string[] = [];
  let bytes = 0;
  const walk = (directory: string, depth: number): string | undefined => {
    if (depth > MOST_DEPTH) return "its directories are nested too deeply";
    for (const name of readdirSync(directory).toSorted(byBytes)) {
      const path = join(directory, name);
      const shown = relative(root, path);
      const stat = lstatSync(path);
      if (stat.isSymbolicLink()) {
        if (!inside(path, root)) return `${shown} is a link out of it`;
        if (lstatSync(realpathSync(path)).isDirectory()) return `${shown} is a link to a directory`;
      }
      if (stat.isDirectory()) {
        const why = walk(path, depth + 1);
        if (why !== undefined) return why;
        continue;
      }
      const real = lstatSync(realpathSync(path));
      if (!real.isFile()) return `${shown} is not a regular file`;
      bytes += real.size;
      files.push(shown.split(sep).join("/"));
      if (files.length > MOST_FILES) return `it has more than ${MOST_FILES} files`;
      if (bytes > MOST_BYTES) return `it has more than ${MOST_BYTES / 1_000_000} MB`;
    }
    return undefined;
  };
  try {
    const why = walk(root, 0);
    return why === undefined ? { kind: "files", files } : { kind: "refused", why };
  } catch (error) {
    return { kind: "refused", why: messageOf(error) };
  }
}

/** One hash of all names, modes and contents; undefined: the folder cannot be read. */
export function hashFolder(folder: string): string | undefined {
  const listing = listFolder(folder);
  if (listing.kind === "refused") return undefined;
  const hash = new Bun.CryptoHasher("sha256");
  try {
    for (const path of listing.files) {
      const full = join(folder, path);
      const content = readFileSync(full);
      const runs = (lstatSync(realpathSync(full)).mode & 0o111) !== 0;
      hash
        .update(`${JSON.stringify(path)} ${runs ? "x" : "-"} ${content.length}\n`)
        .update(content)
        .update("\n");
    }
  } catch {
    return undefined;
  }
  return hash.digest("hex");
}

type FileRead = { readonly kind: "text"; readonly text: string } | { readonly kind: "refused"; readonly why: string };

/** A text file of the folder, by its path relative to it. */
export function readInFolder(folder: string, path: string): FileRead {
  const listing = listFolder(folder);
  if (listing.kind === "refused") return listing;
  const wanted = path.replace(/^(?:\.\/)+/, "");
  if (!listing.files.includes(wanted)) return { kind: "refused", why: `it has no file "${shorten(path, 200)}"` };
  try {
    return { kind: "text", text: readTextFile(join(folder, wanted), MOST_TEXT) };
  } catch (error) {
    return { kind: "refused", why: `${wanted}: ${messageOf(error)}` };
  }
}

/** Whether the real path is the root or below it. */
export function inside(path: string, root: string): boolean {
  try {
    const real = realpathSync(path);
    return real === root || real.startsWith(root.endsWith(sep) ? root : root + sep);
  } catch {
    return false;
  }
}

function byBytes(a: string, b: string): number {
  return a < b ? -1 : 1;
}

const MOST_FILES = 500;
const MOST_BYTES = 10_000_000;
const MOST_DEPTH = 8;
/** Of a file that is read as text. */
const MOST_TEXT = 1_000_000;

/** Everything that is wrong with a folder as a skill. */
interface SkillCheck {
  readonly name?: string;
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
  readonly files: number;
}

export function checkSkill(dir: string): SkillCheck {
  const folder = resolve(dir);
  const wrong = (...problems: string[]): SkillCheck => ({ problems, warnings: [], files: 0 });
  if (!existsSync(folder)) return wrong(`${dir} does not exist`);
  if (!statSync(folder).isDirectory()) return wrong(`${dir} is not a directory`);
  const file = join(folder, SKILL_FILE);
  if (!existsSync(file)) return wrong(`there is no ${SKILL_FILE} in ${dir}`);
  const listing = listFolder(folder);
  if (listing.kind === "refused") return wrong(listing.why);
  if (lstatSync(file).size > MOST_SKILL_TEXT) return wrong(`${SKILL_FILE} has more than ${MOST_SKILL_TEXT} bytes`);
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(file));
  } catch {
    return wrong(`${SKILL_FILE} cannot be read as UTF-8 text`);
  }
  const { skill, problems, warnings } = parseSkill(text, basename(folder));
  const long = text.split("\n").length;
  return {
    ...defined({ name: skill?.name }),
    problems,
    warnings: [
      ...warnings,
      ...(long > ADVISED_LINES ? [`${SKILL_FILE} has ${long} lines; put details into files beside it`] : []),
    ],
    files: listing.files.length,
  };
}

/** What the format recommends. */
const ADVISED_LINES = 500;
export const MOST_SKILL_TEXT = 256 * 1024;
