# $1 directory of the revert. Its time is extended only once the process that waits has seen it; prints the state.
cd "$1" 2>/dev/null || { echo gone; exit 0; }
if ! (: >answer/more) 2>/dev/null; then echo gone; exit 0; fi
n=0
while [ -e answer/more ] && [ $n -lt 10 ] && [ ! -d answer/claim ]; do
  n=$((n + 1))
  sleep 0.1 2>/dev/null || sleep 1
done
if [ -e answer/more ]; then echo gone; exit 0; fi
cat state 2>/dev/null || echo gone
