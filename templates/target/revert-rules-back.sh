# What revert-rules-save.sh has saved.
r=0
if [ -f ipset.rules ]; then ipset flush; ipset restore -exist <ipset.rules; fi
if [ -f nft.back ]; then nft -f nft.back || r=1; fi
for t in iptables ip6tables; do if [ -f $t.rules ]; then $t-restore <$t.rules || r=1; fi; done
exit $r
