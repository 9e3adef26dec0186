# $1 pid of the shell, $2 mark in the environment. Stops the shell first, or it would continue with the next
# command of its list; then TERM, a short wait and KILL to all that it started, including what left its group
# (`setsid`). Without a pid: only what has the mark.
case $1$2 in *[!0-9a-f-]*|'') exit 2 ;; esac
[ "${1:-2}" -gt 1 ] && [ ${#2} -ge 16 ] || exit 2
[ -z "$1" ] || kill -STOP "$1" 2>/dev/null
list() {
  if [ -d /proc/self ]; then
    for f in $(grep -ls "BUDDY_JOB=$2" /proc/[0-9]*/environ 2>/dev/null); do f=${f#/proc/}; echo "${f%/environ}"; done
  fi
  [ -z "$1" ] || ps -A -o pid= -o ppid= -o stat= 2>/dev/null | awk -v s="$1" '
    $3 !~ /^Z/ { n++; pid[n] = $1; parent[n] = $2 }
    END {
      mine[s] = 1
      do { more = 0; for (i = 1; i <= n; i++) if ((parent[i] in mine) && !(pid[i] in mine)) { mine[pid[i]] = 1; more = 1 } } while (more)
      for (p in mine) print p
    }' 2>/dev/null
}
others() { list "$1" "$2" | while read -r p; do [ "$p" != "$1" ] && [ "$p" != $$ ] && [ "$p" -gt 1 ] && kill -0 "$p" 2>/dev/null && echo "$p"; done; }
each() { for p in $(others "$2" "$3"); do kill "-$1" "$p" 2>/dev/null; done; }
each TERM "$1" "$2"
each CONT "$1" "$2"
i=0
while [ $i -lt 10 ] && [ -n "$(others "$1" "$2")" ]; do sleep 0.03 2>/dev/null || sleep 1; i=$((i + 1)); done
each KILL "$1" "$2"
[ -z "$1" ] || kill -KILL "$1" "-$1" 2>/dev/null
:
