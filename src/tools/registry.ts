/** The tools of a run: what the model is told of them, and how its words become a checked call. */
import { z } from "zod";
import type { TargetFacts, Tool } from "./tool.ts";

export class Registry {
  readonly #tools: ReadonlyMap<string, Tool>;
  readonly #parameters = new Map<string, Readonly<Record<string, unknown>>>();

  #described: { key: string; schemas: readonly ToolSchema[] } | undefined;

  constructor(tools: readonly Tool[]) {
    this.#tools = new Map(tools.map((tool) => [tool.name, tool]));
  }

  get(name: string): Tool | undefined {
    return this.#tools.get(name);
  }

  /** The tools that can work there; those that need tmux only once the target is known to have it. */
  offered(facts: TargetFacts): readonly Tool[] {
    return [...this.#tools.values()].filter((tool) => tool.needs !== "tmux" || facts.tmux === true);
  }

  /** The same array for as long as the facts are the same. */
  definitions(facts: TargetFacts): readonly ToolSchema[] {
    const key = `${facts.label}\n${facts.cwd}\n${facts.tmux}`;
    if (this.#described?.key !== key) this.#described = { key, schemas: this.#describe(facts) };
    return this.#described.schemas;
  }

  #describe(facts: TargetFacts): readonly ToolSchema[] {
    return this.offered(facts).map((tool) => ({
      name: tool.name,
      description: typeof tool.description === "string" ? tool.description : tool.description(facts),
      parameters: this.#schema(tool),
    }));
  }

  #schema(tool: Tool): Readonly<Record<string, unknown>> {
    let schema = this.#parameters.get(tool.name);
    if (schema === undefined) {
      const { $schema: _, ...rest } = z.toJSONSchema(tool.input, { io: "input" });
      schema = rest;
      this.#parameters.set(tool.name, schema);
    }
    return schema;
  }
}

export interface ToolSchema {
  readonly name: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

export type ParsedArguments =
  | { readonly ok: true; readonly input: unknown; readonly json: unknown }
  | { readonly ok: false; readonly message: string; readonly json: unknown };

/** The model's argument text → checked input, or what is wrong with it in words the model can act on. */
export function parseArguments(tool: Tool, text: string): ParsedArguments {
  let json: unknown = {};
  if (text.trim() !== "") {
    try {
      json = JSON.parse(text);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      return {
        ok: false,
        json: undefined,
        message: `the arguments are not valid JSON (${why}). Send one JSON object.`,
      };
    }
  }
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

/** Problems named to the model; hostile input can have thousands. */
const SHOWN = 5;
