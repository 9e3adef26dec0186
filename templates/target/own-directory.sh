# `__buddy_own DIR`: whether it is a directory of this user, and not a link. On systems that follow links of
# other users in /tmp (macOS, BSD, Linux without protected_symlinks), another user could replace it between
# the checks of `[`; there `ls` checks it in one step. `__buddy_lock DIR`: waits for the lock in it, on 9, up
# to 5 s. A link in its place is removed, not followed; without a lock the script continues.
__buddy_own() {
  [ -d "$1" ] && [ ! -L "$1" ] && [ -O "$1" ] || return
  __buddy_links=
  if { read -r __buddy_links </proc/sys/fs/protected_symlinks; } 2>/dev/null && [ "$__buddy_links" = 1 ]; then return; fi
  set -- "$(id -u)" $(ls -ldn "$1")
  case ${2-} in d*) [ "$4" = "$1" ] ;; *) return 1 ;; esac
}
__buddy_lock() {
  [ ! -L "$1/lock" ] || rm -f "$1/lock"
  if [ -f "$1/lock" ] || [ ! -e "$1/lock" ] && true >>"$1/lock"; then exec 9>>"$1/lock" && flock -w 5 9; fi 2>/dev/null
}
