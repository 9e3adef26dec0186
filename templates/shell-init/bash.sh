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
# What start-up files set is set again below: until then a command may fail, and no alias gets into a function.
case $- in *e*) __buddy_set='set -e' ;; *) __buddy_set=: ;; esac
set +e
if shopt -q expand_aliases; then __buddy_set="shopt -s expand_aliases; $__buddy_set"; fi
shopt -u expand_aliases
# Variables that a start-up file made read-only, as hardened machines do: to set one would end this file.
# IFS may be one of them, so nothing is split here.
__buddy_fixed= __buddy_rest=$'\n'$(readonly -p)
for __buddy_file in PROMPT_COMMAND PS0 PS1 PS2 HISTCONTROL; do
  __buddy_pattern=$'\n'"declare -[A-Za-z]* $__buddy_file(="$'|\n|$)'
  [[ $__buddy_rest =~ $__buddy_pattern ]] && __buddy_fixed="$__buddy_fixed $__buddy_file "
done
__buddy_is_fixed() { case $__buddy_fixed in *" $1 "*) return 0 ;; esac; return 1; }
IFS= read -r __buddy_key <"$__buddy_dir/key"
if [ -z "$__buddy_plain" ] && { __buddy_is_fixed PROMPT_COMMAND && __buddy_is_fixed PS1 || [[ $__buddy_rest == *' __buddy_'* ]]; }; then
  # Nothing could report a prompt: the same shell again, with what the start-up files exported.
  BUDDY_DIR=$__buddy_dir BUDDY_LOGIN= BUDDY_PLAIN=readonly exec "$BASH" --rcfile "$__buddy_dir/bash.sh" -i
fi
IFS= read -r __buddy_run <"$__buddy_dir/run"
__buddy_id=0 __buddy_more=0 __buddy_code=0 __buddy_tag=0 __buddy_changes= __buddy_shown= __buddy_ps1= __buddy_start=none __buddy_repair= __buddy_result= __buddy_aside= __buddy_at= __buddy_for= __buddy_trap=
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
    builtin printf -v byte %d "'$rest"
    builtin printf -v byte %%%02X "$((byte & 255))"
    __buddy_at=$__buddy_at$byte rest=${rest:1}
  done
}

# Its stdout is 8 and its stderr 9: what a DEBUG trap of yours prints about this is not output.
__buddy_before() {
  __buddy_code=$?
  if [ -n "$__buddy_result" ]; then __buddy_code=$__buddy_result __buddy_result=; fi
  __buddy_id=$((__buddy_id + 1)) __buddy_more=0 __buddy_repair=
  # After `exec >file` or `exec 2>file` prompts and marks would be hidden: the terminal is put back.
  [ -t 9 ] || __buddy_repair=__buddy_stderr
  if [ ! -t 8 ]; then
    exec 8>/dev/tty
    __buddy_repair=__buddy_stdout$__buddy_repair
  fi
  if [ -n "$__buddy_changes" ]; then __buddy_save; fi
  [ "$PWD" = "$__buddy_for" ] || __buddy_place
  local letter=$__buddy_letter
  # Without its line editor, lines are typed.
  case :$SHELLOPTS: in *:emacs:* | *:vi:*) ;; *) case $letter in P) letter=Q ;; R) letter=U ;; esac ;; esac
  local mark="$__buddy_key;$letter;$__buddy_id;$__buddy_code;$__buddy_tag;$__buddy_at"
  builtin printf '\033]7771;%s\a\033]7;buddy;%s\a' "$mark" "$mark" >&8
  __buddy_tag=0
  if [ -n "${__buddy_history+set}" ]; then
    HISTCONTROL=$__buddy_history
    unset __buddy_history
  fi
  # With set -e it would end the shell, for a child that only read.
  [[ $- == *e* ]] || return "$__buddy_code"
}

# For background shells. Before the prompt is reported where the command may have changed something, behind it otherwise.
__buddy_save() { { export -p; builtin printf 'umask '; umask; } >|"$__buddy_run/$__buddy_pane.env"; }

__buddy_stderr() { exec 2>/dev/tty; }
__buddy_stdout() { exec >/dev/tty; }
__buddy_stdout__buddy_stderr() { exec >/dev/tty 2>/dev/tty; }

