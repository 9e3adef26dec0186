# buddy: prompt marks for this pane, read after your own start-up files.
# shellcheck shell=bash
__buddy_dir=$BUDDY_DIR __buddy_pane=${TMUX_PANE#%} __buddy_login=$BUDDY_LOGIN __buddy_plain=$BUDDY_PLAIN
[ -z "$BUDDY_POSIX" ] || export POSIXLY_CORRECT=1
unset BUDDY_DIR BUDDY_LOGIN BUDDY_PLAIN BUDDY_POSIX
# Locals are called __b_…: bash makes none of a name that is read-only outside.
# Whether the file names the other one, outside of comments: then it has read it. Of ~/.bashrc only its end may be there, as
# in ~/.{bashrc,aliases}.
__buddy_names() {
  local __b_line
  while IFS= builtin read -r __b_line || [ -n "$__b_line" ]; do
    __b_line=${__b_line%%#*}
    [ "$2" = bash.bashrc ] || __b_line=${__b_line//"/etc/bash.bashrc"/}
    case ${__b_line//"/etc/bashrc"/} in *"$2"*) return ;; esac
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
      if __buddy_names "$__buddy_file" bashrc; then
        __buddy_own=
      elif __buddy_names "$__buddy_file" .profile && __buddy_names ~/.profile bashrc; then
        __buddy_own=
      fi
      break
    done
  fi
  [ -n "$__buddy_etc" ] && [ -r "$__buddy_etc" ] && . "$__buddy_etc"
  [ -n "$__buddy_own" ] && [ -r "$__buddy_own" ] && . "$__buddy_own"
  unset __buddy_etc __buddy_own
fi
# From here on names of commands may be aliases or functions of yours: none is an alias after a backslash, and none is a
# function after `builtin`. A function of that name that runs something else is removed, which posix mode does for certain.
\enable builtin >/dev/null 2>&1
\builtin eval __buddy_shown= >/dev/null 2>&1
if [[ -z ${__buddy_shown+set} ]]; then
  POSIXLY_CORRECT=1
  \unset -f builtin
  \unset POSIXLY_CORRECT
fi
# What `builtin exec` redirects is put back at once.
\builtin unset -f __buddy_names exec
# What start-up files set is set again below: until then a command may fail, and no alias gets into a function.
case $- in *e*) __buddy_set='set -e' ;; *) __buddy_set=: ;; esac
\builtin set +e
if \builtin shopt -q expand_aliases; then __buddy_set="shopt -s expand_aliases; builtin $__buddy_set"; fi
\builtin shopt -u expand_aliases
# Without these nothing could be reported.
builtin enable command printf read history : bind declare echo eval exec export kill local mapfile readonly return set shopt trap umask unset
# Variables that a start-up file made read-only, as hardened machines do: to set one would end this file.
# IFS may be one of them, so nothing is split here.
__buddy_fixed= __buddy_rest=$'\n'$(builtin readonly -p)
for __buddy_file in PROMPT_COMMAND PS0 PS1 PS2 HISTCONTROL; do
  __buddy_pattern=$'\n'"declare -[A-Za-z]* $__buddy_file(="$'|\n|$)'
  [[ $__buddy_rest =~ $__buddy_pattern ]] && __buddy_fixed="$__buddy_fixed $__buddy_file "
done
__buddy_is_fixed() { case $__buddy_fixed in *" $1 "*) builtin return 0 ;; esac; builtin return 1; }
IFS= builtin read -r __buddy_key <"$__buddy_dir/key"
if [[ -z "$__buddy_plain" ]] && { __buddy_is_fixed PROMPT_COMMAND && __buddy_is_fixed PS1 || [[ $__buddy_rest == *' __buddy_'* ]]; }; then
  # Nothing could report a prompt: the same shell again, with what the start-up files exported.
  [[ -z "${POSIXLY_CORRECT+x}" ]] || { builtin unset POSIXLY_CORRECT; builtin export BUDDY_POSIX=1; }
  BUDDY_DIR=$__buddy_dir BUDDY_LOGIN= BUDDY_PLAIN=readonly builtin exec "$BASH" --rcfile "$__buddy_dir/bash.sh" -i
fi
IFS= builtin read -r __buddy_run <"$__buddy_dir/run"
# Where that is gone, nothing is written into the root directory.
builtin : "${__buddy_run:=$__buddy_dir}"
__buddy_id=0 __buddy_more=0 __buddy_code=0 __buddy_tag=0 __buddy_changes= __buddy_shown= __buddy_ps1= __buddy_start=none __buddy_repair= __buddy_result= __buddy_aside= __buddy_lines= __buddy_next= __buddy_at= __buddy_for= __buddy_trap= __buddy_aliases=
if [[ -r "$__buddy_run/$__buddy_pane.cwd" ]]; then
  IFS= builtin read -r -d '' __buddy_file <"$__buddy_run/$__buddy_pane.cwd"
  builtin cd -- "$__buddy_file" 2>/dev/null
fi

# The directory as marks carry it: a byte that a terminal could take for something else is %XX.
__buddy_place() {
  builtin local LC_ALL=C __b_rest="$PWD" __b_byte
  __buddy_for=$PWD __buddy_at=
  while :; do
    __b_byte=${__b_rest%%[!] #\&-[^-~]*}
    __buddy_at=$__buddy_at$__b_byte __b_rest=${__b_rest:${#__b_byte}}
    [[ -n "$__b_rest" ]] || break
    builtin printf -v __b_byte %d "'$__b_rest"
    builtin printf -v __b_byte %%%02X "$((__b_byte & 255))"
    __buddy_at=$__buddy_at$__b_byte __b_rest=${__b_rest:1}
  done
}

# Its stdout is 8 and its stderr 9: what a DEBUG trap of yours prints about this is not output.
__buddy_before() {
  __buddy_code=$?
  if [[ -n "$__buddy_result" ]]; then __buddy_code=$__buddy_result __buddy_result=; fi
  __buddy_id=$((__buddy_id + 1)) __buddy_more=0 __buddy_repair= __buddy_next=${HISTCMD-}
  __buddy_closes
  # After `exec >file` or `exec 2>file` prompts and marks would be hidden: the terminal is put back.
  [[ -t 9 ]] || __buddy_repair=__buddy_stderr
  if [[ ! -t 8 ]]; then
    exec 8>/dev/tty
    __buddy_repair=__buddy_stdout$__buddy_repair
  fi
  if [[ -n "$__buddy_changes" ]]; then __buddy_save; fi
  [[ "$PWD" == "$__buddy_for" ]] || __buddy_place
  builtin local __b_letter="$__buddy_letter"
  # Without its line editor, lines are typed.
  case :$SHELLOPTS: in *:emacs:* | *:vi:*) ;; *) case $__b_letter in P) __b_letter=Q ;; R) __b_letter=U ;; esac ;; esac
  builtin local __b_mark="$__buddy_key;$__b_letter;$__buddy_id;$__buddy_code;$__buddy_tag;$__buddy_at"
  builtin printf '\033]7771;%s\a\033]7;buddy;%s\a' "$__b_mark" "$__b_mark" >&8
  __buddy_tag=0
  if [[ -n "${__buddy_history+set}" ]]; then
    HISTCONTROL=$__buddy_history
    builtin unset __buddy_history
  fi
  # With set -e it would end the shell, for a child that only read.
  [[ $- == *e* ]] || builtin return "$__buddy_code"
}

# For background shells. Before the prompt is reported where the command may have changed something, after it otherwise.
__buddy_save() { { builtin export -p; builtin printf 'umask '; builtin umask; } >|"$__buddy_run/$__buddy_pane.env"; }

__buddy_stderr() { exec 2>/dev/tty; }
__buddy_stdout() { exec >/dev/tty; }
__buddy_stdout__buddy_stderr() { exec >/dev/tty 2>/dev/tty; }

# Your own PROMPT_COMMAND may have set PS1 again: whatever it is now follows buddy's part of the prompt.
__buddy_after() {
  if __buddy_is_fixed PS1; then
    # Without the mark that the prompt is drawn: here it would come too early, and the prompt be taken for typed text.
    builtin printf '[buddy %s: %s] ' "$__buddy_id" "$__buddy_code"
  else
    [[ "$PS1" == "$__buddy_shown" ]] || __buddy_ps1=$PS1
    __buddy_shown="[buddy $__buddy_id: $__buddy_code] $__buddy_ps1\[\e]7771;$__buddy_key;B\a\]"
    PS1=$__buddy_shown
  fi
  if [[ "${PS0-}" != "$__buddy_start" ]] && ! __buddy_is_fixed PS0; then
    # Set while the prompt is drawn, and never later: bash would print freed memory. What your own PS0 prints is not output.
    builtin local __b_mark="\e]7;buddy;$__buddy_key;C;\${__buddy_tag};\${__buddy_at}\a\e]7771;$__buddy_key;C;\${__buddy_tag}"
    __buddy_start="$__b_mark\a"
    [[ -z "${PS0-}" ]] || __buddy_start="$__b_mark;S\a$PS0\e]7771;$__buddy_key;S;\${__buddy_tag}\a"
    PS0=$__buddy_start
  fi
  if [[ -z "$__buddy_changes" ]]; then __buddy_save; fi
  __buddy_changes=
  case $- in *a*) builtin declare +x PS0 PS1 PS2 PROMPT_COMMAND ${!__buddy_*} ;; esac
}

