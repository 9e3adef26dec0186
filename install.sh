#!/bin/sh
# Installs buddy for one user: downloads the build for this machine, checks it, and puts it in place in one step, with its
# man page and completions.
#
#   sh install.sh               install, or update
#   sh install.sh --uninstall   remove what it installed
#
# BUDDY_INSTALL_DIR       where the binary goes (default: ~/.local/bin)
# BUDDY_VERSION           a version such as 0.1.0 (default: the newest)
# BUDDY_INSTALL_BASE_URL  a directory with the files of a release, such as a mirror (BUDDY_VERSION then looks in
#                         v<version>/ below it first, and is checked in any case)
#
# Never needs root; leaves nothing behind when it fails. POSIX sh: dash, busybox ash, bash, zsh.
if [ -n "${ZSH_VERSION:-}" ]; then emulate sh; fi
set -eu

# Filled in when a release is made.
RELEASES='@RELEASES@'

say() { printf '%s\n' "$*" >&2; }
fail() {
  say "buddy install: $1"
  shift
  for line in "$@"; do [ -z "$line" ] || say "  $line"; done
  exit 1
}

work='' staged='' made=''
clean_up() {
  [ -z "$work" ] || rm -rf "$work"
  [ -z "$staged" ] || rm -f "$staged"
  # Directories that were made for nothing, innermost first.
  while [ -n "$made" ] && [ -n "$directory" ]; do
    rmdir "$directory" 2>/dev/null || break
    [ "$directory" != "$made" ] || break
    directory=${directory%/*}
  done
}
trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

platform() {
  os=$(uname -s) cpu=$(uname -m)
  case $cpu in
    x86_64 | amd64) cpu=x64 ;;
    aarch64 | arm64) cpu=arm64 ;;
    *) fail "there is no build for the processor $cpu" "Builds exist for x86-64 and 64-bit ARM; from source: see the README." ;;
  esac
  case $os in
    Linux)
      require_cpu_features
      if is_musl; then
        has_libstdcxx || fail "this system lacks libstdc++, which the musl build needs" "Install it, on Alpine with: apk add libstdc++" "Then run this again."
        echo "linux-$cpu-musl"
      else
        echo "linux-$cpu"
      fi
      ;;
    Darwin)
      # A shell under Rosetta says x86_64 on an Apple processor.
      if [ "$cpu" = x64 ] && [ "$(sysctl -n sysctl.proc_translated 2>/dev/null || echo 0)" = 1 ]; then cpu=arm64; fi
      echo "darwin-$cpu"
      ;;
    *) fail "there is no build for $os" "Builds exist for Linux and macOS; on Windows use WSL." ;;
  esac
}

# The runtime needs x86-64-v2. Where the flags cannot be read, the binary itself is tried later.
require_cpu_features() {
  [ "$cpu" = x64 ] && [ -r /proc/cpuinfo ] || return 0
  flags=$(awk -F: '/^flags/ { print $2; exit }' /proc/cpuinfo)
  [ -n "$flags" ] || return 0
  missing=''
  for flag in cx16 popcnt sse4_1 sse4_2 ssse3; do
    case " $flags " in *" $flag "*) ;; *) missing="$missing $flag" ;; esac
  done
  [ -z "$missing" ] || fail "this processor lacks features that buddy needs:$missing" \
    "x86-64-v2 is required, which most processors since 2009 have." \
    "In a virtual machine choose a newer CPU model, for example host."
}

# By the loader on disk: a bare busybox system has neither ldd nor getconf.
is_musl() {
  for loader in /lib/ld-linux-*.so.* /lib64/ld-linux-*.so.*; do
    [ ! -e "$loader" ] || return 1
  done
  for loader in /lib/ld-musl-*.so.1; do
    [ ! -e "$loader" ] || return 0
  done
  return 1
}

has_libstdcxx() {
  for library in /usr/lib/libstdc++.so.6 /lib/libstdc++.so.6 /usr/local/lib/libstdc++.so.6; do
    [ ! -e "$library" ] || return 0
  done
  return 1
}

has() { command -v "$1" >/dev/null 2>&1; }

# download URL FILE [progress]: true when the whole answer was stored. A redirect of an https address must stay https.
download() {
  : >"$work/why"
  if has curl; then
    case $1 in https:*) only='--proto =https --proto-redir =https' ;; *) only='' ;; esac
    if [ "${3:-}" = progress ] && [ -t 2 ]; then
      # shellcheck disable=SC2086 # no option, or two
      curl -fL $only --progress-bar --retry 2 --connect-timeout 20 -o "$2" "$1"
    else
      # shellcheck disable=SC2086
      curl -fsSL $only --retry 2 --connect-timeout 20 -o "$2" "$1" 2>"$work/why"
    fi
  elif has wget; then
    # It has no option to stay with https: its headers say where it went.
    if ! wget_to "$@"; then
      grep -v -e '^  ' -e '^ *$' "$work/why" | tail -n 1 >"$work/last" || :
      mv "$work/last" "$work/why"
      return 1
    fi
    case $1 in
      https:*)
        # That of busybox, where it has nobody to ask.
        if [ -z "$unchecked" ] && grep -q 'certificate validation not implemented' "$work/why"; then
          unchecked=yes
          say "warning: this wget does not check who the server is; install curl to be sure of it"
        fi
        if grep -qi '^ *location: *http:' "$work/why"; then
          rm -f "$2"
          echo "the server redirects from https to http" >"$work/why"
          return 1
        fi
        ;;
    esac
  else
    fail "neither curl nor wget is installed" "Install one of them, or copy the binary to this machine by hand."
  fi
}

unchecked=''
# Progress beside the log is something that only the wget of GNU can show.
wget_to() {
  if [ "${3:-}" = progress ] && [ -t 2 ] && wget --help 2>&1 | grep -q -e --show-progress; then
    wget -S --show-progress -o "$work/why" -O "$2" "$1"
  else
    wget -S -O "$2" "$1" 2>"$work/why"
  fi
}

choose_hasher() {
  if has sha256sum; then
    hasher='sha256sum'
  elif has shasum; then
    hasher='shasum -a 256'
  elif has openssl; then
    hasher='openssl dgst -sha256 -r'
  else
    fail "no program can compute a SHA-256" "Install coreutils, perl (shasum) or openssl."
  fi
}

sha256() {
  $hasher "$1" | cut -d ' ' -f 1
}

# sum_of NAME: what SHA256SUMS says of it, or nothing.
sum_of() {
  awk -v name="$1" '$2 == name || $2 == "*" name { print $1; exit }' "$work/SHA256SUMS"
}

choose_directories() {
  directory=${BUDDY_INSTALL_DIR:-}
  if [ -z "$directory" ]; then
    [ -n "${HOME:-}" ] || fail "HOME is not set" "Say where to install with BUDDY_INSTALL_DIR."
    directory=$HOME/.local/bin
    share=${XDG_DATA_HOME:-$HOME/.local/share}
  else
    share=''
  fi
}

# As PATH has it: absolute, without a slash at its end. What goes with the binary is beside it.
make_directory() {
  parent=$directory
  while [ -n "$parent" ] && [ ! -e "$parent" ]; do
    top=$parent
    case $parent in */*) parent=${parent%/*} ;; *) parent='' ;; esac
  done
  mkdir -p "$directory" 2>/dev/null || fail "cannot make the directory $directory" "Choose another with BUDDY_INSTALL_DIR."
  if [ -n "${top:-}" ]; then made=$(CDPATH='' cd -- "$top" && pwd); fi
  absolute=$(CDPATH='' cd -- "$directory" 2>/dev/null && pwd) || fail "cannot enter the directory $directory" "Choose another with BUDDY_INSTALL_DIR."
  directory=$absolute
  choose_share
}

choose_share() {
  [ -z "$share" ] || return 0
  case $directory in
    */bin) share=${directory%/bin}/share ;;
    *) share=${XDG_DATA_HOME:-${HOME:-$directory}/.local/share} ;;
  esac
}

