/**
 * A password prompt in the pane, and the operator's answer to it: asked for once a prompt, typed only while that prompt
 * still stands, and kept nowhere.
 */
import type { AskPassword } from "../target.ts";
import type { ForegroundState } from "./probe.ts";
import type { RunningCommand } from "./running-command.ts";

export interface PromptPane {
  look(prompting: boolean): Promise<ForegroundState>;
  /** Types the bytes and Enter. */
  typeSecret(bytes: Uint8Array): Promise<void>;
}

/** By then a program has read what was typed, even if it prints nothing. */
const READ_MS = 3000;

export class PasswordPrompt {
  readonly #command: RunningCommand;
  readonly #pane: PromptPane;
  readonly #ask: AskPassword | undefined;
  #asking: { readonly abort: AbortController; readonly activity: number } | undefined;
  /** The state of the pane in which nothing is asked: left to the operator, or just answered. */
  #settled: { readonly activity: number; readonly until: number } | undefined;

  constructor(command: RunningCommand, pane: PromptPane, ask: AskPassword | undefined) {
    this.#command = command;
    this.#pane = pane;
    this.#ask = ask;
  }

  /** The program waits for a password. */
  stands(program: string): void {
    const activity = this.#command.lastActivity;
    if (this.#ask === undefined || this.#asking?.activity === activity) return;
    if (this.#settled?.activity === activity && performance.now() < this.#settled.until) return;
    // Something was printed since: this is another prompt.
    this.gone();
    const asking = (this.#asking = { abort: new AbortController(), activity });
    const prompt = this.#command.recording.lastLine.trim();
    void this.#answer(this.#ask({ program, prompt, into: "pane", signal: asking.abort.signal }), program, asking);
  }

  /** It does not wait any more. */
  gone(): void {
    this.#asking?.abort.abort();
    this.#asking = undefined;
  }

  async #answer(
    asked: Promise<Uint8Array | undefined>,
    program: string,
    asking: { readonly abort: AbortController; readonly activity: number },
  ): Promise<void> {
    const bytes = await asked.catch(() => undefined);
    try {
      if (this.#asking !== asking) return;
      const { activity } = asking;
      if (bytes === undefined) this.#settled = { activity, until: Number.POSITIVE_INFINITY };
      else if (await this.#stillStands(program, activity)) {
        this.#settled = { activity, until: performance.now() + READ_MS };
        await this.#pane.typeSecret(bytes);
      }
    } catch {
      // The connection is gone: the command reports it.
    } finally {
      bytes?.fill(0);
      if (this.#asking === asking) this.#asking = undefined;
    }
  }

  async #stillStands(program: string, activity: number): Promise<boolean> {
    const seen = await this.#pane.look(true);
    const command = this.#command;
    const hidden = seen.doing === "password" || (seen.doing === "raw" && seen.silent);
    return hidden && seen.program === program && command.outcome === undefined && command.lastActivity === activity;
  }
}
