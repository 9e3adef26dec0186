# shellcheck shell=bash
# In a loop: waits for a command, and looks at the namespace meanwhile. Only for its first character with a time: bash
# would wait for each of them, with four calls of the system.
until IFS= read -r -N 1 -t 2 __buddy_text <&5; do
  [ $? -gt 128 ] && __buddy_same || exit 0
done
IFS= read -r -d "" __buddy_part <&5 || exit 0
