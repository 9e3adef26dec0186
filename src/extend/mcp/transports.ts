/** How a server is reached: a program over its stdin and stdout, or an address over HTTP, both with limits. */
import { resolve } from "node:path";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { BuddyError, messageOf } from "../../lib/errors.ts";
import { startChild } from "../../lib/start-child.ts";
import { within, nextTurn } from "../../lib/waiting.ts";
import { exitCleanup } from "../../targets/connection/exit-cleanup.ts";

/** The program does not exist. */
export class NotInstalled extends Error {}

interface ProgramOptions {
  readonly argv: readonly string[];
  readonly env: Record<string, string>;
  readonly cwd: string;
  /** Parses a line; throws if it is not a message. */
  read(line: string): JSONRPCMessage;
}

type Child = Bun.Subprocess<"pipe", "pipe", "pipe">;

export class ProgramTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: <T extends JSONRPCMessage>(message: T) => void;
  readonly #options: ProgramOptions;
  #child: Child | undefined;
  #forget: (() => void) | undefined;
  #stderr = "";
  #ending = false;
  /** buddy closed it while it still read its input: how it ended says nothing. */
  #dismissed = false;
  #isDeaf = false;
  /** Why buddy ended it. */
  #cut = "";
  readonly #over = Promise.withResolvers<void>();
  #window = { since: 0, bytes: 0, lines: 0 };

  constructor(options: ProgramOptions) {
    this.#options = options;
  }

  /** How it ended, and its last line on stderr; empty while it runs, and if buddy closed it. */
  get ended(): string {
    const child = this.#child;
    if (this.#cut !== "" || this.#dismissed) return this.#cut;
    if (child === undefined || (child.exitCode === null && child.signalCode === null)) return "";
    const how = child.signalCode === null ? `exit code ${child.exitCode}` : String(child.signalCode);
    const last = this.#stderr.trim().split("\n").at(-1)?.slice(0, MOST_LAST_LINE) ?? "";
    return last === "" ? how : `${how}: ${last}`;
  }

  /** Resolves when it has ended and all of its output is read. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  start(): Promise<void> {
    const { env, cwd } = this.#options;
    const [program = "", ...args] = this.#options.argv;
    const argv = [program.includes("/") ? resolve(cwd, program) : program, ...args];
    // Before the server starts: it must not run without something that ends it.
    const cleanup = exitCleanup();
    try {
      // Its own group: what it starts ends with it, and Ctrl-C in the terminal does not reach it.
      const options = { env, cwd, stdin: "pipe", stdout: "pipe", stderr: "pipe", detached: true } as const;
      this.#child = startChild(argv, options);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT")
        return Promise.reject(new NotInstalled(`${program} is not installed`));
      const why = messageOf(error);
      return Promise.reject(new BuddyError("tool", `${program} cannot be started: ${why}`, { cause: error }));
    }
    const child = this.#child;
    child.unref();
    this.#forget = cleanup.watch(child.pid);
    const read = [this.#readMessages(child), this.#readStderr(child)];
    void Promise.allSettled(read).then(async () => {
      await within(child.exited, GRACE_MS);
      this.#endGroup(child);
      this.#over.resolve();
      this.onclose?.();
    });
    return Promise.resolve();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null)
      throw new BuddyError("tool", `the server ended (${this.ended})`);
    try {
      child.stdin.write(`${JSON.stringify(message)}\n`);
      await child.stdin.flush();
    } catch (error) {
      this.#isDeaf = true;
      throw new BuddyError("tool", "the server no longer reads its input", { cause: error });
    }
  }

  /** Asks it to end by closing its stdin, then ends it. */
  async close(): Promise<void> {
    const child = this.#child;
    if (child === undefined || this.#ending) return;
    this.#ending = true;
    this.#dismissed = !this.#isDeaf && child.exitCode === null && child.signalCode === null;
    await Promise.resolve(child.stdin.end()).catch(() => undefined);
    if ((await within(child.exited, GRACE_MS)) === undefined) this.#signal(child, "SIGTERM");
    if ((await within(child.exited, GRACE_MS)) === undefined) this.#signal(child, "SIGKILL");
    this.#endGroup(child);
  }

  #endGroup(child: Child): void {
    this.#signal(child, "SIGKILL");
    this.#forget?.();
    this.#forget = undefined;
  }

  #signal(child: Child, signal: NodeJS.Signals): void {
    try {
      process.kill(-child.pid, signal);
    } catch {
      // The group has ended.
    }
  }

  async #readMessages(child: Child): Promise<void> {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const chunk of child.stdout) {
      if (this.#cut !== "") return;
      this.#count(chunk.byteLength, 0);
      rest += decoder.decode(chunk, { stream: true });
      const lines = rest.split("\n");
      rest = lines.pop() ?? "";
      if (rest.length > MOST_LINE) this.#cutOff(`it sent a message of more than ${MOST_LINE / 1_000_000} MB`);
      this.#count(0, lines.length);
      for (const line of lines) this.#take(line);
      // A server that sends a lot must not block the keyboard and other servers.
      await nextTurn();
    }
  }

  #take(line: string): void {
    // Programs also print lines that are not messages.
    if (this.#cut !== "" || !line.startsWith("{")) return;
    try {
      this.onmessage?.(this.#options.read(line));
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #count(bytes: number, lines: number): void {
    const now = performance.now();
    if (now - this.#window.since > WINDOW_MS) this.#window = { since: now, bytes: 0, lines: 0 };
    this.#window.bytes += bytes;
    this.#window.lines += lines;
    if (this.#window.bytes > MOST_BYTES || this.#window.lines > MOST_LINES)
      this.#cutOff("it sent too much in a short time");
  }

  #cutOff(why: string): void {
    if (this.#cut !== "") return;
    this.#cut = why;
    const child = this.#child;
    if (child !== undefined) this.#endGroup(child);
  }

  async #readStderr(child: Child): Promise<void> {
    const decoder = new TextDecoder();
    for await (const chunk of child.stderr) {
      this.#stderr = (this.#stderr + decoder.decode(chunk, { stream: true })).slice(-MOST_STDERR);
      await nextTurn();
    }
  }
}

const GRACE_MS = 400;
const MOST_LINE = 8_000_000;
const WINDOW_MS = 10_000;
/** In a window. */
const MOST_BYTES = 64_000_000;
const MOST_LINES = 20_000;
const MOST_STDERR = 4_000;
const MOST_LAST_LINE = 300;

// HTTP requests to a server: no redirect to another host, and no endless answer.

export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/**
 * The operator's headers are sent to the origin of the server only. `elsewhere` asks any other address, which only a
 * document of the server can have named: it refuses what is not asked now.
 */
export function boundedFetch(address: URL, headers: Readonly<Record<string, string>>, elsewhere: Fetch): Fetch {
  return async (url, init = {}) => {
    let target = new URL(url);
    const isServer = target.origin === address.origin && target.pathname === address.pathname;
    for (let hop = 0; ; hop++) {
      const own = target.origin === address.origin ? headers : {};
      const sent = new Headers(init.headers);
      for (const [name, value] of Object.entries(own)) sent.set(name, value);
      const asked = { ...init, headers: sent, redirect: "manual" } as const;
      const response = await (isServer ? fetch(target, asked) : elsewhere(target, asked));
      const location = response.headers.get("location");
      if (response.status < 300 || response.status >= 400 || location === null) return bounded(response);
      const next = new URL(location, target);
      // Only 307 and 308 repeat a request unchanged.
      const repeats = response.status >= 307 || (init.method ?? "GET") === "GET";
      if (next.origin !== target.origin || !repeats || hop >= MOST_HOPS) {
        await response.body?.cancel();
        throw new BuddyError("tool", `the server redirects to ${next.origin}${next.pathname}`, {
          hint: "If that is right, use that address in its url.",
        });
      }
      target = next;
    }
  };
}

function bounded(response: Response): Response {
  const { body, status, statusText, headers } = response;
  if (body === null) return response;
  let bytes = 0;
  const limit = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      if (bytes > MOST_RESPONSE_BYTES)
        controller.error(new BuddyError("tool", `the server sent more than ${MOST_RESPONSE_BYTES / 1_000_000} MB`));
      else controller.enqueue(chunk);
    },
  });
  return new Response(body.pipeThrough(limit), { status, statusText, headers });
}

const MOST_HOPS = 3;
const MOST_RESPONSE_BYTES = 32_000_000;
