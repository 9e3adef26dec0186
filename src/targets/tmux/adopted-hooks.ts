/** The lines that buddy types into a shell that it adopts: hooks that mark its prompt and its commands. */
import { withBytes } from "../../lib/byte-names.ts";
import { fishQuote, quote } from "../../lib/quote.ts";

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
    return ` functions -q __buddy_off; and __buddy_off; set -g __buddy_k (${readUnseen(word)}); ${fishHooks(word)}`;
  const lines = { bash: bashHooks, zsh: zshHooks, sh: shHooks }[name](word);
  return ` command -v __buddy_off >/dev/null && __buddy_off; __buddy_k=$(${readUnseen(word)}); ${lines}`;
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

const begins = `printf '\\033]7771;%s;C;%s\\a'`;
const ends = `printf '\\033]7771;%s;P;0;%s;%s;%s\\a'`;
/** After the prompt: it is drawn, and in which directory. Empty if the variables are not set. */
const ready = (place: string) => `\${__buddy_m:+$__buddy_m${place}$__buddy_e}`;
/** The last mark: the next prompt has none. */
const out = `printf '\\033]7771;%s;X;0\\a'`;

/**
 * Prints the directory encoded for marks, with nothing that a prompt would expand; keeps the exit code. Uses `^`, not
 * `!`, which bash would expand from its history; a shell that does not know `^` encodes everything.
 */
const printPlace =
  `__buddy_at() { case $PWD in *[^A-Za-z0-9/._-]*) printf %s "$PWD" | od -An -v -tx1 | tr -d '\\n' | tr ' ' % ;; ` +
  `*) printf %s "$PWD" ;; esac; return "$1"; }`;

/** busybox reads lines of at most 1023 characters: a name that would need encoding is left out, and so unknown. */
const PLAIN_PLACE = "${PWD##*[[:cntrl:]%]*}";

/**
 * For the Bourne family: `set --` keeps the exit code without a variable. A prompt that the text has set gets a mark.
 */
const run = (word: string, place: string) =>
  `${runner(word)}() { ${begins} "$__buddy_k" "$1"; eval "$__buddy_c"; set -- "$1" "$?"; __buddy_c=; ` +
  `${ends} "$__buddy_k" "$2" "$1" "${place}"; __buddy_ps; return "$2"; }`;

function bashHooks(word: string): string {
  const mark = `'\\[${ready("$(__buddy_at $?)")}\\]'`;
  const hook = "'${__buddy_m:+__buddy_ps}'";
  const off = [
    `PS1=\${PS1//${mark}/}`,
    `PROMPT_COMMAND=\${PROMPT_COMMAND//$'\\n'${hook}/}; PROMPT_COMMAND=\${PROMPT_COMMAND//${hook}/}`,
    `[ -n "$PROMPT_COMMAND" ] || [ "\${#PROMPT_COMMAND[@]}" -gt 1 ] || unset PROMPT_COMMAND`,
    `HISTCONTROL=$__buddy_h; [ -n "$HISTCONTROL" ] || unset HISTCONTROL`,
    `${out} "$__buddy_k"`,
    `unset -f ${runner(word)} __buddy_ps __buddy_off __buddy_at; unset __buddy_k __buddy_m __buddy_e __buddy_h __buddy_c`,
  ].join("; ");
  // The first lines were typed before HISTCONTROL was set.
  const forget =
    `__buddy_f() { local h; h=$(HISTTIMEFORMAT= history 1); ` +
    `[[ $h == *${word}* && $h =~ ^\\ *([0-9]+) ]] && history -d "\${BASH_REMATCH[1]}" && __buddy_f; }`;
  return (
    `__buddy_m=$'\\e]7771;'$__buddy_k';B;' __buddy_e=$'\\a' __buddy_h=\${HISTCONTROL-}; HISTCONTROL=ignorespace:$__buddy_h; ${printPlace}; ${run(word, "$(__buddy_at 0)")}; ` +
    `__buddy_ps() { case $PS1 in *__buddy_m*) ;; *) PS1=$PS1${mark} ;; esac; }; __buddy_off() { ${off}; }; ` +
    `${forget}; __buddy_f; unset -f __buddy_f; __buddy_ps; ` +
    `PROMPT_COMMAND=\${PROMPT_COMMAND:+"$PROMPT_COMMAND"$'\\n'}${hook}`
  );
}

