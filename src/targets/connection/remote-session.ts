/**
 * What buddy keeps on a remote machine while it works there: one runner that ends what was started, others for scripts.
 */
import { Channel } from "./script-runners.ts";
import { FACTS_SCRIPT, parseFacts } from "./identity.ts";
import { OWN_SESSION, OwnSession } from "./own-session.ts";
import { PING, RUNNER_ARGV, ScriptRunner, ScriptRunnerLost } from "./script-runner.ts";
import { remoteProcess, type ProcessEnder } from "./remote-process.ts";
import type { MachineFacts, Process, ScriptOptions, ScriptResult, SpawnOptions } from "../target.ts";
import { quote } from "../../lib/quote.ts";
import { within } from "../../lib/waiting.ts";
import { BuddyError } from "../../lib/errors.ts";

interface RemoteSessionOptions {
  readonly label: string;
  /**
   * Starts LOADER on the target through a client, with the client's stdio. `needed`: nothing else can do its work, so
   * it may take a connection of its own.
   */
  readonly client: (needed: boolean) => Process;
  /** The client of the guard, where it was started with the connection. */
  readonly first?: Process;
  /** Directory to work in; "" = where a login starts. */
  readonly cwd: string;
  /** After a reconnect: the directory may have gone meanwhile. */
  readonly again?: boolean;
  readonly timeoutMs: number;
  /** One of many machines: as few processes as possible. */
  readonly frugal?: boolean;
  readonly signal?: AbortSignal;
  /** Clients that find their own way there might end up elsewhere: each must be on the machine of the first. */
  readonly checkMachine?: "always" | "when-needed";
}

/** What a client says that reached another machine than the first. */
export const OTHER_MACHINE = "buddy: this is another machine than before";

const CLOSE_MS = 2000;
const LAST_WORDS_MS = 500;

export class RemoteSession {
  readonly facts: MachineFacts;
  /** Why the guard ended; it ends with the connection. */
  readonly lost: Promise<string>;
  readonly #options: RemoteSessionOptions;
  readonly #remoteGuard: ScriptRunner;
  readonly #channel: Channel;
  readonly #ender: ProcessEnder;
  #own: OwnSession | undefined;
  #warmed = false;
  readonly #abandoned = Promise.withResolvers<void>();

