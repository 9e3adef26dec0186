/** The read-only namespace, and a clean bash kept open in it that forks for each command: entering it takes time. */
import cleanCloseFiles from "../../../templates/target/clean-close-files.sh" with { type: "text" };
import cleanEndHolders from "../../../templates/target/clean-end-holders.sh" with { type: "text" };
import cleanHold from "../../../templates/target/clean-hold.sh" with { type: "text" };
import findNamespace from "../../../templates/target/find-namespace.sh" with { type: "text" };
import keepShell from "../../../templates/target/keep-shell.sh" with { type: "text" };
import keptNext from "../../../templates/target/kept-next.sh" with { type: "text" };
import keptPlain from "../../../templates/target/kept-plain.sh" with { type: "text" };
import keptShell from "../../../templates/target/kept-shell.sh" with { type: "text" };
import keptShellInPane from "../../../templates/target/kept-shell-in-pane.sh" with { type: "text" };
import namespaceText from "../../../templates/target/namespace.sh" with { type: "text" };
import { quote, quoteAll } from "../../lib/quote.ts";
import { onOneLine, script } from "../../lib/script.ts";
import { CLEAN_BASH, type CleanShell, ENTER_DIRECTORY, mayMove, type NamespaceEntry } from "./clean-script.ts";
import { OWN_DIRECTORY } from "../script-line.ts";

/** Makes the namespace. */
export const NAMESPACE = OWN_DIRECTORY + script(namespaceText);

/**
 * For a bash that has `__buddy_exec` and in which 8 and 9 are stdout and stderr: defines `__buddy_standing TEXT` and
 * `__buddy_leave`.
 */
export function standingShell(shell: CleanShell, own: readonly string[], namespace: NamespaceEntry): string {
  return script(keepShell, {
    findNamespace,
    own: quoteAll(own),
    enter: namespace.enter,
    file: quote(namespace.file),
    loaded: LOADED,
    shell: quote(shell.path),
    stand: quote(STAND),
  });
}

/** A background process of a shell ignores these signals, and so would everything in it. */
const DEFAULT_SIGNALS = "env --default-signal=INT,QUIT";

/** The script comes from a file: `ps` would show an argument. */
const LOAD = `IFS= read -r -d "" __buddy_line <&3; exec 3<&-; eval "$__buddy_line"`;

/** Options for a bash that loads it. */
export const LOADED = [...CLEAN_BASH, LOAD].map(quote).join(" ");

/** Texts that a standing shell may run: they do not change the directory or look into the shell that runs them. */
export function fitsStandingShell(text: string): boolean {
  return text.length <= MOST_STANDING && !mayMove(text) && !/\/proc\/\$/.test(text);
}

/** A pipe accepts this much at once, even if its reader has ended. */
const MOST_STANDING = 8192;

const PARTS = {
  cleanCloseFiles,
  cleanEndHolders,
  cleanHold,
  keptNext,
  keptPlain,
  enter_directory: ENTER_DIRECTORY,
  keep: "[0-2569]",
  close: "[0-9]*",
};

export const STAND = onOneLine(script(keptShell, PARTS));

/**
 * For a bash in a pane (see templates/shell-init/bash.sh): lines that have a clean bash in the namespace run the text
 * on the terminal, and return its exit code; if that is not possible, the lines after them run. They are inside a group
 * in which 9 is the terminal and stderr is discarded; they end it and begin another.
 */
export function standingInPane(
  text: string,
  shell: CleanShell,
  { own, namespace }: { readonly own: readonly string[]; readonly namespace: NamespaceEntry },
  pane: AskingPane,
): string {
  const file = quote(namespace.file);
  const ask = `__buddy_ask ${pane.tag} ${file} ${quote(pane.tty)} ${quote(text)}`;
  const words = `${quote(shell.path)} ${LOADED} bash "$PWD" ${file} "$__buddy_pid $__buddy_since" "$$"`;
  const after = `__buddy_over ${pane.tag}; __buddy_ends || builtin return "$__buddy_code"; builtin return 0`;
  const files = "9>/dev/tty 2>/dev/null";
  // The shell reads the later lines only if it gets to them, which is rare.
  return `if [[ \${__buddy_asks-} == 1 ]] && ${ask}; then ${after}; fi; } ${files}
{ __buddy_namespace() { __buddy_exec ${quoteAll(own)} ${DEFAULT_SIGNALS} ${namespace.enter} ${words} 3<"$__buddy_dir/stand.sh"; }
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

export const STAND_IN_PANE = onOneLine(script(keptShellInPane, PARTS));
