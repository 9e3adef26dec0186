/** Ctrl-C in a pane: at a program, at a line that is given up, at a shell that shows no prompt. */
import type { ForegroundState } from "./probe.ts";
import type { ShellState } from "./shell-state.ts";
import type { TmuxSession } from "./tmux-session.ts";

export interface BreakOffOptions {
  readonly session: TmuxSession;
  readonly shell: ShellState;
  readonly pane: () => string;
}

/** Between two presses. */
const PRESS_MS = 400;
const MAX_PRESSES = 10;

export class BreakOff {
  readonly #options: BreakOffOptions;

  constructor(options: BreakOffOptions) {
    this.#options = options;
  }

  async press(): Promise<void> {
    const pane = this.#options.pane();
    await this.#options.session.send([`copy-mode -q -t ${pane}`, `send-keys -t ${pane} C-c`]);
  }

  /** A Ctrl-C between two reads of the shell can get lost: it is pressed again until the prompt is back. */
  async line(): Promise<void> {
    const { shell } = this.#options;
    shell.phase = "running";
    shell.forgetLine();
    for (let presses = 0; presses < MAX_PRESSES && shell.phase === "running"; presses++) {
      await this.press();
      await shell.changes.until(() => shell.phase !== "running", PRESS_MS);
    }
  }

  /** The shell reads a line although nothing told of a prompt: one Ctrl-C makes it draw another. True when it did. */
  async promptUntold(seen: ForegroundState): Promise<boolean> {
    const { session, shell } = this.#options;
    const ours = seen.shellItself && session.options.shell.argv.some((word) => word.endsWith(seen.program));
    if (!ours || seen.doing !== "raw" || shell.operatorCommand !== undefined) return false;
    await this.press();
    await shell.changes.until(() => shell.phase === "ready", PRESS_MS);
    return shell.phase === "ready";
  }
}
