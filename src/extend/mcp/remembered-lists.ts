/** The tool lists of servers from earlier sessions, so that a first request need not wait for a server. */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { McpSettings } from "../../config/schema.ts";
import { writeFileAtomic } from "../../lib/files.ts";
import { isRecord, sha256 } from "../../lib/values.ts";
import type { OfferedTool } from "./offered-tools.ts";

export interface RememberedLists {
  /** Undefined for a server that was never seen, or is started or reached in another way now. */
  read(server: string, settings: McpSettings): readonly OfferedTool[] | undefined;
  /** If a list cannot be kept, the next start waits for it again. */
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
        // A full disk or a directory that cannot be written: the next start waits for the server.
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
