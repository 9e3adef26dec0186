# buddy: prompt marks for this pane, read after your own start-up files.
__buddy_dir=$BUDDY_DIR __buddy_pane=${TMUX_PANE#%} __buddy_login=$BUDDY_LOGIN __buddy_plain=$BUDDY_PLAIN
unset BUDDY_DIR BUDDY_LOGIN BUDDY_PLAIN
# Whether the file names the other one, outside of comments: then it has read it.
__buddy_names() {
  local line
  while IFS= read -r line || [ -n "$line" ]; do
    case ${line%%#*} in *"$2"*) return ;; esac
  done 2>/dev/null <"$1"
  return 1
}
if [ -z "$__buddy_plain" ]; then
  __buddy_etc=/etc/bash.bashrc __buddy_own=~/.bashrc
  if [ -n "$__buddy_login" ]; then
    if [ -r /etc/profile ]; then
      . /etc/profile
      __buddy_names /etc/profile bash.bashrc && __buddy_etc=
    fi
    for __buddy_file in ~/.bash_profile ~/.bash_login ~/.profile; do
      [ -r "$__buddy_file" ] || continue
      . "$__buddy_file"
      if __buddy_names "$__buddy_file" .bashrc; then
        __buddy_own=
      elif __buddy_names "$__buddy_file" .profile && __buddy_names ~/.profile .bashrc; then
        __buddy_own=
      fi
      break
    done
  fi
  [ -n "$__buddy_etc" ] && [ -r "$__buddy_etc" ] && . "$__buddy_etc"
  [ -n "$__buddy_own" ] && [ -r "$__buddy_own" ] && . "$__buddy_own"
  unset __buddy_etc __buddy_own
fi
unset -f __buddy_names
# Variables that a start-up file made read-only, as hardened machines do: to set one would end this file.
# IFS may be one of them, so nothing is split here.
__buddy_fixed= __buddy_rest=$'\n'$(readonly -p)
for __buddy_file in PROMPT_COMMAND PS0 PS1 PS2 HISTCONTROL; do
  __buddy_pattern=$'\n'"declare -[A-Za-z]* $__buddy_file(="$'|\n|$)'
  [[ $__buddy_rest =~ $__buddy_pattern ]] && __buddy_fixed="$__buddy_fixed $__buddy_file "
done
__buddy_is_fixed() { case $__buddy_fixed in *" $1 "*) return ;; esac; return 1; }
IFS= read -r __buddy_key <"$__buddy_dir/key"
if [ -z "$__buddy_plain" ] && __buddy_is_fixed PROMPT_COMMAND && __buddy_is_fixed PS1; then
  # Nothing could report a prompt: the same shell again, with what the start-up files exported.
  BUDDY_DIR=$__buddy_dir BUDDY_LOGIN= BUDDY_PLAIN=readonly exec "$BASH" --rcfile "$__buddy_dir/bash.sh" -i
fi
IFS= read -r __buddy_run <"$__buddy_dir/run"
__buddy_id=0 __buddy_more=0 __buddy_code=0 __buddy_tag=0 __buddy_changes= __buddy_shown= __buddy_ps1= __buddy_start=none __buddy_repair= __buddy_result= __buddy_aside= __buddy_at= __buddy_for=
if [ -r "$__buddy_run/$__buddy_pane.cwd" ]; then
  IFS= read -r -d '' __buddy_file <"$__buddy_run/$__buddy_pane.cwd"
  cd -- "$__buddy_file" 2>/dev/null
fi

# The directory as marks carry it: a byte that a terminal could take for something else is %XX.
__buddy_place() {
  local LC_ALL=C rest=$PWD byte
  __buddy_for=$PWD __buddy_at=
  while :; do
    byte=${rest%%[!] #\&-[^-~]*}
    __buddy_at=$__buddy_at$byte rest=${rest:${#byte}}
    [ -n "$rest" ] || break
    printf -v byte %d "'$rest"
    printf -v byte %%%02X $((byte & 255))
    __buddy_at=$__buddy_at$byte rest=${rest:1}
  done
}

__buddy_before() {
  __buddy_code=$?
  if [ -n "$__buddy_result" ]; then __buddy_code=$__buddy_result __buddy_result=; fi
  __buddy_id=$((__buddy_id + 1)) __buddy_more=0 __buddy_repair=
  # After `exec >file` or `exec 2>file` prompts and marks would be hidden: the terminal is put back.
  [ -t 1 ] || exec >/dev/tty
  [ -t 9 ] || __buddy_repair=__buddy_stderr
  if [ -n "$__buddy_changes" ]; then __buddy_save; fi
  [ "$PWD" = "$__buddy_for" ] || __buddy_place
  local mark="$__buddy_key;P;$__buddy_id;$__buddy_code;$__buddy_tag;$__buddy_at"
  printf '\033]7;buddy;%s\a\033]7771;%s\a' "$mark" "$mark"
  __buddy_tag=0
  if [ -n "${__buddy_history+set}" ]; then
    HISTCONTROL=$__buddy_history
    unset __buddy_history
  fi
  return $__buddy_code
}

# For background shells. Before the prompt is reported where the command may have changed something, behind it otherwise.
__buddy_save() { { export -p; printf 'umask '; umask; } >|"$__buddy_run/$__buddy_pane.env"; }

__buddy_stderr() { exec 2>/dev/tty; }

# Your own PROMPT_COMMAND may have set PS1 again: whatever it is now stays behind the visible prompt.
__buddy_after() {
  if __buddy_is_fixed PS1; then
    # Without the mark that the prompt is drawn: here it would come too early, and the prompt be taken for typed text.
    printf '[buddy %s: %s] ' "$__buddy_id" "$__buddy_code"
  else
    [ "$PS1" = "$__buddy_shown" ] || __buddy_ps1=$PS1
    __buddy_shown="[buddy $__buddy_id: $__buddy_code] $__buddy_ps1\[\e]7771;$__buddy_key;B\a\]"
    PS1=$__buddy_shown
  fi
  if [ "${PS0-}" != "$__buddy_start" ] && ! __buddy_is_fixed PS0; then
    # Set while the prompt is drawn, and never later: bash would print freed memory. What your own PS0 prints is not output.
    local mark="\e]7;buddy;$__buddy_key;C;\${__buddy_tag};\${__buddy_at}\a\e]7771;$__buddy_key;C;\${__buddy_tag}"
    __buddy_start="$mark\a"
    [ -z "${PS0-}" ] || __buddy_start="$mark;S\a$PS0\e]7771;$__buddy_key;S;\${__buddy_tag}\a"
    PS0=$__buddy_start
  fi
  if [ -z "$__buddy_changes" ]; then __buddy_save; fi
  __buddy_changes=
  case $- in *a*) declare +x PS0 PS1 PS2 PROMPT_COMMAND ${!__buddy_*} ;; esac
}

# Where PROMPT_COMMAND cannot be set, the prompt itself carries the mark.
__buddy_print() { { __buddy_place; printf %s "$__buddy_at"; return ${1:-0}; } 2>/dev/null; }
__buddy_marked_prompt() {
  local mark='$?;$((__buddy_tag));$(__buddy_print $?)\a'
  local before="\[\e]7;buddy;$__buddy_key;P;\$((__buddy_id+=1));$mark\e]7771;$__buddy_key;P;\$((__buddy_id));$mark\]"
  before="$before[buddy \$((__buddy_id+(__buddy_tag=0)+(__buddy_more=0))): \$?] "
  case $PS1 in "$before"*) ;; *) PS1="$before$PS1\[\e]7771;$__buddy_key;B\a\]" ;; esac
  __buddy_start="\e]7;buddy;$__buddy_key;C;\${__buddy_tag};\$(__buddy_print)\a\e]7771;$__buddy_key;C;\${__buddy_tag}\a"
  case ${PS0-} in "$__buddy_start"*) ;; *) __buddy_is_fixed PS0 || PS0=$__buddy_start${PS0-} ;; esac
}

