# shellcheck shell=bash
# Passes Ctrl-C and similar signals on to a command that still runs, and to every holder in another process group, such as that of
# `timeout`; Ctrl-C also to one that neither catches nor ignores it: it started later, because bash continues if a Ctrl-C arrives just
# when a program has ended.
__buddy_group() {
  IFS= read -r __buddy_line <"/proc/$1/stat"
  set -- ${__buddy_line##*) }
  __buddy_line=$3
}
__buddy_pass() {
  kill "-$1" "$__buddy_first"
  __buddy_group $$
  __buddy_own=$__buddy_line
  for __buddy_pid in /proc/[0-9]*/fd/9; do
    [ "$__buddy_pid" -ef "/proc/$$/fd/7" ] || continue
    __buddy_pid=${__buddy_pid#/proc/}
    __buddy_pid=${__buddy_pid%%/*}
    __buddy_group $__buddy_pid
    if [ "$__buddy_line" = "$__buddy_own" ]; then
      [ "$1" = INT ] || continue
      IFS= read -r -d "" __buddy_line <"/proc/$__buddy_pid/status"
      case $__buddy_line in *[2367abef]?SigCgt:* | *[2367abef]?CapInh:*) continue ;; esac
    fi
    kill "-$1" $__buddy_pid
  done
}
__buddy_got=
# shellcheck disable=SC2064
for __buddy_line in INT QUIT HUP TERM; do
  trap "__buddy_got+=\" $__buddy_line\"" $__buddy_line
done
