# `finish` writes the last line of the output file, once, and then marks it as complete; `verdict` sets the
# text of that line. Arguments: directory, 0 or what went wrong, not empty to do it even if another process
# has begun to.
finish() {
  if mkdir "$1/ending" 2>/dev/null || [ -n "${3-}" ]; then
    if [ -s "$1/output" ] && [ $(($(tail -c 1 "$1/output" | wc -l))) -eq 0 ]; then echo >>"$1/output"; fi
    if [ "$2" = 0 ]; then echo '[background process completed]'; else echo "[background process failed: $2]"; fi >>"$1/output"
    mkdir "$1/ended" 2>/dev/null
  fi
}
verdict() {
  c='ended without an exit code'
  if [ -f "$1/killed" ]; then read -r c <"$1/killed"
  elif [ -f "$1/code" ]; then read -r c <"$1/code"; [ "$c" = 0 ] || c="exit code $c"; fi
}
