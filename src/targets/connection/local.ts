/** Processes on this machine: each its own session and group, ended with buddy. */
import { existsSync } from "node:fs";
import { ScriptRunners, runAgainAfterDrop } from "./script-runners.ts";
import { childEnv, startChild } from "../../lib/start-child.ts";
import { currentDirectory, withBytes } from "../../lib/byte-names.ts";
import { fileError } from "../../lib/files.ts";
import { within } from "../../lib/waiting.ts";
import { endGroups, exitCleanup, signalGroup } from "./exit-cleanup.ts";
import { directory, localFacts } from "./identity.ts";
import type { MachineFacts, Process, ScriptOptions, ScriptResult, SpawnOptions, Transport } from "../target.ts";
import { scriptInFile } from "./script-file.ts";

const TERM_TO_KILL_MS = 1000;
const CLIENT_GRACE_MS = 1000;

export interface LocalOptions {
  readonly cwd?: string | undefined;
}

export class LocalTransport implements Transport {
  readonly kind = "local";
  readonly label = "local";
  readonly #cwd: string;
  #facts: MachineFacts | undefined;
  readonly #groups = new Map<number, () => void>();
  /** The groups that end by themselves. */
  readonly #clients = new Map<number, Promise<unknown>>();
  readonly #runners: ScriptRunners;

  constructor(options: LocalOptions = {}) {
    this.#cwd = directory(options.cwd ?? currentDirectory());
    this.#runners = new ScriptRunners({
      spawn: (argv, more) => this.spawn(argv, { ...more, isClient: true }),
      label: "this machine",
    });
  }

  /** Lazy: asks tmux for its version, which a transport that only starts clients (ssh) does not need. */
  get facts(): MachineFacts {
    return (this.#facts ??= localFacts(this.#cwd));
  }

  spawn(argv: readonly string[], options: SpawnOptions = {}): Process {
    options.signal?.throwIfAborted();
    this.#forgetEnded();
    const start = options.script === undefined ? { argv, stdin: "" } : scriptInFile(argv, options.script);
    let child: Bun.Subprocess<"pipe", "pipe", "pipe">;
    try {
      child = startChild(start.argv, {
        stdin: "pipe",
        stdout: "pipe",
        stderr: "pipe",
        ...inDirectory(options.cwd ?? this.#cwd),
        env: childEnv(options.env),
        detached: true,
      });
    } catch (error) {
      return notStarted(error, argv, options.cwd ?? this.#cwd);
    }
    this.#groups.set(child.pid, exitCleanup().watch(child.pid, options.isClient));
    const kill = (signal?: NodeJS.Signals) => {
      signalGroup(child.pid, signal ?? "SIGTERM");
      if (signal !== undefined) return;
      const timer = setTimeout(() => signalGroup(child.pid, "SIGKILL"), TERM_TO_KILL_MS);
      timer.unref();
    };
    const abort = () => kill();
    options.signal?.addEventListener("abort", abort, { once: true });
    const exited = child.exited.then((code) => {
      options.signal?.removeEventListener("abort", abort);
      if (options.isClient || !signalGroup(child.pid, 0)) this.#forget(child.pid);
      return code;
    });
    if (options.isClient) this.#clients.set(child.pid, exited);
    const stdin = stdinOf(child.stdin);
    if (start.stdin !== "") stdin.write(start.stdin);
    return {
      pid: Promise.resolve(child.pid),
      stdin,
      stdout: child.stdout,
      stderr: child.stderr,
      exited,
      kill,
    };
  }

  run(script: string, options?: ScriptOptions): Promise<ScriptResult> {
    return runAgainAfterDrop(
      this.label,
      () => this.#runners.run(script, options),
      () => this.ensure(),
    );
  }

  ensure(): Promise<void> {
    return Promise.resolve();
  }

  reconnect(): Promise<void> {
    return Promise.resolve();
  }

  connectAnew(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  answers(): Promise<boolean> {
    return Promise.resolve(true);
  }

  abandon(): Promise<void> {
    return this[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#runners.close();
    const others = [...this.#groups.keys()].filter((pid) => !this.#clients.has(pid));
    await endGroups(others);
    for (const pid of others) this.#forget(pid);
    await within(Promise.all(this.#clients.values()), CLIENT_GRACE_MS).catch(() => {});
    await endGroups([...this.#groups.keys()]);
    for (const pid of this.#groups.keys()) this.#forget(pid);
  }

  #forget(pid: number): void {
    this.#groups.get(pid)?.();
    this.#groups.delete(pid);
    this.#clients.delete(pid);
  }

  /** A group id is not reused while the group has members, so only empty ones are forgotten. */
  #forgetEnded(): void {
    for (const pid of this.#groups.keys()) if (!signalGroup(pid, 0)) this.#forget(pid);
  }
}

/** A name that is not UTF-8 cannot be given to the runtime; it is buddy's own directory, which every child inherits. */
function inDirectory(path: string): { cwd?: string } {
  return path.isWellFormed() ? { cwd: path } : {};
}

/** Writing to a process that has ended is not an error: its exit code reports that. */
function stdinOf(sink: Bun.FileSink): Process["stdin"] {
  let open = true;
  const quietly = (act: () => unknown) => {
    try {
      const result = act();
      if (result instanceof Promise) result.catch(() => (open = false));
    } catch {
      open = false;
    }
  };
  return {
    write(data) {
      if (!open) return;
      quietly(() => sink.write(typeof data === "string" ? withBytes(data) : data));
      quietly(() => sink.flush());
    },
    end() {
      if (!open) return;
      open = false;
      quietly(() => sink.end());
    },
  };
}

/** Reported as a shell would: 126 or 127 and a line on stderr, so that all transports behave alike. */
function notStarted(error: unknown, argv: readonly string[], cwd: string): Process {
  const code = (error as NodeJS.ErrnoException).code;
  const why = existsSync(cwd)
    ? `${argv[0]}: ${code === "ENOENT" ? "not found" : fileError(error)}`
    : `cd: ${cwd}: no such directory`;
  const text = new Response(`${why}\n`).body as ReadableStream<Uint8Array>;
  return {
    pid: Promise.resolve(0),
    stdin: { write() {}, end() {} },
    stdout: new Response("").body ?? new ReadableStream(),
    stderr: text,
    exited: Promise.resolve(code === "EACCES" ? 126 : 127),
    kill() {},
  };
}
