# Removes directories of sessions whose tmux server is gone, after a kill or a reboot. $1 directory of all
# sessions, $2 user id, $3 tmux. Only directories of the user, in a directory that only the user can write to,
# that were not opened just now. A server that reports its recorded pid is alive even if that process is not
# visible, in another container with the same /tmp; one that reports another pid is newer. Pids are reused: a
# process with the pid that is not tmux, or a zombie, does not count. A directory in which no server has
# recorded itself is removed after a day.
. ./own-directory.sh
private() { __buddy_own "$1" && case $(ls -ld "$1") in d???------*) ;; *) return 1 ;; esac; }
named() { if [ -r "/proc/$1/stat" ]; then IFS= read -r n <"/proc/$1/stat"; else n=$(ps -o comm= -p "$1"); fi; }
isup() {
  while IFS= read -r s; do
    if kill -0 "${s##*,}"; then named "${s##*,}"; case $n in *') Z '*) ;; '' | *tmux*) return ;; esac; fi
    [ "$("$tmux" -S "${s%,*}" display-message -p '#{pid}' </dev/null)" = "${s##*,}" ] && return
  done
  return 1
}
opened() { find "$b" -path "$b/*/*" -prune -name opened -type f "$@"; }
remove() {
  m=/dev/shm/buddy-$u
  if private "$m" && __buddy_own "$m/${d##*/}"; then rm -rf "$m/${d##*/}"; fi
  rm -rf "$d"
}
sweep() {
  private "$b" || return
  opened -mmin +1 | while IFS= read -r f; do
    d=${f%/opened}
    if [ -s "$d/servers" ] && __buddy_own "$d" && [ ! -L "$d/servers" ] && ! isup <"$d/servers"; then remove; fi
  done
  opened -mtime +0 | while IFS= read -r f; do
    d=${f%/opened}
    if [ ! -s "$d/servers" ] && __buddy_own "$d"; then remove; fi
  done
  find "$b" -path "$b/*" -prune -name '*.*' -type d -mtime +0 -exec rmdir {} \;
}
b=$1 u=$2 tmux=$3
sweep </dev/null >/dev/null 2>&1
