# shellcheck shell=bash
# Definitions for a bash with bare-environment.sh in which 8 and 9 are stdout and stderr: `__buddy_standing COMMAND` has a clean bash in the namespace run it, and
# sets __buddy_code; empty if that is not possible, and then nothing ran. That bash is kept for the next command; `__buddy_leave` ends
# it. It has the state of the shell at its start, so it must be ended before the shell itself runs a command. It knows neither the key
# nor the requests of the shell, since programs in it can read its memory.
. ./find-namespace.sh
__buddy_texts= __buddy_codes=
__buddy_serve() {
  __buddy_bare @own@ env --default-signal=INT,QUIT true || return
  __buddy_look @file@ || return
  coproc __buddy_namespace {
    exec 5<&0 6>&1 </dev/null >&8 2>/dev/null 7<&- 8>&-
    __buddy_exec @own@ env --default-signal=INT,QUIT @enter@ @shell@ @loaded@ bash "$PWD" @file@ "" "$__buddy_pid $__buddy_since" 3<<<@stand@
  }
  __buddy_server=$__buddy_namespace_PID
  # Both ends of the pipe: a write to a process that has ended must not end this one.
  exec {__buddy_texts}<>"/proc/$$/fd/${__buddy_namespace[1]}" {__buddy_codes}<&"${__buddy_namespace[0]}"
  eval "exec ${__buddy_namespace[0]}<&- ${__buddy_namespace[1]}>&-"
}
__buddy_leave() {
  [ -n "$__buddy_texts" ] || return 0
  exec {__buddy_texts}>&- {__buddy_codes}<&-
  __buddy_texts= __buddy_codes=
  wait "$__buddy_server" || :
}
__buddy_standing() {
  __buddy_code=
  if [ -n "$__buddy_texts" ] || __buddy_serve; then
    printf '%s\0' "$1" >&"$__buddy_texts"
    IFS= read -r __buddy_code <&"$__buddy_codes"
  fi
  if [ "$__buddy_code" != taken ]; then
    __buddy_code=
    __buddy_leave
    return
  fi
  # What it has taken is never run again.
  IFS= read -r __buddy_code <&"$__buddy_codes"
  case $__buddy_code in '' | *[!0-9]*) __buddy_code=137; __buddy_leave ;; esac
}
