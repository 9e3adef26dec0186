/** What scripts for targets are made of: folded into one line for a shell that reads them from stdin, and a check. */
import { quote } from "../lib/quote.ts";

/**
 * What ssh and container engines are given to run: a constant that reads the real script from the first line of stdin.
 * The login shell may be fish or csh, which read backslashes, newlines and `!` in quotes in their own ways; this
 * text has none of them, needs no length limit and shows nothing in `ps`.
 */
export const LOADER = `IFS= read -r l && eval "$l"`;

/**
 * The first line for LOADER: the script, with its arguments as "$1", "$2", ...; only for a shell of that name, if
 * given.
 */
export function loaderLine(script: string, args: readonly string[] = [], name = ""): string {
  const check = name === "" ? "" : `[ "$0" = ${quote(name)} ] || { echo ${quote(LINE_TAKEN)} >&2; exit 71; }; `;
  const positional = args.length === 0 ? "" : `set -- ${args.map(quoteOnOneLine).join(" ")}; `;
  return `${check}${NEWLINE} ${positional}eval ${quoteOnOneLine(script)}\n`;
}

/** Sets NL, on one line and without a process: IFS is space, tab and newline at first; in zsh one more follows. */
const NEWLINE = 'NL=${IFS#??}; NL=${NL%"${NL#?}"};';

/** A start-up file that reads its standard input has taken the line that was for LOADER. */
export const LINE_TAKEN = "buddy: the first line of standard input is missing";

/** Like quote, but without a newline in the result: needs NL set to a newline where it is evaluated. */
export function quoteOnOneLine(word: string): string {
  return quote(word).replaceAll("\n", `'"$NL"'`);
}

/** Without indents and lines of comment: a shell reads a pipe one byte at a time (1 ms for 1 KB). */
export function lean(script: string): string {
  return script.replace(/^ *(?:#.*)?\n/gm, "").replace(/^ +/gm, "");
}

/**
 * For scripts: `__buddy_own DIR`, whether it is a directory of this user, and no link. Where the links of others are
 * followed in /tmp (macOS, BSD, Linux without protected_symlinks), one could be swapped in between the looks of `[`;
 * there `ls` looks once.
 */
export const OWN_DIRECTORY = `__buddy_own() {
  [ -d "$1" ] && [ ! -L "$1" ] && [ -O "$1" ] || return
  __buddy_links=
  if { read -r __buddy_links </proc/sys/fs/protected_symlinks; } 2>/dev/null && [ "$__buddy_links" = 1 ]; then return; fi
  set -- "$(id -u)" $(ls -ldn "$1")
  case \${2-} in d*) [ "$4" = "$1" ] ;; *) return 1 ;; esac
}`;
