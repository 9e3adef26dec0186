/** A persistent sh over pipes on any transport: separate stdout and stderr, exact ends, state kept between commands. */
import { nameFrom } from "../../lib/byte-names.ts";
import { randomBytes } from "node:crypto";
import { BuddyError, messageOf } from "../../lib/errors.ts";
import { isWritableDirectory } from "../../lib/local-directories.ts";
import { PermanentRefusal } from "../errors.ts";
import type {
  GuardShell,
  OutputPage,
  ReadOutputOptions,
  RunOptions,
  RunOutcome,
  RunResult,
  Shell,
  ShellPlace,
  TargetNotice,
  Transport,
  Unasked,
} from "../target.ts";
import {
  changesEnvironment,
  cleanLines,
  cleanRequest,
  DIRECT_LOOP,
  DIRECT_START,
  ELSEWHERE,
  END_TREE,
  request,
} from "./direct-scripts.ts";
import type { StandingScript } from "../read-only/clean-children.ts";
import { type CleanScript, withVariables } from "../read-only/clean-script.ts";
import { movedAway } from "../tmux/typed-keys.ts";
import { type Gone, LiveShell, type Recordings } from "./live-shell.ts";
import { Askpass, askForSudo, mentionsSudo } from "./askpass.ts";
import { NO_OUTPUT, Recording } from "../output/recording.ts";
import type { OutputStore } from "../output/output-store.ts";
import { OneAtATime, within } from "../../lib/waiting.ts";

export interface DirectShellOptions {
  readonly transport: Transport;
  readonly outputStore: OutputStore;
  readonly cwd: string;
  /** The script for a command that runs without approval. */
  readonly clean: CleanScript;
  /** What a bash needs to keep a clean shell for such commands. */
  readonly standing: StandingScript;
  readonly notice: (notice: TargetNotice) => void;
  /** How the guard of one of many machines is used for such commands. */
  readonly guardShell: {
    /** Only for one of many machines, and not while the namespace is being made. */
    mayUse(): boolean;
    mayStand(guard: GuardShell, text: string, unasked: Unasked): boolean;
    standAgain(guard: GuardShell): void;
  };
}

/** How long to wait for the end of what a command started, and of the shell itself. */
const END_MS = 3000;
const KILLED_MS = 500;
const CLOSE_MS = 300;

export class DirectShell implements Shell, AsyncDisposable {
  readonly kind = "direct";
  readonly #options: DirectShellOptions;
  /** For buddy's helper programs. */
  readonly #directory: string;
  /** Where the exported variables are kept for a new shell. */
  readonly #kept: string;
  #live: LiveShell | undefined;
  #guard: UsedShell | undefined;
  #cwd: string;
  #used = false;
  /** The exported variables and the umask as the shell wrote them; its file is removed when the connection drops. */
  #environment = "";
  /** Number of commands that may have exported something, and of the last after which `#environment` was read. */
  #changed = 0;
  #exports = 0;
  #remembered = 0;
  #last: RunResult | undefined;
  readonly #turns = new OneAtATime();
  #busy = false;
  #tag = 0;
  /** The last shell ended with its connection. */
  #droppedBefore = false;
  #closed = false;

  constructor(options: DirectShellOptions) {
    this.#options = options;
    this.#cwd = options.cwd;
    const { facts, kind } = options.transport;
    const name = `buddy-${facts.uid}/direct-${randomBytes(6).toString("hex")}`;
    this.#directory = `/tmp/${name}`;
    this.#kept = `${kind === "local" && isWritableDirectory(MEMORY) ? MEMORY : "/tmp"}/${name}`;
  }

  get cwd(): string {
    return this.#cwd;
  }

  get environmentFile(): string {
    return `${this.#kept}/env`;
  }

  get environmentVersion(): number {
    return this.#exports;
  }

