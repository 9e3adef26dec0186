# `walk` resolves p component by component into r, as the kernel would; what does not exist is appended as
# text. Some systems have neither realpath nor readlink -f; without readlink, ls shows where a link leads.
target() {
  if command -v readlink >/dev/null 2>&1; then t=$(readlink "$1"; printf x); t=${t%"$NL"x}
  else t=$(ls -ld "$1"; printf x); t=${t%"$NL"x}; t=${t#*" $1 -> "}; fi
}
walk() {
  r= q=$p links=0 hidden=0
  while [ -n "$q" ]; do
    case $q in */*) c=${q%%/*} q=${q#*/} ;; *) c=$q q= ;; esac
    case $c in
    '' | .) ;;
    *) if [ -d "$r/" ] && [ ! -x "$r/" ]; then hidden=1; fi ;;
    esac
    case $c in
    '' | .) ;;
    ..) r=${r%/*} ;;
    *)
      if [ -L "$r/$c" ] && [ "$r/$c" != /proc/self ] && [ "$r/$c" != /proc/thread-self ]; then
        links=$((links + 1))
        if [ $links -gt 40 ]; then echo "Too many levels of symbolic links" >&2; return 1; fi
        target "$r/$c"
        case $t in /*) r= ;; esac
        q=$t${q:+/$q}
      else r=$r/$c; fi ;;
    esac
  done
  r=${r:-/}
}
kind() { if [ -d "$1" ]; then k=directory; elif [ -f "$1" ]; then k=file; elif [ -e "$1" ]; then k=other; else k=missing; fi; }
