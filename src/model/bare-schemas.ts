/** Tools for a server that refused their schemas: with the part of JSON Schema that every server knows. */
import { isRecord } from "../lib/values.ts";
import type { ToolDefinition } from "./types.ts";

/** Limits and choices are gone; the tools check their arguments themselves. */
export function bareTools(tools: readonly ToolDefinition[]): ToolDefinition[] {
  return tools.map((tool) => ({ ...tool, parameters: bare(tool.parameters) }));
}

type Schema = Readonly<Record<string, unknown>>;

function bare(schema: Schema): Schema {
  const [choice] = Array.isArray(schema["anyOf"]) ? schema["anyOf"].filter(isRecord) : [];
  const { type, description, enum: values, required, items, properties } = { ...choice, ...schema } as Schema;
  return {
    type: (Array.isArray(type) ? type.find((one) => one !== "null") : type) ?? "string",
    ...(description !== undefined && { description }),
    ...(values !== undefined && { enum: values }),
    ...(isRecord(properties) && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, one]) => [name, bare(isRecord(one) ? one : {})]),
      ),
    }),
    ...(required !== undefined && { required }),
    ...(isRecord(items) && { items: bare(items) }),
  };
}
