/** The line for a password: what is typed is shown as dots, kept in one buffer, and passed on once. */
import { clip } from "../../lib/text.ts";
import type { PasswordQuestion } from "../../agent/calls/desk.ts";
import type { TerminalInput } from "../terminal/keys.ts";
import type { Theme } from "../theme.ts";
import { oneLine } from "../words.ts";

/** Longer is not a password. */
const MOST_BYTES = 4096;

export class PasswordLine {
  readonly question: PasswordQuestion;
  readonly #answer: (bytes: Uint8Array | undefined) => void;
  readonly #bytes = Buffer.alloc(MOST_BYTES);
  /** Where each character ends. */
  #ends: number[] = [];

  constructor(question: PasswordQuestion, answer: (bytes: Uint8Array | undefined) => void) {
    this.question = question;
    this.#answer = answer;
  }

  handle(input: TerminalInput): void {
    if (input.kind === "paste") {
      for (const character of input.text.replace(/[\r\n]+$/, "")) this.#add(character);
      return;
    }
    if (input.kind !== "key") return;
    const { name, ctrl, alt } = input;
    if (name === "enter" && !alt) this.#finish(true);
    else if (name === "escape" || (ctrl && (name === "c" || name === "d"))) this.#finish(false);
    else if (name === "backspace" || (ctrl && name === "h")) this.#drop();
    else if (ctrl && name === "u") this.#clear();
    else if (!ctrl && !alt && [...name].length === 1) this.#add(name);
  }

  /** The question was withdrawn. */
  close(): void {
    this.#finish(false);
  }

  /** The rows, and the cursor in the last but one. */
  view(columns: number, style: Theme): { rows: string[]; cursor: { row: number; col: number } } {
    const { where, program, prompt, into } = this.question;
    const place = oneLine(where);
    const asks = prompt === "" ? "" : ` · ${oneLine(prompt)}`;
    const goes = into === "pane" ? `goes to the pane of ${place} only` : `goes to ${oneLine(program)} on ${place} only`;
    const label = "password: ";
    const dots = "•".repeat(Math.min(this.#ends.length, Math.max(0, columns - label.length - 1)));
    const rows = [
      `${style.warning("?")} ${style.bold(`${oneLine(program)} asks for a password on ${place}`)}${style.grey(asks)}`,
      `  ${style.grey(`${goes}: not to the model, not to any file`)}`,
      `${style.prompt(label)}${dots}`,
      style.grey(`Enter sends  Esc ${into === "pane" ? "leaves it to the pane" : "gives none"}`),
    ].map((row) => clip(row, columns));
    return { rows, cursor: { row: 2, col: Math.min(columns, label.length + dots.length) } };
  }

  #add(character: string): void {
    const at = this.#ends.at(-1) ?? 0;
    const size = Buffer.byteLength(character);
    if (at + size > MOST_BYTES || /[\0-\x1f\x7f]/.test(character)) return;
    this.#bytes.write(character, at);
    this.#ends.push(at + size);
  }

  #drop(): void {
    this.#bytes.fill(0, this.#ends.at(-2) ?? 0);
    this.#ends.pop();
  }

  #clear(): void {
    this.#bytes.fill(0);
    this.#ends = [];
  }

  #finish(given: boolean): void {
    const bytes = given ? Buffer.from(this.#bytes.subarray(0, this.#ends.at(-1) ?? 0)) : undefined;
    this.#clear();
    this.#answer(bytes);
  }
}
