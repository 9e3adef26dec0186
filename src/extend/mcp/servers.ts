/**
 * The servers of a run: started in parallel with the first request; until they answer, their remembered tools are
 * offered. In a session, the list of a server changes at most once, with a notice.
 */
import type { McpSettings } from "../../config/schema.ts";
import { BuddyError } from "../../lib/errors.ts";
import { unlessAborted, within } from "../../lib/waiting.ts";
import type { ToolSchema } from "../../tools/schemas.ts";
import type { Listed, ServerConnection, ServerOptions } from "./connection.ts";
import type { OfferedTool, RememberedLists } from "./tool-lists.ts";
import { Server } from "./server.ts";

export interface ServersOptions {
  readonly servers: Readonly<Record<string, McpSettings>>;
  readonly memory: RememberedLists;
  connect(
    options: Pick<ServerOptions, "name" | "settings" | "onListChanged" | "onEnd">,
    signal: AbortSignal,
  ): Promise<ServerConnection>;
  /** For the operator: a server that cannot be used, a list that changed. */
  readonly notice: (text: string) => void;
}

export interface ServerStatus {
  readonly name: string;
  readonly state: "off" | "not started" | "starting" | "ready" | "failed";
  readonly about: string;
  readonly problem?: string;
  readonly tools: readonly OfferedTool[];
  readonly trusted: boolean;
  /** Entries of its list that cannot be used, and why. */
  readonly problems: readonly string[];
}

interface Extras {
  readonly resources: readonly Listed[];
  readonly prompts: readonly Listed[];
}

const NONE: Extras = { resources: [], prompts: [] };

export class McpServers implements AsyncDisposable {
  readonly #options: ServersOptions;
  readonly #servers: readonly Server[];
  #schemas: readonly ToolSchema[] = [];
  #waited = false;
  #closed = false;

  constructor(options: ServersOptions) {
    this.#options = options;
    this.#servers = Object.entries(options.servers).map(([name, settings]) => new Server(name, settings, options));
    this.#describe();
  }

  /** The same array until something changes. */
  get schemas(): readonly ToolSchema[] {
    return this.#schemas;
  }

