# Arguments: path, working directory, 0 for the name itself where the path ends with a link. Prints path,
# kind, home, 1 if the file system ignores case, 1 if a directory in the path may not be entered.
LC_ALL=C; export LC_ALL
. ./file-path.sh
. ./file-walk.sh
full "$1" "$2"; last "$3"; walk || exit 4
if [ -n "$n" ]; then r=${r%/}$n; fi
kind "$r"
if [ -n "$n" ] && [ -L "$r" ]; then k=other; fi
i=0 e=$r
while [ ! -e "$e" ] && [ -n "$e" ]; do e=${e%/*}; done
while :; do case ${e##*/} in *[A-Za-z]*) break ;; '') break ;; *) e=${e%/*} ;; esac; done
b=${e##*/}
for l in aA bB cC dD eE fF gG hH iI jJ kK lL mM nN oO pP qQ rR sS tT uU vV wW xX yY zZ; do
  u=${l#?} l=${l%?}
  case $b in
  *"$l"*) if [ "$e" -ef "${e%/*}/${b%%"$l"*}$u${b#*"$l"}" ]; then i=1; fi; break ;;
  *"$u"*) if [ "$e" -ef "${e%/*}/${b%%"$u"*}$l${b#*"$u"}" ]; then i=1; fi; break ;;
  esac
done
printf '%s\0' "$r" $k "${HOME:-/}" $i $hidden
