/** What to tell instead of running a command in a pane that is not free. */
import type { RunOutcome } from "../target.ts";
import type { ForegroundState } from "./probe.ts";
import type { RunningCommand } from "./running-command.ts";

export function busyOutcome(
  seen: ForegroundState,
  current: RunningCommand | undefined,
  operatorCommand: string | undefined,
): { readonly outcome: RunOutcome; readonly note: string } {
  const what = current?.text ?? operatorCommand;
  const by = current === undefined ? "the operator's" : "an earlier";
  const named = what === undefined ? `${by} program ${seen.program}` : `${by} command ${JSON.stringify(clip(what))}`;
  const waitsFor = seen.doing === "raw" ? "repl" : seen.doing;
  const screen = current?.recording.fullScreen === true ? ("full-screen" as const) : waitsFor;
  return {
    outcome:
      screen === "working"
        ? { kind: "running", why: "busy", program: seen.program }
        : { kind: "waiting", for: screen, program: seen.program },
    note: `Nothing was typed: ${named} is still in the foreground of this pane.`,
  };
}

/** A command as it is named in a sentence. */
export function clip(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
