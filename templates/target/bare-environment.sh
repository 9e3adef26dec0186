# For a shell of the Bourne family: `__buddy_exec SETTINGS PROGRAM…` replaces the shell by the program, and `__buddy_bare` starts it as a
# child, with an empty environment but for the settings, the directory and what is taken over. No program is started before the
# environment is empty, not even printf, which mksh has not built in: LD_PRELOAD works in every one.
# shellcheck disable=SC1001,SC1083,SC2043
__buddy_exec() {
  case ${ZSH_VERSION-} in ?*) @special@emulate -L sh ;; esac
  for __buddy_name in @names@; do
    @special@eval "__buddy_value=\${$__buddy_name-}"
    case $__buddy_name in
    *_[Pp][Rr][Oo][Xx][Yy]) case $__buddy_value in '' | *[!]a-zA-Z0-9_.@:+/~%,*[=-]*) @special@continue ;; esac ;;
    TZ | XDG* | DBUS*)
      case $__buddy_value in '' | *..* | *[!a-zA-Z0-9_.:+/,=-]*) @special@continue ;;
      /usr/share/zoneinfo/* | :/usr/share/zoneinfo/* | /etc/localtime | :/etc/localtime | /run/user/[0-9]* | unix:path=/run/user/[0-9]*) ;;
      [/:]*) @special@continue ;;
      esac
      ;;
    *) case $__buddy_value in '' | *[!a-zA-Z0-9_.@:+-]*) @special@continue ;; esac ;;
    esac
    @special@set -- "$__buddy_name=$__buddy_value" "$@"
  done
  @special@set -- "PWD=$PWD" "OLDPWD=${OLDPWD-}" "$@"
  __buddy_name=/usr/bin/env
  @builtin@test -x "$__buddy_name" || __buddy_name=/bin/env
  case ${BASH_VERSION-}${ZSH_VERSION-} in ?*) @special@exec -c "$__buddy_name" "$@" ;; esac
  __buddy_value=
  @special@eval "$(@special@export -p | while IFS= @builtin@read -r __buddy_name; do
    case $__buddy_name in 'export '[a-zA-Z_]* | 'typeset -x '[a-zA-Z_]* | 'declare -x '[a-zA-Z_]*) ;; *) @special@continue ;; esac
    __buddy_name=${__buddy_name#* }
    __buddy_name=${__buddy_name#-x }
    __buddy_name=${__buddy_name%%=*}
    case $__buddy_name in *[!a-zA-Z0-9_]*) ;; *) @builtin@echo "'command' unset $__buddy_name || __buddy_value=$__buddy_name" ;; esac
  done)"
  case $__buddy_value in ?*)
    @builtin@echo "buddy: $__buddy_value is exported and read-only; the command did not run" >&2
    @special@exit 126
    ;;
  esac
  @special@exec "$__buddy_name" -i "$@"
}
__buddy_bare() { ( __buddy_exec "$@" ); }
