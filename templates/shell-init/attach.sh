# buddy: attaches a control client: $1 directory to start in, $2 tmux, $3 its socket name, $4 session, $5 not empty: the session
# is made when it is missing, $6 owner; then the command of its first pane.
printf 'buddy %s %s\nbuddy-run %s\n' "$k" "$d" "$r"
unset TMUX TMUX_PANE
cd "$1" 2>/dev/null
tmux=$2 socket=$3 session=$4 create=$5 owner=$6
shift 6
tmux() { if [ -n "$socket" ]; then "$tmux" -u -L "$socket" "$@"; else "$tmux" -u "$@"; fi; }
# One at a time: tmux before 3.7 crashes when a session is made or left at the same moment as a control client joins.
# The server must not inherit the lock.
__buddy_lock "${d%/*}"
if [ -n "$create" ]; then
  for a; do
    shift
    case $a in @supervisor@) a=$d/supervisor.sh ;; esac
    set -- "$@" "$a"
  done
  # A server that another login started gives its panes the variables of that login: those of this one go by a file, which
  # no other user can read, as the arguments of a program could be. Not what tmux sets, and what no shell may set.
  login=$r/login.$$
  (
    umask 077
    unset TERM TERM_PROGRAM TERM_PROGRAM_VERSION PWD OLDPWD SHLVL COLUMNS LINES
    export -p | sed -e '/^export SHELLOPTS=/d' -e '/^export BASHOPTS=/d' -e '/^export [A-Z]*UID=/d' -e '/^export PPID=/d' >"$login"
  ) 2>/dev/null
  set -- new-session -d -s "$session" -n buddy-shared -x 200 -y 50 -e "BUDDY_LOGIN_VARIABLES=$login" "$@" \; set-option -t "=$session:" @buddy_managed 1 \
    \; set-option -t "=$session:" @buddy_owner "$owner"
  [ -z "$socket" ] || set -- set-option -g history-limit 20000 \; "$@"
  if e=$(tmux "$@" 2>&1 9>&-); then echo buddy-created; else
    rm -f "$login"
    case $e in
    *'duplicate session'*) ;;
    *)
      echo "buddy-error $e"
      exit 1
      ;;
    esac
  fi
fi
lock() { flock "$@" 9 2>/dev/null; }
join() { tmux -C attach-session -t "=$session" -f ignore-size,pause-after=10; }
