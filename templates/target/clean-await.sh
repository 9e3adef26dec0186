# shellcheck shell=bash
# Reads the pid of the command, and then where it is, until all holders have ended, or the command itself: nothing tells that but a
# probe. A trap does not pass signals on: in it, `read` would break the `read` that it interrupts.
__buddy_first= __buddy_to=
while :; do
  if IFS= read -r -d "" -t 0.2 __buddy_line <&7; then
    if [ -n "$__buddy_first" ]; then
      __buddy_to=$__buddy_line
    else
      __buddy_first=$__buddy_line
    fi
  elif [ $? -le 128 ] || { [ -n "$__buddy_first" ] && ! kill -0 "$__buddy_first"; }; then
    break
  else
    __buddy_now=$__buddy_got
    __buddy_got=${__buddy_got#"$__buddy_now"}
    for __buddy_now in $__buddy_now; do
      __buddy_pass $__buddy_now
    done
  fi
done
