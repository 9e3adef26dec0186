# Runs a command between marks; `set --` keeps the exit code without a variable. A prompt that the command has set gets a mark. @runner@
# exists only in the shell that was adopted with its word: in an outer shell the line runs nothing.
# shellcheck disable=SC3033
@runner@() {
  printf '\033]7771;%s;C;%s\a' "$__buddy_k" "$1"
  eval "$__buddy_c"
  set -- "$1" "$?"
  __buddy_c=
  printf '\033]7771;%s;P;0;%s;%s;%s\a' "$__buddy_k" "$2" "$1" "@place@"
  __buddy_ps
  return "$2"
}
