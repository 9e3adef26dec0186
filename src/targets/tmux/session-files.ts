/** The private directory of a session on the target: its key, the start-up files of its shells, and its removal. */
import sweepSessions from "../../../templates/target/sweep-sessions.sh" with { type: "text" };
import { script } from "../../lib/script.ts";
import bashInit from "../../../templates/shell-init/bash.sh" with { type: "text" };
import fishInit from "../../../templates/shell-init/fish.fish" with { type: "text" };
import idle from "../../../templates/shell-init/idle.sh" with { type: "text" };
import prepare from "../../../templates/shell-init/prepare.sh" with { type: "text" };
import shInit from "../../../templates/shell-init/sh.sh" with { type: "text" };
import supervisor from "../../../templates/shell-init/supervisor.sh" with { type: "text" };
import zprofile from "../../../templates/shell-init/zprofile.zsh" with { type: "text" };
import zshInit from "../../../templates/shell-init/zsh.zsh" with { type: "text" };
import zshenv from "../../../templates/shell-init/zshenv.zsh" with { type: "text" };
import zshrc from "../../../templates/shell-init/zshrc.zsh" with { type: "text" };
import { quote } from "../../lib/quote.ts";
import { OWN_DIRECTORY } from "../script-line.ts";
import type { MachineFacts, Transport } from "../target.ts";
import { BARE_IN_FISH, bareFunction } from "../read-only/clean-environment.ts";
import { STAND_IN_PANE } from "../read-only/standing-shell.ts";

const FILES: Readonly<Record<string, string>> = {
  "supervisor.sh": script(supervisor),
  "idle.sh": script(idle),
  // Before the start-up files, which may define aliases.
  "bash.sh": bareFunction("\\builtin ") + script(bashInit),
  "stand.sh": STAND_IN_PANE,
  "zsh.zsh": script(zshInit) + bareFunction("\\builtin "),
  "fish.fish": script(fishInit) + BARE_IN_FISH,
  "sh.sh": script(shInit) + bareFunction("\\command "),
  "zsh/.zshenv": script(zshenv),
  "zsh/.zprofile": script(zprofile),
  "zsh/.zshrc": script(zshrc),
};
/** Shells keep the hooks they were started with: those of another version may not work with this one. */
export const STAMP = Bun.hash(JSON.stringify(FILES)).toString(16);

/**
 * Creates the files: reads the key for a new session from stdin, takes the arguments of `prepareArguments`, and leaves
 * key and directories in $k, $d and $r for the script that follows.
 */
export const PREPARE = `IFS= read -r k || exit 1
s=${STAMP}
files() {
${Object.entries(FILES)
  .map(([name, text]) => `printf %s ${quote(text)} >"$n/${name}" || return`)
  .join("\n")}
}
${OWN_DIRECTORY}${script(prepare)}`;

export function prepareArguments(options: {
  readonly facts: Pick<MachineFacts, "uid">;
  readonly socket: string;
  readonly session: string;
}): string[] {
  const name = `${options.socket || "default"}.${options.session}`.replaceAll("/", "_");
  return [name, String(options.facts.uid)];
}

const SWEEP = script(sweepSessions, { ownDirectory: OWN_DIRECTORY });

export async function removeLeftovers(transport: Transport, directory: string): Promise<void> {
  const { uid, programs } = transport.facts;
  const args = [directory, String(uid), programs["tmux"] ?? "tmux"];
  if (transport.kind === "local") await transport.run(SWEEP, { args, slow: true });
  // Nothing waits for it: a runner of its own would be one more session.
  else await transport.run(`( ${SWEEP} ) </dev/null >/dev/null 2>&1 &`, { args, quick: true });
}
