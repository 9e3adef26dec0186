# $1 directory for the exported variables (in ~/.cache/buddy if another user owns its parent), $2 whether to
# restore those of an earlier shell, $3 working directory, $4 mark for the environment of everything it
# starts, $5 the variables as buddy knows them: after a drop the directory is gone. The first line on stdin is
# the key for the marks; each further line is a request. Marks go to copies of stdout and stderr, so that a
# command that redirects them for good cannot hide its end; what it starts does not get the copies. The end is
# reported only before the next request is read, so that `break`, `continue` and syntax errors cannot skip it.
# A request that sets no __buddy_text is complete once it is evaluated.
unset l
. ./bare-environment.sh
# Not the programs that a command put into PATH, nor with what it exported.
__buddy_own_program() { __buddy_bare PATH=/usr/bin:/bin "$@"; }
exec 7<&0 8>&1 9>&2 </dev/null
IFS= read -r __buddy_key <&7 || exit 0
__buddy_file= __buddy_tag= __buddy_save= __buddy_at= __buddy_for= NL='
'
. ./own-directory.sh
# Neither a link nor a directory of another user is used.
for __buddy_for in "${1%/*}" "${HOME:-/tmp}/.cache/buddy"; do
  [ -d "$__buddy_for" ] || ( umask 077; mkdir -p "$__buddy_for" ) 2>/dev/null
  if __buddy_own "$__buddy_for"; then
    __buddy_file=$__buddy_for/${1##*/}/env
    break
  fi
done
# A cleaner of /tmp may remove the directory later.
__buddy_make() {
  ( trap '' 25; umask 077; d=${__buddy_file%/env}; __buddy_own_program mkdir -p "$d" && { [ -s "$d/env" ] || printf '%s' "$1" >>"$d/env"; } && echo $$ $__buddy_pid_space >"$d/pid" ) 2>/dev/null
}
. ./pid-space.sh
__buddy_pid_space
if [ -n "$__buddy_file" ]; then
  for __buddy_at in "$__buddy_for"/direct-*; do
    # Left behind by a shell that was killed.
    if [ "$__buddy_at" != "${__buddy_file%/env}" ] && read -r __buddy_tag __buddy_save <"$__buddy_at/pid" &&
      [ "$__buddy_save" = "$__buddy_pid_space" ] && ! kill -0 "$__buddy_tag"; then rm -rf "$__buddy_at"; fi
  done 2>/dev/null
  __buddy_make "$5"
  __buddy_at= __buddy_tag= __buddy_save=
fi
if [ "$2" = 1 ]; then
  if [ -s "$__buddy_file" ] && [ -O "$__buddy_file" ]; then . "$__buddy_file"; else eval "$5"; fi 2>/dev/null
  # PWD came with the variables: it must not name a directory that is gone.
  cd -- "$3" 2>/dev/null || cd -P . 2>/dev/null
fi
export BUDDY_JOB="$4"
shift 6
__buddy_for= __buddy_last=${__buddy_file:+${__buddy_file%/env}/dir}
# 25 is XFSZ: it would kill a shell that writes a file beyond the size limit.
__buddy_keep() {
  if [ -O "$__buddy_file" ]; then
    trap '' 25
    { export -p; printf 'umask '; umask; } >|"$__buddy_file"
    trap - 25
  fi
}
# Encodes the directory for marks; starts a program only if the name needs that.
__buddy_place() {
  __buddy_for=$PWD
  __buddy_at=$PWD
  case $PWD in *[![:print:]]* | *%*)
    __buddy_at=$(printf %s "$PWD" | { __buddy_own_program od -An -v -tx1 || __buddy_own_program cat; } 2>/dev/null |
      __buddy_own_program tr -d '\n' | __buddy_own_program tr ' ' %) ;;
  esac
}
__buddy_report() {
  [ "$PWD" = "$__buddy_for" ] || __buddy_place
  printf '\033]7771;%s;E;%s;%s\a' "$__buddy_key" "$__buddy_code" "$1" >&9
  printf '\033]7771;%s;P;0;%s;%s;%s\a' "$__buddy_key" "$__buddy_code" "$1" "$__buddy_at" >&8
}
__buddy_next() {
  __buddy_code=$?
  if [ -n "$__buddy_tag" ]; then
    if [ -n "$__buddy_save" ]; then __buddy_keep; fi
    __buddy_report "$__buddy_tag"
    __buddy_tag= __buddy_save=
  fi
  __buddy_text=
  IFS= read -r __buddy_line <&7 || { trap - EXIT; __buddy_own_program rm -rf "${__buddy_file%/env}"; exit 0; }
  eval "$__buddy_line"
  if [ -n "$__buddy_text" ] && [ -n "${__buddy_texts-}" ]; then __buddy_leave; fi
}
# A child of bash that is killed before its exec still runs this trap: its pid is not that of the shell. Compared in an
# arithmetic expansion, since bash evaluates a failed test as true in that state.
__buddy_exit() {
  __buddy_keep
  [ "$PWD" = "$__buddy_for" ] || __buddy_place
  # shellcheck disable=SC3028
  set -- '\033]7771;%s;P;%s;%s;0;%s\a' "$__buddy_key" "$((${BASHPID:-$$} != $$))" "$1" "$__buddy_at"
  printf "$@" >&8 || printf "$@"
}
trap '{ __buddy_exit "$?"; } 2>/dev/null' EXIT
printf '\033]7771;%s;B\a' "$__buddy_key" >&8
printf '\033]7771;%s;B\a' "$__buddy_key" >&9
