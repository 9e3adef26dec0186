/** What the calls of a turn have come to, and what earlier turns of the session allow the next ones to use. */
import type { ProposedChange } from "../events.ts";
import type { PrintedKinds } from "./printed-kinds.ts";

export class TurnState {
  /** The operator's own words, of this turn and those before it. */
  readonly prompts: string[] = [];
  /** What later reads of an output, or of a pane, will show; there is none before the first call. */
  printed: PrintedKinds | undefined;
  #readOnly = false;
  #unapproved: string[] = [];
  readonly #proposed = new Map<string, ProposedChange>();
  #done: string[] = [];

  begin(prompt: string, readOnly: boolean): void {
    this.#readOnly = readOnly;
    this.#unapproved = [];
    this.#proposed.clear();
    this.#done = [];
    if (this.prompts.push(prompt) > MOST_PROMPTS) this.prompts.shift();
  }

  /** Another session: what was allowed by a prompt of the last one is forgotten. */
  forget(): void {
    this.prompts.length = 0;
    this.printed?.forget();
  }

  /** Nothing may be changed until the next turn. */
  get readOnly(): boolean {
    return this.#readOnly;
  }

  get unapproved(): readonly string[] {
    return this.#unapproved;
  }

  get proposed(): readonly ProposedChange[] {
    return [...this.#proposed.values()];
  }

  get done(): readonly string[] {
    return this.#done;
  }

  refuse(action: string): void {
    if (!this.#unapproved.includes(action)) this.#unapproved.push(action);
  }

  /** The same change wanted twice is one. */
  propose(change: ProposedChange, machine: string | undefined): void {
    const key = JSON.stringify([machine, change.where, change.directory, change.command]);
    if (this.#proposed.size >= MOST_PROPOSED || this.#proposed.has(key)) return;
    this.#proposed.set(key, machine === undefined ? change : { machine, ...change });
  }

  note(line: string): void {
    this.#done.push(line);
  }
}

const MOST_PROPOSED = 200;
const MOST_PROMPTS = 200;
