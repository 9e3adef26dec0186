# Closes the files that the operator's shell has open, which are on writable mounts. sh knows only one-digit numbers.
for __buddy_fd in /proc/$$/fd/*; do
  __buddy_fd=${__buddy_fd##*/}
  # shellcheck disable=SC2221,SC2222
  case $__buddy_fd in
  @keep@) ;;
  @close@) eval "exec $__buddy_fd>&-" ;;
  esac
done
unset __buddy_fd
