/** The private directory of a session on the target: its key, the start-up files of its shells, and its removal. */
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
import { STAND_IN_PANE } from "../read-only/standing-shell.ts";

const FILES: Readonly<Record<string, string>> = {
  "supervisor.sh": supervisor,
  "idle.sh": idle,
  "bash.sh": bashInit,
  "stand.sh": STAND_IN_PANE,
  "zsh.zsh": zshInit,
  "fish.fish": fishInit,
  "sh.sh": shInit,
  "zsh/.zshenv": zshenv,
  "zsh/.zprofile": zprofile,
  "zsh/.zshrc": zshrc,
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
${OWN_DIRECTORY}
${prepare}`;

export function prepareArguments(options: {
  readonly facts: Pick<MachineFacts, "uid">;
  readonly socket: string;
  readonly session: string;
}): string[] {
  const name = `${options.socket || "default"}.${options.session}`.replaceAll("/", "_");
  return [name, String(options.facts.uid)];
}

/**
 * Removes directories of sessions whose tmux server is gone, after a kill or a reboot. $1 directory of all sessions, $2
 * user id, $3 tmux. Only directories of the user, in a directory that only the user can write to, that were not opened
 * just now. A server that reports its recorded pid is alive even if that process is not visible, in another container
 * with the same /tmp; one that reports another pid is newer. Pids are reused: a process with the pid that is not tmux,
 * or a zombie, does not count. A directory in which no server has recorded itself is removed after a day.
 */
const SWEEP = `
${OWN_DIRECTORY}
private() { __buddy_own "$1" && case $(ls -ld "$1") in d???------*) ;; *) return 1 ;; esac; }
named() { if [ -r "/proc/$1/stat" ]; then IFS= read -r n <"/proc/$1/stat"; else n=$(ps -o comm= -p "$1"); fi; }
isup() {
  while IFS= read -r s; do
    if kill -0 "\${s##*,}"; then named "\${s##*,}"; case $n in *') Z '*) ;; '' | *tmux*) return ;; esac; fi
    [ "$("$tmux" -S "\${s%,*}" display-message -p '#{pid}' </dev/null)" = "\${s##*,}" ] && return
  done
  return 1
}
opened() { find "$b" -path "$b/*/*" -prune -name opened -type f "$@"; }
remove() {
  m=/dev/shm/buddy-$u
  if private "$m" && __buddy_own "$m/\${d##*/}"; then rm -rf "$m/\${d##*/}"; fi
  rm -rf "$d"
}
sweep() {
  private "$b" || return
  opened -mmin +1 | while IFS= read -r f; do
    d=\${f%/opened}
    if [ -s "$d/servers" ] && __buddy_own "$d" && [ ! -L "$d/servers" ] && ! isup <"$d/servers"; then remove; fi
  done
  opened -mtime +0 | while IFS= read -r f; do
    d=\${f%/opened}
    if [ ! -s "$d/servers" ] && __buddy_own "$d"; then remove; fi
  done
  find "$b" -path "$b/*" -prune -name '*.*' -type d -mtime +0 -exec rmdir {} \\;
}
b=$1 u=$2 tmux=$3
sweep </dev/null >/dev/null 2>&1
`;

export async function removeLeftovers(transport: Transport, directory: string): Promise<void> {
  const { uid, programs } = transport.facts;
  const args = [directory, String(uid), programs["tmux"] ?? "tmux"];
  if (transport.kind === "local") await transport.run(SWEEP, { args, slow: true });
  // Nothing waits for it: a runner of its own would be one more session.
  else await transport.run(`( ${SWEEP} ) </dev/null >/dev/null 2>&1 &`, { args, quick: true });
}
