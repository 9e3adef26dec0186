# $1 pid of the supervisor, $2 1 if a clean child runs: fish keeps it in its own group. Prints directory, user
# and name of the program in the foreground, and 1 if it is the pane's shell.
if [ -r "/proc/$1/stat" ]; then
  IFS= read -r l <"/proc/$1/stat"; own=$1 k=$2; set -- ${l##*) }
  g=$6
  # While a shell starts, the supervisor itself is in the foreground.
  IFS= read -r l <"/proc/$g/stat" || exit 1
  n=${l#*"("}; n=${n%)*}; set -- ${l##*) }
  p=$g s=0
  if [ "$2" = "$own" ] && [ "$k" = 1 ]; then n=sh; elif [ "$2" = "$own" ] || [ "$g" = "$own" ]; then s=1; fi
  # A shell that waits for its child is not the running program.
  while [ $s = 0 ]; do
    case $n in sh|bash|zsh|dash|ash|mksh|ksh) ;; *) break ;; esac
    c=none; read -r l <"/proc/$p/task/$p/children"; for c in $l; do :; done
    IFS= read -r l <"/proc/$c/stat" || break
    set -- ${l##*) }
    [ "$3" = "$g" ] || break
    p=$c n=${l#*"("}; n=${n%)*}
  done 2>/dev/null
  d=$(readlink "/proc/$p/cwd" 2>/dev/null; printf x); d=${d%x}
  set -- $(ls -ld "/proc/$p" 2>/dev/null)
  printf '%s\0' "${d%?}" "${3-}" "$n" $s
fi
