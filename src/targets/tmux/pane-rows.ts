/** The panes of a session as tmux lists them, and the marks by which buddy knows its own. */
import type { PaneShell } from "./bootstrap.ts";
import { tmuxQuote } from "./control.ts";

export interface PaneRow {
  readonly id: string;
  readonly window: string;
  readonly tty: string;
  readonly pid: number;
  readonly dead: boolean;
  readonly width: number;
  /** The name buddy gave the pane; "" when the pane is not buddy's. */
  readonly name: string;
  readonly command: string;
  readonly windowName: string;
  /** The exit code of a shell that ended in its start-up files: the next one runs without them. Or "". */
  readonly skipped: string;
  /** The shell that it was started with: the account may have another one since. Undefined where that is not known. */
  readonly shell: PaneShell | undefined;
}

export const PANE_FORMAT = [
  "pane_id",
  "window_id",
  "pane_tty",
  "pane_pid",
  "pane_dead",
  "pane_width",
  "@buddy_pane",
  "pane_current_command",
  "window_name",
  "@buddy_skipped",
  "pane_start_command",
]
  .map((name) => `#{${name}}`)
  .join("|");

export function parsePanes(lines: readonly string[]): PaneRow[] {
  return lines.map((line) => {
    const [id = "", window = "", tty = "", pid, dead, width, name = "", command = "", ...more] = line.split("|");
    const [windowName = "", skipped = "", ...start] = more;
    const shell = startedShell(start.join("|"));
    const numbers = { pid: Number(pid), width: Number(width) };
    return { id, window, tty, ...numbers, dead: dead === "1", name, command, windowName, skipped, shell };
  });
}

/** From the words of `paneCommand`, as tmux quotes them. */
function startedShell(command: string): PaneShell | undefined {
  const [, kind, program = ""] = /\/supervisor\.sh"? (bash|zsh|fish|sh) .* (\/[\w./+-]+)$/.exec(command) ?? [];
  if (kind === undefined) return undefined;
  return { kind: kind as PaneShell["kind"], name: program.split("/").at(-1) ?? kind, argv: [program] };
}

export function markPane(pane: string, name: string, owner: string): string[] {
  return [
    `set-option -p -t ${pane} @buddy_managed 1`,
    `set-option -p -t ${pane} @buddy_owner ${tmuxQuote(owner)}`,
    `set-option -p -t ${pane} @buddy_pane ${tmuxQuote(name)}`,
    `set-option -w -t ${pane} automatic-rename off`,
    `set-option -w -t ${pane} allow-rename off`,
    `set-option -w -t ${pane} remain-on-exit off`,
    // What commands print must not reach the terminal of whoever attaches; tmux before 3.3 has no such option.
    `set-option -q -p -t ${pane} allow-passthrough off`,
    `select-pane -t ${pane} -T ${tmuxQuote(name)}`,
  ];
}
