# Changes to the last directory of the child, which it has written to a file.
__buddy_to= __buddy_rest=
{ IFS= read -r __buddy_to || :; while IFS= read -r __buddy_rest; do __buddy_to=$__buddy_to'
'$__buddy_rest; done; } <@to@
[ -z "$__buddy_to" ] || [ "$__buddy_to" = "$PWD" ] || @cd@ -- "$__buddy_to" >/dev/null || :
