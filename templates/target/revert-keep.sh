# $1 directory of the revert. Keeps the change, if the clock has not decided otherwise; prints the state.
cd "$1" 2>/dev/null || { echo gone; exit 0; }
mkdir answer/claim 2>/dev/null
. ./revert-decided.sh