# Your own PROMPT_COMMAND may have set PS1 again: whatever it is now stays behind the visible prompt.
__buddy_after() {
  if __buddy_is_fixed PS1; then
    # Without the mark that the prompt is drawn: here it would come too early, and the prompt be taken for typed text.
    builtin printf '[buddy %s: %s] ' "$__buddy_id" "$__buddy_code"
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
__buddy_print() { { __buddy_place; builtin printf %s "$__buddy_at"; return "${1:-0}"; } 2>/dev/null; }
__buddy_marked_prompt() {
  local mark='$?;$((__buddy_tag));$(__buddy_print "$?")\a'
  local before="\[\e]7;buddy;$__buddy_key;$__buddy_letter;\$((__buddy_id+=1));$mark\e]7771;$__buddy_key;$__buddy_letter;\$((__buddy_id));$mark\]"
  before="$before[buddy \$((__buddy_id+(__buddy_tag=0)+(__buddy_more=0))): \$?] "
  case $PS1 in "$before"*) ;; *) PS1="$before$PS1\[\e]7771;$__buddy_key;B\a\]" ;; esac
  __buddy_start="\e]7;buddy;$__buddy_key;C;\${__buddy_tag};\$(__buddy_print)\a\e]7771;$__buddy_key;C;\${__buddy_tag}\a"
  case ${PS0-} in "$__buddy_start"*) ;; *) __buddy_is_fixed PS0 || PS0=$__buddy_start${PS0-} ;; esac
}

