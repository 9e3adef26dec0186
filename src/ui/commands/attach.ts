/** /attach: how to watch the shared pane; inside tmux it opens beside this one. */
import type { CommandScreen, SlashCommand } from "./slash-commands.ts";
import { startChild } from "../../lib/start-child.ts";
import { oneLine } from "../transcript/tool-view.ts";

export const attach: SlashCommand = {
  name: "attach",
  args: "",
  summary: "watch the shared pane (a split, inside tmux)",
  anytime: true,
  async run(screen) {
    const { target } = screen.host.facts();
    if (target.kind === "fleet") {
      const lines = (target.machines ?? []).map(({ name, attach: how }) => `${oneLine(name)}: ${oneLine(how)}`);
      if (lines.length === 0) screen.fail("no machine has a shared pane yet", "try again in a moment");
      else screen.verbatim(["from another terminal:", ...lines]);
      return;
    }
    if (target.attach === undefined) {
      if (target.state === "opening") screen.fail("the target is still being opened", "try again in a moment");
      else screen.fail("no shared pane to attach to", "the target has no tmux, or buddy was started with --no-tmux");
      return;
    }
    const command = oneLine(target.attach);
    if (process.env.TMUX === undefined) {
      screen.verbatim([`from another terminal: ${screen.style.bold(command)}`]);
      return;
    }
    const problem = await split(screen, target.attach);
    if (problem === undefined) screen.verbatim([`opened in a split: ${screen.style.bold(command)}`]);
    else screen.fail(`tmux could not open a split: ${oneLine(problem)}`, `from another terminal: ${command}`);
  },
};

/** tmux refuses to attach inside itself unless TMUX is unset. */
async function split(screen: CommandScreen, command: string): Promise<string | undefined> {
  const direction = screen.columns >= 160 ? "-h" : "-v";
  // The window buddy is in, not the one that is looked at now.
  const here = process.env.TMUX_PANE === undefined ? [] : ["-t", process.env.TMUX_PANE];
  const child = startChild(["tmux", "split-window", direction, "-d", ...here, `unset TMUX; exec ${command}`], {
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
  });
  const said = await child.stderr.text();
  return (await child.exited) === 0 ? undefined : said.trim() || "it failed without saying why";
}
