# Arguments: path, working directory, number of bytes, name for the temporary file, the only resolved path
# allowed or "". Data on stdin. Prints 1 if the file is new, its path, the program that checked it and how,
# and its output. To restore an old file, unchecked: mode in four octal digits and user:group by number; 1 to
# replace a link at the path instead of following it; and the inode, if it had other hard links: one that has
# been linked to the path since is another file, and stays as it is. All data is on the target before the old
# file is touched. A rename replaces the old file, with the same owner, mode, ACL and attributes; if another
# user can rename files in the directory, from a private directory inside it. The file is written in place if
# those cannot be kept, if it has further hard links or is a mount point, or if the directory is not writable.
# Then the old text is copied first, the file is extended before anything is overwritten, and the copy is put
# back on failure. Exit 28: no space, nothing changed; 27: failed and put back; 8: failed, and the copy named
# on stdout is all that is left of the old text; 30: the check failed with the output on stdout, and the old
# file is unchanged. A check that fails with the same output on the old text says nothing about the new one.
LC_ALL=C; export LC_ALL
. ./file-path.sh
. ./file-walk.sh
. ./file-enter.sh
. ./file-check.sh
full_now "$1" "$2"
case $p in */) exit 21 ;; esac
mode_given=${6:-} owner_given=${7:-} inode_given=${9:-} n= other=
if [ "${8:-}" = 1 ]; then n=/${p##*/} p=${p%/*}; fi
walk || exit 4
if [ -n "$n" ]; then r=${r%/}$n; fi
if [ -n "$5" ] && [ "$5" != "$r" ]; then exit 3; fi
kind "$r"
if [ -n "$n" ] && [ -L "$r" ]; then k=missing; fi
case $k in directory) exit 21 ;; other) exit 22 ;; esac
case $r in /proc/* | /sys/*) exit 23 ;; esac
dir=${r%/*}; dir=${dir:-/}
enter "$dir"
full=$r r=./${r##*/} dir=. nest=
if [ -z "$n" ] && [ -L "$r" ]; then exit 3; fi
facts() { a=$1 links=$2 uid=$3 gid=$4 size=$5; }
# Another user than root can rename files here.
shared=
if [ -O . ]; then facts $(ls -ldn .); else facts $(ls -ldn .); if [ "$uid" != 0 ]; then shared=1; fi; fi
case $a in ?????w* | ????????w*) shared=1 ;; esac
given() {
  if [ -z "$mode_given" ]; then return 0; fi
  own() { l=$1 o=$3:$4; }
  own $(ls -ldnL "$1")
  # An access control list that it had is set afterwards.
  case $l in *+) setfacl -b "$1" 2>/dev/null || chmod -N "$1" 2>/dev/null ;; esac
  # Set-id bits are only for the previous owner.
  if [ "$o" = "$owner_given" ] || chown "$owner_given" "$1" 2>/dev/null; then chmod "$mode_given" "$1"
  else chmod "${mode_given#?}" "$1"; fi
}
# Opening the file for writing shows whether permissions or the file system forbid it.
refuse() { command : >>"$1"; deny "$1"; }
tmp=./$4 name=$4 old= kept= box= how=rename
tidy() {
  rm -f ${tmp:+"$tmp"} ${old:+"$old"} ${kept:+"$kept"}
  rm -rf ${box:+"$box"}
  if [ -n "$nest" ]; then cd .. && rmdir "$nest"; fi
  while [ $made -gt 0 ]; do n=${PWD##*/} made=$((made - 1)); cd .. && rmdir "./$n"; done
}
trap tidy EXIT
trap 'exit 1' HUP INT TERM PIPE
# Nothing can be removed or renamed in an append-only directory.
appends=
attributes() { case ${1-} in *a*) appends=1 ;; esac; }
if command -v lsattr >/dev/null 2>&1; then attributes $(lsattr -d . 2>/dev/null); fi
create() { set -C; command : >"$1"; c=$?; set +C; return $c; }
if [ -n "$shared" ] && [ -z "$appends" ] && mkdir -m 700 "./$4.d" 2>/dev/null; then
  cd -P "./$4.d" || exit 1
  facts $(ls -ldn .)
  case $a in drwx------*) ;; *) exit 3 ;; esac
  if ! is_at "${full%/*}/$4.d" || [ ! -O . ]; then exit 3; fi
  nest=./$4.d r=.$r dir=..
