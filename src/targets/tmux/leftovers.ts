/** Directories of sessions whose tmux server is gone, killed from outside or by a reboot: a later start removes them. */
import type { Transport } from "../target.ts";

/**
 * $1 directory of all sessions, $2 user id, $3 tmux. Only what belongs to the user, in a directory nobody else can write to, and was not
 * opened just now. A server that answers is alive also where its process number cannot be seen: another container with the same /tmp.
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
