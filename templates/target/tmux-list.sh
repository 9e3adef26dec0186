# $1 tmux, $2 socket name. Prints a line for each session, client and pane, with the number of processes on
# the terminal of the pane. A container may have terminals with the same names: if ps knows sessions, only
# processes of the pane's session count. The clean bash for commands without approval and zombies do not
# count.
tmux() { if [ -n "$s" ]; then "$t" -u -L "$s" "$@"; else "$t" -u "$@"; fi; }
t=$1 s=$2
tmux list-sessions -f '#{@buddy_managed}' -F 'session|@session@' 2>/dev/null
tmux list-clients -F 'client|@client@' 2>/dev/null
tmux list-panes -a -f '#{@buddy_managed}' -F '@pane@' 2>/dev/null | while IFS= read -r l; do
  pid=${l%%|*} l=${l#*|}; p=${l#*|}; p=${p%%|*}; p=${p#/dev/}
  if n=$(ps -t "$p" -o sid= -o stat= -o args= 2>/dev/null); then n=$(echo "$n" | grep "^ *$pid  *[^ Z]" | grep -vc __buddy_line)
  else n=$(ps -t "$p" -o pid= 2>/dev/null | wc -l | tr -d ' '); fi
  echo "pane|$n|$l"
done
:
