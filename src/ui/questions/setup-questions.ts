/** Questions before the REPL has the terminal: a list, a secret, a line. Import it lazily: it brings clack with it. */
import { closeSync, writeSync } from "node:fs";
import { isCancel, PasswordPrompt, type Prompt, SelectPrompt, TextPrompt } from "@clack/core";
import { BuddyError } from "../../lib/errors.ts";
import { canAsk, openTerminal, wantsColor } from "../../lib/terminal.ts";
import { clip, printable } from "../../lib/text.ts";
import { terminalEncoder } from "../terminal/ascii.ts";
import { TerminalKeys } from "../terminal/terminal-keys.ts";
import { type Theme, theme } from "../theme.ts";
import { wrapped } from "../words.ts";
import { onTerminal, type TerminalStreams } from "./clack-on-terminal.ts";

export interface SetupChoice<T> {
  readonly value: T;
  readonly label: string;
  /** In green behind the label: “found”. */
  readonly found?: string | undefined;
}

/** Esc gives undefined, Ctrl-C throws. An empty line is an empty text. */
export interface SetupQuestions {
  say(...lines: readonly string[]): void;
  choose<T>(message: string, choices: readonly SetupChoice<T>[], escape: string): Promise<T | undefined>;
  /** A name that is typed or found in the list by its letters. */
  search(message: string, names: readonly string[], first: string): Promise<string | undefined>;
  secret(message: string): Promise<string | undefined>;
  line(message: string, check: (text: string) => string | undefined): Promise<string | undefined>;
  readonly style: Theme;
}

/** Undefined without a terminal. */
export function setupQuestions(): SetupQuestions | undefined {
  if (!canAsk()) return undefined;
  const isPlain = process.env.TERM === "dumb" || !["", "0", undefined].includes(process.env.BUDDY_PLAIN);
  return isPlain ? new PlainQuestions() : new ScreenQuestions();
}

export function interrupted(): BuddyError {
  return new BuddyError("interrupted", "cancelled; nothing was written");
}

/** Rows that are drawn again with each key. */
class ScreenQuestions implements SetupQuestions {
  readonly style = theme(wantsColor({ env: process.env, isTty: true }), "auto");

  say(...lines: readonly string[]): void {
    print(wrapped(lines, process.stdout.columns || 80));
  }

  choose<T>(message: string, choices: readonly SetupChoice<T>[], escape: string): Promise<T | undefined> {
    const { style } = this;
    return this.#ask<T>((streams) => {
      const options = choices.map((choice, value) => ({ ...choice, value }));
      const prompt = new SelectPrompt({
        ...streams,
        options,
        render() {
          const { columns } = streams;
          if (this.state === "submit")
            return hanging(`${style.bold(message)}  ${options[this.cursor]?.label ?? ""}`, columns, 2).join("\n");
          const rows = options.flatMap(({ label, found }, at) => {
            const active = at === this.cursor;
            const mark = `${active ? "›" : " "} ${at + 1}  `;
            const note = found === undefined ? "" : `  ${style.ok(`● ${found}`)}`;
            return hanging(`${active ? style.bold(mark + label) : mark + label}${note}`, columns, mark.length);
          });
          const keys = [
            `${style.bold("↑ ↓")} or a number`,
            `${style.bold("Enter")} choose`,
            `${style.bold("Esc")} ${escape}`,
          ];
          return [style.bold(message), ...rows, "", ...inRows(keys, columns)].join("\n");
        },
      });
      prompt.on("key", (character) => {
        const at = Number(character) - 1;
        if (Number.isInteger(at) && at >= 0 && at < options.length) [prompt.cursor, prompt.value] = [at, at];
      });
      return prompt;
    }).then((at) => (at === undefined ? undefined : choices[Number(at)]?.value));
  }

  async search(message: string, names: readonly string[], first: string): Promise<string | undefined> {
    const { autocomplete } = await import("@clack/prompts");
    const options = names.map((value) => ({ value, label: printable(value) }));
    const initialValue = names.includes(first) ? first : undefined;
    const given = await onTerminal(({ input, output, rows }) =>
      autocomplete({ message, options, maxItems: Math.max(3, Math.min(10, rows - 6)), initialValue, input, output }),
    );
    return isCancel(given.value) ? cancelled(given.lastKey) : String(given.value);
  }

  secret(message: string): Promise<string | undefined> {
    const { style } = this;
    return this.#ask<string>(
      (streams) =>
        new PasswordPrompt({
          ...streams,
          render() {
            const text = String(this.userInput);
            // The end is enough to tell two keys apart.
            const shown = text.length < 16 ? 0 : 4;
            const dots = "•".repeat(Math.max(0, text.length - shown)) + text.slice(text.length - shown);
            if (this.state === "submit")
              return `${message} ${style.grey("•".repeat(8) + text.slice(-shown || text.length))}`;
            const room = Math.max(8, streams.columns - Bun.stringWidth(message) - 2);
            const keys = `${style.bold("Enter")} test it  ${style.bold("Esc")} back`;
            return `${message} ${style.bold(dots.slice(-room))}\n${keys}`;
          },
        }),
    ).then((text) => text?.trim());
  }

  line(message: string, check: (text: string) => string | undefined): Promise<string | undefined> {
    const { style } = this;
    return this.#ask<string>(
      (streams) =>
        new TextPrompt({
          ...streams,
          validate: (text) => check(text?.trim() ?? ""),
          render() {
            const rows = [`${message} ${this.state === "submit" ? this.userInput : this.userInputWithCursor}`];
            if (this.state === "error") rows.push(...wrapped([style.error(this.error)], streams.columns));
            if (this.state !== "submit") rows.push(`${style.bold("Enter")} go on  ${style.bold("Esc")} back`);
            return rows.join("\n");
          },
        }),
    ).then((text) => text?.trim());
  }

  async #ask<T>(make: (streams: TerminalStreams) => Pick<Prompt<unknown>, "prompt">): Promise<T | undefined> {
    const { value, lastKey } = await onTerminal((streams) => make(streams).prompt());
    return isCancel(value) ? cancelled(lastKey) : (value as T);
  }
}

