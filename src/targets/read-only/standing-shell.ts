/** The read-only namespace, and a clean bash kept open in it that forks for each command: entering it takes time. */
import namespace from "../../../templates/target/namespace.sh" with { type: "text" };
import { ABSOLUTE_PATH, quote } from "../../lib/quote.ts";
import { script } from "../../lib/script.ts";
import {
  CLEAN_BASH,
  type CleanShell,
  closeFiles,
  END_HOLDERS,
  ENTER_DIRECTORY,
  HELD,
  HOLD,
  LOOK,
  mayMove,
  QUIETLY,
  type NamespaceEntry,
  STARTS_SHELL,
} from "./clean-script.ts";
import { OWN_DIRECTORY } from "../script-line.ts";

/** Makes the namespace. */
export const NAMESPACE = OWN_DIRECTORY + script(namespace);

/**
 * Definitions for a bash in which 8 and 9 are stdout and stderr: `__buddy_standing TEXT` has a clean bash in the
 * namespace run it, and sets __buddy_code; empty if that is not possible, and then nothing ran. That bash stays for the
 * next text; `__buddy_leave` ends it. It has the state of the shell at its start, so it must be ended before the shell
 * itself runs a command. It knows neither the key nor the requests of the shell, since programs in it can read its
 * memory.
 */
export function standingShell(shell: CleanShell, namespace: NamespaceEntry): string {
  const file = quote(namespace.file);
  const words = `${quote(shell.path)} ${LOADED} bash "$PWD" ${file} "" "$__buddy_pid $__buddy_since"`;
  return `${LOOK}
__buddy_texts= __buddy_codes=
__buddy_serve() {
  ( ${ABSOLUTE_PATH}; exec ${DEFAULT_SIGNALS} true ) || return
  __buddy_look ${file} || return
  coproc __buddy_namespace {
    exec 5<&0 6>&1 </dev/null >&8 2>/dev/null 7<&- 8>&-
    ${ABSOLUTE_PATH}
    exec ${DEFAULT_SIGNALS} ${namespace.enter} ${words} 3<<<${quote(STAND)}
  }
  __buddy_server=$__buddy_namespace_PID
  # Both ends of the pipe: a write to a process that has ended must not end this one.
  exec {__buddy_texts}<>"/proc/$$/fd/\${__buddy_namespace[1]}" {__buddy_codes}<&"\${__buddy_namespace[0]}"
  eval "exec \${__buddy_namespace[0]}<&- \${__buddy_namespace[1]}>&-"
}
__buddy_leave() {
  [ -n "$__buddy_texts" ] || return 0
  exec {__buddy_texts}>&- {__buddy_codes}<&-
  __buddy_texts= __buddy_codes=
  wait "$__buddy_server" || :
}
__buddy_standing() {
  __buddy_code=
  if [ -n "$__buddy_texts" ] || __buddy_serve; then
    printf '%s\\0' "$1" >&"$__buddy_texts"
    IFS= read -r __buddy_code <&"$__buddy_codes"
  fi
  if [ "$__buddy_code" != taken ]; then
    __buddy_code=
    __buddy_leave
    return
  fi
  # What it has taken is never run again.
  IFS= read -r __buddy_code <&"$__buddy_codes"
  case $__buddy_code in '' | *[!0-9]*) __buddy_code=137; __buddy_leave ;; esac
}`;
}

/** A background process of a shell ignores these signals, and so would everything in it. */
export const DEFAULT_SIGNALS = "env --default-signal=INT,QUIT";

/** The script comes from a file: `ps` would show an argument. */
const LOAD = `IFS= read -r -d "" __buddy_line <&3; exec 3<&-; eval "$__buddy_line"`;

/** Options for a bash that loads it. */
export const LOADED = [...CLEAN_BASH, LOAD].map(quote).join(" ");

/** Texts that a standing shell may run: they do not change the directory, and start no shell that imports functions. */
export function fitsStandingShell(text: string): boolean {
  return text.length <= MOST_STANDING && !mayMove(text) && !STARTS_SHELL.test(text);
}

/** A pipe accepts this much at once, even if its reader has ended. */
const MOST_STANDING = 8192;

/**
 * Whether a text is only a program and plain words: it cannot change the shell that starts it, so that needs no
 * subshell. `hash` knows neither builtins nor functions, and looks up each program again. __buddy_part becomes "" if it
 * is a builtin that changes nothing in the shell and starts no process.
 */
