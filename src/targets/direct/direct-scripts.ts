/** The scripts of a direct shell: its loop, each command, and how to end everything that a command started. */
import { OWN_DIRECTORY, PID_SPACE, quoteOnOneLine } from "../script-line.ts";
import { followClean, mayMove } from "../read-only/clean-script.ts";

/**
 * $1 directory for the exported variables (in ~/.cache/buddy if another user owns its parent), $2 whether to restore
 * those of an earlier shell, $3 working directory, $4 mark for the environment of everything it starts, $5 the
 * variables as buddy knows them: after a drop the directory is gone. The first line on stdin is the key for the marks;
 * each further line is a request.
 *
 * Marks go to copies of stdout and stderr, so that a command that redirects them for good cannot hide its end; what it
 * starts does not get the copies. The end is reported only before the next request is read, so that `break`, `continue`
 * and syntax errors cannot skip it. A request that sets no __buddy_text is complete once it is evaluated.
 */
export const DIRECT_START = `
unset l
exec 7<&0 8>&1 9>&2 </dev/null
IFS= read -r __buddy_key <&7 || exit 0
__buddy_file= __buddy_tag= __buddy_save= __buddy_at= __buddy_for= NL='
'
${OWN_DIRECTORY}
# Neither a link nor a directory of another user is used.
for __buddy_for in "\${1%/*}" "\${HOME:-/tmp}/.cache/buddy"; do
  [ -d "$__buddy_for" ] || ( umask 077; mkdir -p "$__buddy_for" ) 2>/dev/null
  if __buddy_own "$__buddy_for"; then
    __buddy_file=$__buddy_for/\${1##*/}/env
    break
  fi
done
# A cleaner of /tmp may remove the directory later.
__buddy_make() {
  ( trap '' 25; umask 077; d=\${__buddy_file%/env}; mkdir -p "$d" && { [ -s "$d/env" ] || printf '%s' "$1" >>"$d/env"; } && echo $$ $__buddy_pid_space >"$d/pid" ) 2>/dev/null
}
${PID_SPACE}
__buddy_pid_space
if [ -n "$__buddy_file" ]; then
  for __buddy_at in "$__buddy_for"/direct-*; do
    # Left behind by a shell that was killed.
    if [ "$__buddy_at" != "\${__buddy_file%/env}" ] && read -r __buddy_tag __buddy_save <"$__buddy_at/pid" &&
      [ "$__buddy_save" = "$__buddy_pid_space" ] && ! kill -0 "$__buddy_tag"; then rm -rf "$__buddy_at"; fi
  done 2>/dev/null
  __buddy_make "$5"
  __buddy_at= __buddy_tag= __buddy_save=
fi
if [ "$2" = 1 ]; then
  if [ -s "$__buddy_file" ] && [ -O "$__buddy_file" ]; then . "$__buddy_file"; else eval "$5"; fi 2>/dev/null
  # PWD came with the variables: it must not name a directory that is gone.
  cd -- "$3" 2>/dev/null || cd -P . 2>/dev/null
fi
export BUDDY_JOB="$4"
shift 6
__buddy_for= __buddy_last=\${__buddy_file:+\${__buddy_file%/env}/dir}
# 25 is XFSZ: it would kill a shell that writes a file beyond the size limit.
__buddy_keep() {
  if [ -O "$__buddy_file" ]; then
    trap '' 25
    { export -p; printf 'umask '; umask; } >|"$__buddy_file"
    trap - 25
  fi
}
# Encodes the directory for marks; starts a program only if the name needs that.
__buddy_place() {
  __buddy_for=$PWD
  __buddy_at=$PWD
  case $PWD in *[![:print:]]* | *%*)
    __buddy_at=$(printf %s "$PWD" | { od -An -v -tx1 || cat; } 2>/dev/null | tr -d '\\n' | tr ' ' %) ;;
  esac
}
__buddy_report() {
  [ "$PWD" = "$__buddy_for" ] || __buddy_place
  printf '\\033]7771;%s;E;%s;%s\\a' "$__buddy_key" "$__buddy_code" "$1" >&9
  printf '\\033]7771;%s;P;0;%s;%s;%s\\a' "$__buddy_key" "$__buddy_code" "$1" "$__buddy_at" >&8
}
__buddy_next() {
  __buddy_code=$?
  if [ -n "$__buddy_tag" ]; then
    if [ -n "$__buddy_save" ]; then __buddy_keep; fi
    __buddy_report "$__buddy_tag"
    __buddy_tag= __buddy_save=
  fi
  __buddy_text=
  IFS= read -r __buddy_line <&7 || { trap - EXIT; rm -rf "\${__buddy_file%/env}"; exit 0; }
  eval "$__buddy_line"
  if [ -n "$__buddy_text" ] && [ -n "\${__buddy_texts-}" ]; then __buddy_leave; fi
}
# A child of bash that is killed before its exec still runs this trap: its pid is not that of the shell. Compared in an
# arithmetic expansion, since bash evaluates a failed test as true in that state.
__buddy_exit() {
  __buddy_keep
  [ "$PWD" = "$__buddy_for" ] || __buddy_place
  set -- '\\033]7771;%s;P;%s;%s;0;%s\\a' "$__buddy_key" "$((\${BASHPID:-$$} != $$))" "$1" "$__buddy_at"
  printf "$@" >&8 || printf "$@"
}
trap '{ __buddy_exit "$?"; } 2>/dev/null' EXIT
printf '\\033]7771;%s;B\\a' "$__buddy_key" >&8
printf '\\033]7771;%s;B\\a' "$__buddy_key" >&9
`;

