# In the guard: `text TAG DIRECTORY SCRIPT` runs the script in parallel to the loop and marks its end like a
# direct shell; `ask TAG TEXT` has the clean shell run a text, or reports that it was not taken. R is a
# process that stays and waits for the answers of that shell, so none is started per text. D is the directory
# of records, T the process of the last text or A its tag, J the mark of everything they start, Y the key. 6
# keeps the namespace alive, so nothing else may inherit it.
marks() {
  case $2 in *[![:print:]]* | *%*)
    set -- "$1" "$(printf %s "$2" | { od -An -v -tx1 || cat; } 2>/dev/null | tr -d '\n' | tr ' ' %)" "$3" ;;
  esac
  printf '\033]7771;%s;E;%s;%s\a' "$3" "$c" "$1" >&2
  printf '\033]7771;%s;P;0;%s;%s;%s\a' "$3" "$c" "$1" "$2"
}
text() {
  ended
  (
    exec 6>&- 7>&-
    __buddy_last=$D/dir __buddy_tag=$1 __buddy_key=$Y __buddy_text=$3
    export TERM=dumb PAGER=cat GIT_PAGER=cat BUDDY_JOB="$J"
    if cd -- "$2" 2>/dev/null; then eval "$__buddy_text"; else printf '%s\n' "cd: $2: no such directory" >&2; (exit 126); fi
    c=$?
    marks "$__buddy_tag" "$PWD" "$__buddy_key"
  ) </dev/null &
  T=$! B=1
}
answer() {
  exec </dev/null 6>&- 7>&-
  while IFS= read -r t <&4 && [ -n "$t" ]; do
    exec 3<>"$D/codes"
    c=
    if [ ! -e "$D/gone" ]; then IFS= read -r c <&3; fi
    if [ "$c" = taken ]; then
      # What it has taken is never run again.
      IFS= read -r c <&3
      case $c in '' | *[!0-9]*) c=137 ;; esac
      marks "$t" "" "$Y"
    else printf '\033]7771;%s;I\a' "$Y"; fi
    printf '%s\n' "$t" >&5
  done
}
texts() {
  J=$1 Y=$2
  [ -z "$R" ] || kill "$R" 2>/dev/null
  R= A=
}
ask() {
  ended
  if [ -z "$R" ]; then
    exec 4<>"$D/asks" 5<>"$D/answered"
    answer &
    R=$! B=1
    exec 4>&- 5>&-
  fi
  [ -e "$D/gone" ] || printf '%s\0' "$2" 1<>"$D/texts"
  A=$1
  printf '%s\n' "$1" 1<>"$D/asks"
}
ended() {
  [ -z "$T" ] || wait "$T"
  while [ -n "$A" ]; do IFS= read -r a <>"$D/answered"; [ "$a" != "$A" ] || A=; done
}
running() {
  if [ -n "$T" ] && kill -0 "$T"; then return; fi
  [ -n "$A" ] || return
  echo 0 1<>"$D/answered"
  until IFS= read -r a <>"$D/answered"; [ "$a" = 0 ]; do [ "$a" != "$A" ] || A=; done
  [ -n "$A" ]
}
