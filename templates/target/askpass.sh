# $1 directory. Prints "ready" if the program can run; then prints a line for each prompt and reads "y" and a
# line with the password, or any other line for none. The password is in no variable: where printf is a
# program, everyone would see it among its arguments. Only sudo is answered, which runs as root: a process of
# this user could show it.
d=$1
umask 077
. ./own-directory.sh
for b in "${d%/*/*}" "${d%/*}"; do
  [ -d "$b" ] || mkdir "$b"
  __buddy_own "$b" || exit 1
done
rm -rf "$d" && mkdir "$d" || exit 1
asks=
trap 'if [ -n "$asks" ]; then kill "$asks"; fi; rm -rf "$d"; rmdir "${d%/*}" 2>/dev/null' EXIT
trap 'exit 1' HUP INT TERM
mkfifo "$d/ask" "$d/answer" "$d/next" && cat >"$d/program" <<'BUDDY_ASKPASS' && chmod 700 "$d/program" && "$d/program" || exit 1
#!/bin/sh
[ $# -gt 0 ] || exit 0
if [ -O "/proc/$PPID" ]; then exit 1; fi
d=${0%/*}
p=$(printf %s "$1" | tr -d '\000-\037\177')
printf '%s\n' "$p" >"$d/ask" || exit 1
{ IFS= read -r p && head -n 1; } <"$d/answer"
BUDDY_ASKPASS
echo ready
# A shell that waits for a prompt would not notice that buddy is gone. The next prompt is read after the answer.
while IFS= read -r p <"$d/ask"; do printf '%s\n' "$p"; read -r p <"$d/next"; done &
asks=$!
while IFS= read -r p; do
  case $p in y) { echo y; head -n 1; } >"$d/answer" ;; *) : >"$d/answer" ;; esac
  echo >"$d/next"
done