main() {
  choose_directories
  case ${1:-} in
    '') install ;;
    --uninstall) uninstall ;;
    -h | --help)
      # Read from a pipe, there is no file to show.
      case $0 in *install.sh) sed -n '2,/^# Never/s/^# \{0,1\}//p' "$0" ;; *) say "usage: sh install.sh [--uninstall]" ;; esac
      ;;
    *) fail "unknown option $1" "usage: sh install.sh [--uninstall]" ;;
  esac
}

install() {
  platform=$(platform) || exit 1
  asset=buddy-$platform
  choose_hasher
  version=${BUDDY_VERSION:-}
  version=${version#v}

  make_directory
  staged=$directory/.buddy-install.$$
  (: >"$staged") 2>/dev/null || { staged=''; fail "cannot write to $directory" "Choose another directory with BUDDY_INSTALL_DIR."; }
  # Those of runs that were killed.
  if has find; then
    find "$directory" -maxdepth 1 -type f \( -name '.buddy-install.*' -o -name '.buddy-update*' \) -mtime +0 -exec rm -f {} + || :
  fi
  [ ! -d "$directory/buddy" ] || fail "$directory/buddy is a directory" "Move it away, or choose another with BUDDY_INSTALL_DIR."
  work=$(mktemp -d "${TMPDIR:-/tmp}/buddy-install.XXXXXX") || fail "cannot make a temporary directory in ${TMPDIR:-/tmp}"

  fetch_sums
  expected=$(sum_of "$asset")
  [ -n "$expected" ] || {
    grep -q '^[0-9a-f]\{64\} ' "$work/SHA256SUMS" || fail "$base/SHA256SUMS is not a list of checksums" "A proxy or a log-in page may have answered; check the address and the network."
    fail "$base/SHA256SUMS does not list $asset" "This release has no build for this machine."
  }
  # The archives carry the version in their names.
  archive=$(awk -v end="-$platform.tar.gz" '{ n = $2; sub(/^\*/, "", n) } index(n, "buddy-") == 1 && substr(n, length(n) - length(end) + 1) == end { print substr(n, 1, length(n) - 7); exit }' "$work/SHA256SUMS")

  if [ -f "$directory/buddy" ] && [ "$(sha256 "$directory/buddy")" = "$expected" ] && shown=$("$directory/buddy" --version 2>/dev/null); then
    check_version
    rm -f "$staged"
    staged='' made=''
    say "buddy is up to date: $directory/buddy ($shown)"
    # What goes with it may be missing.
    has_share || ! fetch_archive || put_share
    advise
    return
  fi

  fetch_binary
  [ "$(sha256 "$staged")" = "$expected" ] || fail "the checksum of $asset is wrong: nothing was installed" \
    "expected $expected" "got      $(sha256 "$staged")" "The download was cut off or changed on its way; try again."
  chmod 755 "$staged"
  shown=$("$staged" --version 2>"$work/why") || fail "the binary does not run on this system: nothing was installed" "$(head -n 1 "$work/why")"
  check_version
  # A rename replaces a running binary without disturbing it, and never shows half a file.
  mv -f "$staged" "$directory/buddy" || fail "cannot replace $directory/buddy"
  staged='' made=''
  say "installed $shown as $directory/buddy"
  put_share
  advise
  case $try in *' '*) try="'$try'" ;; esac
  say "Try it, without any key: $try demo"
}

