# $1 id. Sets d to the directory of that shell; exit 42 if there is none.
. ./background-base.sh
. ./background-state.sh
d=
for e in "$base"/*/"$1"; do if [ -d "$e" ]; then d=$e; fi; done
[ -n "$d" ] || exit 42
