# Arguments: its directory, seconds. Whichever creates answer/claim first decides: the operator or the clock.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin
cd "$1" || exit 1
trap '' HUP
say() { echo "$1" >state.new && chmod 644 state.new && mv -f state.new state; }
echo $$ >pid
revert() {
  say reverting
  rm -f answer/now
  if sh ./back >log 2>&1; then say reverted; else chmod 644 log; say failed; fi
}
all=$2 nap=1
if sleep 0.2 2>/dev/null; then all=$((all * 5)) nap=0.2; fi
left=$all
while [ "$left" -gt 0 ] && [ ! -d answer/claim ]; do
  if [ -e answer/more ]; then left=$all; rm -f answer/more; fi
  sleep $nap
  left=$((left - 1))
done
if mkdir answer/claim 2>/dev/null || [ -e answer/now ]; then revert; else say kept; fi
# buddy may still ask for the outcome, or to revert once more.
left=18000
if [ $nap = 1 ]; then left=3600; fi
while [ -d "$1/answer" ] && [ ! -e answer/done ] && [ "$left" -gt 0 ]; do
  if [ -e answer/now ]; then revert; fi
  sleep $nap
  left=$((left - 1))
done
cd / && rm -rf -- "$1"