/**
 * $6 is DIRECT_START. On one line, so that line numbers in messages of a command are right. What a DEBUG trap prints
 * about `__buddy_next` is not output, nor is what `set -x` prints about this line. `command eval`: in dash and busybox
 * a syntax error in a plain eval would end the shell.
 */
export const DIRECT_LOOP =
  'eval "$6"; while :; do while { __buddy_next; } >/dev/null 2>/dev/null; do ' +
  '{ command eval "$__buddy_text" </dev/null >&8 2>&9 7<&- 8>&- 9>&-; } 2>/dev/null; done; done';

/** Prints the directory of process $2 if it is not $1. */
export const ELSEWHERE = `
[ "$(readlink "/proc/$2/cwd"; echo x)" = "$1
x" ] || [ "$1" -ef "/proc/$2/cwd" ] || readlink "/proc/$2/cwd"`;

/**
 * Whether a command may change an exported variable or the umask: a snapshot of them costs a tenth of a millisecond.
 */
export function changesEnvironment(command: string): boolean {
  return /=|export|declare|typeset|unset|umask|read|source|eval|printf -v|(^|[\s;&|])\.\s/.test(command);
}

export function request(command: string, tag: number): string {
  const save = changesEnvironment(command) ? " __buddy_save=1" : "";
  return `__buddy_tag=${tag}${save} __buddy_text=${quoteOnOneLine(command)}\n`;
}

/** For `cleanLines`: evaluated where stderr is discarded, so that `set -v` does not show them. */
export function cleanRequest(lines: string, tag: number): string {
  const leave = '[ -z "${__buddy_texts-}" ] || __buddy_leave';
  return `${leave}; eval ${quoteOnOneLine(lines)} </dev/null >&8 7<&- 8>&-; __buddy_report ${tag}\n`;
}

/**
 * For the clean shell that stays; `standing` defines it if this shell does not know it yet. Answered with "incomplete"
 * if it cannot take the command. Short, because the shell reads one byte at a time.
 */
export function standingRequest(command: string, tag: number, standing?: string): string {
  const define = standing === undefined ? "" : `eval ${quoteOnOneLine(standing + ASK)}\n`;
  return `${define}__buddy_ask ${tag} ${quoteOnOneLine(command)}\n`;
}

const ASK = `
__buddy_ask() {
  __buddy_standing "$2"
  if [ -n "$__buddy_code" ]; then __buddy_report "$1"; else printf '\\033]7771;%s;I\\a' "$__buddy_key" >&8; fi
}`;

/** A command that runs as a clean child; `clean` returns its lines of sh. In them 9 is stderr. */
export function cleanLines(command: string, clean: (to: string) => string): string {
  const to = '"${__buddy_last:-/dev/null}"';
  const there = '[ -d "${__buddy_last%/*}" ] || [ -z "${__buddy_last-}" ] || __buddy_make || __buddy_last=\n';
  return `{ ${mayMove(command) ? there : ""}${clean(to)}\n${followClean(command, to, "command cd")}\n[ "$__buddy_code" = 0 ] || (exit "$__buddy_code"); }`;
}

/**
 * $1 pid of the shell, $2 mark in the environment. Stops the shell first, or it would continue with the next command of
 * its list; then TERM, a short wait and KILL to all that it started, including what left its group (`setsid`). Without
 * a pid: only what has the mark.
 */
export const END_TREE = `
case $1$2 in *[!0-9a-f-]*|'') exit 2 ;; esac
[ "\${1:-2}" -gt 1 ] && [ \${#2} -ge 16 ] || exit 2
[ -z "$1" ] || kill -STOP "$1" 2>/dev/null
list() {
  if [ -d /proc/self ]; then
    for f in $(grep -ls "BUDDY_JOB=$2" /proc/[0-9]*/environ 2>/dev/null); do f=\${f#/proc/}; echo "\${f%/environ}"; done
  fi
  [ -z "$1" ] || ps -A -o pid= -o ppid= -o stat= 2>/dev/null | awk -v s="$1" '
    $3 !~ /^Z/ { n++; pid[n] = $1; parent[n] = $2 }
    END {
      mine[s] = 1
      do { more = 0; for (i = 1; i <= n; i++) if ((parent[i] in mine) && !(pid[i] in mine)) { mine[pid[i]] = 1; more = 1 } } while (more)
      for (p in mine) print p
    }' 2>/dev/null
}
others() { list "$1" "$2" | while read -r p; do [ "$p" != "$1" ] && [ "$p" != $$ ] && [ "$p" -gt 1 ] && kill -0 "$p" 2>/dev/null && echo "$p"; done; }
each() { for p in $(others "$2" "$3"); do kill "-$1" "$p" 2>/dev/null; done; }
each TERM "$1" "$2"
each CONT "$1" "$2"
i=0
while [ $i -lt 10 ] && [ -n "$(others "$1" "$2")" ]; do sleep 0.03 2>/dev/null || sleep 1; i=$((i + 1)); done
each KILL "$1" "$2"
[ -z "$1" ] || kill -KILL "$1" "-$1" 2>/dev/null
:
`;
