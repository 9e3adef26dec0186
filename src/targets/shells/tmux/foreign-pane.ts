/** A pane that is not buddy's: it can be looked at, never changed. */
import { BuddyError } from "../../../lib/errors.ts";
import type { CaptureOptions, OutputPage, Pane, RunResult } from "../../target.ts";
import { capturePane } from "./capture.ts";
import type { TmuxSession } from "./tmux-session.ts";

export class ForeignPane implements Pane {
  readonly kind = "tmux";
  readonly cwd = "";
  readonly id: string;
  readonly #session: TmuxSession;

  constructor(session: TmuxSession, id: string) {
    this.#session = session;
    this.id = id;
  }

  capture(options: CaptureOptions = {}): Promise<{ text: string; notice?: string }> {
    return capturePane(this.#session, this.id, options);
  }

  keys(): Promise<void> {
    return Promise.reject(this.#refusal());
  }

  run(): Promise<RunResult> {
    return Promise.reject(this.#refusal());
  }

  wait(): Promise<RunResult> {
    return Promise.reject(this.#refusal());
  }

  readOutput(): Promise<OutputPage> {
    return Promise.reject(this.#refusal());
  }

  #refusal(): BuddyError {
    return new BuddyError("tool", `pane ${this.id} is not managed by buddy and is never changed`, {
      hint: "Use the shared pane, or make one with tmux-create-pane.",
    });
  }
}
