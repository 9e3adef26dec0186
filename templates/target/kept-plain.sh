# shellcheck shell=bash
# Whether a command is only a program and plain words: it cannot change the shell that starts it, so that needs no subshell. `hash`
# knows neither builtins nor functions, and looks up each program again. __buddy_part becomes "" if it is a builtin that changes nothing
# in the shell and starts no process.
__buddy_plain() {
  case $__buddy_text in *[!a-zA-Z0-9_./:,@%+=\ -]*) return 1 ;; esac
  __buddy_part=${__buddy_text%% *}
  # shellcheck disable=SC1010
  case $__buddy_part in
  : | true | false | echo | pwd) __buddy_part=; return 0 ;;
  '' | *[/=]* | if | then | elif | else | fi | case | esac | for | select | while | until | do | done | in | function | time | coproc) return 1 ;;
  esac
  hash -r
  hash -- "$__buddy_part" 2>/dev/null && [ -n "${BASH_CMDS[$__buddy_part]-}" ]
}
