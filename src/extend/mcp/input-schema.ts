/** The arguments of a server's tool as a JSON Schema of limited size that every model protocol accepts. */
import { redactor } from "../../lib/secrets/redact.ts";
import { words, shorten, collapseSpaces } from "../../lib/text.ts";
import { defined, isRecord } from "../../lib/values.ts";

export type JsonSchema = Readonly<Record<string, unknown>>;

/** An object schema; undefined: the server's cannot be used at all. */
export function inputSchema(raw: unknown): JsonSchema | undefined {
  if (raw === undefined || raw === null) return EMPTY;
  if (!isRecord(raw)) return undefined;
  if (raw["type"] !== undefined && raw["type"] !== "object") return undefined;
  const reader = new Reader(raw);
  const schema = reader.read({ ...raw, type: "object" }, 0);
  if (reader.tooMuch || !isRecord(schema)) return OPEN;
  // Only an object at the root: some protocols refuse alternatives there.
  const { type: _, properties = {}, required, description } = schema;
  return { type: "object", properties, ...defined({ required, description }) };
}

const EMPTY: JsonSchema = { type: "object", properties: {} };
/** For a schema that is too large: the server reports what is wrong with a call. */
const OPEN: JsonSchema = { type: "object", properties: {}, additionalProperties: true };

class Reader {
  readonly #root: JsonSchema;
  #nodes = 0;

  constructor(root: JsonSchema) {
    this.#root = root;
  }

  get tooMuch(): boolean {
    return this.#nodes > MOST_NODES;
  }

  read(value: unknown, depth: number, refs: readonly string[] = []): unknown {
    if (++this.#nodes > MOST_NODES || depth > MOST_DEPTH || !isRecord(value)) return {};
    const ref = value["$ref"];
    if (typeof ref === "string") {
      const target = refs.includes(ref) ? undefined : this.#resolve(ref);
      return target === undefined ? {} : this.read(target, depth, [...refs, ref]);
    }
    const all = Array.isArray(value["allOf"]) ? value["allOf"].slice(0, MOST_BRANCHES) : [];
    const merged = all.reduce<JsonSchema>((sum, one) => merge(sum, this.#plain(one, refs)), value);
    const out: Record<string, unknown> = {};
    for (const key of COPIED) if (isScalar(merged[key])) out[key] = merged[key];
    const text = merged["description"] ?? merged["title"];
    if (typeof text === "string") out["description"] = tidy(text, MOST_DESCRIPTION);
    this.#type(merged["type"], out);
    this.#values(merged, out);
    const next = (one: unknown) => this.read(one, depth + 1, refs);
    if (isRecord(merged["properties"])) {
      const entries = Object.entries(merged["properties"])
        .filter(([name]) => PROPERTY.test(name))
        .slice(0, MOST_PROPERTIES);
      out["properties"] = Object.fromEntries(entries.map(([name, one]) => [name, next(one)]));
      const known = new Set(entries.map(([name]) => name));
      const required = Array.isArray(merged["required"])
        ? merged["required"].filter((name) => known.has(name as string))
        : [];
      if (required.length > 0) out["required"] = [...new Set(required)];
    }
    if (isRecord(merged["items"])) out["items"] = next(merged["items"]);
    else if (out["type"] === "array") out["items"] = {};
    const branches = [merged["anyOf"], merged["oneOf"]].find(Array.isArray) as unknown[] | undefined;
    if (branches !== undefined && out["type"] === undefined)
      this.#branches(branches.slice(0, MOST_BRANCHES).map(next), out);
    return out;
  }

  /** null is left out of a list of types. */
  #type(type: unknown, out: Record<string, unknown>): void {
    const list = (Array.isArray(type) ? type : [type]).filter((one) => TYPES.has(one as string)) as string[];
    const real = list.filter((one) => one !== "null");
    if (real.length === 1) out["type"] = real[0];
    else if (real.length > 1)
      out["anyOf"] = real.map((one) => (one === "array" ? { type: one, items: {} } : { type: one }));
  }

  #values(schema: JsonSchema, out: Record<string, unknown>): void {
    const list = Array.isArray(schema["enum"]) ? schema["enum"] : "const" in schema ? [schema["const"]] : [];
    const values = list.filter((one) => isScalar(one) && !unfit(one)).slice(0, MOST_VALUES);
    if (values.length === 0) return;
    out["enum"] = values;
    if (out["type"] === undefined && values.every((one) => typeof one === "string")) out["type"] = "string";
  }

  #branches(read: readonly unknown[], out: Record<string, unknown>): void {
    const useful = read.filter((one) => isRecord(one) && Object.keys(one).length > 0) as JsonSchema[];
    if (useful.length === 1) Object.assign(out, { ...useful[0], ...out });
    else if (useful.length > 1) out["anyOf"] = useful;
  }

  #plain(value: unknown, refs: readonly string[]): JsonSchema {
    if (!isRecord(value)) return {};
    const ref = value["$ref"];
    if (typeof ref !== "string") return value;
    const target = refs.includes(ref) ? undefined : this.#resolve(ref);
    return isRecord(target) ? target : {};
  }

  /** Only inside the schema itself: nothing is fetched. */
  #resolve(ref: string): unknown {
    if (!ref.startsWith("#/")) return undefined;
    let at: unknown = this.#root;
    for (const part of ref.slice(2).split("/").slice(0, MOST_DEPTH)) {
      const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
      at = isRecord(at) && Object.hasOwn(at, key) ? at[key] : undefined;
    }
    return at;
  }
}

function merge(one: JsonSchema, other: JsonSchema): JsonSchema {
  const properties = { ...asRecord(one["properties"]), ...asRecord(other["properties"]) };
  const required = [...asList(one["required"]), ...asList(other["required"])];
  return { ...other, ...one, properties, required };
}

function asRecord(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}

function asList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function isScalar(value: unknown): boolean {
  return (
    typeof value === "boolean" ||
    (typeof value === "number" && Number.isFinite(value)) ||
    (typeof value === "string" && value.length <= MOST_TEXT)
  );
}

/** A value with characters that a person cannot see, or with a secret. */
function unfit(value: unknown): boolean {
  return typeof value === "string" && (/[\p{C}\p{Zl}\p{Zp}]/u.test(value) || redact(value) !== value);
}

/** One line without invisible characters and secrets. */
export function tidy(text: string, most: number): string {
  return shorten(collapseSpaces(redact(text).replaceAll(/[\p{C}\p{Zl}\p{Zp}]+/gu, " ")), most);
}

const redact = redactor([]);

const COPIED = words("minimum maximum minLength maxLength minItems maxItems format");
const TYPES = new Set(words("object array string number integer boolean null"));
/** Property names that providers accept. */
const PROPERTY = /^[a-zA-Z0-9_.-]{1,64}$/;
const MOST_NODES = 400;
const MOST_DEPTH = 8;
const MOST_PROPERTIES = 100;
const MOST_BRANCHES = 10;
const MOST_VALUES = 100;
const MOST_TEXT = 200;
const MOST_DESCRIPTION = 500;
