/** A tool of a server as the agent calls it, and what it returns. */
import { z } from "zod";
import { boundText } from "../../tools/bound-output.ts";
import type { Tool, ToolContext, ToolResult } from "../../tools/tool.ts";
import type { McpServers } from "./servers.ts";
import { type Image, imageOf } from "../../lib/images.ts";
import { isDeep, isRecord } from "../../lib/values.ts";
import { tidy } from "./tool-lists.ts";

const input = z.record(z.string(), z.unknown());

type Found = NonNullable<ReturnType<McpServers["find"]>>;

export function serverTool(
  servers: McpServers,
  { server, tool, local, trusted, changed, timeoutMs }: Found,
): Tool<Readonly<Record<string, unknown>>> {
  const believed = trusted && tool.readOnly && !changed;
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
      local,
      says: tool.readOnly ? "reads" : tool.destructive ? "destroys" : "changes",
      believed,
      ...(changed ? { changed } : {}),
      described: JSON.stringify(tool),
    }),
    async run(args, context) {
      const connection = await servers.connectionFor(tool, server, believed, context.signal);
      if (connection === undefined) return { ok: false, outcome: "changed", result: CHANGED };
      const emit = throttled((text) => context.emit({ stream: "info", text }));
      const raw = await connection.call(tool.name, args, { signal: context.signal, timeoutMs, onProgress: emit });
      return toolResult(server, raw, context);
    },
  };
}

const CHANGED = "error: the server changed this tool after the call was judged. Nothing was called; call it again.";

function toolResult(server: string, raw: unknown, { budget, mask, seesImages = false }: ToolContext): ToolResult {
  const { text, images, failed } = callResult(raw);
  const shown = boundText(text, budget, () => `ask ${server} for less`, mask);
  const unseen = images.length > 0 && !seesImages ? "\n\n[this model does not read images]" : "";
  return {
    ok: !failed,
    outcome: failed ? "failed" : "done",
    result: `${failed ? "[the server reports an error]\n" : ""}${shown}${unseen}`,
    ...(images.length > 0 && seesImages ? { images } : {}),
    display: shown,
  };
}

/** A server may report progress very often. */
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

/** What a tool returned, as text, and images for a model that reads images. */
interface CallResult {
  readonly text: string;
  readonly images: readonly Image[];
  /** The server says that it failed. */
  readonly failed: boolean;
}

function callResult(raw: unknown): CallResult {
  if (!isRecord(raw)) return { text: "(the server returned nothing readable)", images: [], failed: true };
  const images: Image[] = [];
  const blocks = Array.isArray(raw["content"]) ? raw["content"].slice(0, MOST_BLOCKS) : [];
  const texts = blocks.map((block) => blockText(block, images)).filter((text) => text !== "");
  const structured = raw["structuredContent"];
  if (texts.length === 0 && structured !== undefined) texts.push(json(structured));
  const text = texts.join("\n\n");
  return { text: text === "" ? "(no output)" : text, images, failed: raw["isError"] === true };
}

function blockText(block: unknown, images: Image[]): string {
  if (!isRecord(block)) return "";
  const { type } = block;
  if (type === "text") return typeof block["text"] === "string" ? block["text"] : "";
  if (type === "image") return imageText(block, images);
  if (type === "resource" && isRecord(block["resource"])) return resourceText(block["resource"]);
  if (type === "resource_link")
    return `[link to ${name(block["uri"])}: ${name(block["description"] ?? block["name"])}]`;
  return `[${name(type) || "content"} that cannot be shown]`;
}

function imageText({ data, mimeType }: Readonly<Record<string, unknown>>, images: Image[]): string {
  const bytes = typeof data === "string" && data.length <= MOST_IMAGE ? Buffer.from(data, "base64") : undefined;
  // By its first bytes: the type that the server gives may be wrong.
  const image = bytes === undefined ? undefined : imageOf(bytes);
  if (image === undefined || "problem" in image || images.length >= MOST_IMAGES)
    return `[image (${name(mimeType)}) that cannot be shown]`;
  images.push(image);
  return `[image ${images.length}, ${image.type}]`;
}

function resourceText({ uri, text, mimeType, blob }: Readonly<Record<string, unknown>>): string {
  if (typeof text === "string") return `[${name(uri)}]\n${text}`;
  const size = typeof blob === "string" ? `, ${Math.floor((blob.length * 3) / 4)} bytes` : "";
  return `[${name(uri)} (${name(mimeType) || "binary"}${size}) that cannot be shown]`;
}

function name(value: unknown): string {
  return typeof value === "string" ? tidy(value, 200) : "";
}

/** Not indented: with many levels that would be mostly spaces. */
function json(value: unknown): string {
  // The runtime needs seconds to find out that a value is too deep for it.
  return isDeep(value) ? "(nested too deeply to be shown)" : JSON.stringify(value);
}

const MOST_BLOCKS = 100;
const MOST_IMAGES = 5;
const MOST_IMAGE = 6_000_000;
