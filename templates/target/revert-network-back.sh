# What revert-network-save.sh has saved.
while IFS= read -r line; do
  n=${line#*: }; n=${n%%:*}; n=${n%%@*}
  m=${line#* mtu }; m=${m%% *}
  ip link set dev "$n" mtu "$m" 2>/dev/null
  case $line in *[,\<]UP[,\>]*) ip link set dev "$n" up ;; *) ip link set dev "$n" down ;; esac
done <links
ip addr restore <addr
place() { printf '%s %s %s\n' "$2" "$3" "$4"; }
while IFS= read -r line; do place $line; done <addrs >known
ip -o addr show | while IFS= read -r line; do
  set -- $(place $line)
  grep -Fxq -e "$*" known || ip addr del "$3" dev "$1"
done
for f in 4 6; do
  ip -$f route show | while IFS= read -r line; do grep -Fxq -e "$line" routes$f || ip -$f route del $line; done
  ip -$f route restore <route$f
  ip -$f rule show | while IFS= read -r line; do grep -Fxq -e "$line" rules$f || ip -$f rule del pref "${line%%:*}"; done
  ip -$f rule show >now$f
  while IFS= read -r line; do grep -Fxq -e "$line" now$f || { ip -$f rule restore <rule$f; break; }; done <rules$f
done 2>/dev/null
exit 0
