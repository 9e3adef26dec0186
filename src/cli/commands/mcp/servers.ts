/** What `buddy mcp` does: lists, checks, adds, removes, signs in. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { loadConfiguration } from "../../../app/configuration.ts";
import { connectTo, signInStore } from "../../../app/extensions/mcp-servers.ts";
import type { LoadedConfig } from "../../../config/load.ts";
import { findConfigFiles, requirePaths } from "../../../config/paths.ts";
import { type McpSettings, NAMED_SETTINGS } from "../../../config/schema.ts";
import { allowedTools, offeredTools, rememberedLists } from "../../../extend/mcp/tool-lists.ts";
import { currentDirectory } from "../../../lib/byte-names.ts";
import { BuddyError, EXIT, type ExitCode, inWords } from "../../../lib/errors.ts";
import { writeFileAtomic } from "../../../lib/files.ts";
import { log } from "../../../lib/log.ts";
import { jsonText, print } from "../../../lib/output.ts";
import { isTerminal } from "../../../lib/terminal.ts";
import { alignColumns, closestMatch, plural, shorten } from "../../../lib/text.ts";
import { stateDirectory } from "../../../lib/user-directories.ts";
import { within } from "../../../lib/waiting.ts";
import { showLine } from "../../../policy/screen/terminal-text.ts";
import type { GlobalOptions } from "../../args/options.ts";

export async function listServers(globals: GlobalOptions, json: boolean): Promise<ExitCode> {
  const loaded = await loadConfiguration(globals, { create: false });
  const memory = rememberedLists(stateDirectory(loaded.env));
  const rows = Object.entries(loaded.config.mcp).map(([name, settings]) => {
    const known = memory.read(name, settings);
    return {
      name,
      enabled: settings.enabled,
      server: settings.url ?? (settings.command ?? []).join(" "),
      trust_read_only: settings.trust_read_only,
      tools: known === undefined ? null : allowedTools(known, settings.tools).length,
    };
  });
  if (json) await print([jsonText(rows, 2)]);
  else if (rows.length === 0) await print(["no MCP servers; add one with: buddy mcp add NAME -- PROGRAM ARGUMENTS\n"]);
  else {
    const cells = rows.map(({ name, enabled, server, tools, trust_read_only }) => {
      const notes = [
        ...(enabled ? [] : ["off"]),
        tools === null ? "not seen yet" : plural(tools, "tool"),
        ...(trust_read_only ? ["read-only tools trusted"] : []),
      ];
      return [showLine(name), showLine(`${server}  (${notes.join(", ")})`)];
    });
    await print([`${alignColumns(cells).join("\n")}\n`]);
  }
  return EXIT.ok;
}

interface Checked {
  readonly name: string;
  readonly ok: boolean;
  readonly about: string;
  readonly problem?: string;
  readonly tools: readonly { readonly name: string; readonly read_only: boolean; readonly description: string }[];
  readonly hidden: number;
  readonly problems: readonly string[];
  readonly resources: readonly string[];
  readonly prompts: readonly string[];
}

/** All at once: one that hangs delays the result only by its own time limit. */
export async function checkServers(globals: GlobalOptions, name: string | undefined, json: boolean): Promise<ExitCode> {
  const loaded = await loadConfiguration(globals, { create: false });
  const chosen =
    name === undefined
      ? Object.entries(loaded.config.mcp).filter(([, { enabled }]) => enabled)
      : [[name, find(loaded, name)] as const];
  const checked = await Promise.all(chosen.map(([one, settings]) => check(loaded, one, settings)));
  if (json) await print([jsonText(checked, 2)]);
  else if (checked.length === 0) await print(["no MCP servers are enabled\n"]);
  else await print([`${checked.flatMap(checkLines).map(showLine).join("\n")}\n`]);
  return checked.every(({ ok }) => ok) ? EXIT.ok : EXIT.failure;
}

