# Which units are started and enabled.
# shellcheck disable=SC2043
[ -d /run/systemd/system ] && command -v systemctl >/dev/null 2>&1 || { echo "systemd does not run"; exit 1; }
for u in @units@; do echo "$u $(systemctl is-active "$u") $(systemctl is-enabled "$u" 2>/dev/null)"; done >units
exit 0
