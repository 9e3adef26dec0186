/** The line for a password on the controlling terminal of a one-shot run. */
import { openTerminal } from "../../lib/terminal.ts";
import type { PasswordQuestion } from "../../agent/passwords.ts";
import { PasswordLine } from "../password-line.ts";
import { LiveArea } from "../terminal/live-area.ts";
import { TerminalKeys } from "../terminal/terminal-keys.ts";
import { theme } from "../theme.ts";

/** Undefined where there is no terminal that can hide what is typed, or we are not in its foreground. */
export async function passwordOnTerminal(
  question: PasswordQuestion,
  signal: AbortSignal,
  { color }: { readonly color: boolean },
  terminal = openTerminal(),
): Promise<Uint8Array | undefined> {
  if (terminal === undefined) return undefined;
  const keys = new TerminalKeys(terminal, signal);
  const area = new LiveArea();
  const given: { bytes?: Uint8Array | undefined }[] = [];
  const line = new PasswordLine(question, (bytes) => given.push({ bytes }));
  try {
    if (!keys.raw) return undefined;
    while (given.length === 0) {
      const { columns } = keys.size();
      const { rows, cursor } = line.view(columns - 1, theme(color));
      keys.write(area.frame([], rows, cursor, columns));
      const inputs = await keys.next();
      if (inputs === undefined) line.close();
      else for (const input of inputs) if (given.length === 0) line.handle(input);
    }
    return given[0]?.bytes;
  } finally {
    keys.write(area.erase());
    await keys.close();
  }
}
