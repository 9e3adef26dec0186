/** Asks for approval on the controlling terminal of a one-shot run, wherever stdin and stdout lead. */
import { closeSync, read, readSync, writeSync } from "node:fs";
import { openTerminal } from "../../lib/controlling-terminal.ts";
import { askProgram } from "../../lib/start-child.ts";
import type { ApprovalAnswer, ApprovalRequest } from "../../policy/approvals.ts";
import { showText } from "../../policy/terminal-text.ts";

/** Answers `nobody` where there is no terminal or we are not in its foreground. */
export async function askOnTerminal(
  request: ApprovalRequest,
  signal: AbortSignal,
  options: TerminalOptions,
  terminal = openTerminal(),
): Promise<ApprovalAnswer> {
  if (terminal === undefined) return { kind: "nobody" };
  const keys = new Keys(terminal, signal);
  try {
    return await question(request, keys, terminal, options);
  } finally {
    await keys.close();
  }
}

export interface TerminalOptions {
  readonly color: boolean;
  /** Ctrl-C at the question: a terminal in raw mode sends no signal. */
  interrupt(): void;
}

async function question(
  request: ApprovalRequest,
  keys: Keys,
  terminal: number,
  { color, interrupt }: TerminalOptions,
): Promise<ApprovalAnswer> {
  const say = (text: string) => void writeSync(terminal, text.replaceAll("\n", "\r\n"));
  const paint = (code: string, text: string) => (color ? `\u001b[${code}m${text}\u001b[0m` : text);
  say(
    facts(request)
      .map((line) => `${paint("90", line)}\n`)
      .join(""),
  );
  if (request.diff) say(`${showText(request.diff, { mode: "command" })}\n`);
  const letters = ["y", "n", ...(request.prefixes === undefined ? [] : ["a"]), ...(request.editable ? ["e"] : [])];
  const line =
    `${paint("32", showText(request.where, { mode: "line" }))}$ ${paint("1", showText(request.action, { mode: "command" }))}` +
    ` ${paint(request.risk === "high" ? "1;31" : "33", "-- approve?")} [${letters.join("/")}] `;
  say(line);
  for (;;) {
    const key = await keys.next();
    switch (key) {
      case undefined:
        say("\n");
        return { kind: "cancelled" };
      case "\u0003":
        say("^C\n");
        interrupt();
        return { kind: "cancelled" };
      case "\u0004":
        say("n\n");
        return { kind: "no" };
      case "y":
      case "Y":
        say("y\n");
        return { kind: "yes" };
      case "n":
      case "N": {
        say("n\n");
        const reason = (await keys.line(say, "because (Enter: no reason): ", ""))?.trim();
        return reason === undefined || reason === "" ? { kind: "no" } : { kind: "no", reason };
      }
      case "a":
      case "A":
        if (request.prefixes === undefined) break;
        say(
          `a (${request.prefixes
            .map(({ words, open }) => showText(`${words.join(" ")}${open ? " …" : ""}`, { mode: "line" }))
            .join(", ")})\n`,
        );
        return { kind: "always" };
      case "e":
      case "E": {
        if (!request.editable) break;
        const old = request.action.includes("\n") ? "" : request.action;
        say("e\n");
        const command = (await keys.line(say, "run instead: ", old))?.trim();
        if (command !== undefined && command !== "" && command !== request.action.trim())
          return { kind: "edit", command };
        say(line);
        break;
      }
      case "?":
      case "h":
        say(
          `?\n${HELP.filter(([letter]) => letters.includes(letter!))
            .map((row) => `  ${row.join("  ")}\n`)
            .join("")}${line}`,
        );
        break;
      default:
        break;
    }
  }
}

function facts(request: ApprovalRequest): string[] {
  const traits = [
    `${request.risk} risk`,
    ...(request.mutation ? ["changes something"] : []),
    ...(request.privesc ? ["as another user"] : []),
  ];
  const one = (text: string) => showText(text, { mode: "line" });
  return [
    `${request.tool}: ${traits.join(", ")}${request.cwd === undefined ? "" : ` · in ${one(request.cwd)}`}`,
    ...(request.why === "" ? [] : [`why: ${one(request.why)}`]),
    ...(request.policy === ""
      ? []
      : [`${request.understated ? "the model understates it: " : "policy: "}${one(request.policy)}`]),
  ];
}

const HELP = [
  ["y", "yes, this once"],
  ["n", "no; a reason reaches the model"],
  ["a", "yes, and always this prefix for this session on this machine"],
  ["e", "edit the command; it is judged again"],
];

/**
 * Single keys and edited lines from the terminal; what was typed before the question never answers it.
 *
 * Bun's tty.ReadStream keeps a read on the terminal after it is destroyed, which swallows the answer to the next
 * question. With `min 0 time 1` a read ends by itself after a tenth of a second, so none is ever left behind.
 */
