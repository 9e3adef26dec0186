/** The tools of a run: their definitions for the model, and the check of a call's arguments. */
import { builtinSchemas, type ToolSchema } from "./schemas.ts";
import { collectAfter } from "../lib/large-texts.ts";
import { filledIn } from "../lib/text.ts";
import type { TargetFacts, Tool } from "./tool.ts";
import { messageOf } from "../lib/errors.ts";
import { jsonObject, parseJson } from "../lib/values.ts";

export class Registry {
  readonly #schemas: readonly ToolSchema[];
  readonly #values: Readonly<Record<string, string>>;
  readonly #load: () => Promise<readonly Tool[]>;
  readonly #more: MoreTools | undefined;
  #tools: Promise<ReadonlyMap<string, Tool>> | undefined;
  #described: { key: string; more: readonly ToolSchema[]; schemas: readonly ToolSchema[] } | undefined;

  constructor(options: RegistryOptions) {
    const { enabled } = options;
    this.#schemas = (options.schemas ?? BUILTIN).filter((schema) => enabled === undefined || enabled(schema.name));
    this.#values = options.values ?? {};
    this.#load = options.load;
    this.#more = options.more;
  }

  /** The first call loads all of them. */
  async get(name: string): Promise<Tool | undefined> {
    if (this.#more?.schemas.some((schema) => schema.name === name) === true) return this.#more.get(name);
    if (!this.#schemas.some((schema) => schema.name === name)) return undefined;
    this.#tools ??= this.#load().then(
      (tools) => new Map(tools.map((tool) => [tool.name, tool])),
      (error: unknown) => {
        // Tried again with the next call: the cause (a full disk, too many open files) may be gone.
        this.#tools = undefined;
        throw error;
      },
    );
    return (await this.#tools).get(name);
  }

  /** Begins to load the tools, while the model thinks. */
  warm(): void {
    this.get(this.#schemas[0]?.name ?? "").catch(() => undefined);
  }

  /** Names of the tools for the target; those that need tmux unless it is known to have none. */
  offered(facts: TargetFacts): readonly string[] {
    return this.definitions(facts).map((schema) => schema.name);
  }

  /** The same array until the facts change. */
  definitions(facts: TargetFacts): readonly ToolSchema[] {
    const key = `${facts.label}\n${facts.tmux}\n${facts.ownPane}\n${facts.machines !== undefined}`;
    const more = this.#more?.schemas ?? NONE;
    if (this.#described?.key !== key || this.#described.more !== more)
      this.#described = { key, more, schemas: [...this.#describe(facts), ...more] };
    return this.#described.schemas;
  }

  #describe(facts: TargetFacts): ToolSchema[] {
    const values = { ...this.#values, label: facts.label };
    return this.#schemas
      .filter(
        ({ needs }) => needs === undefined || facts.tmux !== false || (needs === "pane" && facts.ownPane === true),
      )
      .map(({ name, description, parameters, onTarget }) => ({
        name,
        description: filledIn(description, values),
        parameters: onTarget === true && facts.machines !== undefined ? withOn(parameters) : parameters,
      }));
  }
}

/** The same schema whatever the machines are: the system prompt names them. */
function withOn(parameters: ToolSchema["parameters"]): ToolSchema["parameters"] {
  const properties = parameters["properties"] as Readonly<Record<string, unknown>>;
  const on = {
    type: "array",
    items: { type: "string" },
    description: "machines: names, globs or ranges like web[01-03]; default: all",
  };
  return { ...parameters, properties: { ...properties, on } };
}

/** `on` of a call, and its arguments without it. */
export function takeOn(
  text: string,
): { readonly text: string; readonly on?: readonly string[] } | { readonly problem: string } {
  const json = jsonObject(text);
  if (json === undefined || !("on" in json)) return { text };
  const { on, ...rest } = json;
  const list = typeof on === "string" ? [on] : on;
  if (list === null || list === undefined) return { text: JSON.stringify(rest) };
  if (!Array.isArray(list) || list.length === 0 || !list.every((one) => typeof one === "string"))
    return { problem: 'on must be a list of machine names, such as ["web01", "db*"]; leave it out for all' };
  return { text: JSON.stringify(rest), on: list };
}

/** Tools of servers, which may change; the built-in ones come first. */
export interface MoreTools {
  /** Another array when they have changed. */
  readonly schemas: readonly ToolSchema[];
  get(name: string): Promise<Tool | undefined>;
}

const NONE: readonly ToolSchema[] = [];

export interface RegistryOptions {
  /** The built-in tools unless given. */
  readonly schemas?: readonly ToolSchema[];
  enabled?(name: string): boolean;
  /** Values for {{…}} in descriptions, in addition to the facts of the target. */
  readonly values?: Readonly<Record<string, string>>;
  load(): Promise<readonly Tool[]>;
  readonly more?: MoreTools | undefined;
}

const BUILTIN: readonly ToolSchema[] = builtinSchemas();

export type ParsedArguments =
  | { readonly ok: true; readonly input: unknown; readonly json: unknown }
  | { readonly ok: false; readonly message: string; readonly json: unknown };

/** Replaces half a surrogate pair, which is neither a character nor a byte of a name. */
const wellFormed = (_key: string, value: unknown) => (typeof value === "string" ? value.toWellFormed() : value);

/** The checked input, or what is wrong with it, for the model. */
export function parseArguments(tool: Tool, text: string): ParsedArguments {
  let json: unknown = {};
  if (text.trim() !== "") {
    try {
      json = parseJson(text, /\\ud/i.test(text) ? wellFormed : undefined);
    } catch (error) {
      const message = `the arguments are not valid JSON (${messageOf(error)}). Send one JSON object.`;
      return { ok: false, json: undefined, message };
    }
  }
  collectAfter(text.length);
  const parsed = tool.input.safeParse(json);
  if (parsed.success) return { ok: true, input: parsed.data, json };
  const problems = parsed.error.issues.slice(0, SHOWN).map((issue) => {
    const where = issue.path.length > 0 ? `${issue.path.join(".")}: ` : "";
    return where + issue.message;
  });
  const more = parsed.error.issues.length - problems.length;
  if (more > 0) problems.push(`and ${more} more`);
  return {
    ok: false,
    json,
    message: `invalid arguments for ${tool.name}: ${problems.join("; ")}. Correct them and call again.`,
  };
}

/** Hostile input can have thousands of problems. */
const SHOWN = 5;
