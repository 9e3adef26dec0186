# $1 pid of the supervisor, $2 signal: to the group in the foreground, never to the supervisor's own.
s=$2
if [ -r "/proc/$1/stat" ]; then
  IFS= read -r l <"/proc/$1/stat"; set -- ${l##*) }
  own=$3 g=$6
else
  own=$(ps -o pgid= -p "$1") g=$(ps -o tpgid= -p "$1")
fi
[ "${g:-0}" -gt 1 ] && [ "$g" != "$own" ] && kill "-$s" "-$g"
