#!/bin/sh
# Installs buddy: finds the binary for this machine, downloads it, checks its SHA-256, puts it in place in one step.
#
#   curl -fsSL https://github.com/buddy-terminal/buddy/releases/latest/download/install.sh | sh
#
# BUDDY_INSTALL_DIR       where to put it (default: ~/.local/bin)
# BUDDY_VERSION           a version such as 0.1.0 (default: the newest)
# BUDDY_INSTALL_BASE_URL  a directory with the files of a release, such as a mirror (BUDDY_VERSION then looks in
#                         v<version>/ below it first, and is checked in any case)
#
# Never needs root; leaves nothing behind when it fails. POSIX sh: dash, busybox ash, bash, zsh.
set -eu

RELEASES=https://github.com/buddy-terminal/buddy/releases

say() { printf '%s\n' "$*" >&2; }
fail() {
  say "buddy install: $1"
  shift
  for line in "$@"; do say "  $line"; done
  exit 1
}

work='' staged=''
clean_up() {
  [ -z "$work" ] || rm -rf "$work"
  [ -z "$staged" ] || rm -f "$staged"
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

# download URL FILE: true when the whole answer was stored.
download() {
  if command -v curl >/dev/null 2>&1; then
    curl -fsSL --retry 2 --connect-timeout 20 -o "$2" "$1" 2>"$work/why"
  elif command -v wget >/dev/null 2>&1; then
    wget -q -O "$2" "$1" 2>"$work/why"
  else
    fail "neither curl nor wget is here" "Install one of them, or copy the binary to this machine by hand."
  fi
}

choose_hasher() {
  if command -v sha256sum >/dev/null 2>&1; then
    hasher='sha256sum'
  elif command -v shasum >/dev/null 2>&1; then
    hasher='shasum -a 256'
  elif command -v openssl >/dev/null 2>&1; then
    hasher='openssl dgst -sha256 -r'
  else
    fail "nothing here can compute a SHA-256" "Install coreutils, perl (shasum) or openssl."
  fi
}

sha256() {
  $hasher "$1" | cut -d ' ' -f 1
}

main() {
  platform=$(platform) || exit 1
  asset=buddy-$platform
  choose_hasher
  directory=${BUDDY_INSTALL_DIR:-}
  if [ -z "$directory" ]; then
    [ -n "${HOME:-}" ] || fail "HOME is not set" "Say where to install with BUDDY_INSTALL_DIR."
    directory=$HOME/.local/bin
  fi
  version=${BUDDY_VERSION:-}
  version=${version#v}

  mkdir -p "$directory" 2>/dev/null || fail "cannot make the directory $directory" "Choose another with BUDDY_INSTALL_DIR."
  # As PATH has it: absolute, without a slash at its end.
  absolute=$(CDPATH='' cd -- "$directory" 2>/dev/null && pwd) || fail "cannot enter the directory $directory" "Choose another with BUDDY_INSTALL_DIR."
  directory=$absolute
  staged=$directory/.buddy-install.$$
  (: >"$staged") 2>/dev/null || { staged=''; fail "cannot write to $directory" "Choose another directory with BUDDY_INSTALL_DIR."; }
  [ ! -d "$directory/buddy" ] || fail "$directory/buddy is a directory" "Move it away, or choose another with BUDDY_INSTALL_DIR."
  work=$(mktemp -d "${TMPDIR:-/tmp}/buddy-install.XXXXXX") || fail "cannot make a temporary directory in ${TMPDIR:-/tmp}"

  fetch_sums
  expected=$(awk -v name="$asset" '$2 == name || $2 == "*" name { print $1; exit }' "$work/SHA256SUMS")
  [ -n "$expected" ] || fail "$base/SHA256SUMS does not list $asset" "This release has no build for this machine."

  if [ -f "$directory/buddy" ] && [ "$(sha256 "$directory/buddy")" = "$expected" ]; then
    say "buddy is up to date: $directory/buddy"
    advise_path
    return
  fi

  say "downloading $base/$asset"
  fetch_binary
  [ "$(sha256 "$staged")" = "$expected" ] || fail "the checksum of $asset is wrong: nothing was installed" \
    "expected $expected" "got      $(sha256 "$staged")" "The download was cut off or changed on its way; try again."
  chmod 755 "$staged"
  shown=$("$staged" --version 2>"$work/why") || fail "the binary does not run on this system: nothing was installed" "$(head -n 1 "$work/why")"
  [ -z "$version" ] || [ "$shown" = "buddy $version" ] || fail "$base holds $shown, not $version: nothing was installed"
  # A rename replaces a running binary without disturbing it, and never shows half a file.
  mv -f "$staged" "$directory/buddy" || fail "cannot replace $directory/buddy"
  staged=''
  say "installed $shown as $directory/buddy"
  advise_path
  say "Try it, without any key: $try demo"
}

fetch_sums() {
  if [ -n "${BUDDY_INSTALL_BASE_URL:-}" ]; then
    base=${BUDDY_INSTALL_BASE_URL%/}
    if [ -n "$version" ] && download "$base/v$version/SHA256SUMS" "$work/SHA256SUMS"; then
      base=$base/v$version
      return
    fi
  elif [ -n "$version" ]; then
    base=$RELEASES/download/v$version
  else
    base=$RELEASES/latest/download
  fi
  download "$base/SHA256SUMS" "$work/SHA256SUMS" || fail "cannot download $base/SHA256SUMS" "$(head -n 1 "$work/why")" "Check the address, the version and the network."
}

# The compressed file is a third of the size; the checksum is that of the binary itself.
fetch_binary() {
  if command -v gzip >/dev/null 2>&1 && grep -q " \*\{0,1\}$asset.gz\$" "$work/SHA256SUMS"; then
    if download "$base/$asset.gz" "$work/binary.gz" && gzip -dc "$work/binary.gz" >"$staged" 2>"$work/why"; then return; fi
  fi
  download "$base/$asset" "$staged" || fail "cannot download $base/$asset" "$(head -n 1 "$work/why")"
}

advise_path() {
  try=buddy
  case ":${PATH:-}:" in
    *":$directory:"* | *":$directory/:"*) ;;
    *)
      try=$directory/buddy
      say "$directory is not in your PATH. Add it, for example:"
      # shellcheck disable=SC2016 # the variable is for the reader's shell
      say "  echo 'export PATH=\"$directory:\$PATH\"' >> ~/.profile   and open a new shell"
      ;;
  esac
}

main "$@"
