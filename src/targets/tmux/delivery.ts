/** How a command gets into a pane's shell: through its line editor if it has hooks, otherwise as a typed line. */
import { writeFileSync } from "node:fs";
import { withBytes } from "../../lib/byte-names.ts";
import { fishQuote, quote } from "../../lib/quote.ts";
import { mayMove } from "../read-only/clean-script.ts";
import type { AskingPane } from "../read-only/standing-shell.ts";
import type { PaneShell } from "./bootstrap.ts";
import { hexKeys, typeKeys } from "./capture.ts";
import { tmuxQuote } from "./control.ts";
import { CHECK, CHECK_IN_SH } from "./markers.ts";
import { RECALL } from "./typed-line.ts";

export interface Delivery {
  /** Files that the shell reads, by path; written before the keys are sent. */
  readonly files: Readonly<Record<string, string>>;
  /** Lines for the control client, sent in one write. */
  readonly lines: readonly string[];
  /** Output begins at the mark after the text shown to the operator, not at the start of the command. */
  readonly shown: boolean;
  /** Lines of that text below the prompt. */
  readonly shownLines: number;
}

export interface DeliveryTarget {
  readonly pane: string;
  readonly tty: string;
  readonly directory: string;
  readonly shell: PaneShell["kind"];
  /** The shell's line editor handles buddy's key; otherwise lines are typed. */
  readonly editor: boolean;
  /** The screen does not show what is in the line: it stays there, as a comment, and is recalled from the history. */
  readonly hidesLine: boolean;
}

/**
 * `ESC [7771~`, bound in templates/shell-init, which also accepts the line: a separate Enter could run a line of the
 * operator if the key is not handled.
 */
const KEY = "1b 5b 37 37 37 31 7e";
const GIVE_KEY = "1b 5b 37 37 37 33 7e";
const MAX_TYPED = 1000;
const MAX_SHOWN = 2000;
const MAX_SHOWN_LINES = 40;

/** How a command without approval runs, as a child that knows nothing about the pane's shell. */
export interface CleanRun {
  /** Words that start the shell which reads them. */
  readonly shell: readonly string[];
  /** Lines of sh; the child writes its last directory to the file `to`. */
  readonly script: (to: string) => string;
  /** For bash: lines before those, which return if they have run the command. */
  readonly asked: (pane: AskingPane) => string;
}

/** `shown`: the command without its secrets, the only text in pane and history; the script then removes itself. */
export function deliver(
  command: string,
  tag: number,
  place: DeliveryTarget,
  { clean, shown }: { readonly clean?: CleanRun | undefined; readonly shown?: string | undefined } = {},
): Delivery {
  if (clean !== undefined) return deliverClean(command, shown, tag, place, clean);
  const number = place.pane.slice(1);
  const next = `${place.directory}/${number}.next`;
  const script = `${place.directory}/${number}.sh`;
  const leaveMode = `copy-mode -q -t ${place.pane}`;
  const source = sourceLine(place.shell, script);
  const secret = shown === undefined ? undefined : { shown, script };
  if (!place.editor) {
    const once = secret === undefined ? command : `${removed(secret.script, place.shell)}\n${command}`;
    return {
      files: { [script]: typedScript(shown ?? command, tag, place, once) },
      lines: [leaveMode, typeSource(place, source)],
      shown: false,
      shownLines: linesShown(shown ?? command),
    };
  }
  const keys = `send-keys -t ${place.pane} -H ${KEY}`;
  if (secret === undefined && fitsOneLine(command, place.shell)) {
    return { files: { [next]: `${tag}\n${command}` }, lines: [leaveMode, keys], shown: false, shownLines: 0 };
  }
  return {
    files: { [script]: sourcedScript(command, tag, place.shell, secret), [next]: `${tag}\n${source}` },
    lines: [leaveMode, keys],
    shown: true,
    shownLines: linesShown(shown ?? command),
  };
}

function sourceLine(shell: PaneShell["kind"], script: string): string {
  return ` ${asItself(shell)}${shell === "sh" ? "." : "builtin ."} ${quote(script)}`;
}

function typeSource(place: DeliveryTarget, source: string): string {
  const keys = place.hidesLine ? `-H 01 ${hexKeys(source + BEFORE_LINE)} 0d` : typeKeys(source, true);
  return `send-keys -t ${place.pane} ${keys}`;
}

/** Between the line of a command and what the operator had typed. */
const BEFORE_LINE = " #";

