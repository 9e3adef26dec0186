/** Waits until the shell of a pane has come to a prompt. */
import { BuddyError } from "../../lib/errors.ts";
import { TmuxUnusable } from "../errors.ts";
import type { ForegroundState } from "./probe.ts";
import type { ShellState } from "./shell-state.ts";

export interface FirstPromptOptions {
  readonly shell: ShellState;
  /** A new pane: one that was there before may be in the middle of anything. */
  readonly created: boolean;
  readonly alive: () => boolean;
  readonly look: () => Promise<ForegroundState>;
  /** What was started in the pane. */
  readonly argv: readonly string[];
  readonly noShell: () => NoShell;
}

export const START_MS = 10_000;
const REPLACED_MS = 2000;

/** Throws NoPrompt when a new pane shows none, NoShell when there is nothing that could. */
export async function firstPrompt({ shell, created, alive, look, argv, noShell }: FirstPromptOptions): Promise<void> {
  const isUp = () => shell.phase !== "starting" || !alive();
  await shell.changes.until(isUp, REPLACED_MS);
  if (!isUp() && created && isReplaced(await look(), argv)) await shell.changes.until(isUp, REPLACED_MS / 2);
  else await shell.changes.until(isUp, START_MS);
  if (shell.phase === "none") throw noShell();
  if (shell.phase === "starting" && created) {
    throw new NoPrompt("target", "the shell in the new pane did not come to a prompt", {
      hint: "Look at its start-up files; attach to the pane to see what it waits for.",
    });
  }
}

export class NoPrompt extends BuddyError {}
/** Nothing that could be started in the pane stays. */
export class NoShell extends TmuxUnusable {}

/** Another shell than buddy's waits in the foreground: a start-up file ends with `exec`. */
function isReplaced(seen: ForegroundState, argv: readonly string[]): boolean {
  return seen.shellItself && seen.doing !== "working" && !argv.some((word) => word.endsWith(seen.program));
}