  /** Asks the machine: others can rename or remove the directory, and a command can set PWD. */
  async where(): Promise<ShellPlace> {
    const { transport } = this.#options;
    const place = { cwd: this.#cwd, user: transport.facts.user, typed: "" };
    const live = this.#live;
    if (live === undefined || live.ended !== undefined) return place;
    const args = [this.#cwd, String(await live.process.pid)];
    const cwd = nameFrom((await transport.run(ELSEWHERE, { args, quick: true })).stdout).replace(/\n$/, "");
    return cwd === "" ? place : { ...place, cwd };
  }

  /** Starts the shell before the first command. */
  async warm(): Promise<void> {
    this.#live ??= this.#start();
    await this.#live?.process.pid;
  }

  async run(command: string, options: RunOptions = {}): Promise<RunResult> {
    if (options.noWait === true) {
      throw new BuddyError("tool", "a direct shell cannot leave a command running", {
        hint: "Wait for it, or start it in the background.",
      });
    }
    if (command.includes("\0")) throw new BuddyError("tool", "a command cannot contain a NUL byte");
    const result = await this.#turns.take(() => this.#run(command, options), options.signal);
    return (
      result ?? {
        outcome: { kind: "stopped", by: "user" },
        output: NO_OUTPUT,
        cwd: this.#cwd,
        notes: ["It had not started."],
      }
    );
  }

  async wait(): Promise<RunResult> {
    await this.#turns.idle();
    if (this.#last !== undefined) return this.#last;
    throw new BuddyError("tool", "no command has been run in this shell yet", { hint: "Run one first." });
  }

  async readOutput(id: string, options?: ReadOutputOptions): Promise<OutputPage> {
    return await this.#options.outputStore.read(id, options);
  }

  /** Ends the shell's process, unless it runs a command: another shell takes over. */
  async rest(): Promise<void> {
    if (!this.#busy) await this.#end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    await this.#end();
  }

  async #end(): Promise<void> {
    const live = this.#live;
    this.#live = undefined;
    if (live === undefined || live.ended !== undefined) return;
    // The loop ends with its stdin and removes its directory.
    live.process.stdin.end();
    const over = await within(live.process.exited, CLOSE_MS);
    if (over === undefined) await this.#endTree(String(await live.process.pid), live.job).catch(() => {});
    live.process.kill("SIGKILL");
  }

  async #run(command: string, options: RunOptions): Promise<RunResult> {
    if (options.onlyIn !== undefined && options.onlyIn !== this.#cwd) {
      const outcome = { kind: "lost", why: movedAway(this.#cwd, options.onlyIn), notRun: true } as const;
      return { outcome, output: NO_OUTPUT, cwd: this.#cwd, notes: [] };
    }
    const stdout = new Recording(this.#options.outputStore.open(), options, "stdout");
    const stderr = new Recording(this.#options.outputStore.open("err"), options, "stderr");
    const notes: string[] = [];
    this.#busy = true;
    const outcome = await this.#execute(command, options, { stdout, stderr }, notes).finally(
      () => (this.#busy = false),
    );
    stdout.end();
    stderr.end();
    this.#last = {
      outcome,
      output: stdout.captured(),
      stderr: stderr.captured(),
      cwd: this.#cwd,
      outputId: stdout.id,
      stderrId: stderr.id,
      notes,
    };
    return this.#last;
  }

  async #execute(command: string, options: RunOptions, into: Recordings, notes: string[]): Promise<RunOutcome> {
    const used = await this.#shellFor(options, notes);
    if ("kind" in used) return used;
    const { live, guard } = used;
    const { unasked } = options;
    const text = unasked === undefined ? command : withVariables(command, unasked);
    const tag = ++this.#tag;
    const late = live.begin(tag, into);
    if (late !== "") notes.push(`Programs left in the background printed meanwhile: ${JSON.stringify(late)}`);
    this.#used = true;
    const line = (): string => {
      const clean = (to: string) => this.#options.clean(text, unasked!, to);
      const lines = unasked && cleanLines(command, clean);
      if (guard !== undefined)
        return guard.line(lines === undefined ? command : `${lines} 9>&2 2>/dev/null`, tag, this.#cwd);
      return lines === undefined ? request((askpass?.prelude ?? "") + command, tag) : cleanRequest(lines, tag);
    };
    const asked = new Pauses();
    await using askpass = await this.#askpass(command, options, asked);
    if (options.signal?.aborted === true) return { kind: "stopped", by: "user" };
    const standing = unasked && guard === undefined ? this.#options.standing(text, unasked) : undefined;
    if (standing !== undefined) live.ask(text, tag, standing);
    else if (unasked !== undefined && guard !== undefined && this.#options.guardShell.mayStand(guard, text, unasked))
      live.process.stdin.write(guard.question(text, tag, this.#cwd));
    else live.process.stdin.write(line());
    const { transport } = this.#options;
    const over = transport.gone === undefined ? undefined : new AbortController();
    using _ = { [Symbol.dispose]: () => over?.abort() };
    const gone = over && transport.gone?.(over.signal);
    let ended = live.finished;
    let how = await waitForCommand(ended, options, asked, gone);
    if (how === "ended" && (await ended).kind === "not-taken") {
      live.begin(tag, into);
      live.process.stdin.write(line());
      if (guard !== undefined) this.#options.guardShell.standAgain(guard);
      ended = live.finished;
      how = await waitForCommand(ended, options, asked, gone);
    }
    if (how !== "ended") return await this.#breakOff(how, used, ended, notes);
    const end = await ended;
    if (end.kind === "not-taken") return { kind: "lost", why: "the shell did not accept the command" };
    if (end.kind === "gone") return await this.#shellGone(end, used, notes);
    this.#cwd = end.cwd || this.#cwd;
    if (guard === undefined && unasked === undefined && changesEnvironment(command)) this.#exports++;
    if (guard === undefined && changesEnvironment(command) && this.#options.transport.kind !== "local")
      void this.#rememberEnvironment(++this.#changed);
    return { kind: "exited", code: end.code };
  }

  /** The shell that runs the next command, started if there is none; or why it cannot be run. */
  async #shellFor({ unasked, signal }: RunOptions, notes: string[]): Promise<UsedShell | RunOutcome> {
    if (this.#live?.ended !== undefined) {
      // It ended between two commands, so no outcome reported it.
      this.#live = undefined;
      this.#tellRestart(notes);
    }
    const guardShell = () => (unasked === undefined ? undefined : this.#guardShell());
    let used: UsedShell | undefined = guardShell();
    if (used === undefined && this.#live === undefined) {
      try {
        await this.#options.transport.ensure(signal);
      } catch (error) {
        return notRun(messageOf(error));
      }
      used = guardShell();
      if (used === undefined) {
        this.#live = this.#start();
        if (this.#droppedBefore) this.#tellRestart(notes);
      }
    }
    return used ?? { live: this.#live!, guard: undefined };
  }

  /** Ends a command that is not waited for any longer, and its shell where that can be replaced. */
  async #breakOff(
    how: Exclude<How, "ended">,
    { live, guard }: UsedShell,
    ended: Promise<unknown>,
    notes: string[],
  ): Promise<RunOutcome> {
    if (how === "gone") {
      live.process.kill("SIGKILL");
      live.release();
      this.#live = undefined;
      this.#droppedBefore = true;
      return this.#connectionLost();
    }
    if (guard !== undefined) {
      guard.forget();
      await this.#endJob("", live.job, notes);
      if ((await within(ended, KILLED_MS)) === undefined) {
        live.release();
        this.#guard = undefined;
      }
    } else {
      const pid = (await within(live.process.pid, END_MS).catch(() => undefined)) ?? "";
      await this.#endJob(String(pid), live.job, notes);
      live.process.kill("SIGKILL");
      await within(live.process.exited, KILLED_MS);
      live.release();
      this.#live = undefined;
      notes.push(this.#restarted);
    }
    return { kind: "stopped", by: how === "aborted" ? "user" : "deadline" };
  }

  /** The shell ended before the command did: by itself, refused, or with its connection. */
  async #shellGone(end: Gone, { live, guard }: UsedShell, notes: string[]): Promise<RunOutcome> {
    if (guard === undefined) this.#live = undefined;
    else this.#guard = undefined;
    live.release();
    if (end.cwd !== "") this.#cwd = end.cwd;
    if (this.#closed) return { kind: "lost", why: "closed" };
    if (guard !== undefined) return this.#connectionLost();
    const refusal = await within(
      live.process.pid.then(
        () => undefined,
        (error: unknown) => (error instanceof PermanentRefusal ? error : undefined),
      ),
      KILLED_MS,
    );
    if (refusal !== undefined) return notRun([refusal.message, refusal.hint].filter(Boolean).join(". "));
    if (end.lost && !(await this.#answers())) {
      this.#droppedBefore = true;
      return this.#connectionLost();
    }
    if (end.lost && end.code === 255) notes.push("ssh reports 255 also for a shell that was killed by a signal.");
    this.#tellRestart(notes);
    return { kind: "shell-ended", code: end.code };
  }

  /** The helper for sudo, if the command may ask the operator for a password. */
  #askpass(command: string, options: RunOptions, asked: Pauses): Promise<Askpass | undefined> {
    const { password, unasked } = options;
    const { transport } = this.#options;
    if (password === undefined || unasked !== undefined || transport.facts.uid === 0 || !mentionsSudo(command))
      return Promise.resolve(undefined);
    const ask = askForSudo(password);
    return Askpass.start(transport, this.#directory, (prompt, signal) => asked.during(ask(prompt, signal)));
  }

  get #restarted(): string {
    return this.#remembered === this.#changed ? KEPT : LOST;
  }

  #tellRestart(notes: string[]): void {
    this.#droppedBefore = false;
    notes.push(this.#restarted);
    this.#options.notice({ kind: "lost-state", text: this.#restarted });
  }

  /** A container may be gone for a reason that its engine knows. */
  async #connectionLost(): Promise<RunOutcome> {
    const { transport } = this.#options;
    const entered = transport.gone === undefined ? undefined : transport.ensure().then(() => undefined, messageOf);
    const why = entered && (await within(entered, END_MS));
    return { kind: "lost", why: why ?? `the connection to ${transport.label} was lost` };
  }

  /** Only until this shell has a process: afterwards commands must see its state. */
  #guardShell(): UsedShell | undefined {
    const guard = this.#options.transport.guardShell;
    if (guard === undefined || this.#live !== undefined || !this.#options.guardShell.mayUse()) return undefined;
    if (this.#guard?.guard !== guard)
      this.#guard = {
        guard,
        live: new LiveShell(guard.texts(), guard.key, guard.job, { remote: true, announced: false }),
      };
    return this.#guard;
  }

  #start(): LiveShell {
    const { transport } = this.#options;
    const bash = transport.facts.programs["bash"];
    const job = randomBytes(8).toString("hex");
    const shell = bash === undefined ? [transport.facts.programs["sh"] ?? "sh"] : [bash, "--noprofile", "--norc"];
    const args = [this.#kept, this.#used ? "1" : "", this.#cwd, job, this.#environment, DIRECT_START];
    const process = transport.spawn(shell, {
      script: { name: "buddy-shell", text: DIRECT_LOOP, args },
      cwd: this.#options.cwd,
      env: { TERM: "dumb", PAGER: "cat", GIT_PAGER: "cat" },
    });
    const key = randomBytes(16).toString("hex");
    process.stdin.write(`${key}\n`);
    return new LiveShell(process, key, job, { remote: transport.kind !== "local", announced: true });
  }

  /** Runs in parallel with the next command, which must not wait for it. */
  async #rememberEnvironment(change: number): Promise<void> {
    try {
      const script = '[ -O "$1" ] && [ ! -L "$1" ] && cat "$1"';
      const { code, stdout } = await this.#options.transport.run(script, { args: [this.environmentFile], quick: true });
      if (code !== 0 || stdout.length === 0) return;
      this.#environment = stdout.toString();
      this.#remembered = change;
    } catch {
      // The connection is gone: what was read before is kept.
    }
  }

  /** ssh reports a killed shell like a lost connection: starting another process shows which it was. */
  async #answers(): Promise<boolean> {
    const code = this.#options.transport.spawn(["true"]).exited.catch(() => 255);
    return (await within(code, END_MS)) === 0;
  }

  /** Ends what the command started, and notes what did not work. */
  async #endJob(pid: string, job: string, notes: string[]): Promise<void> {
    const tree = this.#endTree(pid, job).then(
      () => true,
      (error: unknown) => notes.push(`Ending its processes failed: ${messageOf(error)}`),
    );
    if ((await within(tree, END_MS)) === undefined)
      notes.push("The target does not answer: its processes may still run there.");
  }

  async #endTree(pid: string, job: string): Promise<void> {
    await this.#options.transport.run(END_TREE, { args: [pid, job], slow: true, timeoutMs: 5000 });
  }
}

const RESTARTED = "The shell ended and a new one is started in the same directory";
const KEPT = `${RESTARTED} with the same exported variables; functions, aliases and other variables are lost.`;
const LOST = `${RESTARTED}; functions, aliases and variables are lost, including recent exports.`;

interface UsedShell {
  readonly live: LiveShell;
  /** Set if it is the guard's shell. */
  readonly guard: GuardShell | undefined;
}

function notRun(why: string): RunOutcome {
  return { kind: "lost", why: `${why.replace(/\.$/, "")}; the command did not run`, notRun: true };
}

/** The file is written after many commands; ext4 would flush it to disk each time (0.3 to 4 ms). */
const MEMORY = "/dev/shm";

/** Adds up the time in which a command waited for the operator, which its time limit leaves out. */
class Pauses {
  #open = 0;
  #since = 0;
  #before = 0;

  get ms(): number {
    return this.#before + (this.#open > 0 ? performance.now() - this.#since : 0);
  }

  async during<T>(work: Promise<T>): Promise<T> {
    if (this.#open++ === 0) this.#since = performance.now();
    try {
      return await work;
    } finally {
      if (--this.#open === 0) this.#before += performance.now() - this.#since;
    }
  }
}

type How = "ended" | "aborted" | "deadline" | "gone";

/** Waits for the end of the command, the time limit, an abort or a lost connection. */
async function waitForCommand(
  ended: Promise<unknown>,
  options: RunOptions,
  pauses: Pauses,
  gone: Promise<void> | undefined,
): Promise<How> {
  const { promise, resolve } = Promise.withResolvers<How>();
  const started = performance.now();
  const { waitMs } = options;
  const check = (): void => {
    const left = (waitMs ?? 0) + pauses.ms - (performance.now() - started);
    if (left <= 0) resolve("deadline");
    else timer = setTimeout(check, Math.max(left, 20));
  };
  let timer = waitMs === undefined ? undefined : setTimeout(check, waitMs);
  const abort = () => resolve("aborted");
  options.signal?.addEventListener("abort", abort, { once: true });
  if (options.signal?.aborted === true) abort();
  void ended.then(() => resolve("ended"));
  gone?.then(
    () => resolve("gone"),
    () => {},
  );
  const how = await promise;
  clearTimeout(timer);
  options.signal?.removeEventListener("abort", abort);
  return how;
}
