# Arguments: path, working directory, name for the temporary file, target of the link or "" to remove the
# file. Exit 21: it is a directory.
LC_ALL=C; export LC_ALL
. ./file-enter.sh
r=$1 dir=${1%/*}
if [ -z "$4" ] && [ ! -d "${dir:-/}" ]; then exit 0; fi
enter "${dir:-/}"
f=./${r##*/}
if [ -d "$f" ] && [ ! -L "$f" ]; then exit 21; fi
if [ -z "$4" ]; then exec rm -f "$f"; fi
trap 'rm -f "./$3"' EXIT
ln -s "$4" "./$3" || exit 1
if mv -f -T "./$3" "$f" 2>/dev/null; then exit 0; fi
rm -f "$f" && mv -f "./$3" "$f"
