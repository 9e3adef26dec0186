/** The definitions of tools for the model, made from the zod schemas. */
import { defined } from "../lib/values.ts";
import { z } from "zod";
import { builtinTools } from "./builtin.ts";
import type { Tool } from "./tool.ts";

export interface ToolSchema extends Pick<Tool, "name" | "description" | "needs" | "onTarget"> {
  readonly parameters: Readonly<Record<string, unknown>>;
}

/**
 * Run by scripts/build.ts when the program is bundled: this takes longer (13 ms) than everything else that happens
 * before the first request leaves.
 */
export function builtinSchemas(): ToolSchema[] {
  const fetch = () => Promise.reject(new Error("only described"));
  return schemasOf(
    builtinTools({
      shell: { timeoutMs: 0, slowTimeoutMs: 0 },
      fetch: { fetch, rules: { allow: [], deny: [] }, timeoutMs: 0 },
      search: { fetch, blockedDomains: [], timeoutMs: 0 },
    }),
  );
}

export function schemasOf(tools: readonly Tool[]): ToolSchema[] {
  return tools.map((tool) => {
    const { $schema: _, ...parameters } = z.toJSONSchema(tool.input, { io: "input" });
    return {
      name: tool.name,
      description: tool.description,
      parameters: common(parameters) as ToolSchema["parameters"],
      ...defined({ needs: tool.needs, onTarget: tool.onTarget }),
    };
  });
}

/**
 * The part of JSON Schema that every provider accepts: `minimum` in place of `exclusiveMinimum`, `enum` in place of
 * `const`, and no bounds that only say "a safe integer".
 */
function common(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(common);
  if (typeof schema !== "object" || schema === null) return schema;
  const { exclusiveMinimum, const: only, ...rest } = schema as Readonly<Record<string, unknown>>;
  const entries = Object.entries(rest)
    .filter(([, value]) => value !== Number.MAX_SAFE_INTEGER && value !== Number.MIN_SAFE_INTEGER)
    .map(([key, value]) => [key, common(value)] as const);
  return {
    ...Object.fromEntries(entries),
    ...(typeof exclusiveMinimum === "number" && { minimum: exclusiveMinimum + (rest["type"] === "integer" ? 1 : 0) }),
    ...(only !== undefined && { enum: [only] }),
  };
}