# Bound to a key that no keyboard sends: puts the command into the line at once, whatever the operator had typed there.
__buddy_take() {
  local tag= line= shown= for=
  if [ "$__buddy_more" = 1 ]; then
    # The operator is in the middle of a command of several lines: that is given up first, buddy asks again.
    printf '\033]7771;%s;T;;%s\a' "$__buddy_key" "${READLINE_LINE//[[:cntrl:]]/ }"
    READLINE_LINE=
    kill -INT $$
    return
  fi
  { IFS= read -r tag; IFS= read -r -d '' line; } 2>/dev/null <"$__buddy_run/$__buddy_pane.next"
  : >|"$__buddy_run/$__buddy_pane.next"
  __buddy_aside=$READLINE_LINE
  printf '\033]7771;%s;T;%s;%s\a' "$__buddy_key" "$tag" "${READLINE_LINE//[[:cntrl:]]/ }"
  { IFS= read -r for; IFS= read -r -d '' shown; } 2>/dev/null <"$__buddy_run/$__buddy_pane.shown"
  if [ -n "$tag" ] && [ "$for" = "$tag" ]; then
    # The operator sees the text that runs, not how it is started: readline draws that line unseen.
    : >|"$__buddy_run/$__buddy_pane.shown"
    __buddy_show "$shown"
    exec 2>/dev/null
  else
    # A clean child changes nothing here.
    case $line in *=* | *export* | *declare* | *typeset* | *unset* | *umask* | *source* | *eval* | *'. '*) __buddy_changes=1 ;; esac
  fi
  __buddy_tag=${tag:-0}
  if [[ $line == ' '* ]] && ! __buddy_is_fixed HISTCONTROL; then
    __buddy_history=${HISTCONTROL-}
    HISTCONTROL=ignorespace
  fi
  __buddy_hook
  READLINE_LINE=$line READLINE_POINT=${#line}
}

