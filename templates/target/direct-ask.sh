# `__buddy_ask TAG COMMAND`: has the clean shell run a command; reports that it is incomplete if that is not possible.
__buddy_ask() {
  __buddy_standing "$2"
  if [ -n "$__buddy_code" ]; then __buddy_report "$1"; else printf '\033]7771;%s;I\a' "$__buddy_key" >&8; fi
}
