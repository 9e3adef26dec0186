# buddy: a control client ends with whoever started it: `join` attaches it, `lock` is the lock on 9, $k the key.
# The guard around the client matters: a control client whose reader died stays for ever, freezes the pane and blocks
# kill-server. `cat` sees the end of stdin; the group is this client's own. It also keeps stdout open, so the end is
# reported in words.
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