/** The shell reads how to start the child; the operator sees the command, or what may be shown of it. */
function deliverClean(
  command: string,
  shown: string | undefined,
  tag: number,
  place: DeliveryTarget,
  clean: CleanRun,
): Delivery {
  const seen = shown ?? command;
  const isSecret = shown !== undefined;
  const file = (name: string) => `${place.directory}/${place.pane.slice(1)}.${name}`;
  const to = file("dir");
  const leaveMode = `copy-mode -q -t ${place.pane}`;
  const source = sourceLine(place.shell, file("sh"));
  const gone = (name: string) => (isSecret ? `${removed(file(name), place.shell)}\n` : "");
  // A file, for a shell of its own: the operator's may have functions and aliases with the names of these commands.
  const own = isSecret ? `${removed(file("run"), "sh")}\n` : "";
  // It was started with that environment already.
  const run = `${own}__buddy_bare() { "$@"; }\ntrap : INT\n${clean.script(quote(to))}\nexit "$__buddy_code"\n`;
  const start = [...clean.shell, file("run")].map(place.shell === "fish" ? fishQuote : quote).join(" ");
  const follow = mayMove(command) ? `__buddy_follow ${quote(to)}` : "";
  if (!place.editor) {
    const child = `__buddy_code=0; ${start} || __buddy_code=$?\n${follow}`;
    return {
      files: {
        [file("run")]: run,
        [file("sh")]: typedScript(seen, tag, place, gone("sh") + child, true),
      },
      lines: [leaveMode, typeSource(place, source)],
      shown: false,
      shownLines: linesShown(seen),
    };
  }
  return {
    files: {
      [file("run")]: run,
      ...(place.shell === "fish" ? {} : { [file("shown")]: `${tag}\n${excerpt(seen)}` }),
      [file("sh")]:
        gone("sh") +
        cleanSource(seen, tag, place.shell, start, follow, isSecret ? "" : clean.asked({ tag, tty: place.tty })),
      [file("next")]: `${tag}\n${source}`,
    },
    lines: [leaveMode, `send-keys -t ${place.pane} -H ${KEY}`],
    shown: true,
    // The first line is at the prompt.
    shownLines: linesShown(seen) - 1,
  };
}

/** The output begins at the mark `S`. `set -x` and `set -e` of the pane's shell do not affect the child. */
function cleanSource(
  seen: string,
  tag: number,
  shell: PaneShell["kind"],
  start: string,
  follow: string,
  asked: string,
): string {
  const shown = outputBegins(tag, linesShown(seen) - 1, shell);
  switch (shell) {
    case "fish":
      // fish draws every line that it runs: overwrite this one.
      return `set -l fish_trace; builtin printf '\\033[1A\\r\\033[J[buddy %s: %s] %s\\n' $__buddy_id $__buddy_code ${fishQuote(excerpt(seen))}; ${shown}
${start} 9>&2 2>/dev/null
set -l code $status
${follow}
__buddy_status $code
`;
    case "zsh":
      // Without the trap, an interrupted child would also end the lines that report its exit code.
      return `{ \\builtin print -sr -- ${zshQuote(seen)}; () {
\\builtin emulate -L sh; \\builtin setopt localtraps noerrexit noxtrace; \\builtin trap - DEBUG ZERR; \\builtin trap : INT; ${shown}
__buddy_code=0; ${start} || __buddy_code=$?
${follow}
\\builtin printf '\\033]7771;%s;E;%s;%s\\a' "$__buddy_key" "$__buddy_code" ${tag}
}; } 9>&2 2>/dev/null
{ [[ -o errexit ]] || \\builtin return "$__buddy_code"; } 2>/dev/null
`;
    case "bash":
    case "sh":
      // The line and the mark of its start were accepted with stderr hidden; the next prompt restores stderr.
      return `__buddy_opens
{ builtin history -s -- ${quote(seen)}
case $- in *T*) __buddy_trap=$(builtin trap -p DEBUG) && builtin trap - DEBUG ;; esac
builtin printf '\\033]7;buddy;%s;C;%s;%s\\a\\033]7771;%s;C;%s\\a' "$__buddy_key" ${tag} "$__buddy_at" "$__buddy_key" ${tag}; ${shown}
${asked}__buddy_code=0; ${start} || __buddy_code=$?
${follow}
__buddy_over ${tag}
__buddy_ends || \\builtin return "$__buddy_code"; } 9>/dev/tty 2>/dev/null
`;
  }
}

/** Restores the line that was set aside for a command: the shell has it, or it is typed. */
export function giveBack(place: DeliveryTarget, line: string): string[] {
  const script = `${place.directory}/${place.pane.slice(1)}.sh`;
  const own = sourceLine(place.shell, script) + BEFORE_LINE;
  // To its begin, and without what buddy had put there.
  const keys = line === RECALL ? `10 01 ${"04 ".repeat(own.length)}`.trim() : hexKeys(line);
  return [`send-keys -t ${place.pane} -H ${place.editor ? GIVE_KEY : keys}`];
}