async function check(loaded: LoadedConfig, name: string, settings: McpSettings): Promise<Checked> {
  const nothing = { name, about: "", tools: [], hidden: 0, problems: [], resources: [], prompts: [] };
  try {
    await using connection = await connectTo(loaded, { name, settings }, AbortSignal.timeout(CHECK_MS));
    const [raw, resources, prompts] = await Promise.all([
      connection.listTools(AbortSignal.timeout(CHECK_MS)),
      connection.resources().catch(() => []),
      connection.prompts().catch(() => []),
    ]);
    const { tools, problems } = offeredTools(name, raw);
    const memory = rememberedLists(stateDirectory(loaded.env));
    memory.write(name, settings, tools);
    memory.accept(name, settings);
    const allowed = allowedTools(tools, settings.tools);
    return {
      ...nothing,
      ok: true,
      about: connection.about,
      tools: allowed.map((tool) => ({ name: tool.offered, read_only: tool.readOnly, description: tool.description })),
      hidden: tools.length - allowed.length,
      problems,
      resources: resources.map((one) => one.name),
      prompts: prompts.map((one) => one.name),
    };
  } catch (error) {
    return { ...nothing, ok: false, problem: inWords(error) };
  }
}

function checkLines({ name, ok, about, problem, tools, hidden, problems, resources, prompts }: Checked): string[] {
  if (!ok) return [`${name}: ${problem ?? "failed"}`];
  return [
    `${name}: ok${about === "" ? "" : `, ${about}`}`,
    ...tools.map(
      (tool) =>
        `  ${tool.name}${tool.read_only ? " (read-only, the server says)" : ""}  ${shorten(tool.description, 100)}`,
    ),
    ...(hidden === 0 ? [] : [`  ${hidden} more, hidden by tools in [mcp.${name}]`]),
    ...problems.map((text) => `  problem: ${text}`),
    ...(resources.length === 0 ? [] : [`  resources: ${resources.slice(0, 20).join(", ")}`]),
    ...(prompts.length === 0 ? [] : [`  prompts: ${prompts.slice(0, 20).join(", ")}`]),
  ];
}

interface AddOptions {
  readonly words: readonly string[];
  readonly url: string | undefined;
  readonly env: string | undefined;
  readonly header: string | undefined;
}

export async function addServer(globals: GlobalOptions, name: string, options: AddOptions): Promise<void> {
  const { name: pattern, most, expects } = NAMED_SETTINGS.mcp;
  if (!pattern.test(name) || name.length > most)
    throw new BuddyError("usage", `"${name}" cannot be the name of a server`, { hint: `${expects}, at most ${most}` });
  const { words, url } = options;
  if (words.length > 0 === (url !== undefined))
    throw new BuddyError("usage", "give either a program after --, or --url", {
      hint: `buddy mcp add ${name} -- PROGRAM ARGUMENTS`,
    });
  if (url !== undefined && (!URL.canParse(url) || !/^https?:\/\/[^\s@]+$/.test(url)))
    throw new BuddyError("usage", `"${url}" is not an HTTP(S) URL without user and password`);
  if (url === undefined ? options.header !== undefined : options.env !== undefined)
    throw new BuddyError(
      "usage",
      url === undefined ? "--header works only with --url" : "--env works only with a program",
    );
  const path = ownFile(globals);
  const { withServer } = await import("../../../extend/mcp/edit-config.ts");
  const text = existsSync(path) ? readFileSync(path, "utf8") : "";
  const next = await withServer(text, path, name, {
    ...(url === undefined ? { command: words } : { url }),
    ...(options.env === undefined ? {} : { env: pair(options.env, "--env") }),
    ...(options.header === undefined ? {} : { headers: pair(options.header, "--header") }),
  });
  write(path, next);
  log.info(`added to ${path}; check it with: buddy mcp check ${name}`);
}

