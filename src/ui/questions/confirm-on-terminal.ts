/** A yes-or-no question, before anything has been started. */
import { closeSync } from "node:fs";
import { BuddyError, EXIT } from "../../lib/errors.ts";
import { isTerminal, openTerminal } from "../../lib/terminal.ts";
import { ALONE_MS } from "../approval/key-guard.ts";

/**
 * Read from the terminal, never from a piped stdin; undefined where there is none or it was closed. The last line asks;
 * those before it explain.
 */
export async function yesOnTerminal(question: string): Promise<boolean | undefined> {
  const terminal = openTerminal();
  if (terminal === undefined) return undefined;
  // Nothing has been started yet, and the pending read would keep the process alive: a signal exits at once.
  const stops = { SIGINT: EXIT.interrupted, SIGTERM: EXIT.terminated, SIGHUP: EXIT.hangup } as const;
  const listeners = Object.entries(stops).map(([name, code]) => [name, () => process.exit(code)] as const);
  for (const [name, listener] of listeners) process.once(name, listener);
  try {
    if (isTerminal(0) && isTerminal(1) && process.env["TERM"] !== "dumb") {
      closeSync(terminal);
      return await withClack(question);
    }
    const answer = await lineFrom(terminal, `${question} [y/N] `);
    return answer === undefined ? undefined : /^y(es)?\s*$/i.test(answer);
  } finally {
    for (const [name, listener] of listeners) process.removeListener(name, listener);
  }
}

async function withClack(question: string): Promise<boolean> {
  const { confirmWithClack } = await import("./clack-on-terminal.ts");
  const above = question.split("\n");
  const message = above.pop() ?? "";
  const answer = await confirmWithClack(above, message);
  if (answer === undefined) throw new BuddyError("interrupted", "cancelled; nothing was changed");
  return answer;
}

/** What was typed before the question does not answer it, nor do several lines at once. */
async function lineFrom(terminal: number, question: string): Promise<string | undefined> {
  const { TerminalKeys } = await import("../terminal/terminal-keys.ts");
  const keys = new TerminalKeys(terminal, new AbortController().signal);
  try {
    for (;;) {
      keys.write(question);
      const line = await keys.line();
      if (line === undefined || !(await keys.rested(ALONE_MS))) return line;
    }
  } finally {
    await keys.close();
  }
}
