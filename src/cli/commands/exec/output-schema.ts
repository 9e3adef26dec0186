/** --output-schema: reads the JSON Schema, passes it to the model, and checks the answer. */
import { readFileSync } from "node:fs";
import { BuddyError, messageOf } from "../../../lib/errors.ts";
import { fileError } from "../../../lib/files.ts";
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
