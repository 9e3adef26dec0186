/** One MCP server in a session: its list of tools, its connection, how often it failed. */
import { defined } from "../../lib/values.ts";
import type { McpSettings } from "../../config/schema.ts";
import { BuddyError, inWords } from "../../lib/errors.ts";
import { within } from "../../lib/waiting.ts";
import type { ServerConnection } from "./connection.ts";
import { allowedTools, type OfferedTool, offeredTools } from "./tool-lists.ts";
import type { ServersOptions, ServerStatus } from "./servers.ts";

export class Server {
  readonly name: string;
  readonly settings: McpSettings;
  readonly #options: ServersOptions;
  /** The list that this session uses. */
  #list: readonly OfferedTool[] | undefined;
  /** The newest list, for the next session. */
  #latest: readonly OfferedTool[] | undefined;
  #problems: readonly string[] = [];
  #changed = false;
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
    if (connection !== undefined && this.#refreshes++ < MOST_REFRESHES)
      await this.#readList(connection).catch(() => undefined);
  }

  async #readList(connection: ServerConnection): Promise<void> {
    const { tools, problems } = offeredTools(this.name, await connection.listTools(this.#leave.signal));
    this.#problems = problems;
    if (!same(tools, this.#latest)) this.#options.memory.write(this.name, this.settings, tools);
    this.#latest = tools;
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
