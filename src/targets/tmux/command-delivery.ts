/** Brings commands into the shell of a pane, once each, and takes back what was not taken. */
import { deliver, type DeliveryTarget, putFile, withdraw } from "./delivery.ts";
import type { RunningCommand } from "./running-command.ts";
import type { ShellState } from "./shell-state.ts";
import type { TmuxSession } from "./tmux-session.ts";

export interface CommandDeliveryOptions {
  readonly session: TmuxSession;
  readonly shell: ShellState;
  readonly pane: () => string;
  /** It cannot be delivered; it did not run. */
  readonly failed: (command: RunningCommand, why: string) => void;
  readonly paneGone: () => void;
}

/** A prompt came, but the shell did not take the line. */
const UNTAKEN_MS = 700;
const READY_MS = 1500;

export class CommandDelivery {
  readonly #options: CommandDeliveryOptions;
  #command: RunningCommand | undefined;
  #savedCwd = "";
  /** A prompt was drawn since the command was sent. */
  #promptSeen = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: CommandDeliveryOptions) {
    this.#options = options;
  }

  get place(): DeliveryTarget {
    const { session, shell, pane } = this.#options;
    return { pane: pane(), directory: session.runDirectory, shell: session.options.shell.kind, editor: shell.editor };
  }

  send(command: RunningCommand, lines: readonly string[]): void {
    const { session, shell, pane } = this.#options;
    this.#command = command;
    this.#promptSeen = false;
    if (!shell.editor) command.setAside(shell.typed);
    shell.forgetLine();
    // A shell that has to be started again starts here.
    const cwd =
      shell.cwd === this.#savedCwd ? [] : putFile(`${session.runDirectory}/${pane().slice(1)}.cwd`, shell.cwd);
    this.#savedCwd = shell.cwd;
    session.send([...cwd, ...lines]).then(
      async (replies) => {
        const refused = replies.find((reply) => !reply.ok);
        if (refused === undefined || command.phase !== "sent") return;
        if (/can't find pane|no such pane/.test(refused.lines.join(" "))) this.#options.paneGone();
        else await this.again(command);
      },
      (error: unknown) => {
        if (command.phase === "sent") command.notes.push(`Sending failed: ${(error as Error).message}`);
      },
    );
  }

  /**
   * The shell did not take the line. First the files are put in place again (something cleaned the directory away) and the command is
   * sent once more; then it is typed, as the shell may have no line editor. It runs once at most: each delivery can be taken only once.
   */
  async again(command: RunningCommand): Promise<void> {
    const { session, shell, failed } = this.#options;
    if (this.#command !== command || command.phase !== "sent") return;
    const attempt = ++command.attempts;
    this.stop();
    this.#savedCwd = "";
    try {
      await session.restoreFiles();
      await shell.changes.until(() => shell.phase === "ready" || command.phase !== "sent", READY_MS);
      if (command.phase !== "sent" || this.#command !== command) return;
      if (attempt > 2) return failed(command, "the shell in the pane did not take the command; it did not run");
      if (attempt === 2) shell.editor = false;
      this.#promptSeen = false;
      await session.send(deliver(command.text, command.tag, this.place).lines);
    } catch (error) {
      failed(command, `the command could not be delivered (${(error as Error).message}); it did not run`);
    }
  }

  /** True when it had not been taken and never will be. */
  async takeBack(command: RunningCommand): Promise<boolean> {
    if (command.phase !== "sent") return false;
    await this.#options.session.send(withdraw(this.place));
    if (command.phase !== "sent") return false;
    if (this.#command === command) this.#command = undefined;
    return true;
  }

  promptSeen(): void {
    this.#promptSeen = true;
  }

  promptDrawn(): void {
    const command = this.#command;
    if (command?.phase !== "sent" || !this.#promptSeen) return;
    this.stop();
    this.#timer = setTimeout(() => void this.again(command), UNTAKEN_MS);
  }

  /** The pane is another one now: nothing is known of its files. */
  forget(): void {
    this.stop();
    this.#command = undefined;
    this.#savedCwd = "";
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
