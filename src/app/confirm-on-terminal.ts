/** A question with yes or no, before anything has been started. */
import { closeSync, read, writeSync } from "node:fs";
import { openTerminal } from "../lib/terminal.ts";
import { EXIT } from "../lib/errors.ts";

/** Read from the terminal, never from a piped stdin; undefined where there is none or it was closed. */
export async function yesOnTerminal(question: string): Promise<boolean | undefined> {
  const terminal = openTerminal();
  if (terminal === undefined) return undefined;
  const answer = await lineFrom(terminal, question);
  return answer === undefined ? undefined : /^y(es)?\s*$/i.test(answer);
}

/**
 * Read asynchronously, so that Ctrl-C is heard where a command listens to signals; and not with tty.ReadStream, which in
 * Bun continues to read after it is destroyed and takes the REPL's keys.
 */
async function lineFrom(terminal: number, question: string): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  // Nothing has been started yet, and the pending read would keep the process alive: leaving at once is right here.
  const stops = { SIGINT: EXIT.interrupted, SIGTERM: EXIT.terminated, SIGHUP: EXIT.hangup } as const;
  const listeners = Object.entries(stops).map(([name, code]) => [name, () => process.exit(code)] as const);
  for (const [name, listener] of listeners) process.once(name, listener);
  try {
    writeSync(terminal, question);
    const line = Buffer.alloc(256);
    read(terminal, line, 0, line.length, null, (error, length) =>
      resolve(error !== null || length === 0 ? undefined : line.toString("utf8", 0, length)),
    );
    return await promise;
  } finally {
    for (const [name, listener] of listeners) process.removeListener(name, listener);
    closeSync(terminal);
  }
}