class Keys {
  readonly #terminal: number;
  readonly #signal: AbortSignal;
  readonly #saved: string | undefined;
  readonly #waiting: string[] = [];
  readonly #decoder = new TextDecoder();
  readonly #taken = Promise.withResolvers<undefined>();
  #reading: Promise<unknown> = Promise.resolve();

  constructor(terminal: number, signal: AbortSignal) {
    this.#terminal = terminal;
    this.#signal = signal;
    signal.addEventListener("abort", this.#takeBack, { once: true });
    this.#saved = stty(terminal, "-g");
    if (this.#saved === undefined) return;
    // A second signal ends the process at once: the terminal must not stay as it is now.
    process.once("exit", this.#restore);
    stty(terminal, "-icanon", "-echo", "-isig", "min", "0", "time", "0");
    const typedAhead = Buffer.alloc(4096);
    while (readSync(terminal, typedAhead) > 0);
    stty(terminal, "time", "1");
  }

  /** One key, or undefined when the question was taken back or the terminal is gone. Escape sequences are one key. */
  async next(): Promise<string | undefined> {
    while (this.#waiting.length === 0) {
      if (this.#signal.aborted) return undefined;
      const text = await Promise.race([this.#read(), this.#taken.promise]);
      if (text === undefined) return undefined;
      for (const [key] of text.matchAll(/\u001b\[[0-9;]*[A-Za-z~]|\u001bO[A-Za-z]|./gsu))
        this.#waiting.push(key.replace(/^\u001bO/, "\u001b["));
    }
    return this.#waiting.shift();
  }

  /** A line with the usual editing keys, in a window of one row however long it is; undefined when it was given up. */
  async line(say: (text: string) => void, label: string, start: string): Promise<string | undefined> {
    let text = [...start];
    let at = text.length;
    let first = 0;
    const room = Math.max(columns(this.#terminal) - Bun.stringWidth(label) - 1, 8);
    const width = (from: number, to: number) => Bun.stringWidth(safe(text.slice(from, to)));
    const show = () => {
      first = Math.min(first, at);
      while (width(first, at) > room) first++;
      let end = text.length;
      while (width(first, end) > room) end--;
      const after = width(at, end);
      say(`\r${label}${safe(text.slice(first, end))}\u001b[K${after > 0 ? `\u001b[${after}D` : ""}`);
    };
    for (;;) {
      show();
      const key = await this.next();
      if (key === undefined || key === "\u0003" || key === "\u001b") return void say("\n");
      if (key === "\r" || key === "\n") {
        say("\n");
        return text.join("");
      }
      if (key === "\u007f" || key === "\b") {
        if (at > 0) text.splice(--at, 1);
      } else if (key === "\u0015") {
        text = text.slice(at);
        at = 0;
      } else if (key === "\u000b") text = text.slice(0, at);
      else if (key === "\u0001" || key === "\u001b[H") at = 0;
      else if (key === "\u0005" || key === "\u001b[F") at = text.length;
      else if (key === "\u001b[D") at = Math.max(at - 1, 0);
      else if (key === "\u001b[C") at = Math.min(at + 1, text.length);
      else if (key >= " ") text.splice(at++, 0, key);
    }
  }

  /**
   * A read that is still queued would take its bytes from whatever gets the number of the closed file next, or a line of
   * the operator's from the restored terminal: it ends first. Without stty that takes until they press Enter.
   */
  async close(): Promise<void> {
    this.#signal.removeEventListener("abort", this.#takeBack);
    const closed = this.#reading.then(() => {
      process.removeListener("exit", this.#restore);
      this.#restore();
      closeSync(this.#terminal);
    });
    if (this.#saved !== undefined) await closed;
  }

  readonly #takeBack = (): void => this.#taken.resolve(undefined);

  readonly #restore = (): void => {
    if (this.#saved !== undefined) stty(this.#terminal, this.#saved);
  };

  /** Empty when nothing was typed for a moment. */
  #read(): Promise<string | undefined> {
    const buffer = Buffer.alloc(4096);
    const text = new Promise<string | undefined>((resolve) => {
      read(this.#terminal, buffer, 0, buffer.length, null, (error, count) => {
        // Without stty the terminal stays in line mode, and no bytes mean its end.
        if (error !== null || (count === 0 && this.#saved === undefined)) resolve(undefined);
        else resolve(this.#decoder.decode(buffer.subarray(0, count), { stream: true }));
      });
    });
    this.#reading = text;
    return text;
  }
}

function safe(characters: readonly string[]): string {
  return characters.map((character) => showText(character, { mode: "line" })).join("");
}

function columns(terminal: number): number {
  return Number(stty(terminal, "size")?.split(" ")[1]) || 80;
}

function stty(terminal: number, ...args: string[]): string | undefined {
  const { code, stdout } = askProgram(["stty", ...args], { stdin: terminal });
  return code === 0 ? stdout.trim() : undefined;
}
