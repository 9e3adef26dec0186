# Runs the child in the namespace; without one, outside or not at all. LC_ALL=C: loading a locale takes time, and may print a warning.
# 9 is the original stderr. Rounds of 50 ms: as long as a namespace may take on a busy machine, or shorter if none is being made. The
# file is written before FILE.changing is removed: without FILE.changing, one more look is enough.
__buddy_code=0 __buddy_round=0
. ./find-namespace.sh
__buddy_enter() {
  if [ -z "$__buddy_pid" ]; then @outside@
  else LC_ALL=C @bare@ @enter@ "$@" 2>&9 9>&-
  fi
}
until __buddy_look @file@ || { [ ! -e @changing@ ] && { __buddy_look @file@ || @missing@; }; } || [ "$((__buddy_round=__buddy_round+1))" -gt 600 ]; do
  sleep 0.05 2>/dev/null || sleep 1
done
__buddy_enter @child@ || __buddy_code=$?
