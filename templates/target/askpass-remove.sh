# $1 directory. A helper that waits for a program that is gone ends: the pipe has both ends while it is
# removed.
if [ -p "$1/answer" ]; then { rm -rf -- "$1"; } 3<>"$1/answer"; fi
rm -rf -- "$1"; rmdir -- "${1%/*}"
