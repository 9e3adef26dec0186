# buddy: your own .zprofile, from where it really is.
ZDOTDIR=$__buddy_user_zdotdir
[[ -z $BUDDY_PLAIN && -r $ZDOTDIR/.zprofile ]] && \builtin source $ZDOTDIR/.zprofile
__buddy_user_zdotdir=${ZDOTDIR:-$HOME}
ZDOTDIR=$__buddy_own
