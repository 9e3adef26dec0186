# buddy: prompt marks for this pane (dash, busybox ash, mksh and other POSIX shells), read after your own start-up files.
__buddy_dir=$BUDDY_DIR __buddy_env=$BUDDY_ENV __buddy_pane=${TMUX_PANE#%} __buddy_login=$BUDDY_LOGIN __buddy_plain=$BUDDY_PLAIN
__buddy_shell=$BUDDY_SHELL
unset BUDDY_DIR BUDDY_ENV BUDDY_LOGIN BUDDY_PLAIN BUDDY_SHELL ENV
case ${KSH_VERSION-} in *MIRBSD*) __buddy_env=${__buddy_env:-$HOME/.mkshrc} ;; esac
if [ -z "$__buddy_plain" ]; then
  if [ -n "$__buddy_login" ]; then
    # By `command`: without it an error in a file of yours would end this one, too.
    [ -r /etc/profile ] && command . /etc/profile
    \command [ -r "$HOME/.profile" ] && \command . "$HOME/.profile"
  fi
  case $__buddy_env in ?*)
    \export ENV="$__buddy_env"
    \command [ -r "$__buddy_env" ] && \command . "$__buddy_env"
    ;;
  esac
fi
# From here on names of commands may be aliases or functions of yours: none is an alias after a backslash, and none is a
# function after `command`, nor where it is a special builtin. A function called `command` that runs something else is removed.
\command eval __buddy_shown= >/dev/null 2>&1
case ${__buddy_shown+set} in set) ;; *) \unset -f command ;; esac
# Variables that a start-up file made read-only: to set one would end this file.
__buddy_may_set() { ( \eval "$1=" ) 2>/dev/null; }
if ! __buddy_may_set PS1 || ! __buddy_may_set __buddy_id; then
  case $__buddy_plain in '')
    # Nothing could report a prompt: the same shell again, with what the start-up files exported.
    \export BUDDY_DIR="$__buddy_dir" BUDDY_LOGIN= BUDDY_PLAIN=readonly BUDDY_ENV="$__buddy_env" BUDDY_SHELL="$__buddy_shell"
    \export ENV="$__buddy_dir/sh.sh"
    \exec $__buddy_shell -i
    ;;
  esac
fi
if __buddy_may_set IFS; then
  IFS= \command read -r __buddy_key <"$__buddy_dir/key"
  IFS= \command read -r __buddy_run <"$__buddy_dir/run"
else
  __buddy_key=$(\command cat "$__buddy_dir/key") __buddy_run=$(\command cat "$__buddy_dir/run")
fi
# Where that is gone, nothing is written into the root directory.
\: "${__buddy_run:=$__buddy_dir}"
if \command [ -r "$__buddy_run/$__buddy_pane.cwd" ]; then
  __buddy_cwd=$(\command cat "$__buddy_run/$__buddy_pane.cwd"; \command printf x)
  \command cd -- "${__buddy_cwd%x}" 2>/dev/null
