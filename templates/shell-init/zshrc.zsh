# buddy: your own .zshrc, from where it really is, then the prompt marks.
ZDOTDIR=$__buddy_user_zdotdir
[[ ${HISTFILE-} == $__buddy_own/* ]] && HISTFILE=$ZDOTDIR/.zsh_history
[[ -z $BUDDY_PLAIN && -r $ZDOTDIR/.zshrc ]] && \builtin source $ZDOTDIR/.zshrc
# A function of yours with this name that runs something else is removed: nothing could be reported.
\builtin eval __buddy_ok= >/dev/null 2>&1
(( ${+__buddy_ok} )) || \unfunction builtin
[[ -z $__buddy_had && $ZDOTDIR == $HOME ]] && \builtin unset ZDOTDIR
__buddy_load
# What zsh draws there would be taken for output.
[[ ${(t)PROMPT_EOL_MARK-} == *readonly* ]] && \builtin unsetopt promptsp
\builtin unset __buddy_ok __buddy_own __buddy_had __buddy_user_zdotdir