  /** Begins to start them; nothing waits for that. */
  start(): void {
    if (!this.#closed) for (const server of this.#enabled()) server.start();
  }

  /**
   * Before a request: waits once, for a limited time, for servers that were never used before, and takes over lists
   * that changed. True: the schemas have changed.
   */
  async ready(signal: AbortSignal): Promise<boolean> {
    const unseen = this.#waited ? [] : this.#enabled().filter((server) => !server.seen);
    this.#waited = true;
    if (unseen.length > 0) {
      const silent = unseen.filter((server) => server.isSilent).map(({ name }) => name);
      if (silent.length > 0) this.#options.notice(`waiting for the tools of ${silent.join(", ")} (first use)`);
      this.start();
      await unlessAborted(signal, Promise.all(unseen.map((server) => server.firstList())));
    }
    const taken = this.#enabled().map((server) => server.takeList(unseen.includes(server)));
    if (!taken.includes(true)) return false;
    this.#describe();
    return true;
  }

  /** A new session takes the newest lists. */
  newSession(): void {
    for (const server of this.#servers) server.newSession();
    this.#describe();
  }

  find(offered: string):
    | {
        readonly server: string;
        readonly tool: OfferedTool;
        readonly local: boolean;
        readonly trusted: boolean;
        readonly timeoutMs: number;
      }
    | undefined {
    for (const { name, tools, settings } of this.#enabled()) {
      const tool = tools.find((one) => one.offered === offered);
      if (tool !== undefined)
        return {
          server: name,
          tool,
          local: settings.url === undefined,
          trusted: settings.trust_read_only,
          timeoutMs: settings.timeout,
        };
    }
    return undefined;
  }

  /** The connection for a call; starts the server if it is not running. */
  connection(server: string, signal: AbortSignal): Promise<ServerConnection> {
    const found = this.#servers.find(({ name }) => name === server);
    if (found === undefined || this.#closed) throw new BuddyError("tool", `MCP server ${server} is not running`);
    return unlessAborted(signal, found.connection());
  }

  /** Starts the servers and waits a moment for them. */
  async settled(ms: number): Promise<void> {
    this.start();
    await within(Promise.all(this.#enabled().map((server) => server.settled())), ms);
  }

  status(): ServerStatus[] {
    return this.#servers.map((server) => server.status());
  }

  /** What a server offers besides tools; empty if it does not answer soon. */
  async extras(name: string): Promise<Extras> {
    const soon = <T>(work: Promise<T> | undefined) =>
      within<T | undefined>(work?.catch(() => undefined) ?? Promise.resolve(undefined), EXTRAS_MS);
    const connection = await soon(this.connection(name, new AbortController().signal));
    const [resources = [], prompts = []] = await Promise.all([
      soon(connection?.resources()),
      soon(connection?.prompts()),
    ]);
    return { resources, prompts };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#servers.map((server) => server.close()));
  }

  #enabled(): readonly Server[] {
    return this.#servers.filter(({ settings }) => settings.enabled);
  }

  #describe(): void {
    const all = this.#enabled().flatMap(({ name, tools }) => tools.map((tool) => ({ name, tool })));
    const left = all.slice(MOST_TOOLS);
    if (left.length > 0) {
      const names = [...new Set(left.map(({ name }) => name))];
      this.#options.notice(
        `${left.length} tools of ${names.join(", ")} are left out: at most ${MOST_TOOLS} can be offered; choose some with tools in [mcp.NAME]`,
      );
    }
    this.#schemas = all
      .slice(0, MOST_TOOLS)
      .map(({ tool: { offered, description, parameters } }) => ({ name: offered, description, parameters }));
  }
}

/** Providers accept 128 functions; buddy has some of its own. */
const MOST_TOOLS = 100;
const EXTRAS_MS = 5_000;

/** The servers of a run as lines for a person: state, tools, resources, prompts. */
export async function serverRows(servers: McpServers | undefined): Promise<string[]> {
  if (servers === undefined) return ["no MCP servers; add one with: buddy mcp add NAME -- PROGRAM ARGUMENTS"];
  await servers.settled(PATIENCE_MS);
  const all = servers.status();
  const extras = await Promise.all(all.map(({ name, state }) => (state === "ready" ? servers.extras(name) : NONE)));
  return all.flatMap((one, at) => {
    const { resources, prompts } = extras[at] ?? NONE;
    return [
      `${one.name}: ${one.state}${one.about === "" ? "" : `, ${one.about}`}${one.problem === undefined ? "" : `: ${one.problem}`}`,
      ...one.tools.slice(0, MOST).map((tool) => `  ${tool.offered}${hint(tool, one)}`),
      ...(one.tools.length > MOST ? [`  and ${one.tools.length - MOST} more tools`] : []),
      ...one.problems.map((text) => `  problem: ${text}`),
      ...named("resource", resources),
      ...named("prompt", prompts),
    ];
  });
}

function named(what: string, list: readonly Listed[]): string[] {
  const rows = list
    .slice(0, MOST_NAMED)
    .map(({ name, about }) => `  ${what} ${name}${about === "" ? "" : `: ${about}`}`);
  return list.length > MOST_NAMED ? [...rows, `  and ${list.length - MOST_NAMED} more ${what}s`] : rows;
}

function hint({ readOnly, destructive }: ServerStatus["tools"][number], { trusted }: ServerStatus): string {
  if (readOnly) return trusted ? "  only reads: runs without a question" : "  says that it only reads";
  return destructive ? "  may destroy something" : "";
}

const MOST = 40;
const MOST_NAMED = 10;
const PATIENCE_MS = 2_000;