/** Clears the line. fish ignores Ctrl-C in a line that it shows as empty; there buddy's key runs nothing. */
export function giveUpLine(place: DeliveryTarget): string[] {
  const keys = place.shell === "fish" ? `-H ${KEY}` : "C-c";
  return [`copy-mode -q -t ${place.pane}`, `send-keys -t ${place.pane} ${keys}`];
}

/** Made by whoever decides about the command: its shell takes it, or buddy withdraws it. */
export function claimFile({ directory, pane }: DeliveryTarget, tag: number): string {
  return `${directory}/${pane.slice(1)}.claim.${tag}`;
}

/** What a withdrawn command left for the shell. */
export function withdraw(place: DeliveryTarget): string[] {
  const number = place.pane.slice(1);
  const file = (name: string) => `${place.directory}/${number}.${name}`;
  return putFiles({
    [file("next")]: "",
    [file("sh")]: ":\n",
    [file("run")]: ":\n",
  });
}

/** Only comments and blanks: nothing that a shell would run. */
export function isBlank(command: string): boolean {
  return command.split("\n").every((line) => /^\s*(#.*)?$/.test(line));
}

/** Commands for tmux, which writes the files on its machine before the keys. */
export function byTmux({ files, lines }: Delivery): readonly string[] {
  return [...putFiles(files), ...lines];
}

/** Writes the files directly if tmux runs on this machine: tmux needs a turn of its event loop for each file. */
export function putHere(files: Delivery["files"]): boolean {
  try {
    for (const [path, text] of Object.entries(files)) writeFileSync(path, withBytes(text), { mode: 0o600 });
    return true;
  } catch {
    // tmux then reports why.
    return false;
  }
}

function putFiles(files: Readonly<Record<string, string>>): string[] {
  const paths = Object.keys(files);
  // Named after a file: other buddies use the same server.
  const buffer = tmuxQuote(`buddy-line-${paths[0]?.replaceAll("/", "-")}`);
  return [
    ...paths.flatMap((path) => [
      // tmux has no empty buffers: an empty file is a newline.
      `set-buffer -b ${buffer} ${tmuxQuote(files[path] || "\n")}`,
      `save-buffer -b ${buffer} ${tmuxQuote(path)}`,
    ]),
    `delete-buffer -b ${buffer}`,
  ];
}

/**
 * May replace buddy's hooks and prompt, as a start-up file does that is read again. Only with all quotes closed: at an
 * open one the shell reports that the line is incomplete.
 */
export function mayReplaceHooks(command: string): boolean {
  return REPLACES_HOOKS.test(command) && !/['"\\]/.test(command.replaceAll(QUOTED, ""));
}

const REPLACES_HOOKS = /(?:^|[\s;&|({`])(?:\.|source|eval)\s|PROMPT|\bPS[01]\b|precmd|preexec/;
const QUOTED = /\\.|'[^']*'|"[^"\\]*(?:\\.[^"\\]*)*"/gs;

/** A line and a file are read differently: history expansion in bash and zsh, comments in zsh. */
function fitsOneLine(command: string, shell: PaneShell["kind"]): boolean {
  // oxlint-disable-next-line no-control-regex
  if (command.length > MAX_TYPED || /[\0-\x1f\x7f]/.test(command) || command.startsWith(" ")) return false;
  if (shell !== "fish" && (command.includes("!") || mayReplaceHooks(command))) return false;
  return !(shell === "zsh" && command.includes("#"));
}

function sourcedScript(command: string, tag: number, shell: PaneShell["kind"], secret?: SecretScript): string {
  const seen = secret?.shown ?? command;
  const gone = secret === undefined ? "" : `${removed(secret.script, shell)}; `;
  const shown = quote(excerpt(seen));
  const marked = outputBegins(tag, linesShown(seen), shell);
  // As one word: the line after it runs whatever it begins and does not end.
  const asWord = shell === "zsh" ? zshQuote(command) : quote(command);
  const run = mayReplaceHooks(command)
    ? `\\builtin eval ${asWord}\n{ __buddy_again; } >/dev/null 2>/dev/null`
    : command;
  switch (shell) {
    case "fish":
      // Without a trace of this line itself.
      return `set -l fish_trace; ${gone}builtin printf '%s\\n' ${fishQuote(excerpt(seen))}; ${marked}; set -e -l fish_trace\n${command}\n`;
    case "zsh":
      return `{ ${gone}\\builtin print -sr -- ${zshQuote(seen)}; \\builtin printf '%s\\n' ${zshQuote(excerpt(seen))}; ${marked}; } 2>/dev/null\n${run}\n`;
    case "bash":
    case "sh":
      return `{ ${gone}\\builtin history -s -- ${quote(seen)}; \\builtin printf '%s\\n' ${shown}; ${marked}; } 2>/dev/null\n${run}\n`;
  }
}

interface SecretScript {
  readonly shown: string;
  /** Its path. */
  readonly script: string;
}

/** Removes the script. The shell has it open and can read the rest. */
function removed(script: string, shell: PaneShell["kind"]): string {
  return `${asItself(shell)}${shell === "bash" || shell === "zsh" ? "builtin " : ""}command rm -f -- ${quote(script)}`;
}

/**
 * The script marks start and end, since the shell has no hooks. `clean`: the lines run a child, in one group with the
 * mark of the start, because with `set -v` the shell prints each line that it reads.
 */
function typedScript(command: string, tag: number, place: DeliveryTarget, run: string, clean = false): string {
  const { shell } = place;
  // A shell that replaced the pane's own (`exec sh`) does not have its functions: nothing runs there.
  // Either this shell or buddy decides about a command: whoever makes its file. A typed line can arrive late, or twice.
  // Not an alias or function of that name.
  const own = `${asItself(shell)}${shell === "sh" ? "command" : "builtin"}`;
  const leave = shell === "sh" ? "\\return" : `${own} return`;
  const look = shell === "sh" ? "-v" : "type";
  const once = `${own} ${look} __buddy_head >/dev/null 2>&1 || ${leave} 0\n{ ( \\set -C; ${own} true >${quote(claimFile(place, tag))} ); } 2>/dev/null || ${leave} 0`;
  const print = shell === "sh" ? "__buddy_print" : `${own} printf`;
  const head = `${print} '%s\\n' ${quote(excerpt(command))}; __buddy_head ${tag} ${linesShown(command)}`;
  // mksh traces these lines, too, with the key: only what was asked for is traced.
  const inSh = shell === "sh";
  const untraced = inSh ? `case $-\${KSH_VERSION-} in *x*MIRBSD*) \\set +x; __buddy_ps4=\${PS4-} ;; esac\n` : "";
  const traced = inSh ? "case ${__buddy_ps4+x} in x) PS4=$__buddy_ps4; \\unset __buddy_ps4; \\set -x ;; esac" : "";
  const body = clean
    ? `${untraced}{ ${head}\n${run}\n{ __buddy_check "$__buddy_code"; } 8>&1 >/dev/null; } 9>&2 2>/dev/null`
    : `${untraced}{ ${head}; } 2>/dev/null${inSh ? `; ${traced}` : ""}\n${run}\n${inSh ? CHECK_IN_SH : CHECK}`;
  // An empty expansion runs nothing, so `set -x` shows nothing.
  const repair = '${__buddy_repair:+"$__buddy_repair"}';
  // With set -e, the exit code of the child must not end the shell.
  const tail = clean
    ? 'case $- in *e*) __buddy_tail 0 ;; *) __buddy_tail "$__buddy_code" ;; esac'
    : '__buddy_tail "$__buddy_code"';
  return `${once}\n${body}\n${repair}\n${inSh ? `${traced}\n` : ""}{ ${tail}; } 2>/dev/null\n`;
}

/** Marks the beginning of the output; first how many lines below the prompt are text, for a buddy that reconnects. */
function outputBegins(tag: number, lines: number, shell: PaneShell["kind"]): string {
  const print = `${asItself(shell)}builtin printf`;
  const known = `${print} '\\033]7;buddy;%s;C;%s+%s;%s\\a' "$__buddy_key" ${tag} ${lines} "$__buddy_at"; `;
  return `${lines === 0 ? "" : known}${print} '\\033]7771;%s;S;%s\\a' "$__buddy_key" ${tag}`;
}

/** Prevents the next word from being an alias. Aliases of fish are functions. */
function asItself(shell: PaneShell["kind"]): string {
  return shell === "fish" ? "" : "\\";
}

function linesShown(command: string): number {
  return excerpt(command).split("\n").length;
}

function excerpt(command: string): string {
  const lines = command.trimEnd().split("\n");
  let text = lines.slice(0, MAX_SHOWN_LINES).join("\n");
  if (text.length > MAX_SHOWN) text = `${text.slice(0, MAX_SHOWN)} …`;
  const more = lines.length - MAX_SHOWN_LINES;
  // oxlint-disable-next-line no-control-regex
  return (more > 0 ? `${text}\n… ${more} more lines` : text).replace(/[\0-\x08\x0b-\x1f\x7f]/g, "?");
}

/** With `emulate csh` zsh allows no newline in quotes. */
function zshQuote(text: string): string {
  return text.includes("\n") ? `$'${text.replace(/[\\']/g, "\\$&").replaceAll("\n", "\\n")}'` : quote(text);
}
