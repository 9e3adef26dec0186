/** What buddy does to a pane: sends each command once, withdraws one that was not taken, presses Ctrl-C, signals. */
import { randomInt } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { within } from "../../lib/waiting.ts";
import {
  byTmux,
  claimFile,
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
import type { RunOutcome } from "../target.ts";
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
/** Prints whether this process made file $1, so that no other can. */
const CLAIM = 'if (set -C; : >"$1") 2>/dev/null; then echo buddy; elif [ -e "$1" ]; then echo shell; fi';
/** So many files of claims may stay behind. */
const MAX_CLAIMS = 50;
const UNDELIVERED = "the connection was lost before the command was delivered; it did not run";

/** How long the target may take to answer who has a command. */
const CLAIM_MS = 3000;

function claimHere(file: string): "buddy" | "shell" | "unknown" {
  try {
    writeFileSync(file, "", { flag: "wx", mode: 0o600 });
    return "buddy";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EEXIST" ? "shell" : "unknown";
  }
}

export class PaneInput {
  readonly #session: TmuxSession;
  readonly #state: PaneState;
  /** Of commands that their shell may have taken. */
  #claims: string[] = [];

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

  /** tmux and its shells run on this machine. */
  get #isHere(): boolean {
    return this.#session.options.transport.kind === "local";
  }

  send(command: RunningCommand, delivery: Delivery): void {
    const { id } = this.#state;
    this.#state.sending(command);
    command.delivered(delivery);
    this.#identify(command);
    const isPut = this.#isHere && putHere(delivery.files);
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
   * command once more; then types it, since the shell may have no line editor. It runs at most once: a command can be
   * taken only once, and is claimed before it is delivered in another way or given up.
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
      if (attempt > 1 && (await this.#claim(command)) !== "buddy") return;
      if (!isPending()) return;
      if (attempt > 2) {
        state.forgetAside(command);
        return state.finish({ kind: "lost", why: command.refusal ?? UNTAKEN, notRun: true });
      }
      if (attempt === 2) this.#identify(command, randomInt(1, 2 ** 31 - 1));
      state.sendingAgain(attempt === 2);
      const delivery = deliver(command.text, command.tag, this.place, command);
      command.delivered(delivery);
      await this.#session.send(byTmux(delivery));
    } catch (error) {
      if (!isPending()) return;
      const why = `the command could not be delivered (${messageOf(error)})`;
      if (!(await this.withdraw(command, { kind: "lost", why: `${why}; it did not run`, notRun: true })) && isPending())
        state.finish({ kind: "lost", why });
    }
  }

  /** Who decides whether the command runs: buddy from now on, or the shell, which has taken it. */
  async #claim(command: RunningCommand): Promise<"buddy" | "shell" | "unknown"> {
    const { claim } = command;
    const by = this.#isHere ? claimHere(claim) : await this.#claimThere(claim);
    // It stays: a key that comes late must find it.
    if (by === "buddy") this.#claims = this.#claims.filter((one) => one !== claim);
    return by;
  }

  async #claimThere(file: string): Promise<"buddy" | "shell" | "unknown"> {
    const { transport } = this.#session.options;
    const result = await transport
      .run(CLAIM, { args: [file], quick: true, timeoutMs: CLAIM_MS })
      .catch(() => undefined);
    const by = result?.stdout.toString().trim();
    return by === "buddy" || by === "shell" ? by : "unknown";
  }

  #identify(command: RunningCommand, tag = command.tag): void {
    command.tag = tag;
    command.claim = claimFile(this.place, tag);
    if (this.#claims.push(command.claim) > MAX_CLAIMS) this.#removeClaims();
  }

  #removeClaims(): void {
    const old = this.#claims.splice(0, MAX_CLAIMS);
    if (this.#isHere) for (const file of old) rmSync(file, { force: true });
    else
      void this.#session.options.transport.run('rm -f -- "$@"', { args: old, quick: true }).catch(() => {
        // They are removed with the directory.
      });
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
  async withdraw(command: RunningCommand, outcome?: RunOutcome): Promise<boolean> {
    if (command.phase !== "sent" || (await this.#claim(command)) !== "buddy") return false;
    this.#state.withdrawn(command, outcome);
    // What a key that comes late would find.
    await this.#session.send(withdraw(this.place)).catch(() => {});
    return true;
  }

  /** Its shell has it, or may have it, and reports nothing. */
  giveUp(command: RunningCommand, outcome: RunOutcome): void {
    if (this.#state.current === command) this.#state.finish(outcome);
  }

  /** The pane went before its shell took the command, and no shell will. */
  async neverTaken(command: RunningCommand): Promise<boolean> {
    return !command.wasTaken && (await this.#claim(command)) === "buddy";
  }

  /**
   * The connection dropped while it was being sent, so it may or may not have arrived: makes sure that it never runs.
   */
  async withdrawUndelivered(command: RunningCommand): Promise<void> {
    await this.withdraw(command, { kind: "lost", why: UNDELIVERED, notRun: true });
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
