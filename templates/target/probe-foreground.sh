# $1 pid of the pane's supervisor, $2 its terminal. Prints a line for each process in the foreground, then the
# terminal flags, which a reading program has set by then.
tty=$2 g=0 own=
if [ -r "/proc/$1/stat" ]; then
  IFS= read -r l <"/proc/$1/stat"; set -- "$1" "$2" ${l##*) }
  own=$5 g=$8
  # A shell reads one byte at a time: with many processes grep is much faster.
  f='/proc/[0-9]*/stat'
  if command -v grep >/dev/null; then f=$(grep -ls ") [A-Za-z] [0-9]* $g " $f); fi
  for f in $f; do
    IFS= read -r l 2>/dev/null <"$f" || continue
    n=${l#*"("}; n=${n%)*}
    set -- "$1" "$2" ${l##*) }
    [ "$5" = "$g" ] || continue
    p=${f#/proc/}; p=${p%/stat}
    # shellcheck disable=SC2125
    w=? c=?; { IFS= read -r w <"/proc/$p/wchan"; IFS= read -r c <"/proc/$p/syscall"; } 2>/dev/null
    s=0
    case $w in *wait_woken*|*poll*|0|'?') case $(ls -l "/proc/$p/fd" 2>/dev/null) in *'-> socket:'*) s=1 ;; *"-> $2"*|*'-> /dev/tty'*) ;; '') s='?' ;; *) s=2 ;; esac ;; esac
    echo "$p $4 $3 ${w:-?} $s $((${14} + ${15})) ${c%% *} $n"
  done
else
  g=$(($(ps -o tpgid= -p "$1")))
  ps -t "${2#/dev/}" -o pid=,ppid=,pgid=,tpgid=,stat=,wchan=,comm= 2>/dev/null | while read -r p pp pg tg st w n; do
    [ "$pg" = "$tg" ] && echo "$p $pp $st $w ? 0 ? $n"
  done
fi
set -f
mode=line echo=on flow=off
for w in $(stty -a <"$tty" 2>/dev/null); do
  case $w in -icanon*) mode=raw ;; -echo|'-echo;') echo=off ;; ixon|'ixon;') flow=on ;; esac
done
echo "$mode $echo $flow $g $own"
