/** The sh scripts behind BackgroundShells: one private directory per shell on the target, kept after a disconnect. */
import { quote } from "../../lib/quote.ts";

/**
 * Sets base, a private directory, below HOME if that is writable; the first argument is its known path or "". Refuses a
 * link, or a directory of another user, who could then change our commands.
 */
const BASE = `
mask=$(umask); umask 077
mine() {
  set -- "$1" $(ls -ldn "$1")
  [ "\${4-}" = "$me" ] && case $2 in d???------*) ;; *) return 1 ;; esac
}
place() { base=$1; [ ! -L "$base" ] && mkdir -p "$base" 2>/dev/null && chmod 700 "$base" 2>/dev/null && mine "$base" && [ -w "$base" ]; }
base=$1; shift
# It was private before, and only its owner can change that. In /tmp it may have been removed.
if [ -n "$base" ] && { [ -L "$base" ] || [ ! -O "$base" ]; }; then base=; fi
case $base in /tmp/*) me=$(id -u); mine "\${base%/*}" || base= ;; esac
if [ -z "$base" ]; then
me=$(id -u)
case \${XDG_STATE_HOME-} in /*) place "$XDG_STATE_HOME/buddy/shells" || base= ;; esac
if [ -z "$base" ]; then case \${HOME-} in /?*) place "$HOME/.local/state/buddy/shells" || base= ;; esac; fi
if [ -z "$base" ]; then
  base=/tmp/buddy-$me
  mkdir "$base" 2>/dev/null
  mine "$base" || { echo "no private directory: neither below HOME nor $base" >&2; exit 6; }
  base=$base/shells; mkdir -p "$base" || exit 6
fi
fi
`;

/**
 * `finish` writes the last line of the output file, once, and then marks it as complete; `verdict` sets the text of
 * that line. Arguments: directory, 0 or what went wrong, not empty to do it even if another process has begun to.
 */
const FINISH = `
finish() {
  if mkdir "$1/ending" 2>/dev/null || [ -n "\${3-}" ]; then
    if [ -s "$1/output" ] && [ $(($(tail -c 1 "$1/output" | wc -l))) -eq 0 ]; then echo >>"$1/output"; fi
    if [ "$2" = 0 ]; then echo '[background process completed]'; else echo "[background process failed: $2]"; fi >>"$1/output"
    mkdir "$1/ended" 2>/dev/null
  fi
}
verdict() {
  c='ended without an exit code'
  if [ -f "$1/killed" ]; then read -r c <"$1/killed"
  elif [ -f "$1/code" ]; then read -r c <"$1/code"; [ "$c" = 0 ] || c="exit code $c"; fi
}
`;

/**
 * `state DIR` sets status and code, and finishes a shell that ended without doing so itself (reboot, kill -9). A
 * command that has ended counts as running until its output is complete.
 */
const STATE = `
${FINISH}# A zombie does not count: in some containers the first process never waits for it.
alive() {
  kill -0 "$1" 2>/dev/null || return 1
  if [ -r "/proc/$1/stat" ] && read -r st <"/proc/$1/stat"; then case \${st##*) } in [ZX]*) return 1 ;; esac; fi
}
isup() {
  alive "$2" || return 1
  # Another process with the same pid does not have the mark.
  [ ! -r "/proc/$2/environ" ] || grep -qs "BUDDY_SHELL=\${1##*/}" "/proc/$2/environ"
}
stillup() {
  isup "$1" "$pid" && return
  # After kill -9 of the runner, the command and its recorder still run.
  [ -f "$1/recorder" ] && read -r recorder <"$1/recorder" && isup "$1" "$recorder"
}
state() {
  code= pid= status=running
  if [ -f "$1/pid" ]; then read -r pid <"$1/pid"; fi
  if [ ! -d "$1/ended" ] && [ -n "$pid" ] && ! stillup "$1" && [ ! -d "$1/ended" ]; then
    verdict "$1"; finish "$1" "$c" now
  fi
  if [ -d "$1/ended" ]; then
    if [ -f "$1/code" ]; then read -r code <"$1/code"; fi
    if [ -f "$1/killed" ]; then status=killed code=; elif [ "$code" = 0 ]; then status=completed; else status=failed; fi
  fi
}
`;

/**
 * `members DIR` sets all to every process of the shell, found by the mark in its environment, including those that left
 * its group. `endtree DIR` ends them, except those in spare.
 */
