/** Runs a web tool against a server of the test, under rules that let nothing else be reached. */
import { safeFetch, type SafeFetch } from "../../src/policy/web/safe-fetch.ts";
import type { Tool, ToolResult } from "../../src/tools/tool.ts";

/** The real fetch, with site.test in place of a public name. */
export const localFetch: SafeFetch = (url, options) =>
  safeFetch(url, { ...options, environment: {}, resolve: () => Promise.resolve(["127.0.0.1"]) });

export async function runTool<In>(
  tool: Tool<In>,
  input: In,
  options: { budget?: number; signal?: AbortSignal; notices?: string[] } = {},
): Promise<ToolResult> {
  return tool.run(tool.input.parse(input), {
    signal: options.signal ?? new AbortController().signal,
    target: () => Promise.reject(new Error("a web tool needs no target")),
    emit: ({ text }) => void options.notices?.push(text),
    budget: options.budget ?? 8000,
    mask: (text) => text,
  });
}
