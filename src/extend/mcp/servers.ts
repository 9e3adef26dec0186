/**
 * The servers of a run: started in parallel with the first request; until they answer, their remembered tools are
 * offered. In a session, the list of a server changes at most once, with a notice.
 */
import type { McpSettings } from "../../config/schema.ts";
import { BuddyError, inWords } from "../../lib/errors.ts";
import { defined } from "../../lib/values.ts";
import { unlessAborted, within } from "../../lib/waiting.ts";
import type { ToolSchema } from "../../tools/schemas.ts";
import type { Listed, ServerConnection, ServerOptions } from "./connection.ts";
import { allowedTools, definition, type OfferedTool, offeredTools, type RememberedLists } from "./tool-lists.ts";

interface ServersOptions {
  readonly servers: Readonly<Record<string, McpSettings>>;
  readonly memory: RememberedLists;
  connect(
    options: Pick<ServerOptions, "name" | "settings" | "onListChanged" | "onEnd">,
    signal: AbortSignal,
  ): Promise<ServerConnection>;
  /** For the operator: a server that cannot be used, a list that changed. */
  readonly notice: (text: string) => void;
}

interface ServerStatus {
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
        /** It is not what it was when it was first used, or that is not known. */
        readonly changed: boolean;
        readonly timeoutMs: number;
      }
    | undefined {
    for (const server of this.#enabled()) {
      const { name, settings } = server;
      const listed = server.tools.find((one) => one.offered === offered);
      if (listed === undefined) continue;
      const tool = server.newest(listed);
      return {
        server: name,
        tool,
        local: settings.url === undefined,
        trusted: settings.trust_read_only,
        changed: server.hasChanged(tool),
        timeoutMs: settings.timeout,
      };
    }
    return undefined;
  }

  /** For a call of this tool, as it was judged; `reread`: no person was asked, so the server is. */
  async connectionFor(tool: OfferedTool, server: string, reread: boolean, signal: AbortSignal) {
    const connection = await this.connection(server, signal);
    const found = this.#servers.find(({ name }) => name === server);
    if (reread) await unlessAborted(signal, found?.reread(connection) ?? Promise.resolve());
    const now = this.find(tool.offered);
    if (found === undefined || now === undefined || JSON.stringify(now.tool) !== JSON.stringify(tool)) return undefined;
    if (reread && now.changed) return undefined;
    found.used(tool);
    return connection;
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

/** One MCP server in a session: its list of tools, its connection, how often it failed. */
class Server {
  readonly name: string;
  readonly settings: McpSettings;
  readonly #options: ServersOptions;
  /** The list that this session uses. */
  #list: readonly OfferedTool[] | undefined;
  /** The newest list, for the next session. */
  #latest: readonly OfferedTool[] | undefined;
  #problems: readonly string[] = [];
  #changed = false;
  /** Definitions of tools when they were first used. */
  readonly #firstUsed = new Map<string, string>();
  /** It has reported another list, which was not read. */
  #unread = false;
  #reportedAgain = false;
  #refreshes = 0;
  #opening: Promise<ServerConnection> | undefined;
  #open: ServerConnection | undefined;
  #listed: Promise<void> | undefined;
  #failures: number[] = [];
  #problem: string | undefined;
  readonly #leave = new AbortController();

  constructor(name: string, settings: McpSettings, options: ServersOptions) {
    this.name = name;
    this.settings = settings;
    this.#options = options;
    this.#list = this.#latest = settings.enabled ? options.memory.read(name, settings) : undefined;
  }

  get seen(): boolean {
    return this.#list !== undefined;
  }

  /** It has not answered yet. */
  get isSilent(): boolean {
    return !this.seen && this.#latest === undefined && this.#problem === undefined;
  }

  get tools(): readonly OfferedTool[] {
    return allowedTools(this.#list ?? [], this.settings.tools);
  }

  /** As the server describes it now; one that is not on its list any more stays as it was. */
  newest(tool: OfferedTool): OfferedTool {
    return this.#latest?.find(({ offered }) => offered === tool.offered) ?? tool;
  }

  hasChanged(tool: OfferedTool): boolean {
    const first = this.#firstUsed.get(tool.name) ?? this.#options.memory.firstUsed(this.name, this.settings, tool.name);
    if (first !== undefined) this.#firstUsed.set(tool.name, first);
    return this.#unread || (first !== undefined && first !== definition(tool));
  }

  used(tool: OfferedTool): void {
    if (this.#firstUsed.has(tool.name)) return;
    this.#firstUsed.set(tool.name, definition(tool));
    this.#options.memory.used(this.name, this.settings, tool);
  }

  /** A server need not report that its list has changed. */
  async reread(connection: ServerConnection): Promise<void> {
    await this.#readList(connection).catch(() => (this.#unread = true));
  }

  start(): void {
    this.#listed ??= this.connection().then(
      () => undefined,
      (error: unknown) => this.#options.notice(inWords(error)),
    );
  }

  /** Started, or failed to. */
  async settled(): Promise<void> {
    await this.#listed;
  }

  /** Waits for its first list, for a limited time. */
  async firstList(): Promise<void> {
    this.start();
    await within(this.#listed ?? Promise.resolve(), this.settings.start_timeout);
    if (this.#latest === undefined && this.#problem === undefined)
      this.#options.notice(`MCP server ${this.name} has not answered yet; its tools are offered when it does`);
  }

  /** Uses the newest list in the session; `first`: it was waited for, so it does not count as a change. */
  takeList(first: boolean): boolean {
    const latest = this.#latest;
    if (latest === undefined || same(latest, this.#list)) return false;
    if (first) {
      this.#list = latest;
      return true;
    }
    if (this.#changed) {
      if (!this.#reportedAgain)
        this.#options.notice(`MCP server ${this.name} changed its tools again; the next session gets them`);
      this.#reportedAgain = true;
      return false;
    }
    this.#options.notice(`the tools of MCP server ${this.name} changed: ${difference(this.#list ?? [], latest)}`);
    this.#list = latest;
    this.#changed = true;
    return true;
  }

  newSession(): void {
    this.#list = this.#latest ?? this.#list;
    this.#changed = false;
    this.#reportedAgain = false;
  }

  connection(): Promise<ServerConnection> {
    if (this.#leave.signal.aborted)
      return Promise.reject(new BuddyError("tool", `MCP server ${this.name} is not running`));
    this.#opening ??= this.#connect();
    return this.#opening;
  }

  status(): ServerStatus {
    const { name } = this;
    const state = !this.settings.enabled
      ? "off"
      : this.#problem !== undefined
        ? "failed"
        : this.#open !== undefined
          ? "ready"
          : this.#opening === undefined
            ? "not started"
            : "starting";
    return {
      name,
      state,
      about: this.#open?.about ?? "",
      ...defined({ problem: this.#problem }),
      tools: allowedTools(this.#list ?? this.#latest ?? [], this.settings.tools),
      trusted: this.settings.trust_read_only,
      problems: this.#problems,
    };
  }

  async close(): Promise<void> {
    this.#leave.abort();
    const opening = this.#opening?.then((connection) => connection[Symbol.asyncDispose]());
    await within(opening?.catch(() => undefined) ?? Promise.resolve(), CLOSE_MS);
  }

  async #connect(): Promise<ServerConnection> {
    this.#refuseAfterFailures();
    const { name, settings } = this;
    try {
      const connection = await this.#options.connect(
        {
          name,
          settings,
          onListChanged: () => void this.#refresh(),
          onEnd: (why) => this.#ended(why),
        },
        this.#leave.signal,
      );
      if (this.#leave.signal.aborted) {
        await connection[Symbol.asyncDispose]();
        throw new BuddyError("tool", `MCP server ${name} is not running`);
      }
      this.#open = connection;
      this.#problem = undefined;
      await this.#readList(connection);
      return connection;
    } catch (error) {
      this.#opening = undefined;
      this.#open = undefined;
      this.#problem = inWords(error);
      this.#failures.push(Date.now());
      throw error;
    }
  }

  /** A server that keeps failing is not started for a while. */
  #refuseAfterFailures(): void {
    this.#failures = this.#failures.filter((at) => at > Date.now() - FAILURE_WINDOW_MS);
    if (this.#failures.length < MOST_FAILURES) return;
    throw new BuddyError(
      "tool",
      `MCP server ${this.name} failed ${this.#failures.length} times in a minute; it is not started again yet`,
    );
  }

  #ended(why: string): void {
    this.#open = undefined;
    this.#opening = undefined;
    if (this.#leave.signal.aborted) return;
    this.#failures.push(Date.now());
    const ended = `ended${why === "" ? "" : ` (${why})`}`;
    this.#problem = `it ${ended}`;
    this.#options.notice(`MCP server ${this.name} ${ended}; the next call starts it again`);
  }

  /** Limited: a server may keep changing its list. */
  async #refresh(): Promise<void> {
    const connection = this.#open;
    this.#unread = true;
    if (connection !== undefined && this.#refreshes++ < MOST_REFRESHES)
      await this.#readList(connection).catch(() => undefined);
  }

  async #readList(connection: ServerConnection): Promise<void> {
    const { tools, problems } = offeredTools(this.name, await connection.listTools(this.#leave.signal));
    this.#problems = problems;
    if (!same(tools, this.#latest)) this.#options.memory.write(this.name, this.settings, tools);
    this.#latest = tools;
    this.#unread = false;
  }
}

function same(one: readonly OfferedTool[] | undefined, other: readonly OfferedTool[] | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function difference(before: readonly OfferedTool[], after: readonly OfferedTool[]): string {
  const names = (list: readonly OfferedTool[]) => new Set(list.map(({ name }) => name));
  const [old, now] = [names(before), names(after)];
  const parts = [
    [...now].filter((name) => !old.has(name)).map((name) => `+${name}`),
    [...old].filter((name) => !now.has(name)).map((name) => `-${name}`),
  ].flat();
  if (parts.length === 0) return "descriptions or arguments";
  return parts.slice(0, 10).join(", ") + (parts.length > 10 ? `, and ${parts.length - 10} more` : "");
}

const CLOSE_MS = 2_000;
const FAILURE_WINDOW_MS = 60_000;
const MOST_FAILURES = 3;
const MOST_REFRESHES = 50;
