/**
 * Questions of @clack/prompts on the controlling terminal, before the REPL has it. Import it lazily: it brings clack
 * with it.
 */
import { PassThrough, Writable } from "node:stream";
import * as clack from "@clack/prompts";
import { openTerminal } from "../../lib/terminal.ts";
import type { Choice } from "./picker.ts";
import { KeyDecoder } from "../terminal/keys.ts";
import { TerminalKeys } from "../terminal/terminal-keys.ts";
import { wrapped } from "../words.ts";

/** Undefined when nothing was chosen, or there is no terminal. */
export async function pickWithClack(message: string, choices: readonly Choice[]): Promise<string | undefined> {
  const { value } = await onTerminal(({ rows, columns: _columns, ...streams }) =>
    clack.select({
      message,
      options: choices.map(({ value, label, hint }) => ({ value, label, ...(hint === "" ? {} : { hint }) })),
      maxItems: Math.max(3, Math.min(12, rows - 4)),
      ...streams,
    }),
  );
  return clack.isCancel(value) ? undefined : value;
}

/** `above` is shown above the question. Undefined when it was cancelled. */
export async function confirmWithClack(above: readonly string[], message: string): Promise<boolean | undefined> {
  const { value } = await onTerminal(({ input, output, columns }) => {
    output.write(
      wrapped(above, columns)
        .map((line) => `${line}\n`)
        .join(""),
    );
    return clack.confirm({ message, initialValue: false, input, output });
  }, aloneOnly());
  return clack.isCancel(value) ? undefined : value;
}

export interface TerminalStreams {
  readonly input: PassThrough;
  readonly output: Writable;
  readonly columns: number;
  readonly rows: number;
}

/**
 * clack gets streams of its own: a ReadStream on the terminal continues to read after it, and takes the REPL's keys.
 * `lastKey` tells Esc from Ctrl-C, which clack does not. Undefined without a
 * terminal. `counts`: clack gets these bytes.
 */
export async function onTerminal<T>(
  ask: (streams: TerminalStreams) => Promise<T>,
  counts: (chunk: Uint8Array) => boolean = () => true,
): Promise<{ readonly value: T | undefined; readonly lastKey: string }> {
  const terminal = openTerminal();
  if (terminal === undefined) return { value: undefined, lastKey: "" };
  const over = new AbortController();
  const keys = new TerminalKeys(terminal, over.signal);
  const { columns, rows } = keys.size();
  const input = new PassThrough();
  const output = Object.assign(
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        // The terminal is raw: it does not return to the first column by itself.
        keys.write(chunk.toString().replace(/(?<!\r)\n/g, "\r\n"));
        done();
      },
    }),
    { columns, rows, isTTY: true },
  );
  let lastKey = "";
  const feeding = feed(keys, input, counts, (key) => void (lastKey = key));
  try {
    return { value: await ask({ input, output, columns, rows }), lastKey };
  } finally {
    over.abort();
    await feeding;
    await keys.close();
  }
}

async function feed(
  keys: TerminalKeys,
  input: PassThrough,
  counts: (chunk: Uint8Array) => boolean,
  last: (key: string) => void,
): Promise<void> {
  for (let chunk = await keys.bytes(); chunk !== undefined; chunk = await keys.bytes()) {
    if (!counts(chunk)) continue;
    last(String.fromCharCode(chunk.at(-1) ?? 0));
    // The terminal turns the return of Enter into a newline, which clack takes for another key.
    input.write(chunk.map((byte) => (byte === 10 ? 13 : byte)));
  }
  input.end();
}

/** One key, not a paste and not several at once: those were meant for something else. */
function aloneOnly(): (chunk: Uint8Array) => boolean {
  const decoder = new KeyDecoder();
  return (chunk) => {
    const inputs = decoder.push(chunk);
    // Escape by itself may be the start of another key.
    if (chunk.length === 1 && decoder.pending) inputs.push(...decoder.flush());
    return inputs.length === 1 && inputs[0]!.kind === "key";
  };
}
