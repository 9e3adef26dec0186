# `state DIR` sets status and code, and finishes a shell that ended without doing so itself (reboot, kill -9).
# A command that has ended counts as running until its output is complete.
. ./background-finish.sh
# A zombie does not count: in some containers the first process never waits for it.
alive() {
  kill -0 "$1" 2>/dev/null || return 1
  if [ -r "/proc/$1/stat" ] && read -r st <"/proc/$1/stat"; then case ${st##*) } in [ZX]*) return 1 ;; esac; fi
}
isup() {
  alive "$2" || return 1
  # Another process with the same pid does not have the mark.
  [ ! -r "/proc/$2/environ" ] || grep -qs "BUDDY_SHELL=${1##*/}" "/proc/$2/environ"
}
stillup() {
  isup "$1" "$pid" && return
  # After kill -9 of the runner, the command and its recorder still run.
  [ -f "$1/recorder" ] && read -r recorder <"$1/recorder" && isup "$1" "$recorder"
}
state() {
  code= pid= status=running
  if [ -f "$1/pid" ]; then read -r pid <"$1/pid"; fi
  if [ ! -d "$1/ended" ] && [ -n "$pid" ] && ! stillup "$1" && [ ! -d "$1/ended" ]; then
    verdict "$1"; finish "$1" "$c" now
  fi
  if [ -d "$1/ended" ]; then
    if [ -f "$1/code" ]; then read -r code <"$1/code"; fi
    if [ -f "$1/killed" ]; then status=killed code=; elif [ "$code" = 0 ]; then status=completed; else status=failed; fi
  fi
}
