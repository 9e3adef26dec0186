# Runs independently of the connection: command, exit code, time limit, last line. Arguments: directory,
# seconds, shell, the umask of the command, and the process to kill first. Its pid is the reported one, so a
# signal to it ends the whole shell. A shell handles a signal at once only while it waits for a background
# process; so another process, the recorder, runs the command and survives a kill -9 of the runner.
d=$1 cap=$2 sh=$3 mask=$4 pid=$$ spare=$$
SIGNALS='HUP INT QUIT TERM USR1 USR2 ALRM'
. ./background-state.sh
. ./background-tree.sh
stop() {
  trap '' $SIGNALS
  if [ ! -f "$d/code" ] && [ ! -f "$d/killed" ]; then echo "$1" >"$d/killed"; fi
  endtree "$d"
  verdict "$d"; finish "$d" "$c"
  kill -KILL "-$pid"
}
signalled() {
  again=1
  # If there is a "killed" file, it is being ended already.
  if [ ! -f "$d/killed" ]; then stop "stopped by SIG$1"; exit 1; fi
}
# shellcheck disable=SC2064
for s in $SIGNALS; do trap "signalled $s" $s; done
echo $$; exec >/dev/null
kill -KILL "$5"
(
  sleep "$cap" & s=$!
  echo $s >"$d/clock"
  trap 'kill $s; exit' TERM
  wait $s
  spare="$pid $(exec sh -c 'echo $PPID')"
  stop "stopped after its time limit of $cap s"
) &
watch=$!
close() {
  verdict "$d"; finish "$d" "$c"
  kill -TERM $watch
  if [ -f "$d/late" ]; then read -r l <"$d/late"; kill $l; fi
}
# Loads the variables and the umask of the shared shell; then runs the command in its own shell.
begin='e=$1/environment
if [ -f "$e" ]; then . "$e" >/dev/null 2>&1; rm -f "$e"; fi
unset BUDDY_JOB TMUX TMUX_PANE e
BUDDY_SHELL=${1##*/}; export BUDDY_SHELL
exec "$0" $2 "$1/command"'
run() {
  # Without approval: no functions and no start-up file from the environment.
  # --norc: with SSH_CLIENT set, bash reads ~/.bashrc for -c.
  p= n=; case $sh in */bash) n=--norc; if [ -f "$d/clean" ]; then p=-p; fi ;; esac
  umask "$mask"
  if [ -f "$d/environment" ]; then "$sh" $n -c "$begin" "$sh" "$d" "$p"; else "$sh" $p "$d/command"; fi </dev/null
  code=$?; umask 077; echo $code >"$d/code.new"; mv "$d/code.new" "$d/code"
  sh "$d/late.sh" "$d" </dev/null >/dev/null 2>&1 & echo $! >"$d/late"
}
# Ignores TERM, to keep what the command prints while it ends.
limited() { trap '' TERM; ulimit -f 2097152 2>/dev/null; exec tee -a "$1" "$d/output" >/dev/null; }
(
  trap '' HUP
  trap : TERM
  { { run 3>&-; } 2>&1 1>&3 | limited "$d/stderr" 3>&-; } 3>&1 | limited "$d/stdout"
  isup "$d" "$pid" || close
) &
recorder=$!
echo $recorder >"$d/recorder"
again=1; while [ -n "$again" ]; do again=; wait $recorder; done
close
