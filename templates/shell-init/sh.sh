# buddy: prompt marks for this pane (dash, busybox ash, mksh and other POSIX shells), read after your own start-up files.
__buddy_dir=$BUDDY_DIR __buddy_env=$BUDDY_ENV __buddy_pane=${TMUX_PANE#%} __buddy_login=$BUDDY_LOGIN __buddy_plain=$BUDDY_PLAIN
unset BUDDY_DIR BUDDY_ENV BUDDY_LOGIN BUDDY_PLAIN ENV
case ${KSH_VERSION-} in *MIRBSD*) __buddy_env=${__buddy_env:-$HOME/.mkshrc} ;; esac
if [ -z "$__buddy_plain" ]; then
  if [ -n "$__buddy_login" ]; then
    [ -r /etc/profile ] && \. /etc/profile
    [ -r "$HOME/.profile" ] && \. "$HOME/.profile"
  fi
  [ -n "$__buddy_env" ] && export ENV="$__buddy_env"
  [ -n "$__buddy_env" ] && [ -r "$__buddy_env" ] && \. "$__buddy_env"
fi
# Variables that a start-up file made read-only: to set one would end this file.
__buddy_may_set() { ( eval "$1=" ) 2>/dev/null; }
if __buddy_may_set IFS; then
  IFS= read -r __buddy_key <"$__buddy_dir/key"
  IFS= read -r __buddy_run <"$__buddy_dir/run"
else
  __buddy_key=$(\command cat "$__buddy_dir/key") __buddy_run=$(\command cat "$__buddy_dir/run")
fi
# Where that is gone, nothing is written into the root directory.
: "${__buddy_run:=$__buddy_dir}"
if [ -r "$__buddy_run/$__buddy_pane.cwd" ]; then
  __buddy_cwd=$(\command cat "$__buddy_run/$__buddy_pane.cwd"; \command printf x)
  cd -- "${__buddy_cwd%x}" 2>/dev/null
fi
__buddy_id=0 __buddy_tag=0 __buddy_e=$(\command printf '\033') __buddy_b=$(\command printf '\a') __buddy_l= __buddy_r= __buddy_f=
# Tells the line editor that characters take no room.
# busybox has no variable with its version before 1.36.
case ${KSH_VERSION-}${BB_ASH_VERSION-$(readlink /proc/$$/exe 2>/dev/null)} in
*MIRBSD*) __buddy_l=$(\command printf '\001') __buddy_f=$(\command printf '\001\r_') __buddy_r=$__buddy_l __buddy_f=${__buddy_f%_} ;;
[0-9]* | */busybox*) __buddy_l='\[' __buddy_r='\]' ;;
esac
# For background shells.
__buddy_save() { { \export -p; \command printf 'umask '; \umask; } >|"$__buddy_run/$__buddy_pane.env"; }
# In marks a byte of the directory that a terminal or a prompt could take for something else is %XX. Where there is one,
# the expansion is empty, and the function prints all of it so.
__buddy_odd() {
  {
    # What you exported at the prompt.
    [ "$__buddy_tag" != 0 ] || __buddy_save || :
    [ -n "${PWD##$__buddy_any}" ] || \command printf %s "$PWD" | { od -An -v -tx1 || cat; } | tr -d '\n' | tr ' ' %
    return "${1:-0}"
  } 2>/dev/null
}
# By a variable: mksh makes a number of `!` in a prompt.
__buddy_any='*[!] #&-[^-~]*' __buddy_at='${PWD##$__buddy_any}$(__buddy_odd "$?")'
__buddy_ps1='${__buddy_e}]7;buddy;${__buddy_key};P;$((__buddy_id=__buddy_id+1));$?;$((__buddy_tag));'$__buddy_at'${__buddy_b}${__buddy_e}]7771;${__buddy_key};P;$((__buddy_id));$?;$((__buddy_tag));'$__buddy_at'${__buddy_b}'
__buddy_ps1="$__buddy_f$__buddy_l$__buddy_ps1$__buddy_r"'[buddy $((__buddy_id+(__buddy_tag=0))): $?] '
if __buddy_may_set PS2; then PS2="$__buddy_f$__buddy_l$__buddy_e]7771;$__buddy_key;I$__buddy_b$__buddy_r${PS2-> }"; fi
__buddy_end="$__buddy_l"'${__buddy_e}]7771;${__buddy_key};B${__buddy_b}'"$__buddy_r"

# PS4 for the first trace after a command, where mksh traces.
__buddy_trace='${__buddy_e}]7771;${__buddy_key};E;${__buddy_code};${__buddy_tag}${__buddy_b}'

# After each command: `exec >file` or `exec 2>file` would hide prompts and marks, so the terminal is put back.
# Its stdout is 8 and its stderr 9: what a DEBUG trap of yours prints about this is not output.
__buddy_check() {
  __buddy_code=$1 __buddy_repair=
  [ -t 9 ] || __buddy_repair=__buddy_stderr
  if [ ! -t 8 ]; then
    exec 8>/dev/tty
    __buddy_repair=__buddy_stdout$__buddy_repair
  fi
  __buddy_save
  # What follows is not the command's: dash traces even an empty line.
  \command printf '\033]7771;%s;E;%s;%s\a' "$__buddy_key" "$1" "$__buddy_tag" >&8
}
__buddy_stderr() { exec 2>/dev/tty; }
__buddy_stdout() { exec >/dev/tty; }
__buddy_stdout__buddy_stderr() { exec >/dev/tty 2>/dev/tty; }
# A PS1 that the command set follows buddy's part of the prompt.
__buddy_tail() {
  case $PS1 in "$__buddy_ps1"*) ;; *) PS1=$__buddy_ps1$PS1$__buddy_end ;; esac
  return "$1"
}
__buddy_head() {
  __buddy_tag=$1
  \command printf '\033]7;buddy;%s;C;%s+%s;%s\a\033]7771;%s;C;%s\a' "$__buddy_key" "$1" "$2" "${PWD##$__buddy_any}$(__buddy_odd)" "$__buddy_key" "$1"
}
{ echo up >|"$__buddy_run/$__buddy_pane.up"; } 2>/dev/null || :
unset -f __buddy_may_set
unset __buddy_cwd __buddy_login __buddy_plain __buddy_env
__buddy_tail 0