function zshHooks(word: string): string {
  const off = [
    "precmd_functions=(${precmd_functions:#__buddy_ps})",
    'PROMPT=${PROMPT//"$__buddy_m"/}',
    `[[ -z $__buddy_h ]] || unsetopt histignorespace`,
    `${out} "$__buddy_k"`,
    `unfunction ${runner(word)} __buddy_ps __buddy_off __buddy_at; unset __buddy_k __buddy_m __buddy_h __buddy_c`,
  ].join("; ");
  return (
    `__buddy_m= __buddy_h=; ` +
    `[[ -o histignorespace ]] || { __buddy_h=1; setopt histignorespace; }; ${printPlace}; ${run(word, "$(__buddy_at 0)")}; ` +
    `__buddy_ps() { local at=$(__buddy_at 0); [[ -z $__buddy_m ]] || PROMPT=\${PROMPT//"$__buddy_m"/}; ` +
    `__buddy_m=$'%{\\e]7771;'$__buddy_k$';B;'\${at//\\%/%%}$'\\a%}'; PROMPT=$PROMPT$__buddy_m; }; __buddy_off() { ${off}; }; ` +
    `precmd_functions+=(__buddy_ps)`
  );
}

function fishHooks(word: string): string {
  const off =
    `${out} $__buddy_k; functions -e fish_prompt; functions -c __buddy_prompt fish_prompt; ` +
    `functions -e __buddy_prompt ${runner(word)} __buddy_off; set -e __buddy_c; set -e __buddy_k`;
  return (
    `function ${runner(word)}; ${begins} $__buddy_k $argv[1]; eval $__buddy_c; set -l c $status; set -e __buddy_c; ` +
    `${ends} $__buddy_k $c $argv[1] (string escape --style=url -- $PWD); return $c; end; ` +
    `functions -c fish_prompt __buddy_prompt; function __buddy_off; ${off}; end; ` +
    `function fish_prompt; __buddy_prompt; printf '\\033]7771;%s;B;%s\\a' $__buddy_k (string escape --style=url -- $PWD); end`
  );
}

function shHooks(word: string): string {
  const off =
    `PS1=$__buddy_p; ${out} "$__buddy_k"; ` +
    `unset -f ${runner(word)} __buddy_ps __buddy_off; unset __buddy_k __buddy_p __buddy_m __buddy_e __buddy_c`;
  // \\[ \\] tell busybox' line editor that the mark has no width.
  const mark = `case \${BB_ASH_VERSION-} in [0-9]*) PS1=$PS1'\\[${ready(PLAIN_PLACE)}\\]' ;; *) PS1=$PS1'${ready(PLAIN_PLACE)}' ;; esac`;
  return (
    `__buddy_m=$(printf '\\033]7771;%s;B;' "$__buddy_k") __buddy_e=$(printf '\\a'); ${run(word, PLAIN_PLACE)}; __buddy_off() { ${off}; }; ` +
    `__buddy_ps() { case $PS1 in *__buddy_m*) ;; *) __buddy_p=$PS1; ${mark} ;; esac; }; __buddy_ps`
  );
}

/** Prints user, machine and system of the shell, one per line; for sh. */
export const WHO =
  "id -un || id -u; id -u; uname -n; m=; read -r m </etc/machine-id; echo $m; " +
  '(. /etc/os-release; echo "$PRETTY_NAME, $(uname -sr)") || uname -sr; echo "${HOME:-/}"; command -v bash || echo; ';

/** Equal for two processes that see the same files: boot id, mount namespace, root directory. */
export const VIEW = "echo $(cat /proc/sys/kernel/random/boot_id; readlink /proc/self/ns/mnt; ls -di /)";
