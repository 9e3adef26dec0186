/**
 * Runs a command without approval: `bash -p -c TEXT` or `sh -c TEXT`, as a child that knows nothing about its shell.
 */
import cleanAwait from "../../../templates/target/clean-await.sh" with { type: "text" };
import closeFilesText from "../../../templates/target/clean-close-files.sh" with { type: "text" };
import cleanEndHolders from "../../../templates/target/clean-end-holders.sh" with { type: "text" };
import cleanEndMarked from "../../../templates/target/clean-end-marked.sh" with { type: "text" };
import cleanFollow from "../../../templates/target/clean-follow.sh" with { type: "text" };
import cleanHold from "../../../templates/target/clean-hold.sh" with { type: "text" };
import cleanInNamespace from "../../../templates/target/clean-in-namespace.sh" with { type: "text" };
import cleanLastDirectory from "../../../templates/target/clean-last-directory.sh" with { type: "text" };
import cleanOwn from "../../../templates/target/clean-own.sh" with { type: "text" };
import cleanPassSignals from "../../../templates/target/clean-pass-signals.sh" with { type: "text" };
import cleanWait from "../../../templates/target/clean-wait.sh" with { type: "text" };
import findNamespace from "../../../templates/target/find-namespace.sh" with { type: "text" };
import { onOneLine, script } from "../../lib/script.ts";
import { quote, quoteAll } from "../../lib/quote.ts";
import type { MachineFacts, Unasked } from "../target.ts";
import { STANDARD_PATH } from "./clean-environment.ts";

/**
 * Returns the lines of sh that run a text as a clean child, for a shell of the Bourne family that has `__buddy_bare`
 * and in which 9 is the original stderr. `to` is a word: the file to which the child writes its last directory; with
 * `begins`, first a line once it has started. Sets __buddy_code to the exit code.
 */
export type CleanScript = (text: string, unasked: Unasked, to: string, begins?: boolean) => string;

export interface CleanShell {
  readonly kind: "bash" | "sh";
  readonly path: string;
}

/**
 * Options of a clean bash. --norc: with SSH_CLIENT set and SHLVL below 2, bash assumes that sshd started it and reads
 * ~/.bashrc even with -p.
 */
export const CLEAN_BASH: readonly string[] = ["--norc", "-p", "-c"];

/** The shell that runs commands without approval; the policy judges the syntax of this one. */
export function cleanShell({ programs, path }: Pick<MachineFacts, "programs" | "path">): CleanShell {
  const trusted = (path || STANDARD_PATH).split(":");
  const isTrusted = (program: string) => trusted.includes(program.slice(0, program.lastIndexOf("/")));
  const { bash = "", sh = "" } = programs;
  if (isTrusted(bash)) return { kind: "bash", path: bash };
  return { kind: "sh", path: isTrusted(sh) ? sh : "/bin/sh" };
}

/** On the same line, so that line numbers in messages are right. */
export function withVariables(command: string, { variables = [] }: Unasked): string {
  return variables.map(([name, value]) => `${name}=${quote(value)}; `).join("") + command;
}

/** How to find and enter the read-only namespace of a target. */
export interface NamespaceEntry {
  /** Contains "PID START-TIME" while there is a namespace; FILE.changing exists while it is made again. */
  readonly file: string;
  /** Words for sh that enter it, before a program and its arguments; "$__buddy_pid" is its process. */
  readonly enter: string;
  /** Without the namespace the command does not run. */
  readonly required: boolean;
}

export function cleanScript(
  text: string,
  shell: CleanShell,
  { own, namespace }: { readonly own: readonly string[]; readonly namespace: NamespaceEntry | undefined },
  to: string,
  begins = false,
): string {
  const bare = quoteAll(["__buddy_bare", ...own]);
  const start = (before: string, args: string) => {
    const begun = begins ? "echo >&3; " : "";
    const report = begins || mayMove(text) ? ` 3>|${to}` : "";
    const words = [...programWords(shell), before + begun + evaluate(text, shell)].map(quote).join(" ");
    return `${words} ${shell.kind}${args} ${quote(text)}${report}`;
  };
  const close = closing(shell);
  // What bash prints when it starts, about a missing locale, is not output of the text.
  if (namespace === undefined)
    return `__buddy_code=0\n${bare} ${start(`exec ${OWN_FILES}; ${close}`, "")} || __buddy_code=$?`;
  const { file, enter, required } = namespace;
  return script(cleanInNamespace, {
    findNamespace,
    child: start(`${ARRIVE}; ${close}`, ' "${__buddy_pid:+$PWD}" "${LC_ALL+=$LC_ALL}"'),
    bare,
    enter,
    file: quote(file),
    changing: quote(`${file}.changing`),
    // Without a namespace.
    outside: required ? REFUSE : `LC_ALL=C ${bare} "$@" ${OWN_FILES}`,
    missing: required ? '[ "$((__buddy_round=__buddy_round+1))" -gt 60 ]' : ":",
  });
}

/** The original stderr. */
const OWN_FILES = "2>&9 9>&-";