# Bound to a key that no keyboard sends: puts the command into the line at once, whatever the operator had typed there.
__buddy_take() {
  local tag= line= shown= for=
  # What is left of this key where it came behind half of another one.
  READLINE_LINE=${READLINE_LINE//$'\e[7771~'/}
  READLINE_LINE=${READLINE_LINE//'[7771~'/}
  if [ "$__buddy_more" = 1 ]; then
    # The operator is in the middle of a command of several lines: that is given up first, buddy asks again.
    builtin printf '\033]7771;%s;T;;%s\a' "$__buddy_key" "${READLINE_LINE//[[:cntrl:]]/ }"
    READLINE_LINE=
    kill -INT "$$"
    return
  fi
  # With set -e, the end of a file is not to end the shell.
  { IFS= read -r tag; IFS= read -r -d '' line; } 2>/dev/null <"$__buddy_run/$__buddy_pane.next" || :
  : >|"$__buddy_run/$__buddy_pane.next"
  __buddy_aside=$READLINE_LINE
  builtin printf '\033]7771;%s;T;%s;%s\a' "$__buddy_key" "$tag" "${READLINE_LINE//[[:cntrl:]]/ }"
  { IFS= read -r for; IFS= read -r -d '' shown; } 2>/dev/null <"$__buddy_run/$__buddy_pane.shown" || :
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
  builtin printf '%s\n' "${prompt//[$'\1\2']/}$1" >&2
}

# What runs unasked is asked of a clean shell that stays in the read-only namespace, on this terminal, and forks for each text. It is
# no job of this shell, nor is it $!, and its pipes are opened by name: nothing that you start inherits them.
__buddy_asks=1 __buddy_server= __buddy_piped= __buddy_ended=() __buddy_refused= __buddy_state= __buddy_now=
# $1 tag, $2 file of the namespace, $3 terminal, $4 text. True when it was taken: __buddy_code is its exit code.
__buddy_ask() {
  [ -n "$__buddy_server" ] && __buddy_inherits "$2" "$3" && [ "$__buddy_now" = "$__buddy_state" ] && __buddy_serves || return
  local line= part= at= taken= code= dead= round=0 int=
  trap 'int=1' INT
  {
    builtin printf '%s;%s\0' "$1" "$4" >&7
    while [ -z "$code" ]; do
      # Half a line may come before the time is over.
      if IFS= read -r -t 0.5 part <&8; then
        line=$line$part
        case $line in
        "$1 taken") taken=1 ;;
        # Its process group, which has the terminal from here on.
        "$1 at "*) at=${line##* } ;;
        "$1 end "*) code=${line##* } ;;
        "$1 left") break ;;
        esac
        line= part=
      elif [ -n "$dead" ]; then break
      elif ! __buddy_serves; then dead=1
      elif [ -z "$taken" ] && [ "$((round += 1))" -gt 20 ]; then kill -KILL "${__buddy_server% *}"
      fi
      line=$line$part part=
      # Pressed before it had the terminal.
      if [ -n "$int" ] && [ -n "$at" ]; then int=; __buddy_signal INT "$at"; fi
    done
  } 7<>"$__buddy_run/$__buddy_pane.ask" 8<>"$__buddy_run/$__buddy_pane.told"
  trap - INT
  if [ -z "$taken" ]; then
    [ -z "$int" ] || kill -INT "$$"
    return 1
  fi
  # What was taken is not run again, whatever became of it.
  case $code in '' | *[!0-9]*)
    code=137
    __buddy_signal KILL "$at"
    ;;
  esac
  # A job that is killed makes bash put the terminal back as it was, and take it.
  [ "$code" -le 128 ] || ( kill -KILL "$BASHPID" ) || :
  __buddy_code=$code
}
# $1 file of the namespace, which was just looked at, $2 terminal.
__buddy_serve() {
  local ask=$__buddy_run/$__buddy_pane.ask told=$__buddy_run/$__buddy_pane.told line= part= pid= ready= round=0 int= ended=()
  [ "$__buddy_refused" != "$1 $__buddy_pid $__buddy_since" ] && __buddy_inherits "$@" || return
  # It is an orphan. In containers where nobody takes note of the end of one, there are no more than a few.
  for pid in "${__buddy_ended[@]}"; do
    if [ -e "/proc/$pid" ]; then ended+=("$pid"); fi
  done
  __buddy_ended=("${ended[@]}") pid=
  [ "${#ended[@]}" -lt 8 ] || return
  trap 'int=1' INT
  __buddy_leave
  # Only this shell asks through them.
  if [ -n "$__buddy_piped" ] && [ -p "$ask" ] && [ -p "$told" ] ||
    { command rm -f -- "$ask" "$told" && command mkfifo -m 600 -- "$ask" "$told"; }; then
    __buddy_piped=1
    {
      set +m
      ( __buddy_namespace <&0 2</dev/tty 5<&7 6>&8 7>&- 8>&- & builtin printf 'started %s\n' "$!" >&8 )
      set -m
      until [ -n "$pid" ] && [ -n "$ready" ] || [ "$round" -gt 100 ]; do
        if IFS= read -r -t 0.1 part <&8; then
          case $line$part in 'started '*) pid=$line$part pid=${pid#* } ;; ready) ready=1 ;; esac
          line= part=
        elif [ -n "$pid" ] && ! __buddy_stat "$pid"; then break
        else round=$((round + 1))
        fi
        line=$line$part part=
      done
    } 7<>"$ask" 8<>"$told"
  fi
  trap - INT
  if [ -n "$ready" ] && __buddy_stat "$pid"; then
    __buddy_server="$pid ${__buddy_stat[21]}" __buddy_state=$__buddy_now
    [ -z "$int" ] || kill -INT "$$"
  else
    __buddy_refused="$1 $__buddy_pid $__buddy_since"
    [ -z "$pid" ] || kill -KILL "$pid"
    return 1
  fi
}
# Ends the one before: only one may read the pipe.
__buddy_leave() {
  local line= part= round=0
  [ -n "$__buddy_server" ] || return
  if __buddy_serves; then
    {
      builtin printf 'leave;\0' >&7
      until [[ $line == *'leave left' ]] || ! __buddy_serves; do
        IFS= read -r -t 0.1 part <&8 || [ "$((round += 1))" -lt 20 ] || kill -KILL "${__buddy_server% *}"
        line=$line$part
      done
    } 7<>"$__buddy_run/$__buddy_pane.ask" 8<>"$__buddy_run/$__buddy_pane.told"
  fi
  __buddy_ended+=("${__buddy_server% *}") __buddy_server=
}
# Sets __buddy_now to all that a child takes over from this shell: with anything else, another clean shell is started. There is
# none where there is no job control, away from the terminal, or with an INT trap of yours.
__buddy_inherits() {
  case $- in *m*) ;; *) return 1 ;; esac
  [ /dev/fd/0 -ef "$2" ] || [ /dev/fd/0 -ef /dev/tty ] || return
  [ /dev/fd/1 -ef "$2" ] || [ /dev/fd/1 -ef /dev/tty ] || return
  { export -p; declare -fx; umask; trap -p; } >|"$__buddy_run/$__buddy_pane.state" || return
  local -a state=() limits=()
  mapfile -d '' state <"$__buddy_run/$__buddy_pane.state"
  mapfile -d '' limits <"/proc/$$/limits"
  case ${state-} in *SIGINT*) return 1 ;; esac
  __buddy_stat "$$" && __buddy_now=$1' '${__buddy_stat[18]}' '${limits-}${state-}
}
__buddy_serves() { __buddy_stat "${__buddy_server% *}" && [ "${__buddy_stat[21]}" = "${__buddy_server#* }" ]; }
# Reads about process $1: state 2, group 4, session 5, niceness 18, start 21.
__buddy_stat() {
  __buddy_stat=()
  IFS=' ' read -r -a __buddy_stat <"/proc/$1/stat"
  case ${__buddy_stat[2]-} in '' | [ZX]) return 1 ;; esac
}
# Signal $1 to process group $2, if that is one on this terminal.
__buddy_signal() {
  __buddy_stat "$$" || return
  local session=${__buddy_stat[5]}
  if __buddy_stat "${2:-none}" && [ "${__buddy_stat[4]}.${__buddy_stat[5]}" = "$2.$session" ]; then kill "-$1" -- "-$2"; fi
}

