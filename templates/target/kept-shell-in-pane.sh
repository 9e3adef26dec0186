# shellcheck shell=bash
# The same on a terminal: $1 directory, $2 file of the namespace, $3 its content, $4 pid of the shell that asks, in whose process group
# it runs. Each command gets a group of its own, and the terminal, which bash then gives back to the group of this shell. stderr is the
# terminal opened for reading, so that messages of bash about a killed command are not shown. A stopped command could never be
# continued, so it is ended, in the foreground, where it can restore the screen. Ctrl-Z breaks the loop; Ctrl-C ends this shell
# together with the command, except in old versions.
@enter_directory@
shift
. ./clean-close-files.sh
. ./clean-hold.sh
[ ${BASH_VERSINFO[0]}${BASH_VERSINFO[1]} -ge 50 ] || exit
__buddy_file=$1 __buddy_namespace=$2 __buddy_shell=$3
set --
unset BASH_EXECUTION_STRING
__buddy_size=$(shopt -p checkwinsize)
shopt -u checkwinsize
trap : INT QUIT TSTP
set -m
__buddy_same() {
  IFS= read -r __buddy_line <"$__buddy_file" && [ "$__buddy_line" = "$__buddy_namespace" ] && [ . -ef "$PWD" ] && [ -d "/proc/$__buddy_shell" ]
}
__buddy_stopped() {
  __buddy_part=$(jobs -ps)
  [ -n "$__buddy_part" ] || return
  { kill -TERM -- "-$__buddy_part"; sleep 0.5; kill -KILL -- "-$__buddy_part"; } &
  while __buddy_go; do
    :
  done
  for __buddy_line in {1..30}; do
    kill -0 -- "-$__buddy_part" || break
    sleep 0.02
  done
  kill -KILL %%
}
__buddy_go() {
  fg %1 >/dev/null
  jobs %1 >/dev/null
}
__buddy_end() {
  trap - EXIT
  echo "$__buddy_tag end $1" >&6
}
echo ready >&6
while :; do
  . ./kept-next.sh
  __buddy_text=$__buddy_text$__buddy_part
  __buddy_tag=${__buddy_text%%;*}
  if [ "$__buddy_tag" = leave ] || ! __buddy_same; then
    echo "$__buddy_tag left" >&6
    exit 0
  fi
  # A subshell of a shell with a trap for INT or EXIT catches INT itself, and one that comes while it forks is lost; so does one in the
  # foreground. Until the traps are there again, Ctrl-C ends this shell, and the command does not begin.
  echo "$__buddy_tag taken" >&6
  trap - INT
  ( while :; do
    IFS=" " read -r -a __buddy_part <"/proc/$BASHPID/stat"
    [ "${__buddy_part[3]}" = $$ ] || exit
    [ "${__buddy_part[4]}" != "${__buddy_part[7]}" ] || break
  done
  echo "$__buddy_tag at $BASHPID" >&6
  set +m
  $__buddy_size
  set -- "${__buddy_text#*;}"
  unset -f __buddy_same __buddy_stopped __buddy_go __buddy_end
  unset ${!__buddy_@}
  exec 5<&- 6>&-
  eval "set --; $1" ) 2>&9 9>$__buddy_hold 7<&- &
  trap : INT
  trap '[ -n "$(jobs -pr)" ] || __buddy_end 130' EXIT
  fg >/dev/null
  __buddy_code=$?
  case $__buddy_code in
  14[79] | 150) __buddy_stopped ;;
  esac
  . ./clean-end-holders.sh
  __buddy_end $__buddy_code
done
__buddy_stopped
. ./clean-end-holders.sh
__buddy_end 148
