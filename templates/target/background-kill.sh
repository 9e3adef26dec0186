# Arguments: base, id. TERM, then KILL to everything that runs; prints the state, and what an ended shell
# left.
. ./background-find.sh
. ./background-tree.sh
. ./background-tell.sh
spare=
state "$d"
left=
if [ $status = running ]; then echo killed >"$d/killed"; endtree "$d"; finish "$d" killed
else
  # What it left is probably a daemon that should stay.
  members "$d"
  own=$pid
  for e in "$d/recorder" "$d/clock"; do if [ -f "$e" ]; then read -r e <"$e"; own="$own $e"; fi; done
  if [ -d /proc/self ]; then for e in $all; do
    case $(tr '\0' ' ' <"/proc/$e/cmdline" 2>/dev/null) in *"$d/runner.sh "*|"tee -a $d/"*) continue ;; esac
    case " $own " in *" $e "*) ;; *) if alive "$e"; then left="$left $e"; fi ;; esac
  done; fi
fi
tell "$d"
printf '%s\0' "$left"
