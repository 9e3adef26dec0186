# $1 a process on the terminal. Prints the group in its foreground.
if [ -r "/proc/$1/stat" ]; then IFS= read -r l <"/proc/$1/stat"; set -- ${l##*) }; echo "$6"
else ps -o tpgid= -p "$1"; fi
