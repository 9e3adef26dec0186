/** What the machines of a call ask, as one question: for all, for some of them, or for one first. */
import { foldNames } from "../../lib/names.ts";
import { within } from "../../lib/waiting.ts";
import type { ApprovalRequest, Decision, RequestPlace } from "../../policy/approvals.ts";
import { printedBy } from "../../tools/group-results.ts";
import type { ToolResult } from "../../tools/tool.ts";
import { answeredEvent, askedEvent } from "../permit/ask-operator.ts";
import type { FleetParts } from "./fleet-parts.ts";
import { failure, NOT_CHOSEN } from "./machine-results.ts";
import type { Progress, SetCall } from "./run-on-machines.ts";
import { placed, setQuestion } from "./set-question.ts";

interface Asking {
  readonly progress: Progress;
  readonly request: ApprovalRequest;
  readonly place: (() => Promise<RequestPlace>) | undefined;
  resolve(decision: Decision): void;
}

/** What becomes of the machines. */
interface Effects {
  /** These are approved; those of them that go first are known now. */
  goFirst(approved: readonly Progress[]): void;
  /** It goes on with its own look at the answer. */
  answered(one: Progress): void;
  finish(one: Progress, result: ToolResult): void;
}

export class SharedQuestion {
  readonly #fleet: FleetParts;
  readonly #call: SetCall;
  readonly #all: readonly Progress[];
  readonly #effects: Effects;
  readonly #asking: Asking[] = [];

  constructor(fleet: FleetParts, call: SetCall, all: readonly Progress[], effects: Effects) {
    this.#fleet = fleet;
    this.#call = call;
    this.#all = all;
    this.#effects = effects;
  }

  /** The first machine that asks. */
  get first(): Progress | undefined {
    return this.#asking[0]?.progress;
  }

  add(progress: Progress, request: ApprovalRequest, place: Asking["place"]): Promise<Decision> {
    const { promise, resolve } = Promise.withResolvers<Decision>();
    this.#asking.push({ progress, request, place, resolve });
    return promise;
  }

  /** Nothing where no machine asks. */
  async ask(): Promise<void> {
    const order = (one: Asking): number => this.#all.indexOf(one.progress);
    let left = this.#asking.splice(0).sort((a, b) => order(a) - order(b));
    try {
      left = this.#settleByMode(left);
      let heading = this.#leftOutWords();
      while (left.length > 0) {
        const decision = await this.#decision(left, heading);
        if (decision.kind === "approved" && decision.only !== undefined) {
          const { only } = decision;
          const chosen = left.filter(({ progress }) => only.includes(progress.machine.name));
          for (const other of left.filter((one) => !chosen.includes(one))) this.#release(other, NOT_CHOSEN);
          left = chosen;
          if (decision.again === true) continue;
        }
        if (decision.kind === "approved" && decision.canary === true) {
          const [first, ...others] = left as [Asking, ...Asking[]];
          this.#answer(first, { kind: "approved", by: decision.by });
          await first.progress.over.promise;
          heading = this.#canaryWords(first.progress);
          left = others;
          continue;
        }
        this.#effects.goFirst(left.map(({ progress }) => progress));
        for (const one of left) this.#answer(one, decision);
        return;
      }
    } catch (error) {
      for (const one of left) this.#release(one, failure(error));
    }
  }

  /** Where a mode approves, those that only a person may approve do not hold up the others. */
  #settleByMode(asking: readonly Asking[]): Asking[] {
    const settled = asking.map((one) => ({ one, decision: this.#fleet.approvals.settled(one.request) }));
    const byMode = settled.flatMap(({ one, decision }) =>
      decision?.kind === "approved" && decision.by === "mode" ? [{ one, decision }] : [],
    );
    this.#effects.goFirst(byMode.map(({ one }) => one.progress));
    const [first] = byMode;
    if (first !== undefined) {
      const machines = byMode.map(({ one }) => one.progress.machine.name);
      this.#call.publish({ ...answeredEvent(first.one.request, first.decision), machines });
    }
    for (const { one, decision } of byMode) this.#answer(one, decision);
    return asking.filter((one) => !byMode.some((done) => done.one === one));
  }

  async #decision(left: readonly Asking[], heading: string): Promise<Decision> {
    const asking = await Promise.all(
      left.map(async ({ progress, request, place }) => ({
        machine: progress.machine.name,
        request: placed(request, place && (await within(place(), LOOK_MS))),
      })),
    );
    const question = setQuestion(asking, { heading, named: this.#fleet.machines.length > 1 });
    const { signal, publish } = this.#call;
    const decision = await this.#fleet.approvals.decide(question, signal, (asked) => publish(askedEvent(asked)));
    publish(answeredEvent(question, decision));
    return decision;
  }

  /** It looks at the machine once more: where that has moved, or a changed command needs more, it asks again. */
  #answer(one: Asking, decision: Decision): void {
    this.#effects.answered(one.progress);
    one.resolve(decision);
  }

  #release(one: Asking, result: ToolResult): void {
    this.#effects.finish(one.progress, result);
    one.resolve({ kind: "denied", by: "operator" });
  }

  #leftOutWords(): string {
    const out = this.#all.flatMap(({ machine, result }) =>
      result === undefined || result.result.ok ? [] : [machine.name],
    );
    return out.length === 0 ? "" : `left out: ${foldNames(out)}`;
  }

  /** Its result is shown before the question for the others. */
  #canaryWords({ machine, result }: Progress): string {
    if (result === undefined) return "";
    const { exitCode, outcome } = result.result;
    const ended = exitCode === undefined ? outcome : `exit code ${exitCode}`;
    const text = `canary: ${ended}\n${printedBy(result)}`;
    this.#call.publish({ type: "tool_output", call: this.#call.call, stream: "info", text, machine: machine.name });
    return `canary ${machine.name}: ${ended}`;
  }
}

const LOOK_MS = 3_000;
