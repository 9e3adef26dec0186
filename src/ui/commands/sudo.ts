/** /sudo: whether sudo still works without a password in the target's shell, and the end of that. */
import { formatDuration } from "../../lib/durations.ts";
import type { SudoState } from "../repl/host.ts";
import { oneLine } from "../transcript/tool-view.ts";
import type { SlashCommand } from "./slash-commands.ts";

export const sudo: SlashCommand = {
  name: "sudo",
  args: "[drop]",
  summary: "is sudo open without a password? drop closes it",
  anytime: false,
  complete: () => [{ value: "drop", hint: "sudo asks for the password again", complete: true }],
  async run(screen, args) {
    if (args !== "" && args !== "drop") {
      screen.fail(`/sudo takes drop or nothing, not "${oneLine(args)}"`);
      return;
    }
    await screen.interruptible(async () => {
      if (args === "drop") await screen.host.dropSudo();
      screen.say(inWords(await screen.host.sudoState(), args === "drop"));
    });
  },
};

function inWords(state: SudoState, dropped: boolean): string[] {
  switch (state.kind) {
    case "root":
      return ["you are root on the target: sudo is not needed"];
    case "missing":
      return ["sudo is not installed on the target"];
    case "free":
      return ["sudo needs no password on the target (NOPASSWD): there is no ticket to drop"];
    case "none":
      return [
        dropped ? "the sudo ticket is gone: sudo asks for the password" : "no sudo ticket: sudo asks for the password",
      ];
    case "alive": {
      const left =
        state.leftMs === undefined
          ? ""
          : `, for about ${formatDuration(Math.ceil(state.leftMs / 60_000) * 60_000)} more`;
      return [
        `a sudo ticket is alive: sudo asks for no password${left}${until(state.leftMs)}`,
        ...(state.renews ? ["(this sudo renews its ticket when it is looked at)"] : []),
        "/sudo drop ends it. Commands that run without a question do not use it.",
      ];
    }
  }
}

function until(leftMs: number | undefined): string {
  if (leftMs === undefined) return "";
  const at = new Date(Date.now() + leftMs);
  return ` (until ${String(at.getHours()).padStart(2, "0")}:${String(at.getMinutes()).padStart(2, "0")})`;
}
