# buddy: a control client ends with what started it: `join` attaches it, `lock` is the lock on 9, $k the key.
# A control client whose reader has died would stay for ever, freeze the pane and block kill-server. `dd` sees the end of
# stdin (the `cat` of busybox keeps what it reads from a socket until its end). The group is this client's own; the rest
# of it keeps stdout open, so that the end is reported.
# The first line on stdin says that the client is attached: then the next one may come.
{
  IFS= read -r a
  lock -u
  dd bs=65536 2>/dev/null
  lock -w 2
  exec >&-
  sleep 0.2 2>/dev/null || sleep 1
  kill 0
} | {
  exec 9>&-
  join
  printf '\nbuddy-exit %s %s\n' "$k" "$?"
}
