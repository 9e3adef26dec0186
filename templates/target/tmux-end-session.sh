# $1 tmux, $2 socket name, $3 user id, $4 id and $5 name of a session.
tmux() { if [ -n "$s" ]; then "$t" -u -L "$s" "$@" 9>&-; else "$t" -u "$@" 9>&-; fi; }
t=$1 s=$2 name=${2:-default}.$5
. ./own-directory.sh
if __buddy_own "/tmp/buddy-$3"; then __buddy_lock "/tmp/buddy-$3"; fi
tmux kill-session -t "$4" || exit
for d in "/tmp/buddy-$3" "$HOME/.cache/buddy" "/dev/shm/buddy-$3"; do
  if __buddy_own "$d" && __buddy_own "$d/$name"; then rm -rf "$d/$name"; fi
done