export async function removeServer(globals: GlobalOptions, name: string): Promise<void> {
  const path = ownFile(globals);
  if (!existsSync(path)) throw new BuddyError("usage", `there is no MCP server ${name}: ${path} does not exist`);
  const { withoutServer } = await import("../../../extend/mcp/edit-config.ts");
  write(path, await withoutServer(readFileSync(path, "utf8"), path, name));
  rememberedLists(stateDirectory(process.env)).remove(name);
  log.info(`removed from ${path}`);
}

export async function signIn(globals: GlobalOptions, name: string): Promise<void> {
  const loaded = await loadConfiguration(globals, { create: false });
  const settings = find(loaded, name);
  if (settings.url === undefined) throw new BuddyError("usage", `MCP server ${name} is a program: it needs no sign-in`);
  if (!isTerminal(2)) throw new BuddyError("usage", "signing in needs a terminal and a browser");
  await signInWithBrowser(loaded, name, settings, new URL(settings.url).href);
  log.info(`signed in; see what it offers: buddy mcp check ${name}`);
}

async function signInWithBrowser(loaded: LoadedConfig, name: string, settings: McpSettings, server: string) {
  const { browserCallback } = await import("../../../auth/browser-flow.ts");
  const { openInBrowser } = await import("../../../app/model/sign-in.ts");
  const { WaitingForBrowser } = await import("../../../extend/mcp/connection.ts");
  const say = (line: string) => log.info(showLine(line));
  const state = crypto.randomUUID();
  using callback = browserCallback({ ports: [0], path: "/callback", state });
  // The port is not that of the last time: a client registered with that one would be refused.
  signInStore(loaded).write(server, { client: undefined, tokens: undefined, discovery: undefined });
  const signIn = {
    redirectUri: `http://127.0.0.1:${callback.port}/callback`,
    state,
    onPage: (url: URL) => {
      say("Open this page in a browser on this machine:");
      say(`  ${url.href}`);
      openInBrowser(url.href);
    },
  };
  try {
    await using connection = await connectTo(loaded, { name, settings, signIn });
    say(`${connection.about || name} needs no sign-in`);
  } catch (error) {
    if (!(error instanceof WaitingForBrowser)) throw error;
    const parameters = await within(callback.arrived, SIGN_IN_MS);
    if (parameters === undefined) throw new BuddyError("timeout", "the browser did not return within 10 minutes");
    await error.finish(parameters);
    await using connection = await connectTo(loaded, { name, settings });
    say(`${connection.about || name} accepts the sign-in`);
  }
}

export async function signOut(globals: GlobalOptions, name: string): Promise<void> {
  const loaded = await loadConfiguration(globals, { create: false });
  const { url } = find(loaded, name);
  if (url !== undefined) signInStore(loaded).write(new URL(url).href, undefined);
  log.info(`signed out of ${name}`);
}

function find(loaded: LoadedConfig, name: string): McpSettings {
  const { mcp } = loaded.config;
  const found = Object.hasOwn(mcp, name) ? mcp[name] : undefined;
  if (found !== undefined) return found;
  const meant = closestMatch(name, Object.keys(mcp));
  const question = meant === undefined ? "" : `; did you mean ${meant}?`;
  throw new BuddyError("usage", `there is no MCP server "${name}"${question}`, { hint: "buddy mcp lists them" });
}

/** The operator's own file, whether it exists or not. */
function ownFile({ config }: GlobalOptions): string {
  const { own } = findConfigFiles(config, { env: process.env, cwd: currentDirectory() });
  return own?.path ?? requirePaths(process.env, "the configuration").config;
}

function write(path: string, text: string): void {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0o600;
  writeFileAtomic(path, text, mode & 0o777);
}

function pair(text: string, flag: string): Record<string, string> {
  const [, key = "", value = ""] = /^([^=\s]+)=(.*)$/s.exec(text) ?? [];
  if (key === "") throw new BuddyError("usage", `${flag} must be NAME=VALUE, not "${text}"`);
  return { [key]: value };
}

const CHECK_MS = 20_000;
const SIGN_IN_MS = 10 * 60_000;