check_version() {
  [ -z "$version" ] || [ "$shown" = "buddy $version" ] || fail "$base holds $shown, not $version: nothing was installed"
}

fetch_sums() {
  if [ -n "${BUDDY_INSTALL_BASE_URL:-}" ]; then
    base=${BUDDY_INSTALL_BASE_URL%/}
    if [ -n "$version" ] && download "$base/v$version/SHA256SUMS" "$work/SHA256SUMS"; then
      base=$base/v$version
      return
    fi
  else
    case $RELEASES in
      @*) fail "this copy of install.sh belongs to a checkout, which has no releases" \
        "Build buddy as the README says, take install.sh from a release, or set BUDDY_INSTALL_BASE_URL." ;;
    esac
    if [ -n "$version" ]; then base=$RELEASES/download/v$version; else base=$RELEASES/latest/download; fi
  fi
  download "$base/SHA256SUMS" "$work/SHA256SUMS" || fail "cannot download $base/SHA256SUMS" "$(head -n 1 "$work/why")" "Check the address, the version and the network."
}

# fetch_archive: stores it, checked, as $work/archive, which $unpacker unpacks; false where that cannot be done.
# zstd is a fifth smaller than gzip.
unpacker=''
fetch_archive() {
  [ -n "$archive" ] && has tar || return 1
  for kind in zst gz; do
    case $kind in zst) tool=zstd ;; *) tool=gzip ;; esac
    has "$tool" || continue
    sum=$(sum_of "$archive.tar.$kind")
    [ -n "$sum" ] || continue
    say "downloading $base/$archive.tar.$kind"
    download "$base/$archive.tar.$kind" "$work/archive" progress || continue
    [ "$(sha256 "$work/archive")" = "$sum" ] || fail "the checksum of $archive.tar.$kind is wrong: nothing was installed" \
      "expected $sum" "got      $(sha256 "$work/archive")" "The download was cut off or changed on its way; try again."
    unpacker="$tool -dc"
    return 0
  done
  return 1
}

