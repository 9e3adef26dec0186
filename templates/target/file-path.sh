# `full PATH CWD` sets p: absolute, `~` expanded, no links followed. `full_now` also exits if that needs the
# working directory and it is gone: nothing is created again under its old name. `last 0` moves the last name
# of p to n, so that a link of that name is not followed, either.
full() {
  p=$1
  case $p in
  '~') p=${HOME:-/} ;;
  '~/'*) p=${HOME:-}/${p#'~/'} ;;
  '~'*)
    u=${p#'~'}; u=${u%%/*}
    case $u in *[!A-Za-z0-9._-]* | -*) ;; *)
      eval "h=~$u"
      case $h in /*) p=$h${p#"~$u"} ;; esac ;;
    esac ;;
  esac
  case $p in /*) ;; *) p=$2/$p; if [ ! -d "$2" ]; then gone=1; fi ;; esac
}
full_now() { gone=; full "$@"; if [ -n "$gone" ]; then exit 43; fi; }
last() { n=; case $1${p##*/} in 0 | 0. | 0..) ;; 0*) n=/${p##*/} p=${p%/*} ;; esac; }
