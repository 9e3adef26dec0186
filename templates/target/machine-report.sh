# Prints `key=value` lines.
echo "who=$(id -un 2>/dev/null || id -u)@$(uname -n), $(uname -sm)"
echo "clock=$(date +%s)"
echo "shell=${SHELL:-sh}"
echo "bash=$(command -v bash)"
echo "disk=$(df -Pk . 2>/dev/null | tail -n 1 | awk '{ print $4, $5 }')"
if [ "$(id -u)" = 0 ]; then echo "sudo=root"
elif ! command -v sudo >/dev/null 2>&1; then echo "sudo=none"
elif sudo -n true 2>/dev/null; then echo "sudo=free"
else echo "sudo=password"; fi