# Where PROMPT_COMMAND cannot be set, the prompt itself carries the mark.
__buddy_print() { { __buddy_place; builtin printf %s "$__buddy_at"; builtin return "${1:-0}"; } 2>/dev/null; }
__buddy_marked_prompt() {
  builtin local __b_mark='$?;$((__buddy_tag));$(__buddy_print "$?")\a'
  builtin local __b_before="\[\e]7;buddy;$__buddy_key;$__buddy_letter;\$((__buddy_id+=1));$__b_mark\e]7771;$__buddy_key;$__buddy_letter;\$((__buddy_id));$__b_mark\]"
  # shellcheck disable=SC1087
  __b_before="$__b_before[buddy \$((__buddy_id+(__buddy_tag=0)+(__buddy_more=0))): \$?] "
  case $PS1 in "$__b_before"*) ;; *) PS1="$__b_before$PS1\[\e]7771;$__buddy_key;B\a\]" ;; esac
  __buddy_start="\e]7;buddy;$__buddy_key;C;\${__buddy_tag};\$(__buddy_print)\a\e]7771;$__buddy_key;C;\${__buddy_tag}\a"
  case ${PS0-} in "$__buddy_start"*) ;; *) __buddy_is_fixed PS0 || PS0=$__buddy_start${PS0-} ;; esac
}

