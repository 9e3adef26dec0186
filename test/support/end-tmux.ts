/** Ends a tmux server and removes its socket, which tmux leaves behind. */
import { rmSync } from "node:fs";
import { join } from "node:path";

export function endTmux(socket: string): void {
  Bun.spawnSync(["tmux", "-L", socket, "kill-server"], { stderr: "ignore", stdout: "ignore" });
  const directory = process.env["TMUX_TMPDIR"] ?? "/tmp";
  rmSync(join(directory, `tmux-${process.getuid?.() ?? 0}`, socket), { force: true });
}
