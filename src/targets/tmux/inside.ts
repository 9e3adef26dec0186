/** Refuses to work from inside a pane that buddy manages: it would type into itself. */
import { BuddyError } from "../../lib/errors.ts";
import { startChild } from "../../lib/start-child.ts";

export async function insideManagedPane(
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<void> {
  const socket = env["TMUX"]?.split(",")[0];
  const pane = env["TMUX_PANE"];
  const tmux = Bun.which("tmux");
  if (!socket || !pane || tmux === null) return;
  const asked = startChild([tmux, "-S", socket, "display-message", "-p", "-t", pane, "#{@buddy_pane}"], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "ignore",
  });
  if ((await new Response(asked.stdout).text()).trim() === "") return;
  throw new BuddyError("target", "buddy was started inside the pane that it works in", {
    hint: "Start it in another terminal or tmux pane, or use --no-tmux.",
  });
}
