# buddy: a control client ends with what started it: `join` attaches it, `lock` is the lock on 9, $k the key.
# A control client whose reader has died would stay for ever, freeze the pane and block kill-server. `cat` sees the end of
# stdin; the group is this client's own. It also keeps stdout open, so that the end is reported.
# The first line on stdin says that the client is attached: then the next one may come.
{
  IFS= read -r a
  lock -u
  cat
  lock -w 2
  exec >&-
  sleep 0.2 2>/dev/null || sleep 1
  kill 0
} | {
  exec 9>&-
  join
  printf '\nbuddy-exit %s %s\n' "$k" "$?"
}
