/** `buddy policy text`: what of a text from a model or a tool would reach the terminal. */
import { BuddyError } from "../../../lib/errors.ts";
import { isTerminal, wantsColor } from "../../../lib/terminal.ts";
import { showText } from "../../../policy/screen/terminal-text.ts";
import type { GlobalOptions } from "../../args/options.ts";
import type { Explainer } from "./command.ts";

export async function explainer(globals: GlobalOptions): Promise<Explainer> {
  const color = wantsColor({ flag: globals.color, env: process.env, isTty: isTerminal(1) });
  return {
    explain: (value) => explainText(value, { color }),
    words: (answer) => (answer as { shown: string }).shown,
  };
}

/**
 * `value`: a text; `{text, command: true}` for one that is shown for approval; `{text, color: …}` with or without
 * colour.
 */
export function explainText(value: unknown, options: { readonly color: boolean }): { readonly shown: string } {
  if (typeof value === "string") return { shown: showText(value, { color: options.color }) };
  if (typeof value !== "object" || value === null || !("text" in value) || typeof value.text !== "string")
    throw new BuddyError("usage", 'give a text as a JSON string or as {"text": "…"}');
  const { text, command, color } = value as { text: string; command?: unknown; color?: unknown };
  return {
    shown: showText(text, {
      mode: command === true ? "command" : "output",
      color: typeof color === "boolean" ? color : options.color,
    }),
  };
}