  private constructor(
    options: RemoteSessionOptions,
    remoteGuard: ScriptRunner,
    facts: MachineFacts,
    directory: string,
  ) {
    this.#options = options;
    this.#remoteGuard = remoteGuard;
    this.facts = facts;
    this.lost = remoteGuard.ended;
    this.#ender = {
      directory,
      watch: (group, isClient) => remoteGuard.tell(`${isClient ? "watchclient" : "watch"} ${group}`),
      unwatch: (group) => remoteGuard.tell(`unwatch ${group}`),
      signal: (group, signal) =>
        remoteGuard.tell(
          signal === "LATER-KILL"
            ? `(sleep 1; kill -KILL -${group}) </dev/null >/dev/null 2>&1 &`
            : `kill -${signal} -${group} 2>/dev/null || kill -${signal} ${group} 2>/dev/null`,
        ),
    };
    // Where there is no session for a script runner, the guard runs its scripts.
    const spawn = (argv: readonly string[], more?: SpawnOptions) =>
      this.#spawn(argv, { ...more, isClient: true }, false);
    const { label, frugal = false } = options;
    this.#channel = new Channel({ label, shared: remoteGuard, spawn, frugal });
  }

  static async open(options: RemoteSessionOptions): Promise<RemoteSession> {
    const client = options.first ?? options.client(false);
    const { runner: remoteGuard, answer: asked } = ScriptRunner.begin(
      (script) => remoteProcess(client, RUNNER_ARGV, { script }, undefined),
      {
        before: "makedirectory",
        script: FACTS_SCRIPT,
        args: [options.cwd, options.again ? "again" : "", options.frugal ? "later" : ""],
        behind: options.frugal === true ? OWN_SESSION : "",
      },
    );
    try {
      const answer = await within(asked, options.timeoutMs, options.signal);
      if (answer === undefined) throw new NoAnswer("target", `no answer within ${options.timeoutMs / 1000} s`);
      const { directory, leads, ...facts } = parseFacts(answer, options.label, options.cwd);
      const remoteSession = new RemoteSession(options, remoteGuard, facts, directory);
      if (options.frugal === true && directory !== "" && leads) remoteSession.#own = new OwnSession(remoteGuard);
      return remoteSession;
    } catch (error) {
      remoteGuard.destroy(new ScriptRunnerLost("given up"));
      if (!(error instanceof NoAnswer)) throw error;
      const printed = (await within(remoteGuard.ended, LAST_WORDS_MS))?.split("\n").at(-1) ?? "";
      throw printed === "" ? error : new NoAnswer("target", `${error.message}, but it printed: ${printed}`);
    }
  }

  get alive(): boolean {
    return this.#remoteGuard.alive;
  }

  /** What the guard's own session can do without a further one; undefined where it cannot. */
  get own(): OwnSession | undefined {
    return this.alive ? this.#own : undefined;
  }

  spawn(argv: readonly string[], options: SpawnOptions = {}): Process {
    return this.#spawn(argv, options, true);
  }

  #spawn(argv: readonly string[], options: SpawnOptions, needed: boolean): Process {
    options.signal?.throwIfAborted();
    const { checkMachine } = this.#options;
    const isChecked = checkMachine === "always" || (checkMachine === "when-needed" && needed);
    const check = isChecked ? { check: sameMachine(this.facts) } : {};
    const more = { ...options, softCwd: this.facts.cwd, ...check };
    const process = remoteProcess(this.#options.client(needed), argv, more, this.#ender);
    // It may mount something.
    this.#own?.watch();
    // The shell comes first: where the sshd allows only two sessions, scripts can do without one of their own.
    if (!this.#warmed && options.isClient !== true) {
      this.#warmed = true;
      process.pid.then(() => this.#channel.warm()).catch(() => {});
    }
    return process;
  }

  run(script: string, options?: ScriptOptions): Promise<ScriptResult> {
    return this.#channel.run(script, options);
  }

  /** A real answer from the target: a master process would report no problem while the connection is dead. */
  async answers(timeoutMs: number, signal?: AbortSignal): Promise<boolean> {
    if (!this.alive) return false;
    try {
      return (await within(this.#remoteGuard.run(PING), timeoutMs, signal)) !== undefined;
    } catch {
      signal?.throwIfAborted();
      return false;
    }
  }

  /** The connection is dead: nothing reaches the other side any more, it cleans up by itself. */
  abandon(why: string): void {
    this.#channel.reset(why);
    this.#remoteGuard.destroy(new ScriptRunnerLost(why));
    this.#abandoned.resolve();
  }

  /** Ends everything started there and waits until that is done. */
  async close(): Promise<void> {
    this.#channel.close();
    this.#remoteGuard.close();
    // The guard's pipes are open in the ssh master too: given up, it ends only after that.
    const over = Promise.race([this.#remoteGuard.ended, this.#abandoned.promise]).then(() => true);
    if ((await within(over, CLOSE_MS)) === undefined) this.abandon("closed");
  }
}

function sameMachine({ uid, host, machine }: MachineFacts): string {
  return `
m=; if [ -r /etc/machine-id ]; then read -r m </etc/machine-id; fi
if [ "$(uname -n)" = ${quote(host)} ] && [ "$(id -u)" = ${uid} ] && { [ -z "$m" ] || [ "$m" = ${quote(machine)} ]; }
then unset m; else echo ${quote(OTHER_MACHINE)} >&2; exit 72; fi`;
}

/** Nothing came back in time. */
export class NoAnswer extends BuddyError {}
