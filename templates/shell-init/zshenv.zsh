# buddy: your own .zshenv, from where it really is.
# What the files of the system make read-only is not made so again.
[[ $BUDDY_PLAIN == readonly ]] && unsetopt globalrcs
# Defined before options of yours change how zsh reads it.
__buddy_load() { builtin emulate -L zsh; builtin source $BUDDY_DIR/zsh.zsh; }
typeset -g __buddy_own=$ZDOTDIR __buddy_had=$BUDDY_ZDOTDIR
ZDOTDIR=${BUDDY_ZDOTDIR:-$HOME}
unset BUDDY_ZDOTDIR
[[ -z $BUDDY_PLAIN && -r $ZDOTDIR/.zshenv ]] && source $ZDOTDIR/.zshenv
\builtin typeset -g __buddy_user_zdotdir=${ZDOTDIR:-$HOME}
ZDOTDIR=$__buddy_own
