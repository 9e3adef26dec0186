# A command comes as `PART.NUMBER.TAG` in one word or several, the last of them to @runner@: `,` is a blank, `+0NNN` any other character but
# letters, digits and /_:-. These functions exist only in the shell that was adopted with their word: for every other one, the line and
# each end of it is the name of a program that does not exist.
# shellcheck disable=SC3033
@adder@() {
  set -- "${1%.*}" "${1##*.}"
  case ${__buddy_n-} in "$2".*) ;; *) __buddy_n=$2.0 __buddy_c= ;; esac
  __buddy_n=$2.$((${__buddy_n##*.} + 1))
  __buddy_c=$__buddy_c${1%.*}
  [ "${1##*.}" = "${__buddy_n##*.}" ] || __buddy_n=0.0
}
# shellcheck disable=SC3033
@decoder@() {
  __buddy_c=
  while case $1 in *[+,]*) ;; *) false ;; esac; do
    __buddy_c=$__buddy_c${1%%[+,]*}
    case ${1#"${1%%[+,]*}"} in +*) __buddy_c=$__buddy_c'\' ;; *) __buddy_c="$__buddy_c " ;; esac
    set -- "${1#*[+,]}"
  done
  __buddy_c=$(printf '%bx' "$__buddy_c$1")
  __buddy_c=${__buddy_c%x}
}
# For who watches; not what starts a clean shell.
# shellcheck disable=SC3033
@viewer@() {
  case $__buddy_c in *[[:cntrl:]]* | '__buddy_bare '*) ;; *) printf '%s\n' "$__buddy_c" ;; esac
}
# shellcheck disable=SC3033
@runner@() {
  @adder@ "$1"
  @decoder@ "$__buddy_c"
  set -- "${1##*.}" "${2-}"
  case $__buddy_n in "$1".*) ;; *) __buddy_c='(exit 126)' ;; esac
  [ -n "$2" ] || @viewer@
  # `set --` keeps the exit code without a variable. A prompt that the command has set gets a mark.
  __buddy_n=
  printf '\033]7771;%s;C;%s\a' "$__buddy_k" "$1"
  eval "$__buddy_c"
  set -- "$1" "$?"
  __buddy_c=
  printf '\033]7771;%s;P;0;%s;%s;%s\a' "$__buddy_k" "$2" "$1" "@place@"
  __buddy_ps
  return "$2"
}
# `SHOWN.WORD`: the same, but the command is typed where the terminal does not show it, after the mark N of WORD.
# shellcheck disable=SC3033
@asker@() {
  @decoder@ "${1%.*}"
  @viewer@
  @runner@ "$(sh -c '@read_unseen@' sh "${1##*.}")" shown
}
