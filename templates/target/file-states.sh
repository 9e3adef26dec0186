# Arguments: working directory, most bytes of one file, most bytes of all; then for each file its path, the
# name of a file in it if that is a directory, and 1 to follow a link at its end. Prints for each,
# NUL-terminated: path, kind, mode, user id, group id, owner, ACL or target of the link, inode if it has other
# hard links, size; then the bytes, and the size again: a file may change while it is read.
LC_ALL=C; export LC_ALL
. ./file-path.sh
. ./file-walk.sh
cwd=$1 most=$2 left=$3
shift 3
facts() { inode=$1 mode=$2 links=$3 uid=$4 gid=$5 size=$6; }
names() { owner=$3:$4; }
reached() { d=${r%/*}; while [ -n "$d" ] && [ ! -d "$d" ]; do d=${d%/*}; done; [ -x "${d:-/}" ]; }
while [ $# -ge 3 ]; do
  full "$1" "$cwd"
  if [ -n "$2" ] && [ -d "$p" ]; then p=${p%/}/$2; fi
  while :; do case $p in ?*/) p=${p%/} ;; *) break ;; esac; done
  last "$3"
  if walk 2>/dev/null; then
    if [ -n "$n" ]; then r=${r%/}$n; fi
    if [ -L "$r" ]; then k=link
    elif [ -d "$r" ]; then k=directory
    elif [ -f "$r" ]; then k=file
    elif [ -e "$r" ]; then k=special
    elif reached; then k=missing
    else k=unreadable; fi
    case $r in /proc/* | /sys/*) k=special ;; esac
  else r=$p k=special; fi
  mode= uid= gid= size=0 owner= more= inode= links=1
  if [ $k = link ]; then target "$r"; more=$t; fi
  if [ $k = file ]; then
    facts $(ls -ldin "$r"); names $(ls -ld "$r")
    if [ ! -r "$r" ]; then k=unreadable
    elif [ "$size" -gt "$most" ] || [ "$size" -gt "$left" ]; then k=large; fi
    if [ $k != file ]; then size=0; fi
    case $mode in *+) if command -v getfacl >/dev/null 2>&1; then more=$(getfacl -cpE "$r" 2>/dev/null); fi ;; esac
    left=$((left - size))
  fi
  if [ "$links" -le 1 ]; then inode=; fi
  printf '%s\0' "$r" $k "$mode" "$uid" "$gid" "$owner" "$more" "$inode" "$size"
  if [ $size -gt 0 ]; then
    { take $size <"$r"; take $size </dev/zero; } 2>/dev/null | take $size
  fi
  if [ $k = file ]; then facts $(ls -ldin "$r"); fi
  printf '%s\0' "$size"
  shift 3
done