# Either this shell or buddy decides about a command: whoever makes its file. False: buddy has withdrawn it, or it was taken.
__buddy_claim() {
  builtin local -
  builtin set -C
  { builtin : >"$__buddy_run/$__buddy_pane.claim.$1"; } 2>/dev/null
}

# Bound to a key that no keyboard sends: puts the command into the line at once, whatever the operator had typed there.
__buddy_take() {
  builtin local __b_tag= __b_line= __b_shown= __b_for=
  # What is left of this key where it came after half of another one.
  READLINE_LINE=${READLINE_LINE//$'\e[7771~'/}
  READLINE_LINE=${READLINE_LINE//'[7771~'/}
  if [[ "$__buddy_more" == 1 ]]; then
    # The operator is in the middle of a command of several lines: that is given up first, buddy asks again. The lines before
    # this one are in the history, unless that leaves them out.
    __b_line=$({ HISTTIMEFORMAT= builtin history 1; } 2>/dev/null)
    __b_line=${__b_line#"${__b_line%%[0-9]*}"} __b_tag=${__b_line%%[!0-9]*}
    if [[ -n "$__b_tag" ]] && [[ "$__b_tag" == "$__buddy_next" ]]; then __buddy_lines=${__b_line:${#__b_tag}+2}$'\n'$READLINE_LINE; fi
    builtin printf '\033]7771;%s;T;;\a' "$__buddy_key"
    READLINE_LINE=
    builtin kill -INT "$$"
    builtin return
  fi
  # With set -e, the end of a file is not to end the shell.
  { IFS= builtin read -r __b_tag; IFS= builtin read -r -d '' __b_line; } 2>/dev/null <"$__buddy_run/$__buddy_pane.next" || builtin :
  builtin : >|"$__buddy_run/$__buddy_pane.next"
  if [[ -n "$__b_line" ]] && ! __buddy_claim "$__b_tag"; then __b_tag= __b_line=; fi
  __buddy_aside=$__buddy_lines$READLINE_LINE __buddy_lines=
  builtin printf '\033]7771;%s;T;%s;%s\a' "$__buddy_key" "$__b_tag" "${__buddy_aside//[[:cntrl:]]/ }"
  { IFS= builtin read -r __b_for; IFS= builtin read -r -d '' __b_shown; } 2>/dev/null <"$__buddy_run/$__buddy_pane.shown" || builtin :
  if [[ -n "$__b_tag" ]] && [[ "$__b_for" == "$__b_tag" ]]; then
    # The operator sees the text that runs, not how it is started: readline draws that line unseen.
    builtin : >|"$__buddy_run/$__buddy_pane.shown"
    __buddy_show "$__b_shown"
    exec 2>/dev/null
  else
    # A clean child changes nothing here.
    case $__b_line in *=* | *export* | *declare* | *typeset* | *unset* | *umask* | *source* | *eval* | *'. '*) __buddy_changes=1 ;; esac
  fi
  __buddy_tag=${__b_tag:-0}
  if [[ $__b_line == ' '* ]] && ! __buddy_is_fixed HISTCONTROL; then
    __buddy_history=${HISTCONTROL-}
    HISTCONTROL=ignorespace
  fi
  __buddy_hook
  READLINE_LINE=$__b_line READLINE_POINT=${#__b_line}
}

# Another such key: puts back what was set aside, before whatever was typed since.
__buddy_give() {
  READLINE_LINE=$__buddy_aside$READLINE_LINE READLINE_POINT=$((${#__buddy_aside} + READLINE_POINT))
  __buddy_aside=
}

# After the prompt, which readline has erased. A prompt that runs programs is not drawn twice.
__buddy_show() {
  builtin local __b_prompt="[buddy $__buddy_id: $__buddy_code] \\$ "
  case $PS1 in *'$('* | *'`'*) ;; *) __b_prompt=$PS1 ;; esac
  __b_prompt=${__b_prompt@P}
  __b_prompt=${__b_prompt##*$'\n'}
  builtin printf '%s\n' "${__b_prompt//[$'\1\2']/}$1" >&2
}

# What runs unasked is run by a clean shell that stays in the read-only namespace, on this terminal, and forks for each text. It
# is not a job of this shell and not $!, and its pipes are opened by name: nothing that you start inherits them.
__buddy_asks=1 __buddy_server= __buddy_piped= __buddy_ended=() __buddy_refused= __buddy_state= __buddy_now=
# $1 tag, $2 file of the namespace, $3 terminal, $4 text. True when it was taken: __buddy_code is its exit code.
__buddy_ask() {
  [[ -n "$__buddy_server" ]] && __buddy_inherits "$2" "$3" && [[ "$__buddy_now" == "$__buddy_state" ]] && __buddy_serves || builtin return
  builtin local __b_line= __b_part= __b_at= __b_taken= __b_code= __b_dead= __b_round=0 __b_int=
  builtin trap '__b_int=1' INT
  {
    builtin printf '%s;%s\0' "$1" "$4" >&7
    while [[ -z "$__b_code" ]]; do
      # Half a line may come before the time is over.
      if IFS= builtin read -r -t 0.5 __b_part <&8; then
        __b_line=$__b_line$__b_part
        case $__b_line in
        "$1 taken") __b_taken=1 ;;
        # Its process group, which has the terminal from here on.
        "$1 at "*) __b_at=${__b_line##* } ;;
        "$1 end "*) __b_code=${__b_line##* } ;;
        "$1 left") break ;;
        esac
        __b_line= __b_part=
      elif [[ -n "$__b_dead" ]]; then break
      elif ! __buddy_serves; then __b_dead=1
      elif [[ -z "$__b_taken" ]] && [[ "$((__b_round += 1))" -gt 20 ]]; then builtin kill -KILL "${__buddy_server% *}"
      fi
      __b_line=$__b_line$__b_part __b_part=
      # Pressed before it had the terminal.
      if [[ -n "$__b_int" ]] && [[ -n "$__b_at" ]]; then __b_int=; __buddy_signal INT "$__b_at"; fi
    done
  } 7<>"$__buddy_run/$__buddy_pane.ask" 8<>"$__buddy_run/$__buddy_pane.told"
  builtin trap - INT
  if [[ -z "$__b_taken" ]]; then
    [[ -z "$__b_int" ]] || builtin kill -INT "$$"
    builtin return 1
  fi
  # What was taken is not run again, whatever became of it.
  case $__b_code in '' | *[!0-9]*)
    # Pressed before it began.
    __b_code=137
    [[ -z "$__b_int" ]] || [[ -n "$__b_at" ]] || __b_code=130
    __buddy_signal KILL "$__b_at"
    ;;
  esac
  # A job that is killed makes bash put the terminal back as it was, and take it.
  [[ "$__b_code" -le 128 ]] || ( builtin kill -KILL "$BASHPID" ) || builtin :
  __buddy_code=$__b_code
}
# $1 file of the namespace, which was just looked at, $2 terminal.
__buddy_serve() {
  builtin local __b_ask="$__buddy_run/$__buddy_pane.ask" __b_told="$__buddy_run/$__buddy_pane.told" __b_line= __b_part= __b_pid= __b_ready= __b_round=0 __b_int=
  builtin local -a __b_ended
  __b_ended=()
  [[ "$__buddy_refused" != "$1 $__buddy_pid $__buddy_since" ]] && __buddy_inherits "$@" || builtin return
  # It is an orphan. In containers where no process reaps those, there are no more than a few.
  for __b_pid in "${__buddy_ended[@]}"; do
    if [[ -e "/proc/$__b_pid" ]]; then __b_ended+=("$__b_pid"); fi
  done
  __buddy_ended=("${__b_ended[@]}") __b_pid=
  [[ "${#__b_ended[@]}" -lt 8 ]] || builtin return
  builtin trap '__b_int=1' INT
  __buddy_leave
  # Only this shell asks through them.
  if [[ -n "$__buddy_piped" ]] && [[ -p "$__b_ask" ]] && [[ -p "$__b_told" ]] ||
    { __buddy_bare PATH=/usr/bin:/bin rm -f -- "$__b_ask" "$__b_told" && __buddy_bare PATH=/usr/bin:/bin mkfifo -m 600 -- "$__b_ask" "$__b_told"; }; then
    __buddy_piped=1
    {
      builtin set +m
      ( __buddy_namespace <&0 2</dev/tty 5<&7 6>&8 7>&- 8>&- & builtin printf 'started %s\n' "$!" >&8 )
      builtin set -m
      until [[ -n "$__b_pid" ]] && [[ -n "$__b_ready" ]] || [[ "$__b_round" -gt 100 ]]; do
        if IFS= builtin read -r -t 0.1 __b_part <&8; then
          case $__b_line$__b_part in 'started '*) __b_pid=$__b_line$__b_part __b_pid=${__b_pid#* } ;; ready) __b_ready=1 ;; esac
          __b_line= __b_part=
        elif [[ -n "$__b_pid" ]] && ! __buddy_stat "$__b_pid"; then break
        else __b_round=$((__b_round + 1))
        fi
        __b_line=$__b_line$__b_part __b_part=
      done
    } 7<>"$__b_ask" 8<>"$__b_told"
  fi
  builtin trap - INT
  if [[ -n "$__b_ready" ]] && __buddy_stat "$__b_pid"; then
    __buddy_server="$__b_pid ${__buddy_stat[21]}" __buddy_state=$__buddy_now
    [[ -z "$__b_int" ]] || builtin kill -INT "$$"
  else
    __buddy_refused="$1 $__buddy_pid $__buddy_since"
    [[ -z "$__b_pid" ]] || builtin kill -KILL "$__b_pid"
    builtin return 1
  fi
}
# Ends the one before: only one may read the pipe.
__buddy_leave() {
  builtin local __b_line= __b_part= __b_round=0
  [[ -n "$__buddy_server" ]] || builtin return
  if __buddy_serves; then
    {
      builtin printf 'leave;\0' >&7
      until [[ $__b_line == *'leave left' ]] || ! __buddy_serves; do
        IFS= builtin read -r -t 0.1 __b_part <&8 || [[ "$((__b_round += 1))" -lt 20 ]] || builtin kill -KILL "${__buddy_server% *}"
        __b_line=$__b_line$__b_part
      done
    } 7<>"$__buddy_run/$__buddy_pane.ask" 8<>"$__buddy_run/$__buddy_pane.told"
  fi
  __buddy_ended+=("${__buddy_server% *}") __buddy_server=
}
# Sets __buddy_now to all that a child inherits from this shell: when that changes, another clean shell is started. There is
# none without job control, away from the terminal, or with an INT trap of yours.
__buddy_inherits() {
  case $- in *m*) ;; *) builtin return 1 ;; esac
  [[ /dev/fd/0 -ef "$2" ]] || [[ /dev/fd/0 -ef /dev/tty ]] || builtin return
  [[ /dev/fd/1 -ef "$2" ]] || [[ /dev/fd/1 -ef /dev/tty ]] || builtin return
  { builtin export -p; builtin declare -fx; builtin umask; builtin trap -p; } >|"$__buddy_run/$__buddy_pane.state" || builtin return
  builtin local -a __b_state __b_limits
  builtin mapfile -d '' __b_state <"$__buddy_run/$__buddy_pane.state"
  builtin mapfile -d '' __b_limits <"/proc/$$/limits"
  case ${__b_state-} in *SIGINT*) builtin return 1 ;; esac
  __buddy_stat "$$" && __buddy_now=$1' '${__buddy_stat[18]}' '${__b_limits-}${__b_state-}
}
__buddy_serves() { __buddy_stat "${__buddy_server% *}" && [[ "${__buddy_stat[21]}" == "${__buddy_server#* }" ]]; }
# Reads about process $1: state 2, group 4, session 5, niceness 18, start 21.
__buddy_stat() {
  __buddy_stat=()
  IFS=' ' builtin read -r -a __buddy_stat <"/proc/$1/stat"
  case ${__buddy_stat[2]-} in '' | [ZX]) builtin return 1 ;; esac
}
# Signal $1 to process group $2, if that is one on this terminal.
__buddy_signal() {
  __buddy_stat "$$" || builtin return
  builtin local __b_session="${__buddy_stat[5]}"
  if __buddy_stat "${2:-none}" && [[ "${__buddy_stat[4]}.${__buddy_stat[5]}" == "$2.$__b_session" ]]; then builtin kill "-$1" -- "-$2"; fi
}

