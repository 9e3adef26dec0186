# Prints the state once it is decided.
n=0
while :; do
  case $(cat state 2>/dev/null) in armed | reverting) ;; *) break ;; esac
  n=$((n + 1))
  if [ $n -gt 60 ]; then break; fi
  if [ $n -gt 20 ] || ! sleep 0.2 2>/dev/null; then sleep 1; fi
done
cat state 2>/dev/null || echo gone
