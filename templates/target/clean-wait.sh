# shellcheck shell=bash
# Another bash runs the command, without a trap. This one waits, at the other end of a pipe that the command and all that it starts hold
# as 9; with `lastpipe` (bash 4.2) it sets its traps after the fork, and only then the command begins. With a trap for its end, or in a
# subshell, bash catches INT and loses a Ctrl-C that comes while it starts a program; only `set -m` prevents that in a subshell, but
# moves it away from the terminal. So this costs the start of another bash.
. ./clean-hold.sh
exec 5>$__buddy_hold 8>&1
shopt -s lastpipe 2>/dev/null
"$BASH" @loaded@ bash "$@" 9>&1 >&8 6>&2 2>/dev/null 3>&- 5>&- 8>&- | {
  exec 7<&0
  . ./clean-pass-signals.sh
  echo >&5
  exec 5>&-
  . ./clean-await.sh
} 2>/dev/null
__buddy_code=${PIPESTATUS[0]}
@report@
. ./clean-end-holders.sh
exit "$__buddy_code"
