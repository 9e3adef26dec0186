/** Reads the screen of a pane and presses keys in it. */
import { isKeyName } from "./typed-keys.ts";
import { BuddyError } from "../../lib/errors.ts";
import type { CaptureOptions, KeysOptions } from "../target.ts";
import { type Reply, tmuxQuote } from "./control.ts";
import { pause } from "../../lib/waiting.ts";

/** Runs tmux commands: a control client, or one process per command. */
export interface TmuxServer {
  send(lines: readonly string[]): Promise<Reply[]>;
  ask(line: string): Promise<readonly string[]>;
}

export async function capturePane(
  session: TmuxServer,
  pane: string,
  options: CaptureOptions,
): Promise<{ text: string; notice?: string }> {
  await pause(options.delayMs ?? 0, options.signal);
  const target = tmuxQuote(pane);
  const flags = [
    ...(options.joinWrappedLines === true ? ["-J"] : []),
    ...(options.preserveTrailingSpaces === true ? ["-N"] : []),
    ...(options.includeEscapeSequences === true ? ["-e"] : []),
    ...(options.escapeNonPrintable === true ? ["-C"] : []),
    ...(options.start === undefined ? [] : ["-S", String(options.start)]),
    ...(options.end === undefined ? [] : ["-E", String(options.end)]),
  ].join(" ");
  const command = (alternate: string) => `capture-pane -p ${alternate} ${flags} -t ${target}`;
  if (options.includeAlternateScreen === true) {
    const [reply] = await session.send([command("-a")]);
    if (reply?.ok === true) return { text: reply.lines.join("\n") };
    const text = (await session.ask(command(""))).join("\n");
    return { text, notice: "The pane has no alternate screen; this is its normal one." };
  }
  return { text: (await session.ask(command(""))).join("\n") };
}

/** The last line with text up to the cursor: the prompt of a program that reads keys. */
export async function lineBeforeCursor(session: TmuxServer, pane: string): Promise<string> {
  const [cursor, screen] = await session.send([
    `display-message -p -t ${tmuxQuote(pane)} '#{cursor_x} #{cursor_y}'`,
    `capture-pane -p -t ${tmuxQuote(pane)}`,
  ]);
  const [x = 0, y = 0] = (cursor?.lines[0] ?? "").split(" ").map(Number);
  const lines = screen?.lines.slice(0, y + 1) ?? [];
  if (lines.length > y) lines.push(lines.pop()!.slice(0, x));
  return lines.findLast((line) => line.trim() !== "") ?? "";
}

export async function sendKeys(session: TmuxServer, pane: string, options: KeysOptions): Promise<void> {
  const keys = options.keys ?? [];
  const text = options.literalText ?? "";
  if (keys.length === 0 && text === "" && options.enter !== true) {
    throw new BuddyError("tool", "nothing to send", { hint: "Give keys, literal_text or enter." });
  }
  const presses: string[] = [];
  // As bytes: tmux drops a trailing semicolon even with -l, and a version of tmux might read the text as a key.
  if (text !== "") presses.push(`-H ${hexKeys(text)}`);
  for (const key of keys) {
    const name = key.endsWith(";") ? `${key.slice(0, -1)}\\;` : key;
    presses.push(isKeyName(key) ? `-- ${tmuxQuote(name)}` : `-H ${hexKeys(key)}`);
  }
  if (options.enter === true) presses.push("Enter");
  await pressKeys(session, pane, ...presses);
}

/** Leaves copy mode and presses keys; each of `presses` is the arguments of one send-keys. */
export async function pressKeys(session: TmuxServer, pane: string, ...presses: readonly string[]): Promise<void> {
  const target = tmuxQuote(pane);
  const [, ...replies] = await session.send([
    `copy-mode -q -t ${target}`,
    ...presses.map((keys) => `send-keys -t ${target} ${keys}`),
  ]);
  const refused = replies.find((reply) => !reply.ok);
  if (refused !== undefined) throw new BuddyError("tool", `tmux did not accept the keys: ${refused.lines.join(" ")}`);
}

/** For send-keys: clears the line and types the text. */
export function typeKeys(text: string, enter: boolean): string {
  return `-H ${CLEAR_LINE} ${hexKeys(text)}${enter ? " 0d" : ""}`;
}

/** Moves to the end of the line and erases it, also without a line editor. */
const CLEAR_LINE = "05 15";

/** For send-keys -H. */
export function hexKeys(text: string): string {
  return Buffer.from(text.replaceAll("\n", "\r")).toString("hex").replace(/../g, "$& ").trim();
}
