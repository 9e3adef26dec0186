# Whether sshd runs and is enabled.
if [ -d /run/systemd/system ] && command -v systemctl >/dev/null 2>&1; then
  for u in ssh.service sshd.service ssh.socket sshd.socket; do
    echo "$u $(systemctl is-active $u 2>/dev/null) $(systemctl is-enabled $u 2>/dev/null)"
  done >units
fi
exit 0
