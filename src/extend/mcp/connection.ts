/** The connection to one server: opened, asked for its tools, called; every wait has a limit. */
import type { Client, RequestOptions, Transport } from "@modelcontextprotocol/client";
import type { McpSettings } from "../../config/schema.ts";
import { BuddyError } from "../../lib/errors.ts";
import { childEnv } from "../../lib/start-child.ts";
import { defined, isRecord, withVariables } from "../../lib/values.ts";
import { VERSION } from "../../lib/version.ts";
import { within } from "../../lib/waiting.ts";
import { tidy } from "./tool-lists.ts";
import { OAuthProvider, type ProviderOptions, SignInNeeded, type SignInStore } from "./oauth-sign-in.ts";
import { boundedFetch, type Fetch, NotInstalled, ProgramTransport } from "./transports.ts";

export interface ServerOptions {
  readonly name: string;
  readonly settings: McpSettings;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signIns: SignInStore;
  /** Asks an address that a document of the server names, if it may be asked at all; without it, none is. */
  readonly reach?: Fetch;
  /** For a sign-in that a person waits for. */
  readonly signIn?: Pick<ProviderOptions, "redirectUri" | "onPage" | "state">;
  /** The server reports that its list of tools changed. */
  readonly onListChanged?: () => void;
  /** The connection has ended, and why. */
  readonly onEnd?: (why: string) => void;
}

export interface CallOptions {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  onProgress?(text: string): void;
}

export interface Listed {
  readonly name: string;
  readonly about: string;
}

/** Rejects with a BuddyError that says what to do. */
export async function connectServer(options: ServerOptions, signal?: AbortSignal): Promise<ServerConnection> {
  const sdk = await loadSdk();
  const transport = transportOf(options, sdk);
  const connection = new ServerConnection(options, transport, sdk);
  try {
    await connection.open(signal);
    return connection;
  } catch (error) {
    const why = await connection.explain(error);
    // A sign-in under way needs the same transport.
    if (!(why instanceof WaitingForBrowser)) await connection[Symbol.asyncDispose]();
    throw why;
  }
}

/** The page is open; `finish` takes what the browser brings back. */
export class WaitingForBrowser extends Error {
  readonly finish: (parameters: URLSearchParams) => Promise<void>;

  constructor(finish: (parameters: URLSearchParams) => Promise<void>) {
    super("waiting for the browser");
    this.finish = finish;
  }
}

type Sdk = typeof import("@modelcontextprotocol/client");

async function loadSdk(): Promise<Sdk> {
  const sdk = await import("@modelcontextprotocol/client");
  // The package writes to the console, into the middle of a screen; buddy itself never uses these two.
  console.warn = console.debug = () => undefined;
  return sdk;
}

function transportOf(options: ServerOptions, sdk: Sdk): Transport {
  const { settings, name, env, cwd } = options;
  const { command, url } = settings;
  if (command !== undefined) {
    const own = filled(name, settings.env ?? {}, env);
    return new ProgramTransport({ argv: command, env: childEnv(own), cwd, read: sdk.deserializeMessage });
  }
  const address = new URL(url ?? "");
  const headers = filled(name, settings.headers ?? {}, env);
  const authorized = Object.keys(headers).some((header) => header.toLowerCase() === "authorization");
  return new sdk.StreamableHTTPClientTransport(address, {
    fetch: boundedFetch(address, headers, elsewhere(options, address)),
    // A server may ask for no pause between the requests for its next messages.
    reconnectionScheduler: (reconnect, ms) => {
      const timer = setTimeout(reconnect, Math.max(ms, RECONNECT_MS));
      return () => clearTimeout(timer);
    },
    ...(authorized ? {} : { authProvider: providerOf(options, address) }),
  });
}

/**
 * What the server names besides itself is looked up and registered with in a sign-in that a person started; otherwise
 * only the token that came with one is renewed, where it came from.
 */
function elsewhere({ signIn, signIns, reach }: ServerOptions, address: URL): Fetch {
  return async (url, init = {}) => {
    const target = new URL(url);
    const renews = init.method === "POST" && target.href === signIns.tokenEndpoint(address.href);
    if (signIn === undefined && !renews) throw new SignInNeeded("the server asks for a sign-in");
    if (target.origin === address.origin) return fetch(target, init);
    if (reach === undefined) throw new SignInNeeded("the server asks for a sign-in elsewhere");
    return reach(target, init);
  };
}

