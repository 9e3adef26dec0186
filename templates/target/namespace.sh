# buddy: makes a mount namespace in which every file system is read-only, and makes it again when the mounts change.
# usage: sh SCRIPT DIRECTORY, behind OWN_DIRECTORY; ends with its stdin. Says once "ready KIND FILE WORDS-TO-ENTER" or "none WHY".
# For one of many machines it is evaluated, with DIRECTORY OWN, by a shell that has its uid in I and defines `open_namespace` and
# `serve`. OWN is a private directory with its pipes; "stands" instead of "ready" says that a clean shell is served; mounts are
# watched after `go`.
PATH=$PATH:/usr/sbin:/sbin:/usr/bin:/bin
LC_ALL=C
export PATH LC_ALL
# Without processes of their own: where many machines are opened at once, each counts.
ifs=$IFS tab=${IFS#?}
tab=${tab%"${tab#?}"}
path() { IFS=:; for found in $PATH; do found=$found/$1; if [ -f "$found" ] && [ -x "$found" ]; then break; fi; done; IFS=$ifs; }
say() { line=; for word; do line="$line${line:+$tab}$word"; done; printf '%s\n' "$line"; }
none() { say none "$1"; exit 0; }

for name in unshare nsenter mount mkfifo; do
  command -v $name >/dev/null || none "$name is not installed"
done
[ -r /proc/self/mounts ] || none "/proc is not mounted"

umask 077
own=${2-}
if [ -n "$own" ]; then
  dir=$own
  # Where the guard was killed, its clean shell ends without the file, and what waits for answers with an empty line.
  trap 'rm -f "$file"; echo 1<>"$dir/asks"' EXIT
else
  open_namespace() { return 1; }
  serve() { return 1; }
  # Where another user has taken the first name, the second one is used.
  for dir in "$1" "${HOME:-/tmp}/.cache/buddy"; do
    [ -d "$dir" ] || mkdir -p "$dir" 2>/dev/null
    if __buddy_own "$dir" && [ -w "$dir" ]; then break; fi
    dir=
  done
  [ -n "$dir" ] || none "no private directory for it"
  set -- "$dir"
  # A process number of another container that shares the directory means nothing here: the start of process 1 tells them apart.
  first=
  { read -r first </proc/1/stat; } 2>/dev/null
  set -- "$1/namespace" ${first##*) }
  set -- "$1.${21-}"
  for old in "$1".*; do
    if [ -d "$old" ] && ! kill -0 "${old##*.}" 2>/dev/null; then rm -rf "$old"; fi
  done
  dir=$1.$$
  mkdir "$dir" 2>/dev/null || none "no private directory for it"
  trap 'rm -rf "$dir"' EXIT
fi
file=$dir/process
trap 'exit 0' HUP INT TERM

# Inside: nothing comes in from outside any more, then one mount after the other. What cannot be seen, because something is
# mounted over it, need not be read-only. /proc and /dev/pts hold no files; where they can be read-only, they are.
# A program that is given starts right there, with "PID START" of another process that holds the namespace: entering takes one more.
inside='
[ "$2" = private ] || mount -n --make-rprivate / 2>/dev/null
# All at once, where mount can do that; with an empty fstab, so that one which cannot mounts nothing.
mount -n -a -T "$1" -o remount,bind,ro 2>/dev/null
nl="
"
left=
while read -r device at type options rest; do
  case $at in *\\*) at=$(printf "%b_" "$at"); at=${at%_} ;; esac
  kept=
  while [ -n "$left" ]; do
    one=${left%%"$nl"*} left=${left#*"$nl"}
    case ${one#* }/ in "${at%/}"/*) ;; *) kept=$kept$one$nl ;; esac
  done
  left=$kept
  case ,$options, in *,ro,*) ;; *) left="$left$type $at$nl" ;; esac
done </proc/self/mounts
while [ -n "$left" ]; do
  one=${left%%"$nl"*} left=${left#*"$nl"}
  mount -n -o remount,bind,ro "${one#* }" 2>/dev/null && continue
  # A directory of another user is in the way, as with containers of root: what runs here does not get there, either.
  if [ ! -e "${one#* }" ] && [ "$(id -u)" != 0 ]; then continue; fi
  case ${one%% *} in proc|devpts|mqueue|autofs) ;; *) echo "left ${one#* }"; exit 1 ;; esac