fi
if [ $k = file ]; then
  facts $(ls -ldn "$r")
  case $a in *@) how=place ;; esac
  if [ "$links" -gt 1 ]; then
    inode() { i=$1; }
    inode $(ls -di "$r")
    if [ -z "$mode_given" ] || [ "$i" = "$inode_given" ]; then how=place; else other=1; fi
  fi
  umask 077
  if [ -n "$appends" ] || ! create "$tmp" 2>/dev/null; then
    if [ ! -w "$r" ]; then refuse "$r"; fi
    tmp=${TMPDIR:-/tmp}/$4 how=place
    create "$tmp" || exit 1
  fi
else
  if [ -n "$mode_given" ]; then umask 077; fi
  if [ -n "$appends" ]; then deny "$dir"; fi
  if ! create "$tmp"; then
    if [ ! -w "$dir" ]; then deny "$dir"; fi
    exit 1
  fi
fi
cat >"$tmp" || exit 1
if [ $(($(wc -c <"$tmp"))) -ne "$3" ]; then exit 9; fi
by= kind= said=
if [ -z "$mode_given" ]; then known; fi
wrong() { printf '%s' "$said"; exit 30; }
after=
if [ -n "$by" ]; then
  approves "$tmp"
  case $? in
  0) ;;
  99) after=1 kind=after said= ;;
  *)
    if [ $k = missing ]; then wrong; fi
    new=$said
    if [ $kind = copy ]; then approves "$r"; else quietly "$cmd"; fi
    if [ $? = 0 ] || [ "$said" != "$new" ]; then said=$new; wrong; fi
    kind=same ;;
  esac
fi
done_with() { made=0; printf '%s\0' "$1" "$full" "$by" "$kind" "$said"; exit 0; }
if [ $k = missing ]; then
  given "$tmp" || exit 1
  rename "$tmp" "$r" || exit 1
  tmp=
  if [ -n "$after" ] && ! quietly "$cmd"; then rm -f "$r"; wrong; fi
  done_with 1
fi
# If cp supports it, it also copies ACLs and extended attributes, and fails if it cannot.
same_acl() {
  case $a in *+) ;; *) return 0 ;; esac
  case $(ls -ld "$tmp") in ??????????+*) ;; *) return 1 ;; esac
  command -v getfacl >/dev/null 2>&1 || return 0
  [ "$(getfacl -cnp "$r")" = "$(getfacl -cnp "$tmp")" ]
}
like() {
  if [ -r "$r" ]; then
    if cp --attributes-only --preserve=mode,ownership,xattr "$r" "$tmp" 2>/dev/null; then
      # cp does not report that it could not set the owner.
      whose() { o="$3 $4"; }
      whose $(ls -ldn "$tmp")
      [ "$o" = "$uid $gid" ] && same_acl
      return
    fi
    case $a in *+) return 1 ;; esac
    if cp --version >/dev/null 2>&1; then return 1; fi
    if command -v getfattr >/dev/null 2>&1 && [ -n "$(getfattr -h "$r" 2>/dev/null)" ]; then return 1; fi
  fi
  want="$uid $gid"; new=$a
  facts $(ls -ldn "$tmp")
  if [ "$uid $gid" != "$want" ]; then chown "${want% *}:${want#* }" "$tmp" 2>/dev/null || return 1; fi
  a=$new
  bits "$tmp"
}
# Gives a file the mode that ls showed as $a.
bits() {
  m() { case $2 in r*) b=r ;; *) b= ;; esac; case $2 in ?w*) b=${b}w ;; esac
    case $2 in ??[xst]) b=${b}x ;; esac; case $2 in ??[sS]) b=${b}s ;; ??[tT]) b=${b}t ;; esac; mode="$mode${mode:+,}$1=$b"; }
  mode=; x=${a#?}
  y=${x#???}; m u "${x%"$y"}"; x=$y; y=${x#???}; m g "${x%"$y"}"; x=$y; y=${x#???}; m o "${x%"$y"}"
  chmod "${mode%t}" "$1" || return 1
  case $mode in *t) chmod +t "$1" 2>/dev/null ;; esac
  return 0
}
if [ $how = rename ]; then
  if like; then
    case $a in *[.+]) chcon --reference="$r" "$tmp" 2>/dev/null ;; esac
    if [ -n "$after" ]; then kept=$tmp.kept; ln "$r" "$kept" 2>/dev/null || cp -p "$r" "$kept" || exit 1; fi
    if given "$tmp" && rename "$tmp" "$r" 2>/dev/null; then
      tmp=
      if [ -n "$after" ] && ! quietly "$cmd"; then
        if rename "$kept" "$r"; then kept=; wrong; fi
        printf '%s\0' "${full%/*}/${kept#./}"; kept=; exit 8
      fi
    else how=place; fi
  else how=place; fi