/** The same as a separate command to be typed, quoted with `quoteWord`; a change of directory is lost. */
export function cleanChild(
  text: string,
  shell: CleanShell,
  own: readonly string[],
  quoteWord: (word: string) => string,
): string {
  return [
    "__buddy_bare",
    ...own,
    ...programWords(shell),
    closing(shell) + evaluate(text, shell, true),
    shell.kind,
    text,
  ]
    .map(quoteWord)
    .join(" ");
}

function programWords(shell: CleanShell): string[] {
  return shell.kind === "sh" ? [shell.path, "-c"] : [shell.path, ...CLEAN_BASH];
}

function closing({ kind }: CleanShell): string {
  return kind === "bash" ? `set +o posix; ${CLOSE_FILES}; ` : `${CLOSE_LOW_FILES}; `;
}

/** For a shell of the Bourne family: changes to the last directory of the child. */
export function followClean(text: string, to: string, cd: string): string {
  if (!mayMove(text)) return "";
  return script(cleanLastDirectory, { to, cd });
}

/** A change of directory is the only effect of a text that is kept. */
export function mayMove(text: string): boolean {
  return /cd|pushd|popd/.test(text.replace(/['"\\]/g, ""));
}

/**
 * $1 is the text. What it leaves behind ends with it: bash does not wait for `<( )` and `>( )`. `typed`: the line must
 * be short, so that a trap has to do, with which bash may lose a Ctrl-C.
 */
function evaluate(text: string, { kind }: CleanShell, typed = false): string {
  const moves = mayMove(text);
  const said = moves ? '{ printf "%s\\n" "$PWD" >&3; } 2>/dev/null; ' : "";
  const run = '__buddy_text=$1; shift; eval "$__buddy_text" 3>&-';
  if (kind === "sh") {
    const mark = `${MARK}=${Math.random().toString(36).slice(2)}.${Date.now()}`;
    return `export ${mark}; trap '${said}${END_MARKED}' EXIT; ${run}`;
  }
  const release = `{ exec 7</proc/self/fd/9 9>&-; ${END_HOLDERS}; } 2>/dev/null`;
  if (!isPlain(text)) return typed ? `${HOLD}; exec ${HELD}; trap '${release}' EXIT; ${run}` : waitingBash(moves);
  return `${HOLD}; exec ${HELD}; ${run}; set -- "$?"; ${said}${release}; exit "$1"`;
}

/**
 * Whether a text can only end at its end, and starts nothing in another process group: words without expansions,
 * pipelines and lists, and none of the words that could do so. The shell of such a text can see to its end itself.
 */
function isPlain(text: string): boolean {
  return (
    /^(?:[\w./:,@%+= \t\n;|'"-]|&&|>(?:&[12]|\/dev\/null))*$/.test(text) && !NOT_PLAIN.test(text.replace(/['"]/g, ""))
  );
}

const NOT_PLAIN =
  /\b(?:exit|logout|exec|return|kill|suspend|set|shopt|trap|eval|source|coproc|ulimit|timeout|setsid|script|sudo|su|runuser|doas|unbuffer|expect)\b|(?:^|[\s;&|])(?:\.\s|\w+\+?=)/;

/** The shell of such a text runs it in another bash, and waits. */
function waitingBash(moves: boolean): string {
  const own = onOneLine(
    script(cleanOwn, { follow: moves ? onOneLine(script(cleanFollow)) : "", last: moves ? LAST_DIRECTORY : "" }),
  );
  const loaded = [...CLEAN_BASH, own].map(quote).join(" ");
  return onOneLine(script(cleanWait, { ...PARTS, loaded, report: moves ? REPORT : "" }));
}

const PARTS = { cleanAwait, cleanEndHolders, cleanHold, cleanPassSignals };
const LAST_DIRECTORY = '{ set -- "$?"; printf "%s\\0" "$PWD" >&9; exit "$1"; } 2>/dev/null';
const REPORT = '[ -z "${__buddy_to-}" ] || printf "%s\\n" "$__buddy_to" >&3';

const HOLD = onOneLine(script(cleanHold));
const HELD = "9>$__buddy_hold 7<&-";
const END_HOLDERS = onOneLine(script(cleanEndHolders));

/** For sh. */
const MARK = "BUDDY_TEXT";
const END_MARKED = onOneLine(script(cleanEndMarked));

/** By its name, inside the namespace: the current directory of the shell is on the writable mount. */
export const ENTER_DIRECTORY = `__buddy_old=\${OLDPWD-}; cd -- "$1" || exit 126; OLDPWD=$__buddy_old; unset __buddy_old`;

/** In the child: $1 is the directory if a namespace was entered, or ""; $2 is `=` and the original LC_ALL, or "". */
const ARRIVE =
  `if [ -n "$1" ]; then ${ENTER_DIRECTORY}; fi; ` +
  `{ case $2 in =*[!a-zA-Z0-9_.@-]* | '') unset LC_ALL ;; *) LC_ALL=\${2#=} ;; esac; } 2>/dev/null; shift 2`;

const closeFiles = (keep: string, close: string) => onOneLine(script(closeFilesText, { keep, close }));
const CLOSE_FILES = closeFiles("[0-3]", "[0-9]*");
const CLOSE_LOW_FILES = closeFiles("[0-3]", "[4-9]");

export const LOOK = script(findNamespace);

const REFUSE = `echo 'buddy: the read-only namespace is not ready; the command did not run' >&9; return 126`;
