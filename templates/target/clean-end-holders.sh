# shellcheck shell=bash
# Processes such as `>(sort)` have half a second to end; whatever still holds the pipe of clean-hold.sh then is killed.
for __buddy_n in 1 2 3 4; do
  IFS= read -r -t 0.5 __buddy_line <&7
  [ $? -gt 128 ] || break
  for __buddy_line in /proc/[0-9]*/fd/9; do
    if [ "$__buddy_line" -ef "/proc/$$/fd/7" ]; then
      __buddy_line=${__buddy_line#/proc/}
      kill -KILL ${__buddy_line%%/*}
    fi
  done 2>/dev/null
done