# For lines that are typed, where the editor is switched off.
__buddy_head() {
  __buddy_tag=$1
  builtin printf '\033]7;buddy;%s;C;%s+%s;%s\a\033]7771;%s;C;%s\a' "$__buddy_key" "$1" "$2" "$__buddy_at" "$__buddy_key" "$1"
}
# The prompt hooks do what the check does elsewhere.
__buddy_check() { __buddy_code=$1; }
__buddy_tail() { return "$1"; }
# The end of command $1 with __buddy_code: what traps print from here on is about buddy's own line.
__buddy_over() {
  builtin printf '\033]7771;%s;E;%s;%s\a' "$__buddy_key" "$__buddy_code" "$1"
  if [ -n "$__buddy_trap" ]; then eval "$__buddy_trap"; __buddy_trap=; fi
}

__buddy_hook() {
  if __buddy_is_fixed PROMPT_COMMAND; then
    __buddy_is_fixed PS1 || __buddy_marked_prompt
    return
  fi
  # An empty expansion runs nothing: `set -x` has nothing to show.
  local before='{ __buddy_before; } 8>&1 9>&2 >/dev/null 2>/dev/null'
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

# Each prompt says so, for a buddy that comes later: Q where lines are typed, R where start-up files had to be left out, U both.
__buddy_letter=P
# Without PS0 the start of a command cannot be reported: its lines are typed, and report it themselves.
if [ "${BASH_VERSINFO[0]}${BASH_VERSINFO[1]}" -ge 44 ] && ! __buddy_is_fixed PS0; then
  for __buddy_file in emacs-standard vi-insert vi-command; do
    bind -m "$__buddy_file" -x '"\e[7774~": __buddy_take' 2>/dev/null
    bind -m "$__buddy_file" '"\e[7775~": accept-line' 2>/dev/null
    bind -m "$__buddy_file" '"\e[7771~": "\e[7774~\e[7775~"' 2>/dev/null
    bind -m "$__buddy_file" -x '"\e[7773~": __buddy_give' 2>/dev/null
  done
else
  __buddy_letter=Q
fi
__buddy_is_fixed PS2 || PS2="\[\e]7771;$__buddy_key;I;\$((__buddy_more=1))\a\]${PS2-> }"
declare +x PS0 PS1 PS2 PROMPT_COMMAND 2>/dev/null
{ echo up >|"$__buddy_run/$__buddy_pane.up"; } 2>/dev/null || :
if [ "$__buddy_plain" = readonly ]; then
  case $__buddy_letter in P) __buddy_letter=R ;; *) __buddy_letter=U ;; esac
fi
unset __buddy_file __buddy_login __buddy_pattern __buddy_plain __buddy_rest
__buddy_hook
eval "unset __buddy_set; $__buddy_set"
