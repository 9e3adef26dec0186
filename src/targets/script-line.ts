/** Parts of scripts for targets: folded into one line for a shell that reads them from stdin, and shared checks. */
import ownDirectory from "../../templates/target/own-directory.sh" with { type: "text" };
import pidSpace from "../../templates/target/pid-space.sh" with { type: "text" };
import { script } from "../lib/script.ts";
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

export const OWN_DIRECTORY = script(ownDirectory);

export const PID_SPACE = script(pidSpace);
