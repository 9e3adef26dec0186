# Arguments: base.
. ./background-base.sh
. ./background-state.sh
. ./background-tell.sh
for d in "$base"/*/*/; do if [ -f "${d}pid" ]; then tell "${d%/}"; fi; done
exit 0
