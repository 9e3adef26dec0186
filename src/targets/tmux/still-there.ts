/** Keys that were approved for one program, user, directory and line are not typed into another. */
import { BuddyError } from "../../lib/errors.ts";
import type { ShellPlace } from "../target.ts";

/** Throws where what was approved is not what is there now. */
export function stillThere(now: ShellPlace, then: ShellPlace): void {
  const moved = difference(now, then);
  if (moved === undefined) return;
  throw new BuddyError("tool", `${moved}: nothing was typed`, { hint: "Look at the pane with capture-pane first." });
}

function difference(now: ShellPlace, then: ShellPlace): string | undefined {
  // A raw target such as `{last}` may mean another pane than when it was judged.
  if (now.pane !== then.pane) return `it would be typed into ${now.pane ?? "the shared pane"} now`;
  const [program, before] = [now, then].map((place) => place.program ?? "the shell");
  if (program !== before) return `${program} is in the foreground of the pane now, not ${before}`;
  if (now.user !== then.user) return `the pane belongs to ${now.user || "another user"} now`;
  if (now.cwd !== then.cwd) return `the shell is in ${now.cwd || "another directory"} now, not in ${then.cwd}`;
  if (now.typed.trim() !== then.typed.trim()) return "another text stands in the line now";
  return undefined;
}
