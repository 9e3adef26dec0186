/** The scripts of a direct shell: its loop, each command, and how to end everything that a command started. */
import directStart from "../../../templates/target/direct-start.sh" with { type: "text" };
import directElsewhere from "../../../templates/target/direct-elsewhere.sh" with { type: "text" };
import directAsk from "../../../templates/target/direct-ask.sh" with { type: "text" };
import endTree from "../../../templates/target/end-tree.sh" with { type: "text" };
import { script } from "../../lib/script.ts";
import { OWN_DIRECTORY, PID_SPACE, quoteOnOneLine } from "../script-line.ts";
import { bareFunction } from "../read-only/clean-environment.ts";
import { followClean, mayMove } from "../read-only/clean-script.ts";

export const DIRECT_START = script(directStart, {
  bareEnvironment: bareFunction(""),
  ownDirectory: OWN_DIRECTORY,
  pidSpace: PID_SPACE,
});

/**
 * $6 is DIRECT_START. On one line, so that line numbers in messages of a command are right. What a DEBUG trap prints
 * about `__buddy_next` is not output, nor is what `set -x` prints about this line. `command eval`: in dash and busybox
 * a syntax error in a plain eval would end the shell.
 */
export const DIRECT_LOOP =
  'eval "$6"; while :; do while { __buddy_next; } >/dev/null 2>/dev/null; do ' +
  '{ command eval "$__buddy_text" </dev/null >&8 2>&9 7<&- 8>&- 9>&-; } 2>/dev/null; done; done';

export const ELSEWHERE = script(directElsewhere);

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
  const define = standing === undefined ? "" : `eval ${quoteOnOneLine(`${standing}\n${ASK}`)}\n`;
  return `${define}__buddy_ask ${tag} ${quoteOnOneLine(command)}\n`;
}

const ASK = script(directAsk);

/** A command that runs as a clean child; `clean` returns its lines of sh. In them 9 is stderr. */
export function cleanLines(command: string, clean: (to: string) => string): string {
  const to = '"${__buddy_last:-/dev/null}"';
  const there = '[ -d "${__buddy_last%/*}" ] || [ -z "${__buddy_last-}" ] || __buddy_make || __buddy_last=\n';
  return `{ ${mayMove(command) ? there : ""}${clean(to)}\n${followClean(command, to, "command cd")}\n[ "$__buddy_code" = 0 ] || (exit "$__buddy_code"); }`;
}

export const END_TREE = script(endTree);
