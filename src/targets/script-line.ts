/** Parts of scripts for targets: folded into one line for a shell that reads them from stdin, and shared checks. */
import { quote } from "../lib/quote.ts";

/**
 * What ssh and container engines run: a constant that reads the real script from the first line of stdin. The login
 * shell may be fish or csh, which treat backslashes, newlines and `!` in quotes differently; this text has none of
 * them. The script can have any length, and `ps` does not show it.
 */
export const LOADER = `IFS= read -r l && eval "$l"`;

/** The first line for LOADER: the script, with its arguments as "$1", "$2", …; if given, only for a shell of `name`. */
export function loaderLine(script: string, args: readonly string[] = [], name = ""): string {
  const check = name === "" ? "" : `[ "$0" = ${quote(name)} ] || { echo ${quote(LINE_TAKEN)} >&2; exit 71; }; `;
  const positional = args.length === 0 ? "" : `set -- ${args.map(quoteOnOneLine).join(" ")}; `;
  return `${check}${NEWLINE} ${positional}eval ${quoteOnOneLine(script)}\n`;
}

/** Sets NL on one line and without a process: IFS starts as space, tab and newline; zsh adds one more. */
const NEWLINE = 'NL=${IFS#??}; NL=${NL%"${NL#?}"};';

/** A start-up file that reads stdin has taken the line for LOADER. */
export const LINE_TAKEN = "buddy: the first line of standard input is missing";

/** Like quote, but without a newline in the result; NL must be a newline where it is evaluated. */
export function quoteOnOneLine(word: string): string {
  return quote(word).replaceAll("\n", `'"$NL"'`);
}

/** Without indents and comments: a shell reads a pipe one byte at a time (1 ms for 1 KB). */
export function lean(script: string): string {
  return script.replace(/^ *(?:#.*)?\n/gm, "").replace(/^ +/gm, "");
}

/**
 * `__buddy_own DIR`: whether it is a directory of this user, and not a link. On systems that follow links of other
 * users in /tmp (macOS, BSD, Linux without protected_symlinks), another user could replace it between the checks of
 * `[`; there `ls` checks it in one step.
 *
 * `__buddy_lock DIR`: waits for the lock in it, on 9, up to 5 s. A link in its place is removed, not followed; without
 * a lock the script continues.
 */
export const OWN_DIRECTORY = `__buddy_own() {
  [ -d "$1" ] && [ ! -L "$1" ] && [ -O "$1" ] || return
  __buddy_links=
  if { read -r __buddy_links </proc/sys/fs/protected_symlinks; } 2>/dev/null && [ "$__buddy_links" = 1 ]; then return; fi
  set -- "$(id -u)" $(ls -ldn "$1")
  case \${2-} in d*) [ "$4" = "$1" ] ;; *) return 1 ;; esac
}
__buddy_lock() {
  [ ! -L "$1/lock" ] || rm -f "$1/lock"
  if [ -f "$1/lock" ] || [ ! -e "$1/lock" ] && true >>"$1/lock"; then exec 9>>"$1/lock" && flock -w 5 9; fi 2>/dev/null
}`;

/**
 * __buddy_pid_space sets the variable of that name to the start time of process 1, which is the same for all that see
 * the same processes: a pid in a file may come from a container that shares /tmp. Empty if process 1 cannot be seen.
 * Starts no program: it runs each time a target is opened.
 */
export const PID_SPACE = `__buddy_pid_space() {
  __buddy_pid_space=
  if IFS= read -r __buddy_pid_space; then
    set -- \${__buddy_pid_space##*) }
    __buddy_pid_space=\${20-}
  fi
} 2>/dev/null </proc/1/stat`;
