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
 * asks for the position of the cursor at each prompt, and does not wait for the reply.
 */
const readUnseen = (word: string) =>
  `sh -c '{ stty -echo && printf "\\033]7771;${word};N\\a" && IFS= read -r k; stty echo; } </dev/tty >/dev/tty; printf "%s\\n" "\${k#*#}"'`;

/**
 * One line for the shell: it reads the key of the marks (after the mark N of `word`), then defines a function that runs
 * a text between marks, a mark after the prompt, and a function that removes both. What may be exported (PS1,
 * PROMPT_COMMAND) refers to a variable that is not, so a shell started from this one prints no marks. No line of buddy
 * stays in the history if the shell can leave lines out.
 */
export function hooks(name: AdoptedShellName, word: string): string {
  if (name === "fish")
    return ` functions -q __buddy_off; and __buddy_off; set -g __buddy_k (${readUnseen(word)}); ${hookLines(name, word)}`;
  return ` command -v __buddy_off >/dev/null && __buddy_off; __buddy_k=$(${readUnseen(word)}); ${hookLines(name, word)}`;
}

/** Exists only in the shell that was adopted with this word: in an outer shell the line runs nothing. */
const runner = (word: string) => `__buddy_run_${word}`;

/** The line that runs a command in the shell that was adopted with `word`. */
export function commandLine(name: AdoptedShellName, word: string, command: string, tag: number): string {
  const fish = name === "fish";
  const run = `${runner(word)} ${tag}`;
  // oxlint-disable-next-line no-control-regex
  if (/[\0-\x1f\x7f!\ud800-\udfff]/.test(command)) {
    const text = escapedText(command);
    return fish
      ? ` set -g __buddy_c (printf '${text}' | string collect); ${run}`
      : ` __buddy_c=$(printf '${text}'); ${run}`;
  }
  const quoted = quoteFor(name, command);
  return fish ? ` set -g __buddy_c ${quoted}; ${run}` : ` __buddy_c=${quoted}; ${run}`;
}

/**
 * The same for a command with a secret: the line shows `shown`, and the command itself is typed as `unseenText` after
 * the mark N of `asked`.
 */
export function unseenLine(name: AdoptedShellName, word: string, shown: string, asked: string, tag: number): string {
  const read = readUnseen(asked);
  // oxlint-disable-next-line no-control-regex
  const run = `${runner(word)} ${tag} ${quoteFor(name, shown.replaceAll(/[\0-\x1f\x7f!]/g, " "))}`;
  return name === "fish"
    ? ` set -g __buddy_c (printf (${read} | string collect) | string collect); ${run}`
    : ` __buddy_c=$(printf "$(${read})"); ${run}`;
}

/** A command on one line of plain characters, as `printf` reads it, for `readUnseen`. */
export function unseenText(command: string): string {
  return `#${escapedText(command)}`;
}

function escapedText(command: string): string {
  return Array.from(Buffer.from(withBytes(command)), printed).join("");
}

export function quoteFor(name: AdoptedShellName, word: string): string {
  return name === "fish" ? fishQuote(word) : quote(word);
}

/** For `printf` in any shell, between single quotes. */
function printed(byte: number): string {
  const character = String.fromCharCode(byte);
  if (/[A-Za-z0-9 _./:=,@+-]/.test(character)) return character;
  return character === "%" ? "%%" : `\\${byte.toString(8).padStart(3, "0")}`;
}

/** After the prompt: it is drawn, and in which directory. Empty if the variables are not set. */
const ready = (place: string) => `\${__buddy_m:+$__buddy_m${place}$__buddy_e}`;

/** busybox reads lines of at most 1023 characters: a name that would need encoding is left out, and so unknown. */
const PLAIN_PLACE = "${PWD##*[[:cntrl:]%]*}";

function hookLines(name: AdoptedShellName, word: string): string {
  const place = name === "sh" ? PLAIN_PLACE : "$(__buddy_at 0)";
  return onOneLine(
    script(HOOKS[name], {
      adoptedPlace,
      adoptedRun,
      mark: `'\\[${ready("$(__buddy_at $?)")}\\]'`,
      place,
      ready: ready(place),
      runner: runner(word),
      word,
    }),
  );
}

const HOOKS = { bash: adoptedBash, zsh: adoptedZsh, fish: adoptedFish, sh: adoptedSh };

/** Prints user, machine and system of the shell, one per line; for sh. */
export const WHO =
  "id -un || id -u; id -u; uname -n; m=; read -r m </etc/machine-id; echo $m; " +
  '(. /etc/os-release; echo "$PRETTY_NAME, $(uname -sr)") || uname -sr; echo "${HOME:-/}"; command -v bash || echo; ';

/** Equal for two processes that see the same files: boot id, mount namespace, root directory. */
export const VIEW = "echo $(cat /proc/sys/kernel/random/boot_id; readlink /proc/self/ns/mnt; ls -di /)";
