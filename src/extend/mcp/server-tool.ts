/** A tool of a server, as the agent calls it. */
import { z } from "zod";
import { boundText } from "../../tools/bound-output.ts";
import type { Tool, ToolContext, ToolResult } from "../../tools/tool.ts";
import { callResult } from "./call-result.ts";
import type { McpServers } from "./servers.ts";

const input = z.record(z.string(), z.unknown());

type Found = NonNullable<ReturnType<McpServers["find"]>>;

export function serverTool(
  servers: McpServers,
  { server, tool, trusted, timeoutMs }: Found,
): Tool<Readonly<Record<string, unknown>>> {
  return {
    name: tool.offered,
    description: tool.description,
    input,
    budget: "mcp",
    secretFields: "all",
    intent: (args) => ({
      kind: "server",
      title: Object.keys(args).length === 0 ? tool.name : `${tool.name} ${JSON.stringify(args)}`,
      server,
      says: tool.readOnly ? "reads" : tool.destructive ? "destroys" : "changes",
      believed: trusted && tool.readOnly,
    }),
    async run(args, context) {
      const connection = await servers.connection(server, context.signal);
      const emit = throttled((text) => context.emit({ stream: "info", text }));
      const raw = await connection.call(tool.name, args, { signal: context.signal, timeoutMs, onProgress: emit });
      return present(server, raw, context);
    },
  };
}

function present(server: string, raw: unknown, { budget, mask, seesImages = false }: ToolContext): ToolResult {
  const { text, images, failed } = callResult(raw);
  const shown = boundText(text, budget, () => `ask ${server} for less at once`, mask);
  const unseen = images.length > 0 && !seesImages ? "\n\n[this model does not read images]" : "";
  return {
    ok: !failed,
    outcome: failed ? "failed" : "done",
    result: `${failed ? "[the server reports an error]\n" : ""}${shown}${unseen}`,
    ...(images.length > 0 && seesImages ? { images } : {}),
    display: shown,
  };
}

/** A server may report progress as often as it likes. */
function throttled(emit: (text: string) => void): (text: string) => void {
  let last = 0;
  return (text) => {
    const now = performance.now();
    if (now - last < EVERY_MS) return;
    last = now;
    emit(`${text}\n`);
  };
}

const EVERY_MS = 500;
