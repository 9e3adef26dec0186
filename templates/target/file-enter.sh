# `enter DIR` enters a directory step by step, creates what is missing and never follows a link: another user
# may replace a directory with a link between any two commands. `rename` never moves into a directory behind a
# link.
. ./file-deny.sh
is_at() {
  case $1 in "$PWD" | /proc/self/* | /proc/thread-self/*) return 0 ;; esac
  [ "$(uname -s)" = Darwin ] && [ "$(printf %s "$1" | tr A-Z a-z)" = "$(printf %s "$PWD" | tr A-Z a-z)" ]
}
enter() {
  d=$1 q= made=0
  while [ ! -d "$d" ]; do q=${d##*/}${q:+/$q} d=${d%/*}; d=${d:-/}; done
  cd -P "$d" || deny "$d"
  is_at "$d" || exit 3
  while [ -n "$q" ]; do
    c=${q%%/*}
    case $q in */*) q=${q#*/} ;; *) q= ;; esac
    if [ -L "./$c" ]; then exit 3; fi
    if [ ! -d "./$c" ]; then
      if [ -e "./$c" ]; then exit 20; fi
      mkdir "./$c" || { if [ ! -w . ]; then deny .; fi; exit 1; }
      made=$((made + 1))
    fi
    cd -P "./$c" || deny "./$c"
    d=${d%/}/$c
    is_at "$d" || exit 3
  done
}
rename() {
  mv -f -T "$1" "$2" && return 0
  case $(mv -T 2>&1) in *illegal* | *invalid* | *unrecognized*) if [ -L "$2" ]; then return 1; fi; mv -f "$1" "$2" ;; *) return 1 ;; esac
}
