/** Adds and removes [mcp.NAME] tables in the operator's file, as text: comments and everything else stay. */
import { parseToml } from "../../config/toml.ts";
import { BuddyError } from "../../lib/errors.ts";
import { isRecord } from "../../lib/values.ts";

export interface NewServer {
  readonly command?: readonly string[];
  readonly url?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The text with the table at its end; throws if it has one of that name. */
export async function withServer(text: string, file: string, name: string, server: NewServer): Promise<string> {
  const before = await serversOf(text, file);
  if (Object.hasOwn(before, name))
    throw new BuddyError("usage", `MCP server ${name} already exists`, {
      hint: `Remove it first: buddy mcp remove ${name}`,
    });
  const lines = [
    `[mcp.${name}]`,
    ...(server.command === undefined ? [] : [`command = [${server.command.map(quoted).join(", ")}]`]),
    ...(server.url === undefined ? [] : [`url = ${quoted(server.url)}`]),
    ...table("env", server.env),
    ...table("headers", server.headers),
  ];
  const gap = text === "" ? "" : text.endsWith("\n\n") ? "" : text.endsWith("\n") ? "\n" : "\n\n";
  const next = `${text}${gap}${lines.join("\n")}\n`;
  const after = await serversOf(next, file);
  if (!Object.hasOwn(after, name) || Object.keys(after).length !== Object.keys(before).length + 1)
    throw byHand(file, name, "added");
  return next;
}

/** The text without the table, its sub-tables and the comments inside; comments above the next table stay. */
export async function withoutServer(text: string, file: string, name: string): Promise<string> {
  const before = await parsed(text, file);
  if (!Object.hasOwn(serverTables(before), name))
    throw new BuddyError("usage", `there is no MCP server ${name} in ${file}`);
  const header = new RegExp(
    `^\\s*\\[\\s*mcp\\s*\\.\\s*(?:${name}|"${name}"|'${name}')\\s*(?:\\.[^\\]]*)?\\]\\s*(?:#.*)?$`,
  );
  const lines = text.split("\n");
  const kept: string[] = [];
  let inside = false;
  let comments: string[] = [];
  for (const line of lines) {
    if (header.test(line)) {
      inside = true;
      comments = [];
    } else if (/^\s*\[/.test(line) && inside) {
      // If this is a line of a list, the result parses differently below, and nothing is changed.
      inside = false;
      kept.push(...withoutGap(kept, comments), line);
    } else if (!inside) kept.push(line);
    else comments = /^\s*(?:#.*)?$/.test(line) ? [...comments, line] : [];
  }
  // At the end of the file, comments after an empty line do not belong to the table.
  const apart = inside ? comments.findIndex((line) => line.trim() === "") : -1;
  if (apart >= 0) kept.push(...withoutGap(kept, comments.slice(apart)));
  const next = `${kept.join("\n").replace(/\n+$/, "")}\n`;
  const { [name]: _, ...others } = serverTables(before);
  const wanted = { ...before, mcp: others };
  const found = await parsed(next, file).catch(() => undefined);
  if (found === undefined || !Bun.deepEquals({ ...found, mcp: serverTables(found) }, wanted))
    throw byHand(file, name, "removed");
  return next;
}

/** Avoids two empty lines where the table was. */
function withoutGap(before: readonly string[], lines: readonly string[]): readonly string[] {
  const first = lines.findIndex((line) => line.trim() !== "");
  return (before.at(-1) ?? "").trim() === "" ? lines.slice(first < 0 ? lines.length : first) : lines;
}

async function serversOf(text: string, file: string): Promise<Record<string, unknown>> {
  return serverTables(await parsed(text, file));
}

async function parsed(text: string, file: string): Promise<Record<string, unknown>> {
  return { ...parseToml(text, file) };
}

function serverTables(data: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return isRecord(data["mcp"]) ? data["mcp"] : {};
}

function table(key: string, values: Readonly<Record<string, string>> = {}): string[] {
  const entries = Object.entries(values).map(
    ([name, value]) => `${/^[\w-]+$/.test(name) ? name : quoted(name)} = ${quoted(value)}`,
  );
  return entries.length === 0 ? [] : [`${key} = { ${entries.join(", ")} }`];
}

function byHand(file: string, name: string, what: "added" | "removed"): BuddyError {
  const message = `[mcp.${name}] cannot be ${what}: ${file} is written in a way that buddy does not edit`;
  return new BuddyError("config", message, { hint: "Edit the file by hand; nothing was changed." });
}

/** JSON and TOML quote text in the same way, except for the delete character. */
function quoted(text: string): string {
  return JSON.stringify(text).replaceAll("\u007f", "\\u007f");
}
