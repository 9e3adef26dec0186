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
import cleanQuietly from "../../../templates/target/clean-quietly.sh" with { type: "text" };
import cleanWait from "../../../templates/target/clean-wait.sh" with { type: "text" };
import findNamespace from "../../../templates/target/find-namespace.sh" with { type: "text" };
import { onOneLine, script } from "../../lib/script.ts";
import { ABSOLUTE_PATH, quote } from "../../lib/quote.ts";
import type { MachineFacts, Unasked } from "../target.ts";

/**
 * Returns the lines of sh that run a text as a clean child, for a shell of the Bourne family in which 9 is the original
 * stderr. `to` is a word: the file to which the child writes its last directory; with `begins`, first a line once it
 * has started. Sets __buddy_code to the exit code.
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
export function cleanShell({ programs }: Pick<MachineFacts, "programs">): CleanShell {
  const { bash, sh } = programs;
  return bash === undefined ? { kind: "sh", path: sh ?? "/bin/sh" } : { kind: "bash", path: bash };
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
  namespace: NamespaceEntry | undefined,
  to: string,
  begins = false,
): string {
  const start = (before: string, args: string) => {
    const begun = begins ? "echo >&3; " : "";
    const report = begins || mayMove(text) ? ` 3>|${to}` : "";
    const words = [...programWords(text, shell), before + begun + evaluate(text, shell)].map(quote).join(" ");
    return `${words} ${shell.kind}${args} ${quote(text)}${report}`;
  };
  const close = closing(shell);
  // What bash prints when it starts, about a missing locale, is not output of the text.
  if (namespace === undefined) return `__buddy_code=0\n${start(`exec ${OWN_FILES}; ${close}`, "")} || __buddy_code=$?`;
  const { file, enter, required } = namespace;
  return script(cleanInNamespace, {
    findNamespace,
    child: start(`${ARRIVE}; ${close}`, ' "${__buddy_pid:+$PWD}" "${LC_ALL+=$LC_ALL}"'),
    enter,
    file: quote(file),
    changing: quote(`${file}.changing`),
    // Without a namespace.
    outside: required ? REFUSE : `LC_ALL=C "$@" ${OWN_FILES}`,
    missing: required ? '[ "$((__buddy_round=__buddy_round+1))" -gt 60 ]' : ":",
  });
}

/** The original stderr. */
const OWN_FILES = "2>&9 9>&-";

/** The same as a separate command to be typed, quoted with `quoteWord`; a change of directory is lost. */
export function cleanChild(text: string, shell: CleanShell, quoteWord: (word: string) => string): string {
  return [...programWords(text, shell), closing(shell) + evaluate(text, shell, true), shell.kind, text]
    .map(quoteWord)
    .join(" ");
}

function programWords(text: string, shell: CleanShell): string[] {
  if (shell.kind === "sh") return [shell.path, "-c"];
  return [...(STARTS_SHELL.test(text) ? withoutFunctions(shell.path) : []), shell.path, ...CLEAN_BASH];
}

function closing({ kind }: CleanShell): string {
  return kind === "bash" ? `set +o posix; ${QUIETLY}; ${CLOSE_FILES}; ` : `${QUIETLY}; ${CLOSE_LOW_FILES}; `;
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
  `{ if [ -n "$2" ]; then LC_ALL=\${2#=}; else unset LC_ALL; fi; } 2>/dev/null; shift 2`;

/** Shells, and programs that are scripts on some systems: such a child would inherit exported functions. */
export const STARTS_SHELL =
  /(?:^|[^\w.-])(?:(?:ba|rba|da|a)?sh|ldd|which|service|gunzip|[ef]grep|[a-z]*z[a-z]*(?:grep|cat|cmp|diff))(?![\w.-])/;

/** `bash -p` does not import functions but passes them on, so they are removed. */
function withoutFunctions(bash: string): string[] {
  const drop = `${ABSOLUTE_PATH}; IFS='\n'; set -f; exec env $(env | sed -n 's/^\\(BASH_FUNC_[^=]*\\)=.*/-u\\1/p') "$@"`;
  return [bash, ...CLEAN_BASH, drop, "bash"];
}

const QUIETLY = onOneLine(script(cleanQuietly, { absolute_path: ABSOLUTE_PATH }));

const closeFiles = (keep: string, close: string) => onOneLine(script(closeFilesText, { keep, close }));
const CLOSE_FILES = closeFiles("[0-3]", "[0-9]*");
const CLOSE_LOW_FILES = closeFiles("[0-3]", "[4-9]");

export const LOOK = script(findNamespace);

const REFUSE = `echo 'buddy: the read-only namespace is not ready; the command did not run' >&9; return 126`;
