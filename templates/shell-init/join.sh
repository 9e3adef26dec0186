# buddy: attaches a control client to the operator's own tmux server: $1 tmux, $2 its socket, $3 session, $4 user id. It changes
# nothing in it: neither sizes nor the environment of the session, nor which window is shown.
IFS= read -r k || exit 1
printf 'buddy %s\n' "$k"
tmux=$1 socket=$2 session=$3 own=/tmp/buddy-$4
unset TMUX TMUX_PANE
tmux() { "$tmux" -u -S "$socket" "$@"; }
lock() { :; }
if __buddy_own "$own" && [ -w "$own" ]; then
  lock() { flock "$@" 9 2>/dev/null; }
  __buddy_lock "$own"
fi
join() { tmux -C attach-session -E -t "$session:" -f ignore-size; }
