/** What buddy does to a pane: sends each command once, withdraws one that was not taken, presses Ctrl-C, signals. */
import { within } from "../../lib/waiting.ts";
import {
  byTmux,
  deliver,
  type Delivery,
  type DeliveryTarget,
  giveBack,
  giveUpLine,
  mayReplaceHooks,
  putHere,
  withdraw,
} from "./delivery.ts";
import type { PaneState } from "./pane-state.ts";
import {
  type ForegroundState,
  type ForegroundPlace,
  foregroundPlace,
  probeForeground,
  signalForeground,
} from "./probe.ts";
import type { RunningCommand } from "./running-command.ts";
import type { TmuxSession } from "./tmux-session.ts";
import { messageOf } from "../../lib/errors.ts";

const READY_MS = 1500;
/** Between two presses of Ctrl-C. */
const PRESS_MS = 400;
const MAX_PRESSES = 10;
/** For replies of the terminal: a shell may ignore Ctrl-C. */
const ANSWERS_PRESSES = 2;
/** Its reply comes after all output that tmux has read so far. */
const ECHO = "display-message -p ''";
const ECHO_MS = 1000;
const UNTAKEN = "the shell in the pane did not accept the command; it did not run";
const UNDELIVERED = "the connection was lost before the command was delivered; it did not run";

export class PaneInput {
  readonly #session: TmuxSession;
  readonly #state: PaneState;

  constructor(session: TmuxSession, state: PaneState) {
    this.#session = session;
    this.#state = state;
  }

  get place(): DeliveryTarget {
    return {
      pane: this.#state.id,
      tty: this.#state.row.tty,
      directory: this.#session.runDirectory,
      shell: this.#state.shell.kind,
      editor: this.#state.editor,
      hidesLine: this.#state.hidesLine,
    };
  }

  /** The target was closed. */
  get closed(): boolean {
    return this.#session.closed;
  }

  send(command: RunningCommand, delivery: Delivery): void {
    const { id } = this.#state;
    this.#state.sending(command);
    command.delivered(delivery);
    const isPut = this.#session.options.transport.kind === "local" && putHere(delivery.files);
    this.#session.send(isPut ? delivery.lines : byTmux(delivery)).then(
      async (replies) => {
        const refused = replies.find((reply) => !reply.ok);
        if (refused === undefined || command.phase !== "sent") return;
        command.refusal = `tmux cannot deliver the command (${refused.lines.join(" ").trim()}); it did not run`;
        if (/can't find pane|no such pane/.test(refused.lines.join(" "))) this.#session.lostPane(id);
        else await this.sendAgain(command);
      },
      (error: unknown) => {
        if (command.phase === "sent") command.notes.push(`Sending failed: ${messageOf(error)}`);
      },
    );
  }

  /**
   * The shell did not take the line. First restores the files (something may have removed the directory) and sends the
   * command once more; then types it, since the shell may have no line editor. It runs at most once: each delivery can
   * be taken only once.
   */
  async sendAgain(command: RunningCommand): Promise<void> {
    const state = this.#state;
    const isPending = () => state.current === command && command.phase === "sent";
    if (!isPending()) return;
    const attempt = ++command.attempts;
    state.stop();
    try {
      await this.#session.restoreFiles();
      await state.changes.until(() => state.phase === "ready" || !isPending(), READY_MS);
      if (!isPending()) return;
      if (attempt > 2) {
        state.forgetAside(command);
        return state.finish({ kind: "lost", why: command.refusal ?? UNTAKEN, notRun: true });
      }
      state.sendingAgain(attempt === 2);
      const delivery = deliver(command.text, command.tag, this.place, command);
      command.delivered(delivery);
      await this.#session.send(byTmux(delivery));
    } catch (error) {
      if (state.current !== command) return;
      const why = `the command could not be delivered (${messageOf(error)}); it did not run`;
      state.finish({ kind: "lost", why, notRun: true });
    }
  }

  /** Restores what the operator had typed when a command was sent. */
  async giveBack(line: string): Promise<void> {
    await this.#session.send(giveBack(this.place, line));
  }

  /**
   * The line editor did not recognise buddy's key: it came after half of another key, or during a search. Ctrl-G ends
   * most of these, in zsh together with the line. A search in zsh's vi mode ends only with Ctrl-C, and only if no key
   * follows: at the prompt that it draws, the key is pressed once more. A command can be taken only once.
   */
  async pressAgain(command: RunningCommand, times: number): Promise<void> {
    if (this.#state.current !== command || command.phase !== "sent" || !this.#state.editor) return;
    if (times > 1) return this.press();
    const again = byTmux(deliver(command.text, command.tag, this.place, command));
    await this.#session.send([...(times > 0 ? [`send-keys -t ${this.#state.id} C-g`] : []), ...again]);
  }

  /** Types the command, without the shell's line editor. */
  async type(command: RunningCommand): Promise<void> {
    command.attempts = Math.max(command.attempts, 1);
    await this.sendAgain(command);
  }

  /** Ctrl-Q, which the terminal itself handles: the operator may have stopped its output with Ctrl-S. */
  async resumeOutput(): Promise<void> {
    await this.#session.send([`send-keys -t ${this.#state.id} -H 11`]);
  }

  /** True if it was not taken and never will be. */
  async withdraw(command: RunningCommand): Promise<boolean> {
    if (command.phase !== "sent") return false;
    await this.#session.send(withdraw(this.place));
    if (command.phase !== "sent") return false;
    this.#state.withdrawn(command);
    return true;
  }

  /**
   * The connection dropped while it was being sent, so it may or may not have arrived: makes sure that it never runs.
   */
  async withdrawUndelivered(command: RunningCommand): Promise<void> {
    if (await this.withdraw(command)) this.#state.withdrawn(command, { kind: "lost", why: UNDELIVERED, notRun: true });
  }

  /** Ctrl-C, once. */
  async press(): Promise<void> {
    const { id } = this.#state;
    await this.#session.send([`copy-mode -q -t ${id}`, `send-keys -t ${id} C-c`]);
  }

  /** Types a password, which is not recorded, at a prompt without echo. */
  async typeSecret(bytes: Uint8Array): Promise<void> {
    const { id } = this.#state;
    const keys = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(" ");
    await this.#session.send([`copy-mode -q -t ${id}`, `send-keys -t ${id} -H ${keys} 0d`]);
  }

  /** Presses Ctrl-C until the prompt is back: one between two reads of the shell can get lost. */
  async breakLine(): Promise<void> {
    const state = this.#state;
    state.breaking();
    for (let presses = 0; presses < MAX_PRESSES && state.phase === "running"; presses++) {
      await this.press();
      await state.changes.until(() => state.phase !== "running", PRESS_MS);
    }
  }

  /**
   * The same for a line with replies of the terminal, which came before the prompt. zsh loses a Ctrl-C while it draws a
   * search that they started; a second one works.
   */
  async dropAnswers(): Promise<void> {
    const state = this.#state;
    state.breaking();
    for (let presses = 0; presses < ANSWERS_PRESSES && state.phase === "running"; presses++) {
      await this.#session.send(giveUpLine(this.place));
      await state.changes.until(() => state.phase !== "running", PRESS_MS);
    }
    state.notBroken();
  }

  /** The shell took the line but does not run it: it waits for more. */
  abandonLine(): void {
    this.#state.abandonLine();
  }

  /**
   * The shell reads a line although no mark reported a prompt: a Ctrl-C makes it draw another, and buddy's key if the
   * operator's command took its hooks. True if it did.
   */
  async wakePrompt(seen: ForegroundState): Promise<boolean> {
    const state = this.#state;
    const ours = seen.shellItself && state.shell.argv.some((word) => word.endsWith(seen.program));
    if (!ours || seen.doing !== "raw") return false;
    if (state.operatorCommand === undefined) await this.press();
    else if (mayReplaceHooks(state.operatorCommand) && state.editor)
      await this.#session.send(byTmux(deliver("", 0, this.place)));
    else return false;
    await state.changes.until(() => state.phase === "ready", PRESS_MS);
    return state.phase === "ready";
  }

  /** If the shell reads a line, buddy's key restores its hooks, and the mark follows. */
  async restoreHooks(command: RunningCommand): Promise<void> {
    const seen = await this.look(true);
    if (this.#state.current !== command || !seen.shellItself || seen.doing !== "raw") return;
    await this.#session.send(byTmux(deliver("", command.tag, this.place)));
  }

  /** `prompting`: the last line on the screen is unfinished, like a prompt. */
  look(prompting: boolean): Promise<ForegroundState> {
    return probeForeground(this.#session.options.transport, this.#state.row, prompting);
  }

  /** The same; undefined if the stream has a gap or tmux does not answer: then marks may be missing. */
  async lookInStep(prompting: boolean): Promise<ForegroundState | undefined> {
    const { gap } = this.#state;
    const { round } = gap;
    const seen = gap.open ? undefined : await this.look(prompting);
    if (
      seen !== undefined &&
      seen.doing !== "working" &&
      (await within(this.#session.ask(ECHO), ECHO_MS)) === undefined
    )
      return undefined;
    return gap.open || gap.round !== round ? undefined : seen;
  }

  /** Program, directory and user of the foreground. */
  foreground(): Promise<ForegroundPlace | undefined> {
    const { row, current } = this.#state;
    return foregroundPlace(this.#session.options.transport, row, current?.clean !== undefined);
  }

  signal(name: "TERM" | "KILL"): Promise<void> {
    return signalForeground(this.#session.options.transport, this.#state.row, name);
  }
}
