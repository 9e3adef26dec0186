# Requests are single lines that begin with a secret: if stdin ever gets out of step (a killed `head`), file
# contents end the loop instead of running as commands. `read` takes one byte at a time, so what follows a
# line is left for `head -c`. When stdin ends (the connection, the engine's client or buddy itself is gone),
# the runner ends the groups given to `watch` and those with a file in D. D is a private directory where
# started processes record themselves: a `watch` would arrive a round trip later, or never if the connection
# breaks at that moment.
trap '' HUP
@absolute_path@
NL='
'
H= G= L= D= I= T= A= R= B= N=
h() { case $(printf ab | head -c 1 2>/dev/null) in a) H=1 ;; *) H=0 ;; esac; }
begin() { printf '%s +\n' "$1"; printf '%s +\n' "$1" >&2; }
ended() { :; }
running() { return 1; }
after() { ended; begin "$1"; }
x() { t=$1; shift; ( "$@" ) </dev/null; printf '%s %s\n' "$t" "$?"; printf '%s\n' "$t" >&2; }
take() { if [ "$H" = 1 ]; then head -c "$1"; else dd ibs=1 obs=65536 count="$1" 2>/dev/null; fi; }
d() {
  [ -n "$H" ] || h
  t=$1 n=$2; shift 2
  take "$n" | ( ( "$@" ); c=$?; cat >/dev/null 2>&1; exit $c )
  printf '%s %s\n' "$t" "$?"; printf '%s\n' "$t" >&2
}
watch() { G="$G $1"; }
watchclient() { L="$L $1"; }
without() { for g in $2; do [ "$g" = "$1" ] || printf ' %s' "$g"; done; }
unwatch() {
  kill -0 "-$1" 2>/dev/null && return
  G=$(without "$1" "$G") L=$(without "$1" "$L")
  if [ -n "$D" ]; then rm -f "$D/g$1" "$D/c$1"; fi
}
# Sets r to the path of a program. Of the system's own programs the output is known without running them.
found() {
  r= o=$IFS IFS=:
  set -f
  for g in $PATH; do case $g in /*) if [ -f "$g/$1" ] && [ -x "$g/$1" ]; then r=$g/$1; break; fi ;; esac; done
  set +f
  IFS=$o
}
is_system() { found "$1"; [ "$r" = "/usr/bin/$1" ] || [ "$r" = "/bin/$1" ]; }
. ./pid-space.sh
. ./own-directory.sh
makedirectory() {
  if is_system id; then while read -r g n I r; do [ "$g" != Uid: ] || break; done 2>/dev/null </proc/self/status; fi
  [ -n "$I" ] || I=$(id -u)
  D=${TMPDIR:-/tmp}/buddy-$I
  [ -d "$D" ] || (umask 077; mkdir "$D") 2>/dev/null
  if ! __buddy_own "$D" || [ ! -w "$D" ]; then D=; return; fi
  __buddy_pid_space
  D=$D/run.$__buddy_pid_space
  for g in "$D".*; do if [ -d "$g" ] && ! kill -0 "${g##*.}" 2>/dev/null; then rm -rf "$g"; fi; done
  D=$D.$$
  (umask 077; mkdir "$D") 2>/dev/null || D=
}
before_kill() { :; }
