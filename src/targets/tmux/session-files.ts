/** The private directory of a session on the target: its key, the start-up files of its shells, and what becomes of it later. */
import bashInit from "../../../templates/shell-init/bash.sh" with { type: "text" };
import fishInit from "../../../templates/shell-init/fish.fish" with { type: "text" };
import shInit from "../../../templates/shell-init/sh.sh" with { type: "text" };
import supervisor from "../../../templates/shell-init/supervisor.sh" with { type: "text" };
import zprofile from "../../../templates/shell-init/zprofile.zsh" with { type: "text" };
import zshInit from "../../../templates/shell-init/zsh.zsh" with { type: "text" };
import zshenv from "../../../templates/shell-init/zshenv.zsh" with { type: "text" };
import zshrc from "../../../templates/shell-init/zshrc.zsh" with { type: "text" };
import { quote } from "../quote.ts";
import type { MachineFacts, Transport } from "../target.ts";

const FILES: Readonly<Record<string, string>> = {
  "supervisor.sh": supervisor,
  "bash.sh": bashInit,
  "zsh.zsh": zshInit,
  "fish.fish": fishInit,
  "sh.sh": shInit,
  "zsh/.zshenv": zshenv,
  "zsh/.zprofile": zprofile,
  "zsh/.zshrc": zshrc,
};
const STAMP = Bun.hash(JSON.stringify(FILES)).toString(16);

/**
 * Makes the private directory with the key and the start-up files: $1 name, $2 user id; $k is the key to use when there is none yet. A directory that belongs to somebody else is not used. What is written for every
 * command goes to memory where there is /dev/shm: rewriting a small file on ext4 is flushed to the disk each time (0.3 to 4 ms).
 * The time of `opened` keeps a directory from being taken for a leftover while its server is about to start.
 */
export const PREPARE = `
own() { [ -d "$1" ] && [ ! -L "$1" ] && [ -O "$1" ]; }
name=$1 u=$2 d=
for b in "/tmp/buddy-$2" "\${HOME-}/.cache/buddy"; do
  ( umask 077; mkdir -p "$b/$name/zsh" ) 2>/dev/null
  if own "$b" && own "$b/$name"; then d=$b/$name; break; fi
done
if [ -z "$d" ]; then echo 'buddy-error no private directory can be made in /tmp or ~/.cache'; exit 1; fi
shift 2
w=; [ -r "$d/stamp" ] && read -r w <"$d/stamp"
[ -s "$d/key" ] || ( umask 077; printf '%s\\n' "$k" >"$d/key" )
if [ "$w" != ${STAMP} ]; then (
  umask 077
${Object.entries(FILES)
  .map(([name, text]) => `  printf %s ${quote(text)} >"$d/${name}"`)
  .join("\n")}
  echo ${STAMP} >"$d/stamp"
); fi
true >"$d/opened"
IFS= read -r k <"$d/key"
r=; [ -r "$d/run" ] && IFS= read -r r <"$d/run"
for b in "$r" "/dev/shm/buddy-$u/$name" "$d"; do
  [ -n "$b" ] && [ -d "\${b%/*/*}" ] && ( umask 077; mkdir -p "$b" ) 2>/dev/null && own "\${b%/*}" && own "$b" && break
done
[ "$b" = "$r" ] || ( umask 077; printf '%s\\n' "$b" >"$d/run" )
r=$b
`;

/** Puts the files in place again, for `Transport.run`, which gives the key on stdin. */
export const RESTORE_FILES = `IFS= read -r k || exit 1\n${PREPARE}`;

export function prepareArguments(options: {
  readonly facts: Pick<MachineFacts, "uid">;
  readonly socket: string;
  readonly session: string;
}): string[] {
  const name = `${options.socket || "default"}.${options.session}`.replaceAll("/", "_");
  return [name, String(options.facts.uid)];
}

/**
 * Removes directories of sessions whose tmux server is gone, killed from outside or by a reboot. $1 directory of all
 * sessions, $2 user id, $3 tmux. Only what belongs to the user, in a directory that only the user can write to, and was
 * not opened just now. A server that answers is alive also where its process number cannot be seen: another container
 * with the same /tmp.
 */
const SWEEP = `
own() { [ -d "$1" ] && [ ! -L "$1" ] && [ -O "$1" ]; }
private() { own "$1" && case $(ls -ld "$1") in d???------*) ;; *) return 1 ;; esac; }
isup() {
  while IFS= read -r s; do
    kill -0 "\${s##*,}" && return
    "$tmux" -S "\${s%,*}" list-sessions </dev/null && return
  done
  return 1
}
sweep() {
  private "$b" || return
  find "$b"/*/opened -prune -type f -mmin +1 | while IFS= read -r f; do
    d=\${f%/opened}
    if own "$d" && [ -s "$d/servers" ] && [ ! -L "$d/servers" ] && ! isup <"$d/servers"; then
      m=/dev/shm/buddy-$u
      if private "$m" && own "$m/\${d##*/}"; then rm -rf "$m/\${d##*/}"; fi
      rm -rf "$d"
    fi
  done
}
b=$1 u=$2 tmux=$3
sweep </dev/null >/dev/null 2>&1
`;

export async function removeLeftovers(transport: Transport, directory: string): Promise<void> {
  const { uid, programs } = transport.facts;
  await transport.run(SWEEP, { args: [directory, String(uid), programs["tmux"] ?? "tmux"], slow: true });
}
