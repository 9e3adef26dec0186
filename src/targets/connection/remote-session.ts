/** What buddy keeps on a remote machine while it works there: a keeper that ends what was started, and script runners for scripts. */
import { Channel } from "./script-runners.ts";
import { FACTS_SCRIPT, parseFacts } from "./identity.ts";
import { SCRIPT_RUNNER_ARGV, ScriptRunner, ScriptRunnerLost } from "./script-runner.ts";
import { remoteProcess, type ProcessEnder } from "./remote-process.ts";
import type { MachineFacts, Process, ScriptOptions, ScriptResult, SpawnOptions } from "../target.ts";
import { within } from "../within.ts";

export interface RemoteSessionOptions {
  readonly label: string;
  /** Starts LOADER over there through a client, with the client's stdio. */
  readonly client: () => Process;
  /** Directory to work in; "" = where a login starts. */
  readonly cwd: string;
  /** After a reconnect: the directory may have gone meanwhile. */
  readonly again?: boolean;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

const CLOSE_MS = 2000;

export class RemoteSession {
  readonly facts: MachineFacts;
  /** Why the keeper ended; it ends with the connection. */
  readonly lost: Promise<string>;
  readonly #options: RemoteSessionOptions;
  readonly #remoteGuard: ScriptRunner;
  readonly #channel: Channel;
  readonly #reaper: ProcessEnder;
  readonly #abandoned = Promise.withResolvers<void>();

  private constructor(options: RemoteSessionOptions, remoteGuard: ScriptRunner, facts: MachineFacts, ledger: string) {
    this.#options = options;
    this.#remoteGuard = remoteGuard;
    this.facts = facts;
    this.lost = remoteGuard.ended;
    this.#reaper = {
      ledger,
      keep: (group, isClient) => remoteGuard.tell(`${isClient ? "keepclient" : "keep"} ${group}`),
      drop: (group) => remoteGuard.tell(`drop ${group}`),
      signal: (group, signal) =>
        remoteGuard.tell(
          signal === "LATER-KILL"
            ? `(sleep 1; kill -KILL -${group}) </dev/null >/dev/null 2>&1 &`
            : `kill -${signal} -${group} 2>/dev/null || kill -${signal} ${group} 2>/dev/null`,
        ),
    };
    this.#channel = new Channel({ label: options.label, spawn: (argv) => this.spawn(argv, { isClient: true }) });
    this.#channel.warm();
  }

  static async open(options: RemoteSessionOptions): Promise<RemoteSession> {
    const remoteGuard = new ScriptRunner(remoteProcess(options.client(), SCRIPT_RUNNER_ARGV, {}, undefined));
    remoteGuard.tell("ledger");
    try {
      const answer = await within(
        options.timeoutMs,
        options.signal,
        remoteGuard.run(FACTS_SCRIPT, [options.cwd, options.again ? "again" : ""]),
      );
      const { ledger, ...facts } = parseFacts(answer, options.label, options.cwd);
      return new RemoteSession(options, remoteGuard, facts, ledger);
    } catch (error) {
      remoteGuard.destroy(new ScriptRunnerLost("given up"));
      throw error;
    }
  }

  get alive(): boolean {
    return this.#remoteGuard.alive;
  }

  spawn(argv: readonly string[], options: SpawnOptions = {}): Process {
    options.signal?.throwIfAborted();
    return remoteProcess(this.#options.client(), argv, { ...options, softCwd: this.facts.cwd }, this.#reaper);
  }

  run(script: string, options?: ScriptOptions): Promise<ScriptResult> {
    return this.#channel.run(script, options);
  }

  /** A real answer from over there: a master process would say that all is well while the line is dead. */
  async answers(timeoutMs: number, signal?: AbortSignal): Promise<boolean> {
    if (!this.alive) return false;
    try {
      await within(timeoutMs, signal, this.#remoteGuard.run(":"));
      return true;
    } catch {
      signal?.throwIfAborted();
      return false;
    }
  }

  /** The line is dead: nothing can be said to the other side any more, it cleans up by itself. */
  abandon(why: string): void {
    this.#channel.reset(why);
    this.#remoteGuard.destroy(new ScriptRunnerLost(why));
    this.#abandoned.resolve();
  }

  /** Ends everything started there and waits until that is done. */
  async close(): Promise<void> {
    this.#channel.close();
    this.#remoteGuard.close();
    // The keeper's pipes are open in the ssh master too: given up, it ends only after that.
    const over = Promise.race([this.#remoteGuard.ended, this.#abandoned.promise]);
    await within(CLOSE_MS, undefined, over).catch(() => this.abandon("closed"));
  }
}
