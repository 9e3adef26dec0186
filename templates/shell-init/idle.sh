# buddy: ends its session when that was not in use for a while: no client attached, nothing but the shell in its panes.
# usage: sh idle.sh TMUX SOCKET-PATH SESSION-ID
t=$1 s=$2 id=$3 d=${0%/*}
tmux() { "$t" -S "$s" "$@" 9>&-; }
option() { tmux show-options -qv -t "$id:" "$1" 2>/dev/null; }
limit=$(option @buddy_idle)
case $limit in '' | *[!0-9]* | 0) exit ;; esac
now=$(date +%s) since=$(option @buddy_unused) used=
[ "$(tmux display-message -p -t "$id:" '#{session_attached}')" = 0 ] || used=1
for p in $(tmux list-panes -s -t "$id:" -F '#{pane_current_command}|#{pane_pid}|#{pane_tty}' | tr ' ' _); do
  case ${p%%|*} in sh | bash | zsh | fish | dash | ash | ksh | mksh | busybox) ;; *) used=1 ;; esac
  # The supervisor and its shell; a third process is work in the background. A container has terminals of the same names:
  # where ps knows sessions, only the pane's own counts, and neither the clean bash that stays there for what runs unasked
  # nor what has ended and was never reaped.
  pid=${p#*|} pid=${pid%%|*} tty=${p##*|/dev/}
  if n=$(ps -t "$tty" -o sid= -o stat= -o args= 2>/dev/null); then n=$(echo "$n" | grep "^ *$pid  *[^ Z]" | grep -vc __buddy_line)
  else n=$(ps -t "$tty" -o pid= 2>/dev/null | wc -l); fi
  [ "$n" -le 2 ] || used=1
done
if [ -n "$used" ] || [ -z "$since" ]; then
  since=$now
  tmux set-option -t "$id:" @buddy_unused "$now"
fi
left=$((since + limit - now))
if [ "$left" -gt 0 ]; then
  [ "$left" -le 3600 ] || left=3600
  tmux run-shell -b -d "$left" "sh '$0' '$t' '$s' '$id'"
  exit
fi
l=${d%/*}/lock
if [ -f "$l" ] && [ ! -L "$l" ] && [ -w "$l" ]; then exec 9>>"$l" && flock -w 5 9; fi 2>/dev/null
IFS= read -r r <"$d/run"
tmux kill-session -t "$id"
case $r in "$d" | /dev/shm/buddy-*/"${d##*/}") rm -rf "$r" ;; esac
rm -rf "$d"