fi
__buddy_id=0 __buddy_tag=0 __buddy_e=$(\command printf '\033') __buddy_b=$(\command printf '\a') __buddy_l= __buddy_r= __buddy_f=
# Tells the line editor that characters take no room.
# busybox has no variable with its version before 1.36.
case ${KSH_VERSION-}${BB_ASH_VERSION-$(\command readlink /proc/$$/exe 2>/dev/null)} in
*MIRBSD*) __buddy_l=$(\command printf '\001') __buddy_f=$(\command printf '\001\r_') __buddy_r=$__buddy_l __buddy_f=${__buddy_f%_} ;;
[0-9]* | */busybox*) __buddy_l='\[' __buddy_r='\]' ;;
esac
# Not the programs that you put into PATH since, nor with what you exported. mksh has no printf of its own.
__buddy_own_program() { __buddy_bare PATH=/usr/bin:/bin "$@"; }
case $(\command -v printf) in
/*) __buddy_print() { __buddy_own_program printf "$@"; } ;;
*) __buddy_print() { \command printf "$@"; } ;;
esac
# For background shells.
__buddy_save() { { \export -p; __buddy_print 'umask '; \command umask; } >|"$__buddy_run/$__buddy_pane.env"; }
# In marks a byte of the directory that a terminal or a prompt could take for something else is %XX. Where there is one,
# the expansion is empty, and the function prints all of it so.
# shellcheck disable=SC2120
__buddy_odd() {
  {
    # What you exported at the prompt.
    case $__buddy_tag in 0) __buddy_save || \: ;; esac
    case ${PWD##$__buddy_any} in '')
      __buddy_print %s "$PWD" | { __buddy_own_program od -An -v -tx1 || __buddy_own_program cat; } |
        __buddy_own_program tr -d '\n' | __buddy_own_program tr ' ' %
      ;;
    esac
    \return "${1:-0}"
  } 2>/dev/null
}
# By a variable: mksh makes a number of `!` in a prompt.
__buddy_any='*[!] #&-[^-~]*' __buddy_at='${PWD##$__buddy_any}$(__buddy_odd "$?")'
# P; R: start-up files had to be left out.
case $__buddy_plain in readonly) __buddy_letter=R ;; *) __buddy_letter=P ;; esac
__buddy_ps1='${__buddy_e}]7;buddy;${__buddy_key};${__buddy_letter};$((__buddy_id=__buddy_id+1));$?;$((__buddy_tag));'$__buddy_at'${__buddy_b}${__buddy_e}]7771;${__buddy_key};${__buddy_letter};$((__buddy_id));$?;$((__buddy_tag));'$__buddy_at'${__buddy_b}'
__buddy_ps1="$__buddy_f$__buddy_l$__buddy_ps1$__buddy_r"'[buddy $((__buddy_id+(__buddy_tag=0))): $?] '
if __buddy_may_set PS2; then PS2="$__buddy_f$__buddy_l$__buddy_e]7771;$__buddy_key;I$__buddy_b$__buddy_r${PS2-> }"; fi
__buddy_end="$__buddy_l"'${__buddy_e}]7771;${__buddy_key};B${__buddy_b}'"$__buddy_r"

# PS4 for the first trace after a command, where mksh traces.
__buddy_trace='${__buddy_e}]7771;${__buddy_key};E;${__buddy_code};${__buddy_tag}${__buddy_b}'

# After each command: `exec >file` or `exec 2>file` would hide prompts and marks, so the terminal is put back.
# Its stdout is 8 and its stderr 9: what a DEBUG trap of yours prints about this is not output.
__buddy_check() {
  __buddy_code=$1 __buddy_repair=
  \command [ -t 9 ] || __buddy_repair=__buddy_stderr
  if \command [ ! -t 8 ]; then
    \exec 8>/dev/tty
    __buddy_repair=__buddy_stdout$__buddy_repair
  fi
  __buddy_save
  # What follows is not the command's: dash traces even an empty line.
  __buddy_print '\033]7771;%s;E;%s;%s\a' "$__buddy_key" "$1" "$__buddy_tag" >&8
}
__buddy_stderr() { \exec 2>/dev/tty; }
__buddy_stdout() { \exec >/dev/tty; }
__buddy_stdout__buddy_stderr() { \exec >/dev/tty 2>/dev/tty; }
# A PS1 that the command set follows buddy's part of the prompt.
__buddy_tail() {
  case $PS1 in "$__buddy_ps1"*) ;; *) PS1=$__buddy_ps1$PS1$__buddy_end ;; esac
  \return "$1"
}
# To where a clean child was last, which file $1 has.
__buddy_follow() {
  __buddy_to=$(__buddy_own_program cat "$1" && __buddy_print x) || \:
  __buddy_to=${__buddy_to%?x}
  case $__buddy_to in '' | "$PWD") ;; *) \command cd -- "$__buddy_to" >/dev/null || \: ;; esac
}
__buddy_head() {
  __buddy_tag=$1
  __buddy_print '\033]7;buddy;%s;C;%s+%s;%s\a\033]7771;%s;C;%s\a' "$__buddy_key" "$1" "$2" "${PWD##$__buddy_any}$(__buddy_odd)" "$__buddy_key" "$1"
}
{ \command echo up >|"$__buddy_run/$__buddy_pane.up"; } 2>/dev/null || \:
\unset -f __buddy_may_set
\unset __buddy_cwd __buddy_login __buddy_plain __buddy_env __buddy_shell __buddy_shown
__buddy_tail 0
