# Finishes a second after the command ended, if something it left behind keeps the output open. A program of
# its own: a subshell would itself hold the pipes that dash saves for redirections.
. ./background-finish.sh
sleep 1
verdict "$1"; finish "$1" "$c"
