/** A list to choose from on the controlling terminal, before the REPL has it. */
import { openTerminal } from "../lib/terminal.ts";
import { type Choice, Picker } from "./picker.ts";
import { LiveArea } from "./terminal/live-area.ts";
import { TerminalKeys } from "./terminal/terminal-keys.ts";
import { theme } from "./theme.ts";

interface Chosen {
  readonly choice: Choice | undefined;
}

/** Undefined when nothing was chosen, or there is no terminal to choose on. */
export async function pickOnTerminal(
  title: string,
  choices: readonly Choice[],
  color: boolean,
): Promise<Choice | undefined> {
  const terminal = openTerminal();
  if (terminal === undefined || process.env.TERM === "dumb") return undefined;
  const keys = new TerminalKeys(terminal, new AbortController().signal);
  const area = new LiveArea();
  const style = theme(color);
  let chosen: Chosen | undefined;
  const picker = new Picker(title, choices, 0, (choice) => (chosen = { choice }));
  try {
    for (;;) {
      const { columns, rows } = keys.size();
      const lines = picker.rows(columns - 1, rows - 1, style);
      keys.write(
        area.frame([], lines, { row: 0, col: Math.min(columns - 1, Bun.stringWidth(lines[0] ?? "")) }, columns),
      );
      const inputs = await keys.next();
      for (const input of inputs ?? []) if (chosen === undefined) picker.handle(input);
      if (inputs !== undefined && chosen === undefined) continue;
      keys.write(area.erase());
      return (chosen as Chosen | undefined)?.choice;
    }
  } finally {
    await keys.close();
  }
}
