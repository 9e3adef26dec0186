# buddy: keeps a shell in this pane. Ending the shell does not end the pane: a new one starts in the same place.
# usage: sh -m supervisor.sh KIND LOGIN PLAIN UNSET,NAMES TMUX SHELL [ARGUMENT...]
# mksh and ksh give the terminal to no job of a script. Where there is no other shell, the one in the pane takes it by itself.
case ${KSH_VERSION-} in ?*)
  for __buddy_name in dash bash ash; do
    if command -v "$__buddy_name" >/dev/null; then exec "$__buddy_name" -m "$0" "$@"; fi
  done
  set +m ;;
esac
__buddy_dir=${0%/*}
# The variables of the login that opened the session, not of the one that started the tmux server.
__buddy_file=${BUDDY_LOGIN_VARIABLES-}
unset BUDDY_LOGIN_VARIABLES
if [ -s "$__buddy_file" ]; then
  for __buddy_name in $(export -p | sed -n 's/^export \([A-Za-z_][A-Za-z0-9_]*\).*/\1/p'); do
    case $__buddy_name in
    TMUX | TMUX_PANE | TERM | TERM_PROGRAM | TERM_PROGRAM_VERSION | PWD | OLDPWD | SHLVL | COLUMNS | LINES) ;;
    SHELLOPTS | BASHOPTS | UID | EUID | PPID) ;;
    PATH) ;;
    *) unset "$__buddy_name" ;;
    esac
  done
  . "$__buddy_file"
fi
__buddy_kind=$1 __buddy_login=$2 __buddy_plain=$3
for __buddy_name in $(IFS=,; printf '%s ' $4); do unset "$__buddy_name"; done
__buddy_tmux=$5
shift 5
IFS= read -r __buddy_key <"$__buddy_dir/key"
IFS= read -r __buddy_run <"$__buddy_dir/run"
# Where that is gone, nothing is written into the root directory.
: "${__buddy_run:=$__buddy_dir}"
# A later cleanup sees by this whether a server still uses the directory.
__buddy_server=${TMUX%,*}
while IFS= read -r __buddy_name; do
  if [ "$__buddy_name" = "$__buddy_server" ]; then __buddy_server=; fi
done 2>/dev/null <"$__buddy_dir/servers"
if [ -n "$__buddy_server" ]; then printf '%s\n' "$__buddy_server"; fi 2>/dev/null >>"$__buddy_dir/servers"
for __buddy_name in "$__buddy_run/${TMUX_PANE#%}.cwd" "$__buddy_run/${TMUX_PANE#%}.next"; do
  if [ -e "$__buddy_name" ]; then rm -f "$__buddy_name"; fi
