/** The sh scripts behind FileAccess: POSIX tools only, so that busybox and old systems will do. */

/** `full PATH CWD` sets p: absolute, `~` expanded; nothing followed yet. */
const FULL = `
full() {
  p=$1
  case $p in
  '~') p=\${HOME:-/} ;;
  '~/'*) p=\${HOME:-}/\${p#'~/'} ;;
  '~'*)
    u=\${p#'~'}; u=\${u%%/*}
    case $u in *[!A-Za-z0-9._-]* | -*) ;; *)
      eval "h=~$u"
      case $h in /*) p=$h\${p#"~$u"} ;; esac ;;
    esac ;;
  esac
  case $p in /*) ;; *) p=$2/$p ;; esac
}
`;

/**
 * `walk` follows p component by component into r, as the kernel would, and goes on by the text alone where nothing exists.
 * Neither realpath nor readlink -f is everywhere; where even readlink is missing, ls tells where a link leads.
 */
const WALK = `
target() {
  if command -v readlink >/dev/null 2>&1; then t=$(readlink "$1"; printf x); t=\${t%"$NL"x}
  else t=$(ls -ld "$1"; printf x); t=\${t%"$NL"x}; t=\${t#*" $1 -> "}; fi
}
walk() {
  r= q=$p links=0
  while [ -n "$q" ]; do
    case $q in */*) c=\${q%%/*} q=\${q#*/} ;; *) c=$q q= ;; esac
    case $c in
    '' | .) ;;
    ..) r=\${r%/*} ;;
    *)
      if [ -L "$r/$c" ] && [ "$r/$c" != /proc/self ] && [ "$r/$c" != /proc/thread-self ]; then
        links=$((links + 1))
        if [ $links -gt 40 ]; then echo "Too many levels of symbolic links" >&2; return 1; fi
        target "$r/$c"
        case $t in /*) r= ;; esac
        q=$t\${q:+/$q}
      else r=$r/$c; fi ;;
    esac
  done
  r=\${r:-/}
}
kind() { if [ -d "$1" ]; then k=directory; elif [ -f "$1" ]; then k=file; elif [ -e "$1" ]; then k=other; else k=missing; fi; }
`;

/** Arguments: path, working directory. Prints path, kind, home, 1 where the file system folds case. */
export const RESOLVE = `
LC_ALL=C; export LC_ALL
${FULL}${WALK}
full "$1" "$2"; walk || exit 4; kind "$r"
i=0 e=$r
while [ ! -e "$e" ] && [ -n "$e" ]; do e=\${e%/*}; done
while :; do case \${e##*/} in *[A-Za-z]*) break ;; '') break ;; *) e=\${e%/*} ;; esac; done
b=\${e##*/}
for l in aA bB cC dD eE fF gG hH iI jJ kK lL mM nN oO pP qQ rR sS tT uU vV wW xX yY zZ; do
  u=\${l#?} l=\${l%?}
  case $b in
  *"$l"*) if [ "$e" -ef "\${e%/*}/\${b%%"$l"*}$u\${b#*"$l"}" ]; then i=1; fi; break ;;
  *"$u"*) if [ "$e" -ef "\${e%/*}/\${b%%"$u"*}$l\${b#*"$u"}" ]; then i=1; fi; break ;;
  esac
done
printf '%s\\0' "$r" $k "\${HOME:-/}" $i
`;

/**
 * Arguments: path, working directory, first line, lines ("" = all), most bytes.
 * Prints size, NUL bytes found in the first 8 KiB, line feeds ("" = not counted), 1 when the last line is not ended; then
 * the bytes. A small file comes whole, as "size\0whole\0\0\0bytes": two processes there instead of eight.
 */
