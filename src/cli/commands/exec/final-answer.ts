/** The final answer: --output-schema tells the model its form and checks it, --last-message writes it to a file. */
import { accessSync, constants, readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { BuddyError, messageOf } from "../../../lib/errors.ts";
import { fileError, writeError, writeFileAtomic } from "../../../lib/files.ts";
import { isRecord } from "../../../lib/values.ts";

export interface OutputSchema {
  readonly schema: Readonly<Record<string, unknown>>;
  /** Added to the prompt for the model. */
  readonly instruction: string;
  /** The JSON text of a valid answer, or what is wrong with it. */
  check(
    answer: string,
  ): { readonly ok: true; readonly json: string } | { readonly ok: false; readonly problem: string };
}

export async function loadOutputSchema(path: string): Promise<OutputSchema> {
  const schema = parse(path);
  const validate = await compile(path, schema);
  return {
    schema,
    instruction: `Answer with one JSON value only, without Markdown, valid against this JSON Schema:\n${JSON.stringify(schema)}`,
    check(answer) {
      const json = unfenced(answer);
      let value: unknown;
      try {
        value = JSON.parse(json);
      } catch (error) {
        return { ok: false, problem: `it is not JSON: ${messageOf(error)}` };
      }
      const problem = validate(value);
      return problem === undefined ? { ok: true, json } : { ok: false, problem };
    },
  };
}

function parse(path: string): Readonly<Record<string, unknown>> {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    throw new BuddyError("usage", `cannot read the output schema ${path}: ${fileError(cause)}`, { cause });
  }
  try {
    const value: unknown = JSON.parse(text);
    if (isRecord(value)) return value as Record<string, unknown>;
  } catch (cause) {
    throw new BuddyError("usage", `${path} is not JSON: ${messageOf(cause)}`, { cause });
  }
  throw new BuddyError("usage", `${path} is not a JSON Schema: it must be an object`);
}

/** An ajv instance knows one draft; formats are annotations, as in the newer drafts. */
async function compile(
  path: string,
  schema: Readonly<Record<string, unknown>>,
): Promise<(value: unknown) => string | undefined> {
  const draft = typeof schema["$schema"] === "string" ? schema["$schema"] : "";
  const { default: Ajv } = /2020-12/.test(draft)
    ? await import("ajv/dist/2020.js")
    : /2019-09/.test(draft)
      ? await import("ajv/dist/2019.js")
      : await import("ajv");
  const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false, logger: false });
  try {
    const validate = ajv.compile(schema);
    return (value) =>
      validate(value)
        ? undefined
        : (validate.errors ?? [])
            .slice(0, MOST_PROBLEMS)
            .map((error) => `${error.instancePath || "the value"} ${error.message ?? "is not valid"}`)
            .join("; ");
  } catch (cause) {
    throw new BuddyError("usage", `${path} is not a usable JSON Schema: ${messageOf(cause)}`, { cause });
  }
}

/** Models put JSON into a code block even when asked not to. */
function unfenced(answer: string): string {
  const text = answer.trim();
  const inside = /^```[a-z]*\n([\s\S]*?)\n?```$/i.exec(text);
  return (inside?.[1] ?? text).trim();
}

const MOST_PROBLEMS = 8;

// ── The file of --last-message: checked before anything is sent, so that no answer is lost; written at the end.

/** Throws where the file could not be written; returns how to write it. */
export function lastMessageTo(path: string): (answer: string) => Promise<void> {
  requireWritable(path);
  return (answer) => write(path, answer);
}

function requireWritable(path: string): void {
  if (openAs(path) !== undefined) return;
  try {
    const existing = statSync(path, { throwIfNoEntry: false });
    if (existing?.isDirectory()) throw unwritable(path, "it is a directory");
    accessSync(existing === undefined || existing.isFile() ? dirname(path) : path, constants.W_OK);
  } catch (cause) {
    if (cause instanceof BuddyError) throw cause;
    throw unwritable(path, writeError(cause), cause);
  }
}

async function write(path: string, answer: string): Promise<void> {
  const text = answer.endsWith("\n") ? answer : `${answer}\n`;
  try {
    const open = openAs(path);
    if (open !== undefined) return void (await Bun.write(Bun.file(open), text));
    // A directory that was removed meanwhile must not be made again.
    accessSync(dirname(path));
    writeFileAtomic(path, text, 0o644);
  } catch (cause) {
    throw unwritable(path, fileError(cause), cause);
  }
}

function unwritable(path: string, why: string, cause?: unknown): BuddyError {
  return new BuddyError("usage", `cannot write ${path}: ${why}`, { cause });
}

/** The descriptor that a path stands for: a socket cannot be opened by its path, only written to. */
function openAs(path: string): number | undefined {
  if (path === "/dev/stdout") return 1;
  if (path === "/dev/stderr") return 2;
  const number = /^\/(?:dev|proc\/self)\/fd\/(\d{1,6})$/.exec(path)?.[1];
  return number === undefined ? undefined : Number(number);
}
