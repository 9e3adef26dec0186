/** A server's list of tools as the model gets it: checked, bounded, with names that every provider accepts. */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { McpSettings } from "../../config/schema.ts";
import type { AllowDeny } from "../../config/setting.ts";
import { writeFileAtomic } from "../../lib/files.ts";
import { matchesGlob } from "../../lib/names.ts";
import { redactor } from "../../lib/secrets/redact.ts";
import { collapseSpaces, shorten, words } from "../../lib/text.ts";
import { defined, isRecord, sha256 } from "../../lib/values.ts";

/** What is remembered of a tool; only its name is as the server sent it. */
export interface OfferedTool {
  /** As the server calls it. */
  readonly name: string;
  /** As the model calls it: SERVER__tool. */
  readonly offered: string;
  readonly description: string;
  readonly parameters: JsonSchema;
  /** What the server claims; believed only of a trusted server. */
  readonly readOnly: boolean;
  readonly destructive: boolean;
}

interface ToolList {
  readonly tools: readonly OfferedTool[];
  /** Entries that cannot be used, and why. */
  readonly problems: readonly string[];
}

export function offeredTools(server: string, raw: readonly unknown[]): ToolList {
  const problems: string[] = [];
  const tools = new Map<string, OfferedTool>();
  for (const one of raw.slice(0, MOST_LISTED)) {
    const tool = isRecord(one) ? readTool(server, one) : "an entry is not an object";
    if (typeof tool === "string") problems.push(tool);
    else if (tools.has(tool.offered)) problems.push(`tool ${shown(tool.name)} is listed twice; the first one counts`);
    else tools.set(tool.offered, tool);
  }
  if (raw.length > MOST_LISTED) problems.push(`only the first ${MOST_LISTED} of ${raw.length} tools are considered`);
  return { tools: [...tools.values()], problems: problems.slice(0, MOST_PROBLEMS) };
}

function readTool(server: string, raw: Readonly<Record<string, unknown>>): OfferedTool | string {
  const { name, description, inputSchema: schema, annotations, title } = raw;
  if (typeof name !== "string" || name === "" || name.length > MOST_NAME) return "a tool has no usable name";
  if (/[\p{C}\s]/u.test(name)) return `tool ${shown(name)} has invisible characters in its name`;
  const parameters = inputSchema(schema);
  if (parameters === undefined) return `tool ${shown(name)} does not take an object`;
  const hints = isRecord(annotations) ? annotations : {};
  const destructive = hints["destructiveHint"] === true;
  const text = [description, title, hints["title"]].find((one) => typeof one === "string" && one.trim() !== "");
  return {
    name,
    offered: offeredName(server, name),
    description: tidy(typeof text === "string" ? text : name, MOST_DESCRIPTION),
    parameters,
    // What claims both does not only read.
    readOnly: hints["readOnlyHint"] === true && !destructive,
    destructive,
  };
}

/** At most 64 letters, digits, - and _: a hash distinguishes names that were cut or changed. */
function offeredName(server: string, name: string): string {
  const plain = name.replaceAll(/[^a-zA-Z0-9_-]/g, "_");
  const room = MOST_OFFERED - server.length - SEPARATOR.length;
  if (plain === name && plain.length <= room) return `${server}${SEPARATOR}${plain}`;
  const hash = sha256(name).slice(0, 6);
  return `${server}${SEPARATOR}${plain.slice(0, room - hash.length - 1)}_${hash}`;
}

/** The tools that `tools` in [mcp.NAME] allows, by the names that the server uses. */
export function allowedTools(tools: readonly OfferedTool[], { allow, deny }: AllowDeny): OfferedTool[] {
  const any = (patterns: readonly string[], name: string) => patterns.some((pattern) => matchesGlob(pattern, name));
  return tools.filter(({ name }) => (allow.length === 0 || any(allow, name)) && !any(deny, name));
}

function shown(name: string): string {
  return JSON.stringify(tidy(name, 60));
}

