/** What buddy runs on a remote machine while it works there: a guard that ends what was started, and script runners. */
import guardCommands from "../../../templates/target/guard-commands.sh" with { type: "text" };
import guardServe from "../../../templates/target/guard-serve.sh" with { type: "text" };
import guardNamespace from "../../../templates/target/guard-namespace.sh" with { type: "text" };
import { script } from "../../lib/script.ts";
import { ScriptRunners } from "./script-runners.ts";
import { FACTS_SCRIPT, parseFacts } from "./identity.ts";
import { PING, RUNNER_ARGV, ScriptRunner, ScriptRunnerLost } from "./script-runner.ts";
import { remoteProcess, type ProcessEnder, unlessRefused } from "./remote-process.ts";
import type {
  MachineFacts,
  Process,
  ScriptOptions,
  ScriptResult,
  SpawnOptions,
  LentProcess,
  NamespaceStart,
  GuardShell,
} from "../target.ts";
import { quote, quoteAll } from "../../lib/quote.ts";
import { within } from "../../lib/waiting.ts";
import { BuddyError } from "../../lib/errors.ts";
import { randomBytes } from "node:crypto";
import { quoteOnOneLine } from "../script-line.ts";
import { bareFunction } from "../read-only/clean-environment.ts";
import { LOADED, NAMESPACE, STAND } from "../read-only/standing-shell.ts";

interface RemoteSessionOptions {
  readonly label: string;
  /**
   * Starts LOADER on the target through a client, with the client's stdio. `needed`: nothing can replace it, so it may
   * open a connection of its own.
   */
  readonly client: (needed: boolean) => Process;
  /** The client of the guard, if it was started with the connection. */
  readonly first?: Process | undefined;
  /** Directory to work in; "" = where a login starts. */
  readonly cwd: string;
  /** After a reconnect: the directory may be missing. */
  readonly again?: boolean;
  readonly timeoutMs: number;
  /** One of many machines: as few processes as possible. */
  readonly frugal?: boolean;
  /** A process follows at once: its client starts together with that of the guard, which saves two round trips. */
  readonly ahead?: boolean;
  readonly signal?: AbortSignal | undefined;
  /** Clients that connect by themselves might reach another machine than the first: whether each is checked. */
  readonly checkMachine?: "always" | "when-needed";
}

/** Printed by a client that reached another machine than the first. */
export const OTHER_MACHINE = "buddy: this is a different machine than before";

const CLOSE_MS = 2000;
const LAST_WORDS_MS = 500;

export class RemoteSession {
  readonly facts: MachineFacts;
  readonly #options: RemoteSessionOptions;
  readonly #guard: ScriptRunner;
  readonly #runners: ScriptRunners;
  readonly #ender: ProcessEnder;
  /** For the next process that is needed. */
  #spare: Process | undefined;
  #guardShell: RemoteGuardShell | undefined;
  readonly #abandoned = Promise.withResolvers<void>();

