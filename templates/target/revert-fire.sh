# $1 directory of the revert. Reverts the change now; prints the state.
cd "$1" 2>/dev/null || { echo gone; exit 0; }
if ! (: >answer/now) 2>/dev/null; then echo gone; exit 0; fi
mkdir answer/claim 2>/dev/null
n=0
while [ -e answer/now ] && [ $n -lt 60 ]; do n=$((n + 1)); sleep 0.2 2>/dev/null || sleep 1; done
if [ -e answer/now ]; then echo gone; exit 0; fi
. ./revert-decided.sh