fetch_binary() {
  if fetch_archive; then
    # Straight to where it belongs: the directory for temporary files may be small.
    { $unpacker "$work/archive" | tar -xOf - "$archive/buddy" >"$staged"; } 2>"$work/why" ||
      fail "cannot unpack buddy into $directory" "$(head -n 1 "$work/why")" "Is the disk full?"
    return
  fi
  rm -f "$work/archive"
  say "downloading $base/$asset"
  download "$base/$asset" "$staged" progress || fail "cannot download $base/$asset" "$(head -n 1 "$work/why")"
}

# What goes with the binary: path in the archive, then path below the share directory.
SHARED='buddy.1 man/man1/buddy.1
completions/buddy.bash bash-completion/completions/buddy
completions/_buddy zsh/site-functions/_buddy
completions/buddy.fish fish/vendor_completions.d/buddy.fish'

has_share() {
  printf '%s\n' "$SHARED" | { while read -r from to; do [ -f "$share/$to" ] || exit 1; done; }
}

put_share() {
  [ -n "$unpacker" ] || return 0
  # All but the binary; what is missing then is named below.
  (cd "$work" && $unpacker archive | tar -xf - "$archive/buddy.1" "$archive/completions") 2>/dev/null || :
  printf '%s\n' "$SHARED" | while read -r from to; do
    { mkdir -p "$share/${to%/*}" && cp "$work/$archive/$from" "$share/$to" && chmod 644 "$share/$to"; } 2>/dev/null ||
      say "could not write $share/$to"
  done
}

uninstall() {
  if [ -d "$directory" ]; then directory=$(CDPATH='' cd -- "$directory" && pwd); fi
  choose_share
  found=''
  for path in "$directory/buddy" "$directory/.buddy-previous" "$directory"/.buddy-install.* "$directory"/.buddy-update* "$share/man/man1/buddy.1" "$share/bash-completion/completions/buddy" \
    "$share/zsh/site-functions/_buddy" "$share/fish/vendor_completions.d/buddy.fish"; do
    [ -f "$path" ] || continue
    rm -f "$path" || fail "cannot remove $path"
    say "removed $path"
    found=yes
  done
  [ -n "$found" ] || fail "buddy is not installed in $directory" "Name its directory with BUDDY_INSTALL_DIR."
  say "Settings, keys and sessions are still there: ~/.config/buddy, ~/.local/state/buddy and .buddyx directories."
}

advise() {
  advise_path
  # No zsh looks there by itself; that of the system looks in the directories of the system.
  case ${SHELL:-}:$share in
    */zsh:/usr/*) ;;
    */zsh:*) [ ! -f "$share/zsh/site-functions/_buddy" ] || say "For completions in zsh add to its .zshrc, before compinit: fpath=('$share/zsh/site-functions' \$fpath)" ;;
  esac
}

advise_path() {
  try=buddy
  case ":${PATH:-}:" in
    *":$directory:"* | *":$directory/:"*) return ;;
  esac
  try=$directory/buddy
  say "$directory is not in your PATH. Add it, for example:"
  line="export PATH=\"$directory:\$PATH\"" next='open a new shell'
  # The file that an interactive shell of this user reads.
  case ${SHELL:-} in
    */fish) say "  fish_add_path '$directory'" && return ;;
    */zsh) if [ -n "${ZDOTDIR:-}" ]; then profile="'$ZDOTDIR/.zshrc'"; else profile=\~/.zshrc; fi ;;
    */bash) if [ "$(uname -s)" = Darwin ]; then profile=\~/.bash_profile; else profile=\~/.bashrc; fi ;;
    */csh | */tcsh) line="setenv PATH \"$directory:\$PATH\"" profile=\~/.cshrc ;;
    *) profile=\~/.profile next='log in again' ;;
  esac
  say "  echo '$line' >> $profile   and $next"
}

main "$@"
