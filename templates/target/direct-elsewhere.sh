# Prints the directory of process $2 if it is not $1.
[ "$(readlink "/proc/$2/cwd"; echo x)" = "$1
x" ] || [ "$1" -ef "/proc/$2/cwd" ] || readlink "/proc/$2/cwd"