const TREE = `
members() {
  all=
  if [ -d /proc/self ] && [ -r /proc/self/environ ]; then
    for e in $(grep -ls "BUDDY_SHELL=\${1##*/}" /proc/[0-9]*/environ); do e=\${e#/proc/}; all="$all \${e%/environ}"; done
  else
    found=" $pid "
    while :; do
      more=$found
      ps -A -o pid= -o ppid= >"$1/ps"
      while read -r c parent; do
        case $more in *" $c "*) ;; *) case $more in *" $parent "*) more="$more$c " ;; esac ;; esac
      done <"$1/ps"
      rm -f "$1/ps"
      [ "$more" != "$found" ] || break
      found=$more
    done
    all=$found
  fi
}
spared() { case " $spare " in *" $1 "*) ;; *) return 1 ;; esac; }
ingroup() { [ -r "/proc/$1/stat" ] && read -r st <"/proc/$1/stat" && set -- \${st##*) } && [ "$3" = "$pid" ]; }
# Only one signal to each: a program may count them.
signal() {
  group=
  if [ "$1" != KILL ] || [ -z "$spare" ]; then kill "-$1" "-$pid" 2>/dev/null; group=1; fi
  for e in $all; do spared "$e" || { [ -n "$group" ] && ingroup "$e"; } || kill "-$1" "$e" 2>/dev/null; done
}
living() { for e in $pid $all; do if ! spared "$e" && alive "$e"; then return 0; fi; done; return 1; }
pause() { sleep 0.05 2>/dev/null || sleep 1; }
endtree() {
  members "$1"; signal TERM
  i=0; while [ $i -lt 30 ]; do living || break; pause; i=$((i + 1)); done
  members "$1"
  if living; then signal KILL; i=0; while [ $i -lt 20 ] && living; do pause; i=$((i + 1)); done; fi
}
`;

/**
 * Finishes a second after the command ended, if something it left behind keeps the output open. A program of its own: a
 * subshell would itself hold the pipes that dash saves for redirections.
 */
const LATE = `
${FINISH}
sleep 1
verdict "$1"; finish "$1" "$c"
`;

/**
 * Runs independently of the connection: command, exit code, time limit, last line. Arguments: directory, seconds,
 * shell, the umask of the command, and the process to kill first. Its pid is the reported one, so a signal to it ends
 * the whole shell. A shell handles a signal at once only while it waits for a background process; so another process,
 * the recorder, runs the command and survives a kill -9 of the runner.
 */
const RUNNER = `
d=$1 cap=$2 sh=$3 mask=$4 pid=$$ spare=$$
SIGNALS='HUP INT QUIT TERM USR1 USR2 ALRM'
${STATE}${TREE}
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
BUDDY_SHELL=\${1##*/}; export BUDDY_SHELL
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
`;

/** With `&` the runner could not catch INT and QUIT: it starts in the foreground of a shell that it then kills. */
const LAUNCH = '"$@" $$ </dev/null; :';

/**
 * Arguments: base, session, id, working directory, time limit in seconds, now in milliseconds, file with exported
 * variables or "", 1 to run without approval, what is listed instead of the command or "". The command on stdin. Prints
 * the directory and the pid. Called again with the same id, it finds the shell that was started before. The scripts are
 * files: `ps` would show arguments.
 */
