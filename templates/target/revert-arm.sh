# Arguments: id, seconds, the script that saves, the script that restores, "root" or "user". Prints the
# directory, which is in memory where possible: a revert must not survive a reboot. The logged-in user owns
# `answer`, so that keeping needs no sudo. A unit of systemd-run outlives a logout that ends all processes of
# the user; it is used only in the namespaces of the machine itself.
umask 077
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
if [ "$5" = root ] && [ "$(id -u)" != 0 ]; then echo "this needs root"; exit 1; fi
d=
for b in /run /dev/shm /var/tmp /tmp; do
  if [ -s "$b/buddy-revert-$1/pid" ]; then printf %s "$b/buddy-revert-$1"; exit 0; fi
done
for b in /run /dev/shm /var/tmp /tmp; do
  if [ -d "$b" ] && mkdir "$b/buddy-revert-$1" 2>/dev/null; then d=$b/buddy-revert-$1; break; fi
done
if [ -z "$d" ]; then echo "none of /run, /dev/shm, /var/tmp and /tmp can be written"; exit 1; fi
cd "$d" && mkdir answer || exit 1
if [ "$(id -u)" = 0 ]; then chmod 711 "$d" && chown "${SUDO_UID:-0}" answer || exit 1; fi
printf '%s\n' "$3" >save
if ! sh ./save >log 2>&1; then tail -n 3 log; cd /; rm -rf "$d"; exit 1; fi
printf '%s\n' "$4" >back
# shellcheck disable=SC2238
cat >wait <<'WAIT_END'
. ./revert-wait.sh
WAIT_END
echo armed >state; chmod 644 state
started=
same() { [ "$(readlink /proc/self/ns/$1)" = "$(readlink /proc/1/ns/$1)" ]; }
if [ "$(id -u)" = 0 ] && [ -d /run/systemd/system ] && command -v systemd-run >/dev/null 2>&1 && same net && same mnt && same pid; then
  systemd-run --quiet --collect --unit="buddy-revert-$1" /bin/sh "$d/wait" "$d" "$2" </dev/null >/dev/null 2>&1 && started=1
fi
if [ -z "$started" ]; then
  if command -v setsid >/dev/null 2>&1; then setsid sh "$d/wait" "$d" "$2" </dev/null >/dev/null 2>&1 &
  else ( trap '' HUP; exec sh "$d/wait" "$d" "$2" ) </dev/null >/dev/null 2>&1 & fi
fi
n=0
while [ ! -s pid ] && [ $n -lt 50 ]; do n=$((n + 1)); sleep 0.1 2>/dev/null || sleep 1; done
if [ ! -s pid ]; then echo "no process could be started"; cd /; rm -rf "$d"; exit 1; fi
printf %s "$d"
