# `deny PATH` prints owner, mode and file attributes of what a path without permission leads to, and exits.
deny() { ls -ldL "$1" 2>/dev/null || ls -ld "$1"; if command -v lsattr >/dev/null 2>&1; then lsattr -d "$1" 2>/dev/null; fi; exit 13; }
