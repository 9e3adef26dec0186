# Ends the groups in G at once. Those in L are led by clients (`docker exec`), which end by themselves after
# they have passed the end of stdin on, so they get time for that; then `before_kill` runs. Zombies do not
# count: the first process of many containers never reaps them, and waiting for them would always take the
# whole time.
some() { if [ -r /proc/self/stat ]; then grep -qs "$1" $2; else :; fi; }
member() { kill -0 "-$1" && some ") [^ZX] [0-9]* $1 " '/proc/[0-9]*/stat'; }
leader() { kill -0 "$1" && some ") [^ZX] " "/proc/$1/stat"; }
linger() {
  n=$1 what=$2; shift 2
  while [ $n -gt 0 ]; do
    up=; for g in $*; do if $what "$g"; then up=1; break; fi; done
    [ -n "$up" ] || return
    sleep 0.05 || { sleep 1; n=$((n - 19)); }
    n=$((n - 1))
  done
}
for g in $G; do kill -TERM "-$g" || kill -TERM "$g"; done
linger 20 member $G
for g in $G; do kill -KILL "-$g"; done
linger 60 leader $L
before_kill
for g in $L; do if leader "$g"; then kill -KILL "-$g"; fi; done
