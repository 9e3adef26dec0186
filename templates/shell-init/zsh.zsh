# buddy: prompt marks for this pane, read after your own start-up files, in a function with zsh's own options.
# Commands may have aliases and functions of yours: there is none of either after `builtin`.
\builtin setopt noaliases
# Without these nothing could be reported.
builtin enable : bindkey cd emulate exec export local print printf read return setopt source trap typeset umask unfunction unset unsetopt zle
builtin typeset -g __buddy_dir=$BUDDY_DIR __buddy_pane=${TMUX_PANE#%} __buddy_key __buddy_run __buddy_shown= __buddy_user= __buddy_changes= __buddy_aside= __buddy_lines= __buddy_at= __buddy_for=
builtin typeset -gi __buddy_id=0 __buddy_code=0 __buddy_tag=0
builtin typeset -g __buddy_plain=$BUDDY_PLAIN
builtin unset BUDDY_DIR BUDDY_PLAIN
if [[ -z $__buddy_plain && "${(t)precmd_functions} ${(t)preexec_functions} ${(t)zshaddhistory_functions} ${(t)IFS}" == *readonly* ]]; then
  # Nothing could report a prompt: the same shell again, with what the start-up files exported.
  builtin export BUDDY_DIR=$__buddy_dir BUDDY_PLAIN=readonly BUDDY_ZDOTDIR=${ZDOTDIR-} ZDOTDIR=$__buddy_dir/zsh
  builtin exec ${ZSH_ARGZERO:-zsh} -i
fi
IFS= builtin read -r __buddy_key <$__buddy_dir/key
IFS= builtin read -r __buddy_run <$__buddy_dir/run
# Where that is gone, nothing is written into the root directory.
builtin : ${__buddy_run:=$__buddy_dir}
if [[ -r $__buddy_run/$__buddy_pane.cwd ]]; then
  IFS= builtin read -r -d '' __buddy_shown <$__buddy_run/$__buddy_pane.cwd
  builtin cd -q -- $__buddy_shown 2>/dev/null
  __buddy_shown=
fi

# The directory as marks carry it: a byte that a terminal could take for something else is %XX.
__buddy_place() {
  builtin emulate -L zsh; builtin setopt noxtrace extendedglob nomultibyte
  builtin local MATCH
  __buddy_for=$PWD __buddy_at=${PWD//(#m)[^]\ \#\&-\[\^-\~]/%${(l:2::0:)$(( [##16] #MATCH ))}}
}

# The group hides what `set -x` would print of this function.
__buddy_before() { {
  builtin local -i code="$?" __buddy_zle=0
  [[ -o zle ]] && __buddy_zle=1
  builtin emulate -L zsh; builtin setopt noxtrace
  __buddy_code=code
  (( __buddy_id++ ))
  # After `exec >file` or `exec 2>file` marks and output would be hidden: the terminal is put back.
  [[ -t 1 ]] || builtin exec >/dev/tty
  [[ -n $__buddy_changes ]] && __buddy_save
  [[ $PWD == "$__buddy_for" ]] || __buddy_place
  builtin local letter=$__buddy_letter
  # Without its line editor, lines are typed.
  (( __buddy_zle )) || letter=${${letter/P/Q}/R/U}
  builtin local mark="$__buddy_key;$letter;$__buddy_id;$code;$__buddy_tag;$__buddy_at"
  builtin printf '\033]7;buddy;%s\a\033]7771;%s\a' $mark $mark
  __buddy_tag=0
  __buddy_eol
  builtin return code
} 2>/dev/null }

# For background shells. Before the prompt is reported where the command may have changed something, after it otherwise.
__buddy_save() {
  builtin local name
  {
    for name in ${(k)parameters[(R)*export*]}; do builtin print -r -- "export $name=${(qq)${(P)name}}"; done
    builtin print -n 'umask '; builtin umask
  } >|$__buddy_run/$__buddy_pane.env
}

__buddy_after() {
  builtin emulate -L zsh; builtin setopt noxtrace
  [[ -n $__buddy_changes ]] || __buddy_save 2>/dev/null
  __buddy_changes=
  [[ -t 2 ]] || builtin exec 2>/dev/tty
  [[ $PROMPT == $__buddy_shown ]] || __buddy_user=$PROMPT
  __buddy_shown="[buddy $__buddy_id: $__buddy_code] $__buddy_user%{"$'\e'"]7771;$__buddy_key;B"$'\a'"%}"
  PROMPT=$__buddy_shown
  __buddy_bind
}

__buddy_start() {
  builtin emulate -L zsh; builtin setopt noxtrace
  __buddy_eol ends
  # What you entered: on the screen it may be on several rows. Without a history only its third form is given.
  builtin local line=
  (( __buddy_tag )) || line=";L;${${${1:-$3}[1,500]}//[[:cntrl:]]/ }"
  builtin printf '\033]7;buddy;%s;C;%s;%s\a\033]7771;%s;C;%s%s\a' $__buddy_key $__buddy_tag $__buddy_at $__buddy_key $__buddy_tag $line
}

# Either this shell or buddy decides about a command: whoever makes its file. False: buddy has withdrawn it, or it was taken.
__buddy_claim() {
  builtin emulate -L zsh; builtin setopt noxtrace noclobber
  { builtin : >$__buddy_run/$__buddy_pane.claim.$1 } 2>/dev/null
}

# Bound to a key that no keyboard sends: puts the command into the line at once, whatever the operator had typed there.
__buddy_take() {
  builtin emulate -L zsh; builtin setopt noxtrace
  builtin local tag= line= shown= for=
  # What is left of this key where it came after half of another one.
  BUFFER=${${BUFFER//$'\e[7771~'/}//'[7771~'/}
  if [[ -n $PREBUFFER ]]; then
    # The operator is in the middle of a command of several lines: that is given up first, buddy asks again.
    __buddy_lines=$PREBUFFER$BUFFER
    builtin printf '\033]7771;%s;T;;\a' $__buddy_key
    builtin zle .send-break
    builtin return
  fi
  { IFS= builtin read -r tag; IFS= builtin read -r -d '' line } 2>/dev/null <$__buddy_run/$__buddy_pane.next
  builtin : >|$__buddy_run/$__buddy_pane.next
  if [[ -n $line ]] && ! __buddy_claim $tag; then tag= line=; fi
  __buddy_aside=$__buddy_lines$BUFFER __buddy_lines=
  builtin printf '\033]7771;%s;T;%s;%s\a' $__buddy_key "$tag" "${__buddy_aside//[[:cntrl:]]/ }"
  __buddy_tag=${tag:-0}
  __buddy_hook
  # zsh names a missing file on the screen, whatever stderr is.
  [[ -s $__buddy_run/$__buddy_pane.shown ]] && { IFS= builtin read -r for; IFS= builtin read -r -d '' shown } <$__buddy_run/$__buddy_pane.shown
  if [[ -n $tag && $for == $tag ]]; then
    # The operator sees the text that runs, not how it is started: that line is accepted without being drawn.
    builtin : >|$__buddy_run/$__buddy_pane.shown
    BUFFER=$shown CURSOR=$#shown
    builtin zle -R
    builtin zle -I
    # With a key waiting, zsh does not draw again.
    builtin zle -U $'\e[7772~'
  else
    # A clean child changes nothing here.
    case $line in (*=* | *export* | *typeset* | *unset* | *umask* | *source* | *eval* | *'. '*) __buddy_changes=1 ;; esac
  fi
  BUFFER=$line CURSOR=$#line
  builtin zle .accept-line
}

# To where a clean child was last, which file $1 has.
__buddy_follow() {
  builtin emulate -L zsh; builtin setopt noxtrace
  builtin local to=
  IFS= builtin read -r -d '' to <$1
  to=${to%$'\n'}
  [[ -z $to || $to == "$PWD" ]] || builtin cd -q -- $to >/dev/null
}

# Another such key: puts back what was set aside, before whatever was typed since.
__buddy_give() {
  builtin emulate -L zsh; builtin setopt noxtrace
  BUFFER=$__buddy_aside$BUFFER
  (( CURSOR += $#__buddy_aside ))
  __buddy_aside=
}

__buddy_nothing() { builtin :; }

__buddy_history() {
  builtin emulate -L zsh
  [[ $1 == " \\builtin . $__buddy_run/"* ]] && builtin return 1
  builtin return 0
}

# zsh draws its mark for a missing newline before any hook or trap runs: while a command runs, that begins with the mark
# of its end. Otherwise what zsh, hooks and a DEBUG trap print there would be taken for output.
__buddy_eol() {
  builtin emulate -L zsh; builtin setopt noxtrace
  [[ ${(t)PROMPT_EOL_MARK} == *readonly* ]] && builtin return
  if [[ -n $__buddy_eol_now && ${PROMPT_EOL_MARK-} == "$__buddy_eol_now" ]]; then
    if (( __buddy_eol_set )); then PROMPT_EOL_MARK=$__buddy_eol_was; else builtin unset PROMPT_EOL_MARK; fi
  fi
  __buddy_eol_now=
  [[ ${1-} == ends ]] || builtin return
  __buddy_eol_set=${+PROMPT_EOL_MARK} __buddy_eol_was=${PROMPT_EOL_MARK-%B%S%#%s%b}
  __buddy_eol_now=$'%{\e]7771;'$__buddy_key";E;%?;$__buddy_tag"$'\a%}'$__buddy_eol_was
  builtin typeset -g PROMPT_EOL_MARK=$__buddy_eol_now
}

# The function called precmd runs before all hooks: what those print, or put in front of buddy's, is not output.
__buddy_first() {
  builtin local -i code="$?"
  [[ -t 1 ]] && builtin printf '\033]7771;%s;E;%s;%s\a' $__buddy_key $code $__buddy_tag
  builtin return code
}

# For lines that are typed, where the editor is switched off.
__buddy_head() {
  __buddy_tag=$1
  __buddy_eol ends
  builtin printf '\033]7;buddy;%s;C;%s+%s;%s\a\033]7771;%s;C;%s\a' "$__buddy_key" "$1" "$2" "$__buddy_at" "$__buddy_key" "$1"
}
# The prompt hooks do what the check does elsewhere.
__buddy_check() { __buddy_code=$1; }
__buddy_tail() { builtin return $1; }

# Again at each prompt: another keymap may have become the main one.
__buddy_bind() {
  builtin local map
  for map in main emacs viins vicmd; do
    builtin bindkey -M $map '\e[7771~' __buddy_take '\e[7772~' __buddy_nothing '\e[7773~' __buddy_give
  done 2>/dev/null
}

__buddy_hook() {
  builtin emulate -L zsh; builtin setopt noxtrace
  if [[ ${functions[precmd]-} != *__buddy_first* ]]; then
    builtin unfunction __buddy_user_precmd 2>/dev/null
    (( ${+functions[precmd]} )) && functions[__buddy_user_precmd]=$functions[precmd]
    precmd() {
      { __buddy_first } 2>/dev/null
      (( ! ${+functions[__buddy_user_precmd]} )) || __buddy_user_precmd "$@"
    }
  fi
  precmd_functions=(__buddy_before ${${precmd_functions:#__buddy_before}:#__buddy_after} __buddy_after)
  preexec_functions=(${preexec_functions:#__buddy_start} __buddy_start)
  zshaddhistory_functions=(${zshaddhistory_functions:#__buddy_history} __buddy_history)
}

# After lines that may have replaced the hooks.
__buddy_again() {
  builtin local -i code="$?"
  __buddy_hook
  [[ -o errexit ]] || builtin return code
}

builtin typeset -gi __buddy_eol_set=0
builtin typeset -g __buddy_eol_was= __buddy_eol_now=
builtin typeset -ga precmd_functions preexec_functions zshaddhistory_functions
builtin typeset -g +x PROMPT PS1 PS2
__buddy_hook
builtin zle -N __buddy_take
builtin zle -N __buddy_nothing
builtin zle -N __buddy_give
__buddy_bind
[[ ${(t)PS2} == *readonly* ]] || PS2=$'%{\e]7771;'"$__buddy_key"$';I\a%}'"$PS2"
{ builtin print up >|$__buddy_run/$__buddy_pane.up } 2>/dev/null || builtin :
# R: start-up files had to be left out.
builtin typeset -g __buddy_letter=P
[[ $__buddy_plain == readonly ]] && __buddy_letter=R
builtin unset __buddy_plain
