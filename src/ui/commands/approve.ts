/** /approve: whether buddy asks, for how long it does not, and what is in force now. */
import { formatDuration, parseApproveMode } from "../../lib/durations.ts";
import type { SlashCommand } from "./slash-commands.ts";
import { oneLine } from "../transcript/tool-view.ts";
import { approvalWords } from "./status.ts";

export const approve: SlashCommand = {
  name: "approve",
  args: "ask|all|none|DURATION",
  summary: "when buddy asks before it makes a change",
  anytime: true,
  complete: () => [
    { value: "ask", hint: "ask before a change", complete: true },
    { value: "10m", hint: "approve everything for ten minutes, then ask again", complete: true },
    { value: "all", hint: "approve everything in this session", complete: true },
    { value: "none", hint: "deny what needs approval", complete: true },
  ],
  run(screen, args) {
    const { approvals } = screen.host;
    if (args !== "") {
      const mode = parseApproveMode(args);
      if (mode === undefined) {
        screen.fail(
          `/approve takes ask, all, none or a duration, not "${oneLine(args)}"`,
          "for example /approve 10m; at most 24d",
        );
        return;
      }
      approvals.setMode(mode.kind === "duration" ? { kind: "until", at: Date.now() + mode.ms } : mode);
      const { longestMs } = approvals;
      const asked = mode.kind === "all" ? Number.POSITIVE_INFINITY : mode.kind === "duration" ? mode.ms : 0;
      if (longestMs !== undefined && asked > longestMs)
        screen.say([
          screen.style.warning(
            longestMs === 0
              ? "the rules of this machine allow no approval without a question (approve_max)"
              : `the rules of this machine allow ${formatDuration(longestMs)} at most (approve_max)`,
          ),
        ]);
    }
    const { mode } = approvals;
    const words = `approvals: ${approvalWords(mode, Date.now())}`;
    const until = mode.kind === "until" ? ` (until ${moment(mode.at)})` : "";
    screen.say([mode.kind === "all" || mode.kind === "until" ? screen.style.warning(words + until) : words]);
  },
};

/** The time of day, with the date when that is another day. */
function moment(at: number): string {
  const time = new Date(at);
  const today = time.toDateString() === new Date().toDateString();
  return `${today ? "" : `${time.toDateString().slice(4, 10)} `}${time.toTimeString().slice(0, 8)}`;
}
