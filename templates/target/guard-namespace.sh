# `beside TOKEN BASH CWD JOB WATCHED SETTINGS`: makes the namespace and holds it in parallel to the loop until the
# guard ends; prints the token and the line that the namespace script prints, when it does.
namespace() {
. ./namespace.sh
}
beside() {
  S=$2 W=$3 J=$4 E=$6 B=1 line=
  if mkfifo "$D/alive" "$D/said" "$D/made" "$D/go" "$D/texts" "$D/codes" "$D/asks" "$D/answered" 2>/dev/null && exec 6<>"$D/alive" 7<>"$D/go"; then
    [ -z "$5" ] || echo >&7
    ( namespace "" "$D" ) 8>&1 9>&2 <"$D/alive" >"$D/said" 2>/dev/null 6>&- &
    { IFS= read -r line <"$D/said"; printf '%s %s\n' "$1" "$line"; } </dev/null 6>&- 7>&- &
  else printf '%s none\tits pipes cannot be made\n' "$1"; fi
}