export const READ = `
LC_ALL=C; export LC_ALL
${FULL}
full "$1" "$2"
if [ -d "$p" ]; then exit 21; fi
if [ ! -e "$p" ]; then
  if [ -L "$p" ]; then exit 41; fi
  d=\${p%/*}; d=\${d:-/}
  if [ -e "$d" ] && [ ! -d "$d" ]; then exit 20; fi
  if [ -d "$d" ] && [ ! -x "$d" ]; then exit 13; fi
  exit 2
fi
if [ ! -f "$p" ]; then exit 22; fi
if [ ! -r "$p" ]; then exit 13; fi
set -- "$p" "$2" "$3" "$4" "$5"
size() { size=$5; }
size $(ls -ldnL "$1")
if [ "$size" = 0 ]; then size=$(($(wc -c <"$1"))) || exit 5; fi
if [ "$size" -le 65536 ]; then printf '%s\\0whole\\0\\0\\0' "$size"; exec cat "$1"; fi
nul=$(($(dd if="$1" bs=8192 count=1 2>/dev/null | tr -dc '\\000' | wc -c)))
total= open=0
if [ "$nul" = 0 ] && [ "$size" -le 67108864 ]; then
  total=$(($(wc -l <"$1"))) || exit 5
  if [ "$size" -gt 0 ] && [ $(($(tail -c 1 "$1" | wc -l))) -eq 0 ]; then open=1; fi
fi
printf '%s\\0' "$size" "$nul" "$total" $open
if [ "$nul" != 0 ]; then exit 0; fi
cut() { if [ -n "$1" ]; then head -n "$1"; else cat; fi; }
if [ "$3" -gt 1 ]; then tail -n "+$3" "$1" 2>/dev/null; else cat "$1"; fi | cut "$4" | take "$5"
exit 0
`;

/**
 * Arguments: path, working directory, bytes that must arrive, name for the temporary file, the only place allowed or "".
 * Data on stdin.
 * Prints 1 when the file is new, and where it went. The data is complete on the target before the old file is touched.
 * In place instead of by rename: where the owner could not be kept, with ACLs, over a mount point, in a closed directory.
 */
export const WRITE = `
LC_ALL=C; export LC_ALL
${FULL}${WALK}
full "$1" "$2"
case $p in */) exit 21 ;; esac
walk || exit 4
if [ -n "$5" ] && [ "$5" != "$r" ]; then exit 3; fi
kind "$r"
case $k in directory) exit 21 ;; other) exit 22 ;; esac
dir=\${r%/*}; dir=\${dir:-/}
if [ ! -d "$dir" ]; then mkdir -p "$dir" || exit 1; fi
tmp=\${dir%/}/$4 how=rename
trap 'if [ -n "$tmp" ]; then rm -f "$tmp"; fi' EXIT
trap 'rm -f "$tmp"; exit 1' HUP INT TERM PIPE
create() { set -C; command : >"$1"; c=$?; set +C; return $c; }
perms() { a=$1 uid=$3 gid=$4; }
if [ $k = file ]; then
  perms $(ls -ldn "$r")
  case $a in *+) how=place ;; esac
  umask 077
  if ! create "$tmp" 2>/dev/null; then
    if [ ! -w "$r" ]; then create "$tmp"; exit 1; fi
    tmp=\${TMPDIR:-/tmp}/$4 how=place
    create "$tmp" || exit 1
  fi
else create "$tmp" || exit 1; fi
cat >"$tmp" || exit 1
if [ $(($(wc -c <"$tmp"))) -ne "$3" ]; then exit 9; fi
if [ $k = missing ]; then mv -f "$tmp" "$r" || exit 1; tmp=; printf '1\\0%s\\0' "$r"; exit 0; fi
if [ $how = rename ]; then
  want="$uid $gid"; new=$a
  perms $(ls -ldn "$tmp")
  if [ "$uid $gid" != "$want" ]; then chown "\${want% *}:\${want#* }" "$tmp" 2>/dev/null || how=place; fi
  a=$new
fi
if [ $how = rename ]; then
  m() { case $2 in r*) b=r ;; *) b= ;; esac; case $2 in ?w*) b=\${b}w ;; esac
    case $2 in ??[xst]) b=\${b}x ;; esac; case $2 in ??[sS]) b=\${b}s ;; ??[tT]) b=\${b}t ;; esac; mode="$mode\${mode:+,}$1=$b"; }
  mode=; x=\${a#?}
  y=\${x#???}; m u "\${x%"$y"}"; x=$y; y=\${x#???}; m g "\${x%"$y"}"; x=$y; y=\${x#???}; m o "\${x%"$y"}"
  chmod "\${mode%t}" "$tmp" || exit 1
  case $mode in *t) chmod +t "$tmp" 2>/dev/null ;; esac
  case $a in *.) chcon --reference="$r" "$tmp" 2>/dev/null ;; esac
  if mv -f "$tmp" "$r" 2>/dev/null; then tmp=; else how=place; fi
fi
if [ $how = place ]; then
  if [ ! -w "$r" ]; then : >>"$r"; exit 1; fi
  cat "$tmp" >"$r" || exit 8
fi
printf '0\\0%s\\0' "$r"
`;