export const START = `
${BASE}
d=$base/$1/$2
mkdir -p "$base/$1" || exit 1
(find "$base" -type d -name ended -prune -mtime +0 | while IFS= read -r e; do rm -rf "\${e%/ended}"; done) </dev/null >/dev/null 2>&1 &
if mkdir "$d" 2>/dev/null; then
  { cat >"$d/command" && printf '%s' "$5" >"$d/started" && : >"$d/stdout" && : >"$d/stderr" && : >"$d/output" &&
    printf '%s' ${quote(RUNNER)} >"$d/runner.sh" && printf '%s' ${quote(LATE)} >"$d/late.sh"; } || { rm -rf "$d"; exit 1; }
  if [ -n "\${6-}" ] && [ -s "$6" ] && [ -O "$6" ] && [ ! -L "$6" ]; then cat "$6" >"$d/environment" 2>/dev/null; fi
  if [ -n "\${7-}" ]; then : >"$d/clean"; fi
  if [ -n "\${8-}" ]; then printf '%s' "$8" >"$d/shown"; fi
  cd "$3" || { rm -rf "$d"; exit 7; }
  sh=$(command -v bash || command -v sh)
  BUDDY_SHELL=$2; export BUDDY_SHELL
  if command -v setsid >/dev/null 2>&1; then leave=setsid; trap - HUP
  elif command -v perl >/dev/null 2>&1; then leave='perl -MPOSIX -e setsid();exec(@ARGV)'; trap - HUP
  else leave=; fi
  pid=$(exec sh -c ${quote(LAUNCH)} buddy-launch $leave sh "$d/runner.sh" "$d" "$4" "$sh" "$mask" 2>/dev/null) 2>/dev/null
  [ -n "$pid" ] || exit 1
  echo $pid >"$d/pid.new"; mv "$d/pid.new" "$d/pid"
fi
i=0; while [ ! -f "$d/pid" ] && [ $i -lt 40 ]; do sleep 0.05 || sleep 1; i=$((i + 1)); done
read -r pid <"$d/pid" || exit 1
if [ -f "$d/clean" ]; then
  i=0
  while [ ! -s "$d/begun" ] && [ ! -f "$d/code" ] && [ $i -lt 300 ]; do sleep 0.01 2>/dev/null || sleep 1; i=$((i + 1)); done
fi
printf '%s\\0' "$d" "$pid"
`;

const FIND = `
${BASE}${STATE}
d=
for e in "$base"/*/"$1"; do if [ -d "$e" ]; then d=$e; fi; done
[ -n "$d" ] || exit 42
`;

const TELL = `
tell() {
  state "$1"
  read -r started <"$1/started"
  c=$1/command; if [ -f "$1/shown" ]; then c=$1/shown; fi
  printf '%s\\0' "$1" "$pid" "$status" "$code" "$started" "$(if [ -f "$c" ]; then dd if="$c" bs=65536 count=1 2>/dev/null; fi)"
}
`;

/**
 * Arguments: base, id, session, most bytes of each stream, offsets ("": as stored on the target).
 * Prints the state, then offset, size and bytes sent of stdout and of stderr, then the bytes of both.
 */
export const LOOK = `
LC_ALL=C; export LC_ALL
${FIND}${TELL}
o=\${4-} e=\${5-}
if [ -z "$o" ]; then o=0 e=0; if [ -f "$d/seen.$2" ]; then read -r o e <"$d/seen.$2"; fi; fi
tell "$d"
size() { n=$5; }
size $(ls -ln "$d/stdout"); so=$n
size $(ls -ln "$d/stderr"); se=$n
no=$((so - o)) ne=$((se - e))
if [ $no -gt "$3" ]; then no=$3; fi
if [ $ne -gt "$3" ]; then ne=$3; fi
printf '%s\\0' $o $so $no $e $se $ne
if [ $no -gt 0 ]; then tail -c "+$((o + 1))" "$d/stdout" 2>/dev/null | take $no; fi
if [ $ne -gt 0 ]; then tail -c "+$((e + 1))" "$d/stderr" 2>/dev/null | take $ne; fi
exit 0
`;

/** Arguments: base, id, session, offsets into stdout and stderr up to which the session has read. */
export const SEEN = `
${FIND}
echo "$3 $4" >"$d/seen.$2.new" && mv "$d/seen.$2.new" "$d/seen.$2"
`;

/** Arguments: base, id. TERM, then KILL to everything that runs; prints the state, and what an ended shell left. */
export const KILL = `
${FIND}${TREE}${TELL}
spare=
state "$d"
left=
if [ $status = running ]; then echo killed >"$d/killed"; endtree "$d"; finish "$d" killed
else
  # What it left is probably a daemon that should stay.
  members "$d"
  own=$pid
  for e in "$d/recorder" "$d/clock"; do if [ -f "$e" ]; then read -r e <"$e"; own="$own $e"; fi; done
  if [ -d /proc/self ]; then for e in $all; do
    case $(tr '\\0' ' ' <"/proc/$e/cmdline" 2>/dev/null) in *"$d/runner.sh "*|"tee -a $d/"*) continue ;; esac
    case " $own " in *" $e "*) ;; *) if alive "$e"; then left="$left $e"; fi ;; esac
  done; fi
fi
tell "$d"
printf '%s\\0' "$left"
`;

/** Arguments: base. */
export const LIST = `
${BASE}${STATE}${TELL}
for d in "$base"/*/*/; do if [ -f "\${d}pid" ]; then tell "\${d%/}"; fi; done
exit 0
`;
