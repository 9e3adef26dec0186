# Arguments: base, session, id, working directory, time limit in seconds, now in milliseconds, file with
# exported variables or "", 1 to run without approval, what is listed instead of the command or "". The
# command on stdin. Prints the directory and the pid. Called again with the same id, it finds the shell that
# was started before. The scripts are files: `ps` would show arguments.
. ./background-base.sh
d=$base/$1/$2
mkdir -p "$base/$1" || exit 1
(find "$base" -type d -name ended -prune -mtime +0 | while IFS= read -r e; do rm -rf "${e%/ended}"; done) </dev/null >/dev/null 2>&1 &
if mkdir "$d" 2>/dev/null; then
  { cat >"$d/command" && printf '%s' "$5" >"$d/started" && : >"$d/stdout" && : >"$d/stderr" && : >"$d/output" &&
    printf '%s' @runner@ >"$d/runner.sh" && printf '%s' @late@ >"$d/late.sh"; } || { rm -rf "$d"; exit 1; }
  if [ -n "${6-}" ] && [ -s "$6" ] && [ -O "$6" ] && [ ! -L "$6" ]; then cat "$6" >"$d/environment" 2>/dev/null; fi
  if [ -n "${7-}" ]; then : >"$d/clean"; fi
  if [ -n "${8-}" ]; then printf '%s' "$8" >"$d/shown"; fi
  cd "$3" || { rm -rf "$d"; exit 7; }
  sh=$(command -v bash || command -v sh)
  BUDDY_SHELL=$2; export BUDDY_SHELL
  if command -v setsid >/dev/null 2>&1; then leave=setsid; trap - HUP
  elif command -v perl >/dev/null 2>&1; then leave='perl -MPOSIX -e setsid();exec(@ARGV)'; trap - HUP
  else leave=; fi
  pid=$(exec sh -c '"$@" $$ </dev/null; :' buddy-launch $leave sh "$d/runner.sh" "$d" "$4" "$sh" "$mask" 2>/dev/null) 2>/dev/null
  [ -n "$pid" ] || exit 1
  echo $pid >"$d/pid.new"; mv "$d/pid.new" "$d/pid"
fi
i=0; while [ ! -f "$d/pid" ] && [ $i -lt 40 ]; do sleep 0.05 || sleep 1; i=$((i + 1)); done
read -r pid <"$d/pid" || exit 1
if [ -f "$d/clean" ]; then
  i=0
  while [ ! -s "$d/begun" ] && [ ! -f "$d/code" ] && [ $i -lt 300 ]; do sleep 0.01 2>/dev/null || sleep 1; i=$((i + 1)); done
fi
printf '%s\0' "$d" "$pid"
