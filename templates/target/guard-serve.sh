# `open_namespace WORDS` makes the namespace as `how` says, starts the clean shell in it with those words, and
# sets its pid and start; `serve "PID START" WORDS` starts another one with words that enter a namespace. Both
# wait until it is ready. 8 and 9 are stdout and stderr of the session. S is its bash, W its directory, E its
# environment. Only that shell gets the mark J: the process that holds the namespace must survive a text that is stopped.
served() {
  exec 5<>"$D/texts" 6>&3 2>/dev/null 7>&-
  printf %s @stand@ >"$D/stand"
  export TERM=dumb
  eval "__buddy_bare $E "'"$@"' 3<"$D/stand"
  : >"$D/gone"
  echo gone >&6
}
open_namespace() {
  if [ -z "$S" ] || [ -e "$D/gone" ]; then return 1; fi
  exec 3<>"$D/codes"
  set -- env --default-signal=INT,QUIT BUDDY_JOB="$J" "$@" "$S" @loaded@ bash "$W" "$D/process" "$D/probe"
  served unshare $how sh "$dir/namespace.sh" "$dir/fstab" "${how##*propagation }" "$@" <&4 >"$dir/made" &
  said=; read -r said pid start <"$dir/made"
  IFS= read -r s <&3; exec 3>&-
  if [ "$s" = ready ]; then ready=stands; fi
  [ "$said" = made ]
}
serve() {
  [ -n "$S" ] || return 1
  if [ -e "$D/gone" ]; then rm -f "$D/gone" "$D/texts" "$D/codes"; fi
  [ -p "$D/texts" ] || mkfifo "$D/texts" "$D/codes" || return 1
  s=$1; shift
  exec 3<>"$D/codes"
  set -- env --default-signal=INT,QUIT BUDDY_JOB="$J" "$@" "$S" @loaded@ bash "$W" "$D/process" "$D/probe" "$s"
  served "$@" </dev/null >&8 4>&- 8>&- &
  IFS= read -r s <&3; exec 3>&-
  [ "$s" = ready ]
}
