/** The lines that buddy types into a shell that it adopts: hooks that mark its prompt and its commands. */
import adoptedBash from "../../../templates/target/adopted-bash.sh" with { type: "text" };
import adoptedFish from "../../../templates/target/adopted-fish.fish" with { type: "text" };
import adoptedPlace from "../../../templates/target/adopted-place.sh" with { type: "text" };
import adoptedRun from "../../../templates/target/adopted-run.sh" with { type: "text" };
import adoptedSh from "../../../templates/target/adopted-sh.sh" with { type: "text" };
import adoptedZsh from "../../../templates/target/adopted-zsh.zsh" with { type: "text" };
import { withBytes } from "../../lib/byte-names.ts";
import { fishQuote, quote } from "../../lib/quote.ts";
import { onOneLine, script } from "../../lib/script.ts";

export type AdoptedShellName = "bash" | "zsh" | "fish" | "sh";

/** Asks a shell which one it is. `word` marks the answer. */
export function askKind(word: string): string {
  return ` printf '\\033]7771;%s;K;%s;%s;%s\\a' ${word} "$BASH_VERSION" "$ZSH_VERSION" "$FISH_VERSION"`;
}

/** Removes all hooks. */
export const TAKE_OUT = " __buddy_off";

/**
 * Reads a line with echo off: the model can read what is on the screen. The line begins with `#`, a comment for an
 * outer shell, which would read it if this shell ended just then. What precedes it is a reply of the terminal: busybox
 * asks for the position of the cursor at each prompt, and does not wait for the reply. $1 marks that it reads.
 */
const READ_UNSEEN = `{ stty -echo && printf "\\033]7771;$1;N\\a" && IFS= read -r k; stty echo; } </dev/tty >/dev/tty; printf "%s\\n" "\${k#*#}"`;

/**
 * Lines for the shell. The first defines functions that run a command between marks; the other reads the key of the
 * marks (after the mark N of `word`), then defines a mark after the prompt, and a function that removes all. What may
 * be exported (PS1, PROMPT_COMMAND) refers to a variable that is not, so a shell started from this one prints no marks.
 * No line of buddy stays in the history if the shell can leave lines out.
 */
export function hooks(name: AdoptedShellName, word: string): readonly string[] {
  const read = `sh -c '${READ_UNSEEN}' sh ${word}`;
  if (name === "fish")
    return [` functions -q __buddy_off; and __buddy_off; set -g __buddy_k (${read}); ${hookLines(name, word)}`];
  return [
    ` command -v __buddy_off >/dev/null && __buddy_off; : ${word}`,
    ...runLines(name, word),
    ` __buddy_k=$(${read}); ${hookLines(name, word)}`,
  ];
}

/** They exist only in the shell that was adopted with this word; no program has a name that ends so. */
const named = (what: "add" | "run" | "ask" | "text" | "show", word: string) => `__buddy_${what}_${word}_`;

/**
 * The lines that run a command in the shell that was adopted with `word`. In any other shell they, and any end of them,
 * are the name of a program that does not exist: that shell may have ended at the first key, or lied about what it is.
 */
export function commandLines(word: string, command: string, tag: number): readonly string[] {
  const parts = inParts(encoded(command));
  return parts.map((part, at) => {
    const isLast = at === parts.length - 1;
    return ` ${named(isLast ? "run" : "add", word)} ${part}.${at + 1}.${tag}`;
  });
}

/** The same for a command with a secret: the line shows `shown`; the command is typed as `unseenText` after mark N. */
export function unseenLine(word: string, shown: string, asked: string): string {
  return ` ${named("ask", word)} ${encoded(shown).slice(0, MAX_PART)}.${asked}`;
}

/** For what reads with echo off: a command, or the key. */
export function unseenText(command: string, tag: number): string {
  return `#${encoded(command)}.1.${tag}`;
}

export function unseenKey(key: string): string {
  return `#${key}`;
}

/** The editor of busybox reads 1023 characters. */
const MAX_PART = 900;

/** No part ends within a character. */
function inParts(text: string): readonly string[] {
  return text.match(/(?:\+\d{4}|[^+]){1,180}/g) ?? [""];
}

function encoded(command: string): string {
  return Array.from(Buffer.from(withBytes(command)), (byte) => {
    const character = String.fromCharCode(byte);
    if (character === " ") return ",";
    return /[A-Za-z0-9/_:-]/.test(character) ? character : `+0${byte.toString(8).padStart(3, "0")}`;
  }).join("");
}

export function quoteFor(name: AdoptedShellName, word: string): string {
  return name === "fish" ? fishQuote(word) : quote(word);
}

/** After the prompt: it is drawn, and in which directory. Empty if the variables are not set. */
const ready = (place: string) => `\${__buddy_m:+$__buddy_m${place}$__buddy_e}`;

/** busybox reads lines of at most 1023 characters: a name that would need encoding is left out, and so unknown. */
const PLAIN_PLACE = "${PWD##*[[:cntrl:]%]*}";

function hookLines(name: AdoptedShellName, word: string): string {
  return onOneLine(
    script(HOOKS[name], { adoptedPlace, mark: `'\\[${ready("$(__buddy_at $?)")}\\]'`, ...partsOf(name, word) }),
  );
}

/** A line for each function: the editor of busybox takes no longer ones. */
function runLines(name: AdoptedShellName, word: string): readonly string[] {
  const functions = script(adoptedRun, partsOf(name, word)).split(/(?<=^\}\n)/m);
  return functions.map((one) => ` ${onOneLine(one)}`);
}

function partsOf(name: AdoptedShellName, word: string): Record<string, string> {
  const place = name === "sh" ? PLAIN_PLACE : "$(__buddy_at 0)";
  return {
    place,
    ready: ready(place),
    adder: named("add", word),
    runner: named("run", word),
    asker: named("ask", word),
    decoder: named("text", word),
    viewer: named("show", word),
    read_unseen: READ_UNSEEN,
    word,
  };
}

const HOOKS = { bash: adoptedBash, zsh: adoptedZsh, fish: adoptedFish, sh: adoptedSh };

/** Prints user, machine and system of the shell, one per line; for sh. */
export const WHO =
  "id -un || id -u; id -u; uname -n; m=; read -r m </etc/machine-id; echo $m; " +
  '(. /etc/os-release; echo "$PRETTY_NAME, $(uname -sr)") || uname -sr; echo "${HOME:-/}"; command -v bash || echo; ';

/** Equal for two processes that see the same files: boot id, mount namespace, root directory. */
export const VIEW = "echo $(cat /proc/sys/kernel/random/boot_id; readlink /proc/self/ns/mnt; ls -di /)";
