# Sets base, a private directory, below HOME if that is writable; the first argument is its known path or "".
# Refuses a link, or a directory of another user, who could then change our commands.
mask=$(umask); umask 077
mine() {
  set -- "$1" $(ls -ldn "$1")
  [ "${4-}" = "$me" ] && case $2 in d???------*) ;; *) return 1 ;; esac
}
place() { base=$1; [ ! -L "$base" ] && mkdir -p "$base" 2>/dev/null && chmod 700 "$base" 2>/dev/null && mine "$base" && [ -w "$base" ]; }
base=$1; shift
# It was private before, and only its owner can change that. In /tmp it may have been removed.
if [ -n "$base" ] && { [ -L "$base" ] || [ ! -O "$base" ]; }; then base=; fi
case $base in /tmp/*) me=$(id -u); mine "${base%/*}" || base= ;; esac
if [ -z "$base" ]; then
me=$(id -u)
case ${XDG_STATE_HOME-} in /*) place "$XDG_STATE_HOME/buddy/shells" || base= ;; esac
if [ -z "$base" ]; then case ${HOME-} in /?*) place "$HOME/.local/state/buddy/shells" || base= ;; esac; fi
if [ -z "$base" ]; then
  base=/tmp/buddy-$me
  mkdir "$base" 2>/dev/null
  mine "$base" || { echo "no private directory: neither below HOME nor $base" >&2; exit 6; }
  base=$base/shells; mkdir -p "$base" || exit 6
fi
fi