done
__buddy_up=$__buddy_run/${TMUX_PANE#%}.up
__buddy_quick=0 __buddy_failed=0 __buddy_bare=$__buddy_plain __buddy_from=0
__buddy_give_up() {
  printf '\nbuddy: %s (exit code %s). Correct that, then press Enter here to try again.\n' "$1" "$__buddy_code"
  printf '\033]7771;%s;G;%s\a\033]7;buddy;%s;G;%s\a' "$__buddy_key" "$__buddy_code" "$__buddy_key" "$__buddy_code"
  read -r __buddy_name || sleep 1
}
# tmux remembers it for a buddy that was not listening yet.
__buddy_skipped() { "$__buddy_tmux" -S "${TMUX%%,*}" set-option -p -t "$TMUX_PANE" @buddy_skipped "$1" 2>/dev/null; }
# From the form that marks carry, where a byte may be %XX.
__buddy_decode() {
  __buddy_text= __buddy_rest=$1
  while :; do
    case $__buddy_rest in *%[0-9A-Fa-f][0-9A-Fa-f]*) ;; *) break ;; esac
    __buddy_text=$__buddy_text${__buddy_rest%%%*} __buddy_rest=${__buddy_rest#*%}
    __buddy_name=${__buddy_rest%"${__buddy_rest#??}"} __buddy_rest=${__buddy_rest#??}
    __buddy_text=$__buddy_text\\$(printf %03o "0x$__buddy_name")
  done
  __buddy_cwd=$(printf "$__buddy_text$__buddy_rest."; :)
  __buddy_cwd=${__buddy_cwd%.}
}
# Where the shell was at its last prompt: tmux remembers the mark, whether buddy or the operator typed the last command.
__buddy_locate() {
  __buddy_cwd=$("$__buddy_tmux" -S "${TMUX%%,*}" display-message -p -t "$TMUX_PANE" '#{pane_path}' 2>/dev/null)
  case $__buddy_cwd in
  "buddy;$__buddy_key;"[PQRU]";"*) __buddy_cwd=${__buddy_cwd#*;*;*;*;*;*;} ;;
  "buddy;$__buddy_key;"[CX]";"*) __buddy_cwd=${__buddy_cwd#*;*;*;*;} ;;
  *) __buddy_cwd= ;;
  esac
  __buddy_at=$__buddy_cwd
  case $__buddy_at in *%*) __buddy_decode "$__buddy_at" ;; esac
  if [ -d "$__buddy_cwd" ]; then
    { printf %s "$__buddy_cwd" >"$__buddy_run/${TMUX_PANE#%}.cwd"; } 2>/dev/null
  else
    __buddy_at=$PWD
    rm -f "$__buddy_run/${TMUX_PANE#%}.cwd"
  fi
}
trap : INT QUIT TSTP
# What this shell itself says about one that was killed is not output. In a subshell: dash redirects for both.
exec 3>&2 2>/dev/null
while :; do
  { true >"$__buddy_up"; } 2>/dev/null
  (
    exec 2>&3 3>&-
    export BUDDY_DIR="$__buddy_dir"
    case $__buddy_kind in
    bash)
      # A bash in posix mode would read no --rcfile: bash.sh sets the variable again.
      export BUDDY_LOGIN="$__buddy_login" BUDDY_PLAIN="$__buddy_plain" BUDDY_POSIX="${POSIXLY_CORRECT+1}"
      unset POSIXLY_CORRECT
      exec "$@" --rcfile "$__buddy_dir/bash.sh" -i
      ;;
    zsh)
      export BUDDY_PLAIN="$__buddy_plain" BUDDY_ZDOTDIR="${ZDOTDIR-}" ZDOTDIR="$__buddy_dir/zsh"
      exec "$@" ${__buddy_login:+-l} -i
      ;;
    fish) exec "$@" ${__buddy_plain:+--no-config} ${__buddy_login:+-l} -i -C 'source $BUDDY_DIR/fish.fish' ;;
    *)
      export BUDDY_LOGIN="$__buddy_login" BUDDY_PLAIN="$__buddy_plain" BUDDY_ENV="${ENV-}" BUDDY_SHELL="$*" ENV="$__buddy_dir/sh.sh"
      exec "$@" -i
      ;;
    esac
  )
  __buddy_code=$?
  # A shell that stopped itself (suspend) has not ended.
  while [ $__buddy_code -gt 128 ] && kill -0 %%; do
    fg >/dev/null
    __buddy_code=$?
  done
  stty sane 2>/dev/null
  printf '\033[?1049l\033[?25h\033[0m'
  # Without the file nothing is known: then it counts as one that started.
  if [ -s "$__buddy_up" ] || [ ! -f "$__buddy_up" ]; then
    [ "$__buddy_plain" = "$__buddy_bare" ] || __buddy_skipped ''
    __buddy_failed=0 __buddy_plain=$__buddy_bare
    __buddy_locate
    printf '\033]7771;%s;X;%s;%s\a\033]7;buddy;%s;X;%s;%s\a' "$__buddy_key" "$__buddy_code" "$__buddy_at" "$__buddy_key" "$__buddy_code" "$__buddy_at"
    __buddy_now=$(date +%s)
    if [ $((__buddy_now - __buddy_from)) -lt 2 ]; then __buddy_quick=$((__buddy_quick + 1)); else __buddy_quick=0; fi
    __buddy_from=$__buddy_now
    if [ $__buddy_quick -gt 8 ]; then
      __buddy_quick=0
      __buddy_give_up "${1##*/} ended again and again, right after its start"
    elif [ $__buddy_quick -gt 5 ]; then sleep 1; fi
    continue
  fi
  __buddy_failed=$((__buddy_failed + 1))
  [ $__buddy_failed -ge 3 ] || continue
  __buddy_failed=0
  if [ -z "$__buddy_plain" ]; then
    __buddy_plain=1
    printf '\nbuddy: %s ended before its first prompt, 3 times (exit code %s). It runs without your start-up files now: correct them, then type exit here.\n' "${1##*/}" "$__buddy_code"
    __buddy_skipped "$__buddy_code"
    printf '\033]7771;%s;L;%s\a' "$__buddy_key" "$__buddy_code"
  else
    __buddy_plain=$__buddy_bare
    __buddy_give_up "${1##*/} ended before its first prompt, also without start-up files"
  fi
done
