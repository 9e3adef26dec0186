# Sets t to the output of `tmux -V`; if that is not a version, its exit code and the path of the file follow.
# Without `timeout` (125 to 127; an old busybox takes other options) tmux has all the time that the script
# has.
t=$(timeout -s KILL @seconds@ tmux -V 2>&1)
c=$?
case $c in 12[567]) t=$(tmux -V 2>&1); c=$? ;; esac
case $t in 'tmux '*) ;; *)
  o=$IFS IFS=: r=
  for d in $PATH; do d=$d/tmux; if [ -f "$d" ] || { [ -L "$d" ] && [ ! -d "$d" ]; }; then r=$d; break; fi; done
  IFS=$o t="$t $c $r"
esac