# For lines that are typed, where the editor is switched off.
__buddy_head() {
  __buddy_tag=$1
  builtin printf '\033]7;buddy;%s;C;%s+%s;%s\a\033]7771;%s;C;%s\a' "$__buddy_key" "$1" "$2" "$__buddy_at" "$__buddy_key" "$1"
}
# The prompt hooks do what the check does elsewhere.
__buddy_check() { __buddy_code=$1; }
__buddy_tail() { builtin return "$1"; }
# Before the lines of a command that runs unasked, which are read without your aliases.
__buddy_opens() {
  if __buddy_is_fixed PROMPT_COMMAND; then __buddy_stderr; fi
  if builtin shopt -q expand_aliases; then __buddy_aliases=1; builtin shopt -u expand_aliases; fi
}
__buddy_closes() {
  if [[ -n $__buddy_aliases ]]; then __buddy_aliases=; builtin shopt -s expand_aliases; fi
}
# To where a clean child was last, which file $1 has.
__buddy_follow() {
  builtin local __b_to=
  IFS= builtin read -r -d '' __b_to <"$1" || builtin :
  __b_to=${__b_to%$'\n'}
  [[ -z $__b_to || $__b_to == "$PWD" ]] || builtin cd -- "$__b_to" >/dev/null || builtin :
}
# The end of command $1 with __buddy_code: what traps print from here on is about buddy's own line.
__buddy_over() {
  __buddy_closes
  builtin printf '\033]7771;%s;E;%s;%s\a' "$__buddy_key" "$__buddy_code" "$1"
  if [[ -n "$__buddy_trap" ]]; then builtin eval "$__buddy_trap"; __buddy_trap=; fi
}
# With set -e its exit code would end the shell: the next prompt reports it.
__buddy_ends() { [[ $- == *e* ]] && __buddy_result=$__buddy_code; }
# Finds the process of the namespace in file $1, if it is still the same and this directory can be entered by its name.
__buddy_look() {
  __buddy_pid= __buddy_since=
  IFS=' ' builtin read -r __buddy_pid __buddy_since <"$1"
  if [[ -n $__buddy_since ]] && __buddy_stat "$__buddy_pid" && [[ ${__buddy_stat[21]} == "$__buddy_since" && . -ef ${PWD:-} ]]; then
    builtin return 0
  fi
  __buddy_pid=
  builtin return 1
}

