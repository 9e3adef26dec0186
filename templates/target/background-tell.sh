# `tell DIR` prints the state of a shell: directory, pid, status, exit code, start, and the beginning of its command.
tell() {
  state "$1"
  read -r started <"$1/started"
  c=$1/command; if [ -f "$1/shown" ]; then c=$1/shown; fi
  printf '%s\0' "$1" "$pid" "$status" "$code" "$started" "$(if [ -f "$c" ]; then dd if="$c" bs=65536 count=1 2>/dev/null; fi)"
}