done
shift 2
if [ $# = 0 ]; then echo made; read -r end; exit; fi
exec 4<&0
{ exec >&- 3<&- 5<&- 6>&- 8>&- 9>&-; read -r end <&4; } &
IFS= read -r stat <"/proc/$!/stat" || exit
start() { start=${20}; }
start ${stat##*) }
echo "made $! $start"
exec "$@" "$! $start" </dev/null >&8 4<&- 8>&-
'
# Sets pid, start and mounts; stdin of this script belongs to the namespace, which ends with it.
make() {
  [ -p "$dir/made" ] || mkfifo "$dir/made" || return 1
  mounts=$(cat /proc/self/mounts)
  unshare $1 sh "$dir/namespace.sh" "$dir/fstab" "${1##*propagation }" <&4 >"$dir/made" 2>/dev/null 4<&- &
  pid=$! said=
  read -r said <"$dir/made"
  if [ "$said" != made ]; then
    case $said in left*) why="${said#left } cannot be made read-only" ;; esac
    wait $pid
    return 1
  fi
  IFS= read -r stat <"/proc/$pid/stat" || return 1
  set -- ${stat##*) }
  start=${20}
}
publish() { printf '%s %s\n' "$pid" "$start" >"$dir/new" && mv -f "$dir/new" "$file"; }
# What enters must start programs, and they must not be able to write.
works() {
  if [ $ready = stands ]; then return; fi
  if serve "$pid $start" "$@"; then ready=stands; return; fi
  "$@" sh -c 'if true >"$1"; then exit 1; fi' sh "$dir/probe" 2>/dev/null
}
exec 4<&0 </dev/null
# A file: as an argument everyone would see it in `ps`.
printf '%s' "$inside" >"$dir/namespace.sh"
: >"$dir/fstab"

why= mounts= ready=ready kind=root uid=${I:-$(id -u)}
path nsenter; nsenter=$found
# root could mount it writable again, or leave it through another process: both take a capability.
# Inheritable ones, which some containers start with, come back with the next program: they go, too.
drop=-sys_admin,-sys_ptrace caps=cap_sys_admin,cap_sys_ptrace
# unshare itself takes care that nothing comes in, but for old ones.
as_root() {
  for how in '-m --propagation private' -m; do
    if open_namespace setpriv --inh-caps $drop --bounding-set $drop || make "$how"; then return; fi
  done
  return 1
}
# -r: with the mounts alone one would leave a chroot, for files that are not those of this target.
if [ "$uid" = 0 ] && as_root; then set -- "$nsenter" -m -r -w -t "$pid"
else
  kind=user how='-c --keep-caps -m --propagation private'
  open_namespace setpriv --inh-caps -all --ambient-caps -all || make "$how" ||
    none "${why:-the system does not allow mount namespaces}"
  set -- "$nsenter" -U -m -r -w --preserve-credentials -t "$pid"
fi
if [ "$uid" != 0 ]; then works "$@" || none "it cannot be entered"
elif works "$@" setpriv --inh-caps $drop --bounding-set $drop; then
  path setpriv; set -- "$@" "$found" --inh-caps $drop --bounding-set $drop
elif works "$@" capsh --inh= --drop=$caps -- -c 'exec "$0" "$@"'; then
  path capsh; set -- "$@" "$found" --inh= --drop=$caps -- -c 'exec "$0" "$@"'
else works "$@" || none "it cannot be entered"
fi
# Nothing looks for it yet: only a later one has to appear at once.
printf '%s %s\n' "$pid" "$start" >"$file" || none "no private directory for it"
first=$pid
for word; do
  shift
  case $word in "$first") word=@pid@ ;; esac
  set -- "$@" "$word"
done
say $ready $kind "$file" "$@"
if [ -n "$own" ]; then
  # Where the guard has ended, there is no more writer: 7 is the guard's own, which this shell got from it.
  { exec 7>&-; read -r action; } <"$dir/go" || exit 0
  points() { cut -d ' ' -f 1-3 "/proc/$1/mounts" | sort; }
  if [ -z "$mounts" ] && [ "$(points self)" = "$(points "$pid")" ]; then mounts=$(cat /proc/self/mounts); fi
fi

held() { IFS= read -r stat <"/proc/$pid/stat" || return 1; set -- ${stat##*) }; [ "$1" != Z ] && [ "${20}" = "$start" ]; }
# Mounts that appear later are not in the namespace, and those that go are held by it: it is made again; so is one whose process was
# killed. findmnt reports a change at once, but not one from before it listens; so there is a check every few seconds, too.
{
  poll=
  if command -v findmnt >/dev/null; then findmnt --poll -n -o ACTION 2>/dev/null & poll=$!; fi
  # It ends with its stdin: what started it may be killed together with what cleans up after it.
  if [ -z "$own" ]; then
    this=$(exec sh -c 'echo $PPID')
    { read -r end <&4; kill "$this" $poll; } >/dev/null 2>&1 &
    poll="$poll $!"
  fi
  while sleep 2 && kill -0 $$; do echo look; done 2>/dev/null
  [ -z "$poll" ] || kill $poll
} | while read -r action; do
  if held 2>/dev/null && [ "$(cat /proc/self/mounts)" = "$mounts" ]; then continue; fi
  : >"$file.changing"
  rm -f "$file"
  old=$pid
  if make "$how"; then publish; fi
  rm -f "$file.changing"
  kill "$old" 2>/dev/null
done
