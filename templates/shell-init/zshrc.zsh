# buddy: your own .zshrc, from where it really is, then the prompt marks.
ZDOTDIR=$__buddy_user_zdotdir
[[ ${HISTFILE-} == $__buddy_own/* ]] && HISTFILE=$ZDOTDIR/.zsh_history
[[ -z $BUDDY_PLAIN && -r $ZDOTDIR/.zshrc ]] && source $ZDOTDIR/.zshrc
[[ -z $__buddy_had && $ZDOTDIR == $HOME ]] && unset ZDOTDIR
__buddy_load
# What zsh draws there would be taken for output.
[[ ${(t)PROMPT_EOL_MARK-} == *readonly* ]] && unsetopt promptsp
unset __buddy_own __buddy_had __buddy_user_zdotdir
