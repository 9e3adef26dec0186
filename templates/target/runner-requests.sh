# N is set until the first request: a line may then be the rest of what the shell read as its program.
while IFS= read -r l; do
  case $l in "$K "*) N=; eval "${l#"$K "}" ;; *) [ -n "$N" ] || exit 70 ;; esac
done
exec </dev/null >/dev/null 2>&1 6>&-
if running; then trap '' TERM; kill -TERM "-$$"; sleep 0.1; fi
if [ -n "$D" ]; then
  # If nothing has recorded itself, the pattern stays unexpanded.
  for g in "$D"/g[0-9]*; do if [ -e "$g" ]; then G="$G ${g#"$D"/g}"; fi; done
  for g in "$D"/c[0-9]*; do if [ -e "$g" ]; then L="$L ${g#"$D"/c}"; fi; done
  # A namespace that this session holds is killed with it, below.
  rm -rf "$D" "${D%/*}/namespace.$$"
fi
. ./end-groups.sh
[ -z "$B" ] || kill -KILL "-$$"
exit
