/** Takes apart what a pane shows after nobody listened for a while: what its command printed, whether it still runs, how it ended. */
import type { RunOutcome } from "../target.ts";
import { fillGap, type PaneSnapshot } from "./found-again.ts";
import { commandAfterPrompt, type Mark } from "./markers.ts";
import type { RunningCommand } from "./running-command.ts";

export interface AfterGap {
  /** The marks to act on, oldest first: those that came, and the one that tmux remembers when none of them is newer. */
  readonly marks: readonly Mark[];
  /** It ended unheard, and others ran since: no mark tells any more. */
  readonly ended?: RunOutcome;
}

/** Fills in what the command has missed. */
export function takeApart(
  command: RunningCommand | undefined,
  snapshot: PaneSnapshot,
  heard: readonly Mark[],
  why: string,
): AfterGap {
  const { mark } = snapshot;
  const marks = mark === undefined || !isNews(mark, heard, command) ? heard : [...heard, mark];
  if (command === undefined || command.phase === "over") return { marks };
  const isOurs = (one: Mark) => "tag" in one && one.tag === command.tag && one.kind !== "taken";
  if (command.phase !== "started" && marks.some(isOurs)) command.started();
  if (command.phase !== "started") return { marks };
  fillGap(command, snapshot, why);
  command.outputBegins();
  const told = marks.some((one) => one.kind === "shell-ended" || (one.kind === "prompt" && isOurs(one)));
  if (told) return { marks };
  const end = commandAfterPrompt(snapshot.lines.join("\n"), command.promptId);
  if (mark === undefined && end.kind === "ended") return { marks, ended: { kind: "exited", code: end.code } };
  const another = (mark?.kind === "prompt" || mark?.kind === "started") && !isOurs(mark);
  if (!another) return { marks };
  const ended: RunOutcome = end.kind === "ended" ? { kind: "exited", code: end.code } : { kind: "lost", why: UNHEARD };
  return { marks, ended };
}

/** What tmux remembers, and no mark that came has told. */
function isNews(mark: Mark, heard: readonly Mark[], command: RunningCommand | undefined): boolean {
  switch (mark.kind) {
    case "prompt":
      return !heard.some((one) => one.kind === "prompt" && one.id === mark.id && one.tag === mark.tag);
    case "started":
      return !heard.some((one) => one.kind === "started" && one.tag === mark.tag);
    case "gave-up":
      return !heard.some((one) => one.kind === "gave-up");
    case "shell-ended":
      // Of a shell that nobody was using it is no news: another one is coming up.
      return command?.phase === "started" && !heard.some((one) => one.kind === "shell-ended");
    default:
      return false;
  }
}

const UNHEARD = "it ended while nobody listened, and its exit code is not known";
