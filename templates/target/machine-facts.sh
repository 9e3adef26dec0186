# Arguments: the directory to work in, or ""; not empty if it may be missing; not empty if the version of tmux
# is asked later. The last fields are the directory of records, and whether the shell leads a process group.
# Reads files rather than start programs, since many machines may be opened at once. `found` and `is_system`
# are functions of a script runner.
case ${1-} in
'') ;;
'~') cd "$HOME" ;;
'~/'*) cd "$HOME/${1#'~/'}" ;;
/*) cd "$1" ;;
*) cd "./$1" ;;
esac || [ -n "${2-}" ] || exit 3
i=${I:-$(id -u)} r= k= v=
if is_system uname; then
  { read -r r </proc/sys/kernel/ostype && read -r k </proc/sys/kernel/hostname && read -r v </proc/sys/kernel/osrelease; } 2>/dev/null
fi
if [ -n "$v" ]; then v="$r $v"; else
  v=$(uname -snr)
  k=${v#* }; k=${k%% *} v="${v%% *} ${v##* }"
fi
u= j= h= s=
while IFS=: read -r u r j r r h s; do [ "$j" != "$i" ] || break; done 2>/dev/null </etc/passwd
if [ "$j" != "$i" ]; then
  e=$(getent passwd "$i" 2>/dev/null) && u=${e%%:*} || {
    u=$(id -un 2>/dev/null) || u=$i
    e=$(grep "^$u:" /etc/passwd 2>/dev/null) || e=
  }
  s=${e##*:} e=${e%:*}; h=${e##*:}
fi
s=${s:-${SHELL-}}; [ -x "$s" ] || s=
h=${HOME:-$h}
m=; if [ -r /etc/machine-id ]; then read -r m </etc/machine-id; fi
if [ -z "$m" ] && [ "${v%% *}" = Darwin ]; then m=$(sysctl -n kern.uuid 2>/dev/null); fi
n= r=
# shellcheck disable=SC1097
while IFS== read -r r n; do [ "$r" != PRETTY_NAME ] || break; done 2>/dev/null </etc/os-release
[ "$r" = PRETTY_NAME ] || n=
n=${n#[\"\']} n=${n%[\"\']}
if [ -n "${3-}" ] && command -v tmux >/dev/null; then t=later; else
. ./tmux-version.sh
fi
set -- "$u" "$i" "$k" "$m" "${n:+$n, }$v" "${PWD:-$(pwd)}" "${h:-/}" "$s" "$t"
# shellcheck disable=SC2043
for p in @programs@; do
  found $p
  set -- "$@" "$r"
done
r=; if kill -0 "-$$" 2>/dev/null; then r=leads; fi
# The directories of PATH and all above them: another user may be able to change one.
o=$IFS IFS=:; set -f; d=
for p in $PATH; do while case $p in /*) ;; *) false ;; esac; do d="$d:$p" p=${p%/*}; done; done
# shellcheck disable=SC2012
n=$(LC_ALL=C ls -ldnL / ${d#:} 2>/dev/null)
IFS=$o; set +f
set -- "$@" "$PATH" "$n"
# In one write: each would be a packet of its own.
printf '%s\0' "$@" "${D-}" "$r"
