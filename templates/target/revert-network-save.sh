# Interfaces, addresses, routes and rules, with iproute2.
ip -o link show >links && ip addr save >addr && ip -o addr show >addrs || exit 1
for f in 4 6; do
  ip -$f route save table all >route$f && ip -$f route show >routes$f && ip -$f rule show >rules$f && ip -$f rule save >rule$f || exit 1
done
