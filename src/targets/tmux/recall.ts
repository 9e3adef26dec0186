/** What a pane does after nobody listened for a while: the screen tells what was missed, and the stream counts from there on. */
import type { RunOutcome } from "../target.ts";
import { takeApart } from "./recover-screen.ts";
import { lookAtPane, type PaneSnapshot } from "./found-again.ts";
import type { Mark } from "./markers.ts";
import type { ForegroundState } from "./probe.ts";
import type { RunningCommand } from "./running-command.ts";
import type { ShellState } from "./shell-state.ts";
import type { TmuxSession } from "./tmux-session.ts";
import { unfinishedEnd } from "./unfinished-end.ts";

export interface RecoverOptions {
  readonly session: TmuxSession;
  readonly shell: ShellState;
  readonly pane: () => string;
  readonly current: () => RunningCommand | undefined;
  readonly text: (bytes: Buffer) => void;
  readonly mark: (mark: Mark) => void;
  readonly finish: (outcome: RunOutcome) => void;
  /** A command runs that this buddy does not know. */
  readonly adopt: (tag: number, snapshot: PaneSnapshot) => void;
  /** Makes sure that a command which may not have arrived never runs. */
  readonly withdraw: (command: RunningCommand) => Promise<void>;
  readonly look: () => Promise<ForegroundState>;
}

/** Every prompt brings three. */
const MAX_MARKS = 1000;
/** A sequence that is longer when it is cut in two is lost. */
const LONGEST = 512;

export class Recover {
  readonly #options: RecoverOptions;
  #interrupted = false;
  /** A gap in the middle of a look makes what is seen worthless. */
  #round = 0;
  #marks: Mark[] = [];
  #passed = Buffer.alloc(0);
  /** Sent when the connection went: it is not known whether it arrived. */
  #undelivered: RunningCommand | undefined;

  constructor(options: RecoverOptions) {
    this.#options = options;
  }

  /** The stream has a gap: until `look` was answered, what it brings is on the screen too and must not be taken twice. */
  get interrupted(): boolean {
    return this.#interrupted;
  }

  /** The stream has a gap here. `dropped`: with the connection, also what was being sent may be lost. */
  interrupt(dropped: boolean): void {
    this.#interrupted = true;
    this.#round++;
    this.#passed = Buffer.alloc(0);
    const command = this.#options.current();
    if (dropped && command?.phase === "sent") this.#undelivered = command;
  }

  /** Another pane: nothing was missed of it. */
  forget(): void {
    this.#round++;
    this.#interrupted = false;
    this.#marks = [];
    this.#undelivered = undefined;
  }

  /** A mark that came meanwhile counts all the same, once. */
  keepMark(mark: Mark): void {
    this.#marks.push(mark);
    if (this.#marks.length > MAX_MARKS) this.#marks.shift();
  }

  passText(bytes: Buffer): void {
    this.#passed = Buffer.concat([this.#passed, bytes.subarray(-LONGEST)]).subarray(-LONGEST);
    const command = this.#options.current();
    if (command !== undefined) command.lastActivity = performance.now();
  }

  /** Begins anew by itself with the next gap: then this one gives up in silence. */
  async look(why: string): Promise<void> {
    const { session, pane } = this.#options;
    const round = this.#round;
    let seen: PaneSnapshot | undefined;
    try {
      await lookAtPane(session, pane(), (snapshot) => {
        if (round !== this.#round) return;
        seen = snapshot;
        this.#takeUp(snapshot, why);
      });
      if (seen !== undefined) await this.#settle(seen);
    } catch (error) {
      if (round === this.#round) throw error;
    }
  }

  #takeUp(snapshot: PaneSnapshot, why: string): void {
    const { shell, current, mark, text, finish, adopt } = this.#options;
    this.#interrupted = false;
    const { marks, ended } = takeApart(current(), snapshot, this.#marks.splice(0), why);
    if (ended !== undefined) finish(ended);
    const { mark: last } = snapshot;
    if (last?.kind === "started") {
      shell.cwd = snapshot.cwd || shell.cwd;
      if (current() === undefined && last.tag !== 0) adopt(last.tag, snapshot);
    }
    for (const one of marks) {
      mark(one);
      if (one === last && one.kind === "prompt") mark({ kind: "ready" });
    }
    // What was typed unheard is not known.
    shell.operatorCommand ||= undefined;
    const unfinished = unfinishedEnd(this.#passed);
    if (unfinished.length > 0) text(unfinished);
    shell.changes.changed();
  }

  async #settle({ mark }: PaneSnapshot): Promise<void> {
    const { shell, withdraw, look } = this.#options;
    const command = this.#undelivered;
    if (command?.phase === "sent") await withdraw(command);
    this.#undelivered = undefined;
    if (shell.phase === "starting" && mark === undefined) {
      // Something else set the pane's path: a look at the foreground has to do.
      const seen = await look();
      if (shell.phase === "starting") {
        shell.phase = seen.shellItself && seen.doing !== "working" ? "ready" : "running";
      }
    }
    shell.changes.changed();
  }
}