fi
if [ $how = place ]; then
  if [ -n "$other" ]; then exit 31; fi
  if [ -L "$r" ]; then exit 3; fi
  at=$r
  if [ -n "$shared" ]; then
    # An open file stays the same; it is the one at the path if inode, owner, size and the rest are the same.
    facts() { seen="$1 $2 $3 $4 $5 $6"; }
    if ! { command exec 7<"$r"; } 2>/dev/null; then deny "$r"; fi
    if [ ! -e /proc/self/fd/7 ]; then exit 29; fi
    facts $(ls -ldin "$r"); judged=$seen
    facts $(ls -ldinL /proc/self/fd/7)
    case $judged in *' -'*) if [ "$judged" != "$seen" ]; then exit 3; fi ;; *) exit 3 ;; esac
    facts() { a=$1 links=$2 uid=$3 gid=$4 size=$5; }
    r=/proc/self/fd/7
  fi
  facts $(ls -ldnL "$r")
  cut() { dd if=/dev/null of="$r" bs=1 seek="$1" count=0; }
  put() { dd if="$1" of="$r" bs=65536 conv=notrunc && cut "$2" && [ $(($(wc -c <"$r"))) -eq "$2" ]; }
  # Opens it for writing without a change; an append-only file passes every other test.
  if [ ! -w "$r" ] || ! cut "$size" 2>/dev/null; then refuse "$at"; fi
  if [ ! -r "$r" ]; then deny "$at"; fi
  trap '' HUP INT TERM PIPE
  lost() { case $old in ./*) old=${full%/*}/${old#./} ;; esac; printf '%s\0' "$old"; old=; exit 8; }
  save() { old=$1; create "$old" && cat "$r" >"$old"; }
  if ! save "$tmp.old" 2>/dev/null; then rm -f "$old"; save "${TMPDIR:-/tmp}/$4.old" || exit 28; fi
  if [ "$3" -gt "$size" ] && ! tail -c "+$((size + 1))" "$tmp" >>"$r"; then
    cut "$size" 2>/dev/null && exit 28
    put "$old" "$size" 2>/dev/null && exit 28
    lost
  fi
  if ! put "$tmp" "$3"; then
    put "$old" "$size" 2>/dev/null && exit 27
    lost
  fi
  if [ -n "$after" ] && ! quietly "$cmd"; then put "$old" "$size" 2>/dev/null && wrong; lost; fi
  # The kernel clears set-id bits of a file that is written to.
  was=$a
  facts $(ls -ldnL "$r")
  if [ "$a" != "$was" ]; then a=$was; bits "$r" 2>/dev/null; fi
  given "$r"
fi
done_with 0
