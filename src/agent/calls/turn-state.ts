/** What the calls of a turn have come to, and what earlier turns of the session allow the next ones to use. */
import type { ProposedChange } from "../events.ts";
import type { PrintedKinds } from "./printed-kinds.ts";

export class TurnState {
  /** The operator's own words, of this turn and those before it. */
  readonly prompts: string[] = [];
  /** What later reads of an output, or of a pane, will show; there is none before the first call. */
  printed: PrintedKinds | undefined;
  /** Nothing may be changed until the next turn. */
  readOnly = false;
  /** Actions refused because there was no terminal to ask on. */
  unapproved: readonly string[] = [];
  /** Changes that a read-only machine did not get. */
  proposed: readonly ProposedChange[] = [];
  /** What the calls did, one line each. */
  done: readonly string[] = [];

  /** `prompt`: the operator's own words, without what was attached. */
  begin(prompt: string, readOnly: boolean): void {
    this.readOnly = readOnly;
    this.unapproved = this.proposed = this.done = [];
    if (this.prompts.push(prompt) > MOST_PROMPTS) this.prompts.shift();
  }

  /** Another session: what was allowed by a prompt of the last one is forgotten. */
  forget(): void {
    this.prompts.length = 0;
    this.printed?.forget();
  }

  refuse(action: string): void {
    if (!this.unapproved.includes(action)) this.unapproved = [...this.unapproved, action];
  }

  /** The same change wanted twice is one. */
  propose(change: ProposedChange, machine: string | undefined): void {
    const proposed = machine === undefined ? change : { machine, ...change };
    const isKnown = this.proposed.some((one) => identity(one) === identity(proposed));
    if (!isKnown && this.proposed.length < MOST_PROPOSED) this.proposed = [...this.proposed, proposed];
  }

  note(line: string): void {
    this.done = [...this.done, line];
  }
}

function identity({ machine, where, directory, command }: ProposedChange): string {
  return JSON.stringify([machine, where, directory, command]);
}

const MOST_PROPOSED = 200;
const MOST_PROMPTS = 200;