const PLAIN =
  "__buddy_plain() { case $__buddy_text in *[!a-zA-Z0-9_./:,@%+=\\ -]*) return 1 ;; esac; " +
  "__buddy_part=${__buddy_text%% *}; " +
  "case $__buddy_part in : | true | false | echo | pwd) __buddy_part=; return 0 ;; " +
  "'' | *[/=]* | if | then | elif | else | fi | case | esac | for | select | while | until | do | " +
  "done | in | function | time | coproc) return 1 ;; esac; " +
  `hash -r; hash -- "$__buddy_part" 2>/dev/null && [ -n "\${BASH_CMDS[$__buddy_part]-}" ]; }`;

/**
 * Waits for a text, and looks at the namespace meanwhile. Only for its first character with a time: bash would wait
 * for each of them, with four calls of the system.
 */
const NEXT_TEXT =
  "while :; do until IFS= read -r -N 1 -t 2 __buddy_text <&5; do [ $? -gt 128 ] && __buddy_same || exit 0; done; " +
  'IFS= read -r -d "" __buddy_part <&5 || exit 0';

/**
 * In the namespace: texts come on 5, "taken" and the exit code go to 6, 9 is stderr; $1 directory, $2 file of the
 * namespace, $3 a file that must not be writable if "ready" is to be printed, or "", $4 the expected content of the
 * file of the namespace. This shell ends when that file changes: its own namespace then has mounts that are gone. On
 * one line, so that line numbers in messages of a text are right.
 */
export const STAND = [
  ENTER_DIRECTORY,
  "shift",
  QUIETLY,
  closeFiles("[0-2569]", "[0-9]*"),
  HOLD,
  `if [ -n "$2" ]; then if true >"$2"; then exit 1; fi; echo ready >&6; fi`,
  "__buddy_file=$1 __buddy_namespace=$3; set --; unset BASH_EXECUTION_STRING",
  `__buddy_same() { IFS= read -r __buddy_line <"$__buddy_file" && [ "$__buddy_line" = "$__buddy_namespace" ] && [ . -ef "$PWD" ]; }`,
  PLAIN,
  NEXT_TEXT,
  "__buddy_text=$__buddy_text$__buddy_part; __buddy_same || exit 0",
  "if __buddy_plain; then echo taken >&6",
  'if [ -z "$__buddy_part" ]; then $__buddy_text 2>&9; echo $? >&6; continue; fi',
  `$__buddy_text 2>&9 5<&- 6>&- ${HELD}; else echo taken >&6`,
  '( set -- "$__buddy_text"; unset -f __buddy_same __buddy_plain; unset ${!__buddy_@}; exec 5<&- 6>&-; ' +
    `eval "set --; $1" ) 2>&9 ${HELD}; fi`,
  `__buddy_code=$?; ${END_HOLDERS}; echo $__buddy_code >&6; done`,
].join("; ");

/**
 * For a bash in a pane (see templates/shell-init/bash.sh): lines that have a clean bash in the namespace run the text
 * on the terminal, and return its exit code; if that is not possible, the lines after them run. They are inside a group
 * in which 9 is the terminal and stderr is discarded; they end it and begin another.
 */
export function standingInPane(text: string, shell: CleanShell, namespace: NamespaceEntry, pane: AskingPane): string {
  const file = quote(namespace.file);
  const ask = `__buddy_ask ${pane.tag} ${file} ${quote(pane.tty)} ${quote(text)}`;
  const words = `${quote(shell.path)} ${LOADED} bash "$PWD" ${file} "$__buddy_pid $__buddy_since" "$$"`;
  const after = `__buddy_over ${pane.tag}; __buddy_ends || builtin return "$__buddy_code"; builtin return 0`;
  const own = "9>/dev/tty 2>/dev/null";
  // The shell reads the later lines only if it gets to them, which is rare.
  return `if [[ \${__buddy_asks-} == 1 ]] && ${ask}; then ${after}; fi; } ${own}
{ __buddy_namespace() { ${ABSOLUTE_PATH}; builtin exec ${DEFAULT_SIGNALS} ${namespace.enter} ${words} 3<"$__buddy_dir/stand.sh"; }
if [[ \${__buddy_asks-} == 1 ]] && __buddy_look ${file} && __buddy_serve ${file} ${quote(pane.tty)} && ${ask}; then ${after}; fi
`;
}