__buddy_hook() {
  if __buddy_is_fixed PROMPT_COMMAND; then
    __buddy_is_fixed PS1 || __buddy_marked_prompt
    builtin return
  fi
  # An empty expansion runs nothing: `set -x` has nothing to show.
  builtin local __b_before='{ __buddy_before; } 8>&1 9>&2 >/dev/null 2>/dev/null'
  builtin local __b_after='{ __buddy_after; } 2>/dev/null; ${__buddy_repair:+"$__buddy_repair"}'
  # The first of all: what other hooks print (bash-preexec puts its own in front) is not output.
  case ${PROMPT_COMMAND[*]-} in "$__b_before"*__buddy_after*) builtin return ;; esac
  builtin local __b_i
  for __b_i in "${!PROMPT_COMMAND[@]}"; do
    PROMPT_COMMAND[__b_i]=${PROMPT_COMMAND[__b_i]//"$__b_before"/:}
    PROMPT_COMMAND[__b_i]=${PROMPT_COMMAND[__b_i]//"$__b_after"/:}
    if [[ "${PROMPT_COMMAND[__b_i]}" == : ]]; then builtin unset "PROMPT_COMMAND[__b_i]"; fi
  done
  if [[ "${BASH_VERSINFO[0]}${BASH_VERSINFO[1]}" -ge 51 ]]; then
    PROMPT_COMMAND=("$__b_before" "${PROMPT_COMMAND[@]}" "$__b_after")
  else
    # shellcheck disable=SC2178
    PROMPT_COMMAND="$__b_before
${PROMPT_COMMAND-}
$__b_after"
  fi
}

# After lines that may have replaced the hooks.
__buddy_again() {
  __buddy_code=$?
  __buddy_hook
  __buddy_ends || builtin return "$__buddy_code"
}

# Each prompt says so, for a buddy that comes later: Q where lines are typed, R where start-up files had to be left out, U both.
__buddy_letter=P
# Without PS0 the start of a command cannot be reported: its lines are typed, and report it themselves.
if [[ "${BASH_VERSINFO[0]}${BASH_VERSINFO[1]}" -ge 44 ]] && ! __buddy_is_fixed PS0; then
  for __buddy_file in emacs-standard vi-insert vi-command; do
    builtin bind -m "$__buddy_file" -x '"\e[7774~": __buddy_take' 2>/dev/null
    builtin bind -m "$__buddy_file" '"\e[7775~": accept-line' 2>/dev/null
    builtin bind -m "$__buddy_file" '"\e[7771~": "\e[7774~\e[7775~"' 2>/dev/null
    builtin bind -m "$__buddy_file" -x '"\e[7773~": __buddy_give' 2>/dev/null
  done
else
  __buddy_letter=Q
fi
__buddy_is_fixed PS2 || PS2="\[\e]7771;$__buddy_key;I;\$((__buddy_more=1))\a\]${PS2-> }"
builtin declare +x PS0 PS1 PS2 PROMPT_COMMAND 2>/dev/null
{ builtin echo up >|"$__buddy_run/$__buddy_pane.up"; } 2>/dev/null || builtin :
if [[ "$__buddy_plain" == readonly ]]; then
  case $__buddy_letter in P) __buddy_letter=R ;; *) __buddy_letter=U ;; esac
fi
builtin unset __buddy_file __buddy_login __buddy_pattern __buddy_plain __buddy_rest
__buddy_hook
builtin eval "unset __buddy_set; $__buddy_set"
