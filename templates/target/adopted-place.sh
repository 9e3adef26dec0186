# Prints the directory encoded for marks, with nothing that a prompt would expand; keeps the exit code. Uses `^`, not `!`, which bash
# would expand from its history; a shell that does not know `^` encodes everything.
# shellcheck disable=SC3026
__buddy_at() {
  case $PWD in *[^A-Za-z0-9/._-]*) printf %s "$PWD" | od -An -v -tx1 | tr -d '\n' | tr ' ' % ;; *) printf %s "$PWD" ;; esac
  return "$1"
}