const SEPARATOR = "__";
const MOST_OFFERED = 64;
const MOST_NAME = 200;
const MOST_DESCRIPTION = 1000;
const MOST_LISTED = 500;
const MOST_PROBLEMS = 20;

/** The lists of earlier sessions, so that a first request need not wait for a server. */
export interface RememberedLists {
  /** Undefined for a server that was never used, or whose command or url changed. */
  read(server: string, settings: McpSettings): readonly OfferedTool[] | undefined;
  /** If a list cannot be stored, the next start waits for the server again. */
  write(server: string, settings: McpSettings, tools: readonly OfferedTool[]): void;
  remove(server: string): void;
  /** The definition of a tool when it was first used, as a hash. */
  firstUsed(server: string, settings: McpSettings, tool: string): string | undefined;
  used(server: string, settings: McpSettings, tool: OfferedTool): void;
  /** A person has seen the list: what is used next counts as first used. */
  accept(server: string, settings: McpSettings): void;
}

export function definition(tool: OfferedTool): string {
  return sha256(JSON.stringify(tool));
}

/** Without a directory nothing is remembered. */
export function rememberedLists(directory: string | undefined): RememberedLists {
  const file = (server: string) => (directory === undefined ? undefined : join(directory, "mcp", `${server}.json`));
  const stored = (server: string, settings: McpSettings): Stored => {
    const path = file(server);
    const nothing = { tools: undefined, used: {} };
    try {
      const found: unknown = path === undefined ? undefined : JSON.parse(readFileSync(path, "utf8"));
      if (!isRecord(found) || found["version"] !== VERSION || found["server"] !== identity(settings)) return nothing;
      const { tools, used } = found;
      return {
        tools: Array.isArray(tools) && tools.every(isTool) ? (tools as OfferedTool[]) : undefined,
        used: isRecord(used) ? used : {},
      };
    } catch {
      return nothing;
    }
  };
  const store = (server: string, settings: McpSettings, change: Partial<Stored>): void => {
    const path = file(server);
    if (path === undefined) return;
    const next = { version: VERSION, server: identity(settings), ...stored(server, settings), ...change };
    try {
      writeFileAtomic(path, `${JSON.stringify(next)}\n`);
    } catch {
      // The disk is full, or the directory cannot be written.
    }
  };
  return {
    read: (server, settings) => stored(server, settings).tools,
    write: (server, settings, tools) => store(server, settings, { tools }),
    remove(server) {
      const path = file(server);
      if (path !== undefined) rmSync(path, { force: true });
    },
    firstUsed(server, settings, tool) {
      const { used } = stored(server, settings);
      const hash = Object.hasOwn(used, tool) ? used[tool] : undefined;
      return typeof hash === "string" ? hash : undefined;
    },
    used(server, settings, tool) {
      const { used } = stored(server, settings);
      store(server, settings, { used: { ...used, [tool.name]: definition(tool) } });
    },
    accept: (server, settings) => store(server, settings, { used: {} }),
  };
}

interface Stored {
  readonly tools: readonly OfferedTool[] | undefined;
  readonly used: Readonly<Record<string, unknown>>;
}

/** Another program or address is another server. */
function identity({ command, url }: McpSettings): string {
  return sha256(JSON.stringify([command ?? null, url ?? null]));
}

function isTool(value: unknown): boolean {
  return (
    isRecord(value) &&
    typeof value["name"] === "string" &&
    typeof value["offered"] === "string" &&
    /^[a-z0-9-]+__[a-zA-Z0-9_-]+$/.test(value["offered"]) &&
    typeof value["description"] === "string" &&
    isRecord(value["parameters"]) &&
    typeof value["readOnly"] === "boolean" &&
    typeof value["destructive"] === "boolean"
  );
}

const VERSION = 3;

// ── The arguments of a server's tool as a JSON Schema of limited size that every model protocol accepts.

type JsonSchema = Readonly<Record<string, unknown>>;

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
    if (typeof text === "string") out["description"] = tidy(text, MOST_OF_A_FIELD);
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
const MOST_OF_A_FIELD = 500;
