# What revert-units-save.sh has saved.
r=0
while read -r u active enabled; do
  case $enabled in enabled) systemctl unmask "$u"; systemctl enable "$u" ;; esac
  case $active in active | activating) systemctl start "$u" || r=1 ;; inactive) systemctl stop "$u" ;; esac
done <units
exit $r
