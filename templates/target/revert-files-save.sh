# Files and directories with their contents, and their names: those that did not exist before are removed.
# shellcheck disable=SC2043
set --
for p in @paths@; do if [ -e "$p" ] || [ -L "$p" ]; then set -- "$@" "${p#/}"; fi; done
for p in @paths@; do find "$p" ! -type d 2>/dev/null; done >list
if [ $# = 0 ]; then exit 0; fi
tar --acls --xattrs -cpf files.tar -C / -- "$@" 2>/dev/null || tar -cpf files.tar -C / -- "$@"