# Another such key: puts back what was set aside, before whatever was typed since.
__buddy_give() {
  READLINE_LINE=$__buddy_aside$READLINE_LINE READLINE_POINT=$((${#__buddy_aside} + READLINE_POINT))
  __buddy_aside=
}

# Behind the prompt, which readline has erased. One that takes programs to draw is not drawn twice.
__buddy_show() {
  local prompt="[buddy $__buddy_id: $__buddy_code] \\$ "
  case $PS1 in *'$('* | *'`'*) ;; *) prompt=$PS1 ;; esac
  prompt=${prompt@P}
  prompt=${prompt##*$'\n'}
  printf '%s\n' "${prompt//[$'\1\2']/}$1" >&2
}

# For lines that are typed, where the editor is switched off.
__buddy_head() {
  __buddy_tag=$1
  printf '\033]7;buddy;%s;C;%s;%s\a\033]7771;%s;C;%s\a' "$__buddy_key" "$1" "$__buddy_at" "$__buddy_key" "$1"
}
# The prompt hooks do what the check does elsewhere.
__buddy_check() { __buddy_code=$1; }
__buddy_tail() { return $1; }

__buddy_hook() {
  if __buddy_is_fixed PROMPT_COMMAND; then
    __buddy_is_fixed PS1 || __buddy_marked_prompt
    return
  fi
  # An empty expansion runs nothing: `set -x` has nothing to show.
  local before='{ __buddy_before; } 9>&2 2>/dev/null'
  local after='{ __buddy_after; } 2>/dev/null; ${__buddy_repair:+"$__buddy_repair"}'
  # The first of all: what other hooks print (bash-preexec puts its own in front) is not output.
  case ${PROMPT_COMMAND[*]-} in "$before"*__buddy_after*) return ;; esac
  local i
  for i in "${!PROMPT_COMMAND[@]}"; do
    PROMPT_COMMAND[i]=${PROMPT_COMMAND[i]//"$before"/:}
    PROMPT_COMMAND[i]=${PROMPT_COMMAND[i]//"$after"/:}
    if [ "${PROMPT_COMMAND[i]}" = : ]; then unset "PROMPT_COMMAND[i]"; fi
  done
  if [ "${BASH_VERSINFO[0]}${BASH_VERSINFO[1]}" -ge 51 ]; then
    PROMPT_COMMAND=("$before" "${PROMPT_COMMAND[@]}" "$after")
  else
    PROMPT_COMMAND="$before
${PROMPT_COMMAND-}
$after"
  fi
}

# Without PS0 the start of a command cannot be reported: its lines are typed, and report it themselves.
if [ "${BASH_VERSINFO[0]}${BASH_VERSINFO[1]}" -ge 44 ] && ! __buddy_is_fixed PS0; then
  for __buddy_file in emacs-standard vi-insert vi-command; do
    bind -m "$__buddy_file" -x '"\e[7771~": __buddy_take' 2>/dev/null
    bind -m "$__buddy_file" -x '"\e[7773~": __buddy_give' 2>/dev/null
  done
else
  printf '\033]7771;%s;N\a' "$__buddy_key"
fi
__buddy_is_fixed PS2 || PS2="\[\e]7771;$__buddy_key;I;\$((__buddy_more=1))\a\]${PS2-> }"
declare +x PS0 PS1 PS2 PROMPT_COMMAND 2>/dev/null
{ echo up >|"$__buddy_run/$__buddy_pane.up"; } 2>/dev/null || :
if [ "$__buddy_plain" = readonly ]; then printf '\033]7771;%s;L\a' "$__buddy_key"; fi
unset __buddy_file __buddy_login __buddy_pattern __buddy_plain __buddy_rest
__buddy_hook