export interface AskingPane {
  readonly tag: number;
  readonly tty: string;
}

/**
 * Texts that do not depend on the shell that runs them: this one is older, has another parent, and passes no Ctrl-C on
 * to what leaves the process group.
 */
export function fitsStandingInPane(text: string): boolean {
  return (
    fitsStandingShell(text) && !/\$\{?[$!]|PPID|BASH|SECONDS|COLUMNS|LINES|\btrap\b|\btimes\b|timeout|setsid/.test(text)
  );
}

/**
 * The same on a terminal: $1 directory, $2 file of the namespace, $3 its content, $4 pid of the shell that asks, in
 * whose process group it runs. Each text gets a group of its own, and the terminal, which bash then gives back to the
 * group of this shell. stderr is the terminal opened for reading, so that messages of bash about a killed text are not
 * shown. A stopped text could never be continued, so it is ended, in the foreground, where it can restore the screen.
 * Ctrl-Z breaks the loop; Ctrl-C ends this shell together with the text, except in old versions.
 */
export const STAND_IN_PANE = [
  ENTER_DIRECTORY,
  "shift",
  QUIETLY,
  closeFiles("[0-2569]", "[0-9]*"),
  HOLD,
  "[ ${BASH_VERSINFO[0]}${BASH_VERSINFO[1]} -ge 50 ] || exit",
  "__buddy_file=$1 __buddy_namespace=$2 __buddy_shell=$3; set --; unset BASH_EXECUTION_STRING",
  "__buddy_size=$(shopt -p checkwinsize); shopt -u checkwinsize; trap : INT QUIT TSTP; set -m",
  `__buddy_same() { IFS= read -r __buddy_line <"$__buddy_file" && [ "$__buddy_line" = "$__buddy_namespace" ] && ` +
    `[ . -ef "$PWD" ] && [ -d "/proc/$__buddy_shell" ]; }`,
  `__buddy_stopped() { __buddy_part=$(jobs -ps); [ -n "$__buddy_part" ] || return; ` +
    `{ kill -TERM -- "-$__buddy_part"; sleep 0.5; kill -KILL -- "-$__buddy_part"; } & ` +
    "while __buddy_go; do :; done; for __buddy_line in {1..30}; do " +
    `kill -0 -- "-$__buddy_part" || break; sleep 0.02; done; kill -KILL %%; }`,
  "__buddy_go() { fg %1 >/dev/null; jobs %1 >/dev/null; }",
  `__buddy_end() { trap - EXIT; echo "$__buddy_tag end $1" >&6; }`,
  "echo ready >&6",
  NEXT_TEXT,
  "__buddy_text=$__buddy_text$__buddy_part; __buddy_tag=${__buddy_text%%;*}",
  `if [ "$__buddy_tag" = leave ] || ! __buddy_same; then echo "$__buddy_tag left" >&6; exit 0; fi`,
  // A subshell of a shell with a trap for INT or EXIT catches INT itself, and one that comes while it forks is lost; so
  // does one in the foreground. Until the traps are there again, Ctrl-C ends this shell, and the text does not begin.
  `echo "$__buddy_tag taken" >&6; trap - INT`,
  "( while :; do " +
    `IFS=" " read -r -a __buddy_part <"/proc/$BASHPID/stat"; [ "\${__buddy_part[3]}" = $$ ] || exit; ` +
    `[ "\${__buddy_part[4]}" != "\${__buddy_part[7]}" ] || break; done`,
  `echo "$__buddy_tag at $BASHPID" >&6; set +m; $__buddy_size; set -- "\${__buddy_text#*;}"`,
  "unset -f __buddy_same __buddy_stopped __buddy_go __buddy_end; unset ${!__buddy_@}; exec 5<&- 6>&-",
  `eval "set --; $1" ) 2>&9 ${HELD} & trap : INT; trap '[ -n "$(jobs -pr)" ] || __buddy_end 130' EXIT; fg >/dev/null`,
  "__buddy_code=$?; case $__buddy_code in 14[79] | 150) __buddy_stopped ;; esac; " +
    `${END_HOLDERS}; __buddy_end $__buddy_code; done`,
  `__buddy_stopped; ${END_HOLDERS}; __buddy_end 148`,
].join("; ");
