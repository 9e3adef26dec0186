/** What the model is told of each tool, made from the zod schemas. */
import { z } from "zod";
import { builtinTools } from "./builtin.ts";
import type { Tool } from "./tool.ts";

export interface ToolSchema {
  readonly name: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly needs?: "tmux" | "pane";
}

/**
 * Run as a macro when the program is bundled: making these takes longer (13 ms) than everything else that happens
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
      parameters,
      ...(tool.needs === undefined ? {} : { needs: tool.needs }),
    };
  });
}
