/** A server's list of tools as the model gets it: checked, bounded, with names that every provider accepts. */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { McpSettings } from "../../config/schema.ts";
import type { AllowDeny } from "../../config/setting.ts";
import { writeFileAtomic } from "../../lib/files.ts";
import { matchesGlob } from "../../lib/names.ts";
import { isRecord, sha256 } from "../../lib/values.ts";
import { inputSchema, type JsonSchema, tidy } from "./input-schema.ts";

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

export interface ToolList {
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
  const text = [description, title, hints["title"]].find((one) => typeof one === "string" && one.trim() !== "");
  return {
    name,
    offered: offeredName(server, name),
    description: tidy(typeof text === "string" ? text : name, MOST_DESCRIPTION),
    parameters,
    readOnly: hints["readOnlyHint"] === true,
    destructive: hints["destructiveHint"] === true,
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
}

/** Without a directory nothing is remembered. */
export function rememberedLists(directory: string | undefined): RememberedLists {
  const file = (server: string) => (directory === undefined ? undefined : join(directory, "mcp", `${server}.json`));
  return {
    read(server, settings) {
      const path = file(server);
      if (path === undefined) return undefined;
      try {
        const stored: unknown = JSON.parse(readFileSync(path, "utf8"));
        if (!isRecord(stored) || stored["version"] !== VERSION || stored["server"] !== identity(settings))
          return undefined;
        const { tools } = stored;
        return Array.isArray(tools) && tools.every(isTool) ? (tools as OfferedTool[]) : undefined;
      } catch {
        return undefined;
      }
    },
    write(server, settings, tools) {
      const path = file(server);
      if (path === undefined) return;
      try {
        writeFileAtomic(path, `${JSON.stringify({ version: VERSION, server: identity(settings), tools })}\n`);
      } catch {
        // The disk is full, or the directory cannot be written.
      }
    },
    remove(server) {
      const path = file(server);
      if (path !== undefined) rmSync(path, { force: true });
    },
  };
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

const VERSION = 2;
