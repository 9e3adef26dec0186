/**
 * Runs a command without approval: `bash -p -c TEXT` or `sh -c TEXT`, as a child that knows nothing about its shell.
 */
import findNamespace from "../../../templates/target/find-namespace.sh" with { type: "text" };
import { script } from "../../lib/script.ts";
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
  const look = `__buddy_look ${quote(namespace.file)}`;
  const changing = quote(`${namespace.file}.changing`);
  const child = start(`${ARRIVE}; ${close}`, ' "${__buddy_pid:+$PWD}" "${LC_ALL+=$LC_ALL}"');
  // The file is written before FILE.changing is removed: without FILE.changing, one more look is enough.
  return `__buddy_code=0 __buddy_round=0
${LOOK}
${enterOrStay(namespace)}
until ${look} || { [ ! -e ${changing} ] && { ${look} || ${namespace.required ? waited(60) : ":"}; }; } || ${waited(600)}; do
  sleep 0.05 2>/dev/null || sleep 1
done
__buddy_enter ${child} || __buddy_code=$?`;
}

/**
 * Without a namespace it runs outside, or not at all. LC_ALL=C: loading a locale takes time, and may print a warning.
 */
function enterOrStay({ enter, required }: NamespaceEntry): string {
  return `__buddy_enter() {
  if [ -z "$__buddy_pid" ]; then ${required ? REFUSE : `LC_ALL=C "$@" ${OWN_FILES}`}
  else LC_ALL=C ${enter} "$@" ${OWN_FILES}
  fi
}`;
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
  return `__buddy_to= __buddy_rest=
{ IFS= read -r __buddy_to || :; while IFS= read -r __buddy_rest; do __buddy_to=$__buddy_to'
'$__buddy_rest; done; } <${to}
[ -z "$__buddy_to" ] || [ "$__buddy_to" = "$PWD" ] || ${cd} -- "$__buddy_to" >/dev/null || :`;
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

/**
 * Another bash runs the text, without a trap. This one waits, at the other end of a pipe that the text and all that it
 * starts hold as 9; with `lastpipe` (bash 4.2) it sets its traps after the fork, and only then the text begins. With
 * a trap for its end, or in a subshell, bash catches INT and loses a Ctrl-C that comes while it starts a program; only
 * `set -m` prevents that in a subshell, but moves it away from the terminal. So this costs the start of another bash.
 */
function waitingBash(moves: boolean): string {
  const [follow, last, report] = moves ? [FOLLOW, LAST_DIRECTORY, REPORT] : ["", "", ""];
  const own =
    "exec 2>&6 6>&-; IFS= read -r __buddy_text <&7 || [ ! -p /proc/self/fd/7 ] || exit; exec 7<&-; " +
    `printf "%s\\0" $$ >&9; __buddy_text=$1; shift; ${follow}eval "$__buddy_text"${last}`;
  return (
    `${HOLD}; exec 5>$__buddy_hold 8>&1; shopt -s lastpipe 2>/dev/null; ` +
    `"$BASH" ${[...CLEAN_BASH, own].map(quote).join(" ")} bash "$@" 9>&1 >&8 6>&2 2>/dev/null 3>&- 5>&- 8>&- | ` +
    `{ exec 7<&0; ${PASS_SIGNALS}; echo >&5; exec 5>&-; ${AWAIT}; } 2>/dev/null; ` +
    `__buddy_code=\${PIPESTATUS[0]}; ${report}${END_HOLDERS}; exit "$__buddy_code"`
  );
}

/**
 * The directory of a text that ends early is known because a text says before each command where it is, if that is not
 * where it was. `$_` stays what it was, and `set -x` shows nothing of it.
 */
const FOLLOW =
  "__buddy_at=$PWD; " +
  `trap '{ case $PWD in "$__buddy_at") ;; *) __buddy_last=$_; __buddy_at=$PWD; ` +
  `printf "%s\\0" "$PWD" >&9; : "$__buddy_last" ;; esac; } 2>/dev/null' DEBUG; `;
const LAST_DIRECTORY = '; { set -- "$?"; printf "%s\\0" "$PWD" >&9; exit "$1"; } 2>/dev/null';
const REPORT = '[ -z "${__buddy_to-}" ] || printf "%s\\n" "$__buddy_to" >&3; ';

/**
 * For bash: a text and all that it starts inherit the writing end of a pipe as 9; 7 is the reading end in this shell.
 * So end of file on 7 means that all of them have ended. The policy asks about every text that uses 9 or more. Older
 * versions of bash use a file for `<<<`.
 */
export const HOLD =
  "__buddy_hold=/proc/self/fd/7; " +
  "{ { exec 7<<<x && [ -p /proc/self/fd/7 ] && read -r __buddy_line <&7 || exec 7< <(:); } && : 9>$__buddy_hold; } 2>/dev/null || " +
  "{ exec 7</dev/null; __buddy_hold=/dev/null; }";
export const HELD = "9>$__buddy_hold 7<&-";

/** Processes such as `>(sort)` have half a second to end; whatever still holds the pipe then is killed. */
export const END_HOLDERS =
  "for __buddy_n in 1 2 3 4; do IFS= read -r -t 0.5 __buddy_line <&7; [ $? -gt 128 ] || break; " +
  'for __buddy_line in /proc/[0-9]*/fd/9; do if [ "$__buddy_line" -ef "/proc/$$/fd/7" ]; then ' +
  "__buddy_line=${__buddy_line#/proc/}; kill -KILL ${__buddy_line%%/*}; fi; done 2>/dev/null; done";

/**
 * Passes Ctrl-C and similar signals on to a text that still runs, and to every holder in another process group, such as
 * that of `timeout`; Ctrl-C also to one that neither catches nor ignores it: it started later, because bash continues
 * if a Ctrl-C arrives just when a program has ended.
 */
const PASS_SIGNALS =
  '__buddy_group() { IFS= read -r __buddy_line <"/proc/$1/stat"; set -- ${__buddy_line##*) }; __buddy_line=$3; }; ' +
  '__buddy_pass() { kill "-$1" "$__buddy_first"; __buddy_group $$; __buddy_own=$__buddy_line; for __buddy_pid in /proc/[0-9]*/fd/9; do ' +
  '[ "$__buddy_pid" -ef "/proc/$$/fd/7" ] || continue; ' +
  "__buddy_pid=${__buddy_pid#/proc/}; __buddy_pid=${__buddy_pid%%/*}; __buddy_group $__buddy_pid; " +
  'if [ "$__buddy_line" = "$__buddy_own" ]; then [ "$1" = INT ] || continue; ' +
  'IFS= read -r -d "" __buddy_line <"/proc/$__buddy_pid/status"; ' +
  "case $__buddy_line in *[2367abef]?SigCgt:* | *[2367abef]?CapInh:*) continue ;; esac; fi; " +
  'kill "-$1" $__buddy_pid; done; }; ' +
  '__buddy_got=; for __buddy_line in INT QUIT HUP TERM; do trap "__buddy_got+=\\" $__buddy_line\\"" $__buddy_line; done';

/**
 * Reads the pid of the text, and then where it is, until all holders have ended, or the text itself: nothing tells that
 * but a look. A trap does not pass signals on: in it, `read` would break the `read` that it interrupts.
 */
const AWAIT =
  '__buddy_first= __buddy_to=; while :; do if IFS= read -r -d "" -t 0.2 __buddy_line <&7; then ' +
  'if [ -n "$__buddy_first" ]; then __buddy_to=$__buddy_line; else __buddy_first=$__buddy_line; fi; ' +
  'elif [ $? -le 128 ] || { [ -n "$__buddy_first" ] && ! kill -0 "$__buddy_first"; }; then break; ' +
  'else __buddy_now=$__buddy_got; __buddy_got=${__buddy_got#"$__buddy_now"}; for __buddy_now in $__buddy_now; do __buddy_pass $__buddy_now; done; ' +
  "fi; done";

/** For sh, which has neither pipes nor timeouts for this: on Linux by a mark in the environment. */
const MARK = "BUDDY_TEXT";
const END_MARKED =
  "{ [ ! -d /proc/self ] || for __buddy_n in 1 2 3 4 5 6 7 8 9 last; do __buddy_left=; " +
  `for __buddy_p in $(grep -ls "${MARK}=$${MARK}" /proc/[0-9]*/environ); do ` +
  "__buddy_p=${__buddy_p#/proc/}; __buddy_p=${__buddy_p%/environ}; " +
  '[ "$__buddy_p" = "$$" ] || [ ! -e "/proc/$__buddy_p" ] || __buddy_left="$__buddy_left $__buddy_p"; done; ' +
  '[ -n "$__buddy_left" ] || break; [ "$__buddy_n" != last ] || kill -KILL $__buddy_left; sleep 0.05 || sleep 1; done; ' +
  "} 2>/dev/null";

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

/**
 * No inner shell reads a start-up file (SHLVL: see CLEAN_BASH), no pager waits for keys, git does not write to its
 * index, pip (before 23.1) and Homebrew do not look for updates, make of BSD (`--version` is `-v ersion` there) reads
 * no Makefile, and programs, cd and git use the paths that the policy has checked.
 */
export const QUIETLY =
  `${ABSOLUTE_PATH}; ` +
  `[ "\${SHLVL:-0}" -gt 2 ] || export SHLVL=3; ` +
  "unset BASH_ENV ENV CDPATH GIT_DIR GIT_WORK_TREE GIT_COMMON_DIR GIT_CONFIG_PARAMETERS; " +
  "export PAGER=cat GIT_PAGER=cat MANPAGER=cat SYSTEMD_PAGER=cat GIT_OPTIONAL_LOCKS=0 PIP_DISABLE_PIP_VERSION_CHECK=1; " +
  "export HOMEBREW_NO_AUTO_UPDATE=1 HOMEBREW_NO_ANALYTICS=1 MAKEFLAGS='-f /dev/null'; " +
  "case ${GIT_CONFIG_COUNT:=0} in *[!0-9]* | 0?* | ????*) ;; *) " +
  'eval "export GIT_CONFIG_KEY_$GIT_CONFIG_COUNT=diff.autoRefreshIndex GIT_CONFIG_VALUE_$GIT_CONFIG_COUNT=false"; ' +
  "export GIT_CONFIG_COUNT=$((GIT_CONFIG_COUNT + 1)) ;; esac";

/**
 * Closes the files that the operator's shell has open, which are on writable mounts. sh knows only one-digit numbers.
 */
export const closeFiles = (keep: string, close: string) =>
  `for __buddy_fd in /proc/$$/fd/*; do __buddy_fd=\${__buddy_fd##*/}; ` +
  `case $__buddy_fd in ${keep}) ;; ${close}) eval "exec $__buddy_fd>&-" ;; esac; done; unset __buddy_fd`;
const CLOSE_FILES = closeFiles("[0-3]", "[0-9]*");
const CLOSE_LOW_FILES = closeFiles("[0-3]", "[4-9]");

export const LOOK = script(findNamespace);

/** Rounds of 50 ms: as long as a namespace may take on a busy machine, or shorter if none is being made. */
const waited = (rounds: number) => `[ "$((__buddy_round=__buddy_round+1))" -gt ${rounds} ]`;
const REFUSE = `echo 'buddy: the read-only namespace is not ready; the command did not run' >&9; return 126`;
