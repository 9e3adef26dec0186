# `members DIR` sets all to every process of the shell, found by the mark in its environment, including those
# that left its group. `endtree DIR` ends them, except those in spare.
members() {
  all=
  if [ -d /proc/self ] && [ -r /proc/self/environ ]; then
    for e in $(grep -ls "BUDDY_SHELL=${1##*/}" /proc/[0-9]*/environ); do e=${e#/proc/}; all="$all ${e%/environ}"; done
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
ingroup() { [ -r "/proc/$1/stat" ] && read -r st <"/proc/$1/stat" && set -- ${st##*) } && [ "$3" = "$pid" ]; }
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
