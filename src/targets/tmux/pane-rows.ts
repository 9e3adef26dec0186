/** The panes of a session as tmux lists them, and the marks by which buddy knows its own. */
import { tmuxQuote } from "./control.ts";

export interface PaneRow {
  readonly id: string;
  readonly window: string;
  readonly tty: string;
  readonly pid: number;
  readonly dead: boolean;
  /** The name buddy gave the pane; "" when the pane is not buddy's. */
  readonly name: string;
  readonly command: string;
  readonly windowName: string;
}

export const PANE_FORMAT = [
  "pane_id",
  "window_id",
  "pane_tty",
  "pane_pid",
  "pane_dead",
  "@buddy_pane",
  "pane_current_command",
  "window_name",
]
  .map((name) => `#{${name}}`)
  .join("|");

export function parsePanes(lines: readonly string[]): PaneRow[] {
  return lines.map((line) => {
    const [id = "", window = "", tty = "", pid, dead, name = "", command = "", windowName = ""] = line.split("|");
    return { id, window, tty, pid: Number(pid), dead: dead === "1", name, command, windowName };
  });
}

export function markPane(pane: string, name: string, owner: string): string[] {
  return [
    `set-option -p -t ${pane} @buddy_managed 1`,
    `set-option -p -t ${pane} @buddy_owner ${tmuxQuote(owner)}`,
    `set-option -p -t ${pane} @buddy_pane ${tmuxQuote(name)}`,
    `set-option -w -t ${pane} automatic-rename off`,
    `set-option -w -t ${pane} allow-rename off`,
    `set-option -w -t ${pane} remain-on-exit off`,
    `select-pane -t ${pane} -T ${tmuxQuote(name)}`,
  ];
}
