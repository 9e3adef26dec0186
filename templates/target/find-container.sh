# Arguments: name, engines. Prints for each engine: command, path, id and status (empty if it does not know
# the name), its error message, running names. PATH of a session over ssh often lacks the directories where
# engines are installed.
PATH=$PATH:/usr/local/bin:/opt/homebrew/bin:/snap/bin; export PATH
n=$1; shift
w=; if timeout 1 true 2>/dev/null; then w='timeout -s KILL @seconds@'; fi
for e; do
  p=$(command -v $e 2>/dev/null) || p=$(IFS=:; for d in $PATH; do
    if [ -f "$d/$e" ] || { [ -L "$d/$e" ] && [ ! -d "$d/$e" ]; }; then echo "$d/$e"; break; fi
  done)
  [ -n "$p" ] || continue
  v=$($w "$p" --version 2>&1); x=$?
  case $x in 126|127) v=$("$p" --version 2>&1); x=$? ;; esac
  f= s= r=
  if [ $x = 126 ] || [ $x = 127 ]; then s="cannot be executed: $v"
  elif [ $x = 137 ]; then s='it printed nothing within @seconds@ s'
  elif [ $x != 0 ] || [ -z "$v" ]; then s="${v:-it does not even print its version} (exit code $x)"
  else
    f=$($w "$p" container inspect --format '{{.Id}} {{.State.Status}}' "$n" 2>/dev/null); x=$?
    if [ $x = 137 ]; then f= s='it printed nothing within @seconds@ s'
    elif [ $x != 0 ]; then
      f= s=$($w "$p" container inspect "$n" 2>&1 >/dev/null)
      r=$($w "$p" ps --format '{{.Names}}' 2>/dev/null)
    fi
  fi
  printf '%s\0' "${e##*/}" "$p" "$f" "$s" "$r"
  if [ -n "$f" ]; then break; fi
done
exit 0