function providerOf({ settings, signIns: store, signIn = {} }: ServerOptions, address: URL): OAuthProvider {
  return new OAuthProvider({ address: address.href, store, clientId: settings.oauth_client_id, ...signIn });
}

/** ${NAME} replaced; throws for a variable that is not set. */
function filled(
  server: string,
  table: Readonly<Record<string, string>>,
  env: ServerOptions["env"],
): Record<string, string> {
  const missing = (variable: string) =>
    new BuddyError("auth", `MCP server ${server} needs ${variable}, and it is not set`, {
      hint: `export ${variable}=…, or change [mcp.${server}]`,
    });
  return Object.fromEntries(Object.entries(table).map(([key, text]) => [key, withVariables(text, env, missing)]));
}

export class ServerConnection implements AsyncDisposable {
  readonly #options: ServerOptions;
  readonly #transport: Transport;
  readonly #sdk: Sdk;
  readonly #client: Client;
  /** Until it is open, `explain` says what is wrong. */
  #closed = true;

  constructor(options: ServerOptions, transport: Transport, sdk: Sdk) {
    this.#options = options;
    this.#transport = transport;
    this.#sdk = sdk;
    const onChanged = () => options.onListChanged?.();
    this.#client = new sdk.Client(
      { name: "buddy", version: VERSION },
      {
        capabilities: {},
        // A program may end on a question it does not know; an HTTP server answers it.
        versionNegotiation: { mode: options.settings.url === undefined ? "legacy" : "auto" },
        listChanged: { tools: { autoRefresh: false, debounceMs: DEBOUNCE_MS, onChanged } },
        // Output is not validated: what a tool returns is only text for the model.
        jsonSchemaValidator: { getValidator: () => (input: unknown) => accepted(input) } as never,
      },
    );
    const onclose = () => {
      if (!this.#closed) options.onEnd?.(this.#endWords());
      this.#closed = true;
    };
    Object.assign(this.#client, { onclose });
  }

  /** Name and version that the server gives itself. */
  get about(): string {
    const { name, version } = this.#client.getServerVersion() ?? {};
    return tidy([name, version].filter((one) => typeof one === "string").join(" "), 100);
  }

  async open(signal: AbortSignal | undefined): Promise<void> {
    await this.#client.connect(this.#transport, { timeout: CONNECT_MS, ...defined({ signal }) });
    this.#closed = false;
  }

  async listTools(signal?: AbortSignal): Promise<readonly unknown[]> {
    if (this.#client.getServerCapabilities()?.tools === undefined) return [];
    const tools: unknown[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < MOST_PAGES && tools.length < MOST_LISTED; page++) {
      const result = await this.#ask("tools/list", defined({ cursor }), defined({ signal }));
      if (!isRecord(result) || !Array.isArray(result["tools"]))
        throw new BuddyError("tool", `MCP server ${this.#options.name} sent no list of tools`);
      tools.push(...result["tools"]);
      const next = result["nextCursor"];
      if (typeof next !== "string" || next === "" || next === cursor) break;
      cursor = next;
    }
    return tools;
  }

  async call(tool: string, args: Readonly<Record<string, unknown>>, options: CallOptions): Promise<unknown> {
    const { signal, timeoutMs, onProgress } = options;
    const request: RequestOptions = {
      signal,
      timeout: timeoutMs,
      resetTimeoutOnProgress: true,
      maxTotalTimeout: timeoutMs * MOST_EXTENSIONS,
      ...(onProgress === undefined
        ? {}
        : {
            onprogress: ({ progress, total, message }) => {
              const share = typeof total === "number" && total > 0 ? ` of ${total}` : "";
              onProgress(tidy(`${message ?? "progress"} (${progress}${share})`, MOST_PROGRESS));
            },
          }),
    };
    if (this.#client.getProtocolEra() === "modern")
      return await this.#client.callTool({ name: tool, arguments: { ...args } }, request);
    return await this.#ask("tools/call", { name: tool, arguments: args }, request);
  }

  async resources(): Promise<readonly Listed[]> {
    if (this.#client.getServerCapabilities()?.resources === undefined) return [];
    return listed(await this.#ask("resources/list", {}), "resources", "uri");
  }

  async prompts(): Promise<readonly Listed[]> {
    if (this.#client.getServerCapabilities()?.prompts === undefined) return [];
    return listed(await this.#ask("prompts/list", {}), "prompts", "name");
  }

  /** With the parameters that the browser brought back. */
  async finishSignIn(parameters: URLSearchParams): Promise<void> {
    if (this.#transport instanceof this.#sdk.StreamableHTTPClientTransport)
      await this.#transport.finishAuth(parameters);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    const { url } = this.#options.settings;
    if (url !== undefined && this.#transport instanceof this.#sdk.StreamableHTTPClientTransport)
      await within(
        this.#transport.terminateSession().catch(() => undefined),
        END_SESSION_MS,
      );
    await within(Promise.allSettled([this.#client.close(), this.#transport.close()]), CLOSE_MS);
  }

  /** Turns any error of the package, the network or the program into one that a person can act on. */
  async explain(error: unknown): Promise<Error> {
    const { name, settings } = this.#options;
    if (error instanceof BuddyError && error.code === "auth") return error;
    if (error instanceof NotInstalled)
      return new BuddyError("tool", `MCP server ${name} cannot be used: ${error.message}`, {
        hint: `Install it, or correct command in [mcp.${name}].`,
      });
    const { UnauthorizedError, SdkError, SdkErrorCode } = this.#sdk;
    if (error instanceof UnauthorizedError && this.#options.signIn !== undefined)
      return new WaitingForBrowser((parameters) => this.finishSignIn(parameters));
    if (error instanceof SignInNeeded || error instanceof UnauthorizedError)
      return new BuddyError("auth", `MCP server ${name} asks for a sign-in`, { hint: `Run: buddy mcp login ${name}` });
    // A program that has ended may have said why on stderr, which may still be arriving.
    if (this.#transport instanceof ProgramTransport) await within(this.#transport.over, STDERR_MS);
    const ended = this.#endWords();
    const late = error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout;
    const why = ended !== "" ? `it ended (${ended})` : late ? "it does not answer" : tidy(withCause(error), 300);
    const hint =
      settings.command === undefined
        ? `Check its url in [mcp.${name}].`
        : `Run it yourself to see more: ${settings.command.join(" ")}`;
    return new BuddyError("tool", `MCP server ${name} cannot be used: ${why}`, { hint, cause: error });
  }

  #endWords(): string {
    return this.#transport instanceof ProgramTransport ? tidy(this.#transport.ended, 400) : "";
  }

  /** Without the package's own schemas: one bad entry would make it refuse the whole list. */
  #ask(method: string, params: Record<string, unknown>, options: RequestOptions = {}): Promise<unknown> {
    return this.#client.request({ method, params }, ANYTHING, { timeout: ASK_MS, ...options });
  }
}

function accepted(input: unknown) {
  return { valid: true, data: input, errorMessage: undefined };
}

const ANYTHING = {
  "~standard": { version: 1, vendor: "buddy", validate: (value: unknown) => ({ value }) },
} as const;

function listed(result: unknown, key: string, nameKey: string): Listed[] {
  const items = isRecord(result) && Array.isArray(result[key]) ? result[key] : [];
  return items
    .slice(0, MOST_NAMED)
    .filter(isRecord)
    .map((item) => ({
      name: tidy(String(item[nameKey] ?? ""), 200),
      about: tidy(String(item["description"] ?? item["title"] ?? ""), 200),
    }));
}

function withCause(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  return cause instanceof Error && error.message.length < 20 ? `${error.message}: ${cause.message}` : error.message;
}

const CONNECT_MS = 30_000;
const ASK_MS = 15_000;
const CLOSE_MS = 1_500;
const END_SESSION_MS = 300;
const STDERR_MS = 300;
const DEBOUNCE_MS = 200;
const RECONNECT_MS = 1_000;
const MOST_PAGES = 50;
const MOST_LISTED = 1_000;
const MOST_NAMED = 200;
const MOST_PROGRESS = 200;
/** A call that reports progress may take this many times its time-out. */
const MOST_EXTENSIONS = 20;
