# Starts no process for a line, since many machines may be closed at once. `undo` takes the number of a task.
# A task that ends its shell, as one with an error of syntax does, ends no other.
trap '' HUP INT QUIT TERM
G= L= n=0
without() { out=; for g in $2; do [ "$g" = "$1" ] || out="$out $g"; done; }
while read -r op a; do
  case $op in
  +) G="$G $a" ;;
  client) L="$L $a" ;;
  -) without "$a" "$G"; G=$out; without "$a" "$L"; L=$out ;;
  do) n=$((n + 1)); eval "task$n=\$a" ;;
  undo) eval "task$a=:" ;;
  esac
done
before_kill() { i=1; while [ $i -le $tasks ]; do eval "a=\$task$i"; [ "$a" = : ] || (eval "$a"); i=$((i + 1)); done; }
tasks=$n
. ./end-groups.sh
