# Finds the process of the namespace, if it is still the same process and this directory can be entered by its
# name.
__buddy_look() {
  __buddy_pid= __buddy_since= __buddy_stat=
  { IFS=' ' read -r __buddy_pid __buddy_since <"$1" && IFS= read -r __buddy_stat <"/proc/$__buddy_pid/stat"; } 2>/dev/null
  case ${__buddy_stat##*) } in [ZX]*) __buddy_since= ;; esac
  __buddy_stat=${__buddy_stat##*) } __buddy_stat=${__buddy_stat#* * * * * } __buddy_stat=${__buddy_stat#* * * * * }
  __buddy_stat=${__buddy_stat#* * * * * } __buddy_stat=${__buddy_stat#* * * * }
  if [ -n "$__buddy_since" ] && [ "${__buddy_stat%% *}" = "$__buddy_since" ] && [ . -ef "${PWD:-}" ]; then return 0; fi
  __buddy_pid=
  return 1
}