  private constructor(options: RemoteSessionOptions, guard: ScriptRunner, facts: MachineFacts, directory: string) {
    this.#options = options;
    this.#guard = guard;
    this.facts = facts;
    this.#ender = {
      directory,
      watch: (group, isClient) => guard.tell(`${isClient ? "watchclient" : "watch"} ${group}`),
      unwatch: (group) => guard.tell(`unwatch ${group}`),
      signal: (group, signal) =>
        guard.tell(
          signal === "LATER-KILL"
            ? `(sleep 1; kill -KILL -${group}) </dev/null >/dev/null 2>&1 &`
            : `kill -${signal} -${group} 2>/dev/null || kill -${signal} ${group} 2>/dev/null`,
        ),
    };
    const spawn = (argv: readonly string[], more?: SpawnOptions) =>
      this.#spawn(argv, { ...more, isClient: true }, false);
    const { label, frugal = false } = options;
    this.#runners = new ScriptRunners({ label, shared: guard, spawn, frugal });
  }

  static async open(options: RemoteSessionOptions): Promise<RemoteSession> {
    const started = options.first ?? options.client(false);
    let spare = options.ahead === true ? options.client(true) : undefined;
    // If there is only one session, either of the two may have got it.
    const other = (): Process => {
      const taken = spare;
      spare = undefined;
      return taken!;
    };
    const client = spare === undefined ? started : unlessRefused(started, other);
    const { runner: guard, answer: asked } = ScriptRunner.begin(
      (script) => remoteProcess(client, RUNNER_ARGV, { script }, undefined),
      {
        before: "makedirectory",
        script: FACTS_SCRIPT,
        args: [options.cwd, options.again ? "again" : "", options.frugal ? "later" : ""],
        behind: GUARD_SHELL,
      },
    );
    try {
      const answer = await within(asked, options.timeoutMs, options.signal);
      if (answer === undefined) throw new NoAnswer("target", `no answer within ${options.timeoutMs / 1000} s`);
      const { directory, leads, ...facts } = parseFacts(answer, options.label, options.cwd);
      const remoteSession = new RemoteSession(options, guard, facts, directory);
      if (directory !== "" && leads) remoteSession.#guardShell = new RemoteGuardShell(guard);
      remoteSession.#spare = spare;
      return remoteSession;
    } catch (error) {
      guard.destroy(new ScriptRunnerLost("given up"));
      spare?.kill();
      if (!(error instanceof NoAnswer)) throw error;
      const printed = (await within(guard.ended, LAST_WORDS_MS))?.split("\n").at(-1) ?? "";
      throw printed === "" ? error : new NoAnswer("target", `${error.message}, but it printed: ${printed}`);
    }
  }

  get alive(): boolean {
    return this.#guard.alive;
  }

  /** What the guard's session can do without a further one; undefined if nothing. */
  get guardShell(): RemoteGuardShell | undefined {
    return this.alive ? this.#guardShell : undefined;
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
    const spare = needed ? this.#spare : undefined;
    if (needed) this.#spare = undefined;
    const process = remoteProcess(spare ?? this.#options.client(needed), argv, more, this.#ender);
    // The process may mount something.
    this.#guardShell?.watch();
    return process;
  }

  run(script: string, options?: ScriptOptions): Promise<ScriptResult> {
    return this.#runners.run(script, options);
  }

  /** A real answer from the target: an ssh master reports no problem while the connection is dead. */
  async answers(timeoutMs: number, signal?: AbortSignal): Promise<boolean> {
    if (!this.alive) return false;
    try {
      return (await within(this.#guard.run(PING), timeoutMs, signal)) !== undefined;
    } catch {
      signal?.throwIfAborted();
      return false;
    }
  }

  /** The connection is dead: the remote side cleans up by itself. */
  abandon(why: string): void {
    this.#runners.reset(why);
    this.#spare?.kill();
    this.#guard.destroy(new ScriptRunnerLost(why));
    this.#abandoned.resolve();
  }

  /** Ends everything started there and waits until that is done. */
  async close(): Promise<void> {
    this.#runners.close();
    this.#spare?.stdin.end();
    this.#guard.close();
    // The ssh master also holds the guard's pipes open, so an abandoned guard ends only after the master.
    const over = Promise.race([this.#guard.ended, this.#abandoned.promise]).then(() => true);
    if ((await within(over, CLOSE_MS)) === undefined) this.abandon("closed");
  }
}

function sameMachine({ uid, host, machine }: MachineFacts): string {
  return `
m=; if [ -r /etc/machine-id ]; then read -r m </etc/machine-id; fi
if [ "$(uname -n)" = ${quote(host)} ] && [ "$(id -u)" = ${uid} ] && { [ -z "$m" ] || [ "$m" = ${quote(machine)} ]; }
then unset m; else echo ${quote(OTHER_MACHINE)} >&2; exit 72; fi`;
}

/** No answer came in time. */
export class NoAnswer extends BuddyError {}

// ── What the guard's session also does: it holds the read-only namespace. For one of many machines it also runs
// commands that need no approval, in a clean shell that stays: until a command needs approval, such a machine costs
// one local ssh process and one session.

export const GUARD_SHELL =
  script(guardCommands) +
  bareFunction("") +
  script(guardServe, { loaded: LOADED, stand: quote(STAND) }) +
  script(guardNamespace, { namespace: NAMESPACE });

export class RemoteGuardShell implements GuardShell {
  readonly job = randomBytes(8).toString("hex");
  readonly key = randomBytes(16).toString("hex");
  readonly #guard: ScriptRunner;
  #stands: { readonly cwd: string } | undefined;
  #started = false;
  #watching = false;

  constructor(guard: ScriptRunner) {
    this.#guard = guard;
  }

  texts(): LentProcess {
    this.#guard.tell(`texts ${this.job} ${this.key}`);
    return this.#guard.lend();
  }

  get stands(): boolean {
    return this.#stands !== undefined;
  }

  line(script: string, tag: number, cwd: string): string {
    return `text ${tag} ${[cwd, script].map(quoteOnOneLine).join(" ")}\n`;
  }

  question(text: string, tag: number, cwd: string): string {
    const there = cwd === this.#stands?.cwd ? "" : `cd -- ${quote(cwd)} || exit 126; `;
    return `ask ${tag} ${quoteOnOneLine(there + text)}\n`;
  }

  async start({ bash, cwd, own }: NamespaceStart): Promise<string> {
    this.#started = true;
    const watched = this.#watching ? "1" : "";
    const line = await this.#guard.report("beside", bash, cwd, this.job, watched, quoteAll(own));
    if (!line.startsWith("stands\t")) return line;
    this.#stands = { cwd };
    return line.replace("stands", "ready");
  }

  watch(): void {
    if (this.#started && !this.#watching) this.#guard.tell("echo >&7");
    this.#watching = true;
  }

  serveAgain(look: string, enter: string): void {
    const again = `${look} && serve "$__buddy_pid $__buddy_since" ${enter}`;
    this.#guard.tell(`( eval ${quoteOnOneLine(again)} ) 8>&1 9>&2 </dev/null 6>&-`);
  }

  /** Does not wait for a text that was stopped and does not end. */
  forget(): void {
    this.#guard.tell("T= A=");
  }
}