/** Lines for a terminal that cannot draw, and for screen readers. */
class PlainQuestions implements SetupQuestions {
  readonly style = theme(false);

  say(...lines: readonly string[]): void {
    print(lines);
  }

  async choose<T>(message: string, choices: readonly SetupChoice<T>[], escape: string): Promise<T | undefined> {
    const rows = choices.map(
      ({ label, found }, at) => `  ${at + 1}  ${label}${found === undefined ? "" : ` (${found})`}`,
    );
    this.say(message, ...rows);
    for (;;) {
      const typed = await this.#typed(`A number from 1 to ${choices.length} (an empty line: ${escape}): `);
      if (typed === "") return undefined;
      const choice = /^\d+$/.test(typed) ? choices[Number(typed) - 1] : undefined;
      if (choice !== undefined) return choice.value;
      this.say(`There is no ${clip(printable(typed), 40)} in the list.`);
    }
  }

  async search(message: string, names: readonly string[], first: string): Promise<string | undefined> {
    this.say(message, ...names.slice(0, 20).map((name) => `  ${printable(name)}`));
    if (names.length > 20) this.say(`  and ${names.length - 20} more`);
    for (;;) {
      const typed = await this.#typed(`Its name (an empty line: ${first === "" ? "back" : printable(first)}): `);
      if (typed === "") return first === "" ? undefined : first;
      if (names.includes(typed)) return typed;
      this.say(`There is no ${clip(printable(typed), 60)} in the list.`);
    }
  }

  async secret(message: string): Promise<string | undefined> {
    const keys = terminalKeys();
    try {
      keys.write(`${message} (it is not shown) `);
      if (!keys.raw) return ((await keys.line()) ?? "").trim();
      let text = "";
      for (let inputs = await keys.next(); inputs !== undefined; inputs = await keys.next()) {
        for (const input of inputs) {
          if (input.kind === "paste") text += input.text;
          if (input.kind !== "key") continue;
          if (input.ctrl && input.name === "c") throw interrupted();
          if (input.name === "enter") return text.trim();
          if (input.name === "backspace") text = text.slice(0, -1);
          else if (!input.ctrl && !input.alt && [...input.name].length === 1) text += input.name;
        }
      }
      return undefined;
    } finally {
      keys.write("\r\n");
      await keys.close();
    }
  }

  async line(message: string, check: (text: string) => string | undefined): Promise<string | undefined> {
    for (;;) {
      const typed = await this.#typed(`${message} (an empty line: back) `);
      const problem = typed === "" ? undefined : check(typed);
      if (problem === undefined) return typed === "" ? undefined : typed;
      this.say(problem);
    }
  }

  async #typed(question: string): Promise<string> {
    const keys = terminalKeys();
    try {
      keys.write(question);
      const line = await keys.line();
      if (line === undefined) throw interrupted();
      return line.trim();
    } finally {
      await keys.close();
    }
  }
}

function cancelled(lastKey: string): undefined {
  if (lastKey === "\x03") throw interrupted();
  return undefined;
}

/** As many on a row as fit. */
function inRows(parts: readonly string[], columns: number): string[] {
  const rows: string[] = [];
  for (const part of parts) {
    const row = rows.at(-1);
    if (row !== undefined && Bun.stringWidth(row) + 2 + Bun.stringWidth(part) <= columns)
      rows.push(`${rows.pop()}  ${part}`);
    else rows.push(part);
  }
  return rows;
}

/** The rows below the first begin where its text does. */
function hanging(text: string, columns: number, indent: number): string[] {
  if (Bun.stringWidth(text) <= columns) return [text];
  const [first = "", ...more] = Bun.wrapAnsi(text, columns, { trim: false }).split("\n");
  const rest = Bun.wrapAnsi(more.join("").trim(), Math.max(10, columns - indent)).split("\n");
  return [first.trimEnd(), ...rest.map((row) => " ".repeat(indent) + row)];
}

function terminalKeys(): TerminalKeys {
  const terminal = openTerminal();
  if (terminal === undefined) throw new BuddyError("interrupted", "the terminal is gone; nothing was written");
  return new TerminalKeys(terminal, new AbortController().signal);
}

function print(lines: readonly string[]): void {
  const terminal = openTerminal();
  if (terminal === undefined) return;
  writeSync(terminal, terminalEncoder(process.env)(`${lines.join("\n")}\n`));
  closeSync(terminal);
}
