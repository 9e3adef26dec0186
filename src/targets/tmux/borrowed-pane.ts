/** A pane in which buddy runs nothing: it can be looked at, and typed into where that is allowed. */
import type { BuddyError } from "../../lib/errors.ts";
import type { Pane } from "../target.ts";
import { capturePane, sendKeys, type TmuxServer } from "./capture.ts";

export interface BorrowedPaneOptions {
  readonly tmux: TmuxServer;
  readonly id: string;
  readonly mayType: boolean;
  /** Why not, to whatever else is asked of it. */
  readonly refusal: () => BuddyError;
}

export function borrowedPane({ tmux, id, mayType, refusal }: BorrowedPaneOptions): Pane {
  const refuse = () => Promise.reject(refusal());
  return {
    kind: "tmux",
    cwd: "",
    id,
    capture: (options = {}) => capturePane(tmux, id, options),
    keys: mayType ? (options) => sendKeys(tmux, id, options) : refuse,
    run: refuse,
    wait: refuse,
    readOutput: refuse,
  };
}
