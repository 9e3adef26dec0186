# __buddy_pid_space sets the variable of that name to the start time of process 1, which is the same for all
# that see the same processes: a pid in a file may come from a container that shares /tmp. Empty if process 1
# cannot be seen. Starts no program: it runs each time a target is opened.
__buddy_pid_space() {
  __buddy_pid_space=
  if IFS= read -r __buddy_pid_space; then
    set -- ${__buddy_pid_space##*) }
    __buddy_pid_space=${20-}
  fi
} 2>/dev/null </proc/1/stat
