/** How the REPL ends: at once, or, where something still runs, after a warning and a second request. */
import type { Task } from "../../agent/tasks.ts";
import { EXIT, type ExitCode } from "../../lib/errors.ts";
import { canAsk } from "../../lib/terminal.ts";
import { busyPanes, runningShells } from "../commands/running.ts";
import type { WorkInFlight } from "./host.ts";

interface LeavingParts {
  tasks(): readonly Task[];
  work(): Promise<WorkInFlight>;
  stillRunning(work: WorkInFlight, tasks: readonly Task[]): void;
}

export class Leaving {
  readonly #parts: LeavingParts;
  readonly #left = Promise.withResolvers<ExitCode>();
  #begun = false;
  #looking = false;
  /** The operator knows that something runs: the next request quits. */
  #warned = false;

  constructor(parts: LeavingParts) {
    this.#parts = parts;
  }

  get over(): Promise<ExitCode> {
    return this.#left.promise;
  }

  get begun(): boolean {
    return this.#begun;
  }

  /** Whatever runs is cancelled. */
  leave(code: ExitCode): void {
    if (this.#begun) return;
    this.#begun = true;
    this.#left.resolve(code);
  }

  /** A bug: `run` gives the terminal back and throws it; a second one on the way out ends the process at once. */
  crash(error: unknown): void {
    if (this.#begun) process.exit(EXIT.failure);
    this.#begun = true;
    this.#left.reject(error);
  }

  /** An operator who continues is warned again the next time. */
  entered(line: string): void {
    if (!/^\/(q|quit|exit)\s*$/.test(line)) this.#warned = false;
  }

  quit(code: ExitCode): void {
    if (this.#warned || this.#looking) return this.leave(code);
    this.#looking = true;
    void this.#parts.work().then(
      (work) => this.#quitWith(work, code),
      () => this.#quitWith({ shells: [], panes: [] }, code),
    );
  }

  /**
   * While the terminal is there, the signal was sent by a person and means quit. One that is gone cannot show a
   * warning: a resumed session names what still runs.
   */
  hungUp(): void {
    if (canAsk()) this.quit(EXIT.hangup);
    else this.leave(EXIT.hangup);
  }

  #quitWith(work: WorkInFlight, code: ExitCode): void {
    this.#looking = false;
    const open = this.#parts.tasks().filter((task) => task.state.kind !== "over");
    const [shells, panes] = [runningShells(work), busyPanes(work)];
    if (open.length + shells.length + panes.length === 0) return this.leave(code);
    this.#warned = true;
    this.#parts.stillRunning({ shells, panes }, open);
  }
}
