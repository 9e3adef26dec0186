/** What the REPL needs of a screen: one that repaints a terminal, or one that prints line by line. */
import type { PasswordAsker } from "../../agent/calls/passwords.ts";
import type { Task } from "../../agent/tasks.ts";
import type { Asker } from "../../policy/approvals.ts";
import type { Choice } from "../questions/picker.ts";
import type { Repl } from "./repl.ts";

export interface ReplScreen extends Asker, PasswordAsker {
  /** Columns a row may use. */
  readonly columns: number;
  /** The terminal opens OSC 8 links. */
  readonly links: boolean;
  /** The terminal itself keeps what was typed on the screen: nothing is echoed. */
  readonly echoes: boolean;
  /** The terminal accepts no more output: waiting for it would keep the process alive forever. */
  readonly stuck: boolean;
  start(repl: Repl): void;
  /** Something may have changed; `now`: a key caused it. */
  refresh(now?: boolean): void;
  /** Resolves when the screen has caught up with what waits to be printed; undefined when it has. */
  room(): Promise<void> | undefined;
  /** Ctrl-C: empties the input line; false when it was empty. */
  clearLine(): boolean;
  /** Empties the screen. */
  clear(): void;
  /** Into the clipboard of the terminal; false where there is none. */
  copy(text: string): boolean;
  pick(title: string, choices: readonly Choice[], selected: number): Promise<Choice | undefined>;
  /** What a command waits for; undefined when it is over. */
  waiting(text: string | undefined): void;
  /** Shows a long text and comes back when it was read. */
  view(lines: readonly string[]): Promise<void>;
  /** A remark that goes away by itself. */
  hint(text: string, forMs: number): void;
  taskStarted(task: Task, echo: string | undefined): void;
  taskEnded(task: Task, elapsedMs: number, words: string): void;
  /** The operator is leaving: questions are given up, nothing waits for the terminal. */
  release(): void;
  close(): Promise<void>;
}
