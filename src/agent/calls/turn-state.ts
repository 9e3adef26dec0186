/** What the calls of a turn led to, and what earlier turns of the session allow later ones to use. */
import type { ProposedChange } from "../events.ts";
import type { PrintedKinds } from "./printed-kinds.ts";

export class TurnState {
  /** The operator's own words, of this turn and those before it. */
  readonly prompts: string[] = [];
  /** What kind of output was printed; undefined before the first call. */
  printed: PrintedKinds | undefined;
  /** Nothing may be changed in this turn. */
  readOnly = false;
  /** Actions refused because there was no terminal to ask on. */
  unapproved: readonly string[] = [];
  /** No mode would have approved any of them. */
  onlyByPerson = true;
  /** Changes that were not made because the machine is read-only. */
  proposed: readonly ProposedChange[] = [];
  /** What the calls did, one line each. */
  done: readonly string[] = [];

  /** `prompt`: the operator's own words, without what was attached. */
  begin(prompt: string, readOnly: boolean): void {
    this.readOnly = readOnly;
    this.onlyByPerson = true;
    this.unapproved = this.proposed = this.done = [];
    if (this.prompts.push(prompt) > MOST_PROMPTS) this.prompts.shift();
  }

  /** Another session: what was allowed by a prompt of the last one is forgotten. */
  forget(): void {
    this.prompts.length = 0;
    this.printed?.forget();
  }

  refuse(action: string, onlyByPerson = false): void {
    if (!this.unapproved.includes(action)) this.unapproved = [...this.unapproved, action];
    this.onlyByPerson &&= onlyByPerson;
  }

  /** A change that is proposed twice is listed once. */
  propose(change: ProposedChange, machine: string | undefined): void {
    const proposed = machine === undefined ? change : { machine, ...change };
    const own = this.proposed.filter((one) => one.machine === machine);
    const isKnown = own.some((one) => identity(one) === identity(proposed));
    if (!isKnown && own.length < MOST_PROPOSED) this.proposed = [...this.proposed, proposed];
  }

  note(line: string): void {
    this.done = [...this.done, line];
  }
}

function identity({ where, directory, command }: ProposedChange): string {
  return JSON.stringify([where, directory, command]);
}

/** On one machine. */
const MOST_PROPOSED = 200;
const MOST_PROMPTS = 200;
