# Arguments: path, working directory, first line, lines ("" = all), most bytes, user id, the path that was
# judged, with links followed, or "". Another user may exchange a name at any moment: it is opened once, and
# where the system says what that is, only that is read (Linux). Prints mode, links,
# owner ("" = this user), size, NUL bytes in the first 8 KiB, line feeds ("" = not counted), 1 if the last
# line has no newline; then the bytes. A small file, or one in UTF-16, is sent whole, with "whole" instead of
# the number of NUL bytes: two processes on the target instead of eight.
LC_ALL=C; export LC_ALL
. ./file-path.sh
. ./file-walk.sh
. ./file-deny.sh
full_now "$1" "$2"
if [ -d "$p" ]; then exit 21; fi
if [ ! -e "$p" ]; then
  walk || exit 4
  d=$r
  while [ ! -e "$d" ] && [ ! -L "$d" ] && [ -n "$d" ]; do d=${d%/*}; done
  d=${d:-/}
  if [ ! -d "$d" ]; then exit 20; fi
  if [ ! -x "$d" ]; then deny "$d"; fi
  if [ -L "$p" ]; then exit 41; fi
  exit 42
fi
if [ ! -f "$p" ]; then exit 22; fi
if [ ! -r "$p" ]; then deny "$p"; fi
if [ -d /proc/self/fd ]; then
  # As standard input: some shells keep other files that they opened from the programs they start.
  exec 5<"$p" || deny "$p"
  exec <&5
  target /proc/self/fd/0
  # The kernel gives these a number.
  case ${7-} in '' | "$t" | /proc/self/* | /proc/thread-self/*) ;; *) exit 44 ;; esac
  p=/proc/self/fd/0
else exec 5<&0; fi
set -- "$p" "$2" "$3" "$4" "$5" "$6"
facts() { mode=$1 links=$2 uid=$3 size=$5; }
facts $(ls -ldnL "$1")
owner=
if [ "$uid" != "$6" ]; then named() { owner=$3; }; named $(ls -ldL "$1"); fi
printf '%s\0' "$mode" "$links" "$owner" "$size"
if [ "$size" = 0 ]; then
  r=${t-}
  if [ -z "$r" ]; then walk || exit 4; fi
  case $r in /proc/* | /sys/*)
    # The kernel makes its text when it is read: it may have no end, or wait until something happens.
    printf 'whole\0\0\0'
    # Not by `take`: that would be a shell, and what it started would stay.
    head -c 16777217 "$1" <&5 & c=$!
    { for n in 1 2 3; do sleep 1; kill -0 $c || exit; done; kill -KILL $c; } >/dev/null 2>&1 &
    wait $c
    case $? in 0) exit 0 ;; 137) exit 6 ;; *) exit 5 ;; esac ;;
  esac
fi
whole=65536
# UTF-16 with a byte order mark is text, and its lines can only be counted once it is decoded.
if [ "$size" -gt $whole ]; then
  case $(dd if="$1" bs=2 count=1 2>/dev/null | tr '\376\377' BL) in LB | BL) whole=16777216 ;; esac
fi
if [ "$size" -le $whole ]; then printf 'whole\0\0\0'; exec cat "$1"; fi
nul=$(($(dd if="$1" bs=8192 count=1 2>/dev/null | tr -dc '\000' | wc -c)))
total= open=0
if [ "$nul" = 0 ] && [ "$size" -le 67108864 ]; then
  total=$(($(wc -l <"$1"))) || exit 5
  if [ "$size" -gt 0 ] && [ $(($(tail -c 1 "$1" | wc -l))) -eq 0 ]; then open=1; fi
fi
printf '%s\0' "$nul" "$total" $open
if [ "$nul" != 0 ]; then exit 0; fi
cut() { if [ -n "$1" ]; then head -n "$1"; else cat; fi; }
if [ "$3" -gt 1 ]; then tail -n "+$3" "$1" 2>/dev/null; else cat "$1"; fi | cut "$4" | take "$5"
exit 0
