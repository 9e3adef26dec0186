# For sh, which has neither pipes nor timeouts for what a command leaves behind: on Linux by a mark in the environment.
{
  [ ! -d /proc/self ] || for __buddy_n in 1 2 3 4 5 6 7 8 9 last; do
    __buddy_left=
    for __buddy_p in $(grep -ls "BUDDY_TEXT=$BUDDY_TEXT" /proc/[0-9]*/environ); do
      __buddy_p=${__buddy_p#/proc/}
      __buddy_p=${__buddy_p%/environ}
      [ "$__buddy_p" = "$$" ] || [ ! -e "/proc/$__buddy_p" ] || __buddy_left="$__buddy_left $__buddy_p"
    done
    [ -n "$__buddy_left" ] || break
    [ "$__buddy_n" != last ] || kill -KILL $__buddy_left
    sleep 0.05 || sleep 1
  done
} 2>/dev/null
