# shellcheck shell=bash
# A clean shell that is kept open in the namespace: commands come on 5, "taken" and the exit code go to 6, 9 is stderr; $1 directory,
# $2 file of the namespace, $3 a file that must not be writable if "ready" is to be printed, or "", $4 the expected content of the file
# of the namespace. It ends when that file changes: its own namespace then has mounts that are gone. On one line, so that line numbers
# in messages of a command are right.
@enter_directory@
shift
. ./clean-close-files.sh
. ./clean-hold.sh
if [ -n "$2" ]; then
  if true >"$2"; then
    exit 1
  fi
  echo ready >&6
fi
__buddy_file=$1 __buddy_namespace=$3
set --
unset BASH_EXECUTION_STRING
__buddy_same() {
  IFS= read -r __buddy_line <"$__buddy_file" && [ "$__buddy_line" = "$__buddy_namespace" ] && [ . -ef "$PWD" ]
}
. ./kept-plain.sh
while :; do
  . ./kept-next.sh
  __buddy_text=$__buddy_text$__buddy_part
  __buddy_same || exit 0
  if __buddy_plain; then
    echo taken >&6
    if [ -z "$__buddy_part" ]; then
      $__buddy_text 2>&9
      echo $? >&6
      continue
    fi
    $__buddy_text 2>&9 5<&- 6>&- 9>$__buddy_hold 7<&-
  else
    echo taken >&6
    ( set -- "$__buddy_text"
    unset -f __buddy_same __buddy_plain
    unset ${!__buddy_@}
    exec 5<&- 6>&-
    eval "set --; $1" ) 2>&9 9>$__buddy_hold 7<&-
  fi
  __buddy_code=$?
  . ./clean-end-holders.sh
  echo $__buddy_code >&6
done
