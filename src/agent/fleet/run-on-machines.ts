/**
 * One call on several machines: each is judged by its own rules, one question covers all, then each runs by itself.
 * No machine holds up another: who does not answer is named in the result.
 */
import { foldNames } from "../../lib/names.ts";
import { formatDuration } from "../../lib/durations.ts";
import { unlessAborted, within } from "../../lib/waiting.ts";
import type { Approvals, ApprovalRequest, Decision, RequestPlace } from "../../policy/approvals.ts";
import type { Target } from "../../targets/target.ts";
import { answered, type MachineResult, printedBy } from "../../tools/group-results.ts";
import type { ToolResult } from "../../tools/tool.ts";
import { answeredEvent, askedEvent } from "../permit/ask-operator.ts";
import type { AgentEventBody } from "../events.ts";
import type { FleetMachine, FleetParts } from "./fleet-parts.ts";
import { digest, failure, machineOutcome, NOT_CHOSEN, notRun, STOPPED, unreachable } from "./machine-results.ts";
import { placed, setQuestion } from "./set-question.ts";

/** What a machine may do with a call: it has its result already, or it may run. */
export type Attempt =
  | { readonly kind: "result"; readonly result: ToolResult }
  | {
      readonly kind: "run";
      /** It changes nothing: it waits for no other machine. */
      readonly reads: boolean;
      run(): Promise<ToolResult>;
    };

export interface SetCall {
  readonly call: string;
  readonly machines: readonly FleetMachine[];
  readonly signal: AbortSignal;
  /** How long to wait was said: those that take longer than others are awaited. */
  readonly patient: boolean;
  begin(machine: FleetMachine, how: BeginOptions): Promise<Attempt>;
  publish(body: AgentEventBody): void;
}

export interface BeginOptions {
  readonly approvals: Pick<Approvals, "decide">;
  readonly signal: AbortSignal;
  readonly atLeastAsk?: string;
}

/** One result for each machine, in the order of the machines. */
export async function runOnMachines(fleet: FleetParts, call: SetCall): Promise<readonly MachineResult[]> {
  return new MachineCalls(fleet, call).all();
}

type State = "connecting" | "judging" | "asking" | "allowed" | "queued" | "running" | "finished";

interface Progress {
  readonly machine: FleetMachine;
  readonly stop: AbortController;
  readonly over: PromiseWithResolvers<void>;
  state: State;
  since: number;
  result?: MachineResult;
}

interface Asking {
  readonly progress: Progress;
  readonly request: ApprovalRequest;
  readonly place: (() => Promise<RequestPlace>) | undefined;
  resolve(decision: Decision): void;
}

class MachineCalls {
  readonly #fleet: FleetParts;
  readonly #call: SetCall;
  readonly #all: readonly Progress[];
  readonly #started = performance.now();
  readonly #done = Promise.withResolvers<void>();
  #asking: Asking[] = [];
  /** Machines that may run unasked, and wait to hear whether another one has to be asked about. */
  #allowed: { readonly progress: Progress; go(why: string | undefined): void }[] = [];
  /** The set has been asked about, or needed no question: what comes later is asked about together. */
  #judged = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #looking: ReturnType<typeof setImmediate> | undefined;
  #running = 0;
  #finished = 0;
  #failed = 0;
  readonly #queue: (() => void)[] = [];
  #canaries: readonly Progress[] = [];

  constructor(fleet: FleetParts, call: SetCall) {
    this.#fleet = fleet;
    this.#call = call;
    this.#all = call.machines.map((machine) => ({
      machine,
      stop: new AbortController(),
      over: Promise.withResolvers<void>(),
      state: "connecting",
      since: performance.now(),
    }));
  }

  async all(): Promise<readonly MachineResult[]> {
    let last: ReturnType<typeof setTimeout> | undefined;
    const leave = (): void => void (last = setTimeout(() => this.#giveUpAll(), CANCELLED_MS));
    this.#call.signal.addEventListener("abort", leave, { once: true });
    for (const one of this.#all) void this.#one(one);
    try {
      await this.#done.promise;
    } finally {
      clearImmediate(this.#looking);
      clearTimeout(this.#timer);
      clearTimeout(last);
      this.#call.signal.removeEventListener("abort", leave);
    }
    return this.#all.map(({ result }) => result!);
  }

  async #one(one: Progress): Promise<void> {
    const signal = AbortSignal.any([this.#call.signal, one.stop.signal]);
    let target: Target;
    try {
      target = await unlessAborted(signal, one.machine.permit.target());
    } catch (error) {
      return this.#finish(one, this.#call.signal.aborted ? STOPPED : unreachable(error));
    }
    if (one.state !== "connecting") return;
    try {
      this.#enter(one, "judging");
      let attempt = await this.#begin(one, signal);
      if (attempt.kind === "run" && !attempt.reads && !this.#judged) {
        const why = await this.#untilJudged(one);
        if (why !== undefined) attempt = await this.#begin(one, signal, why);
      }
      if (attempt.kind === "result") return this.#finish(one, attempt.result);
      const refusal = await this.#turn(one, attempt.reads);
      if (refusal !== undefined) return this.#finish(one, refusal);
      this.#enter(one, "running");
      const result = await attempt.run();
      this.#finish(one, result, await digest(result, target));
    } catch (error) {
      this.#finish(one, signal.aborted ? STOPPED : failure(error));
    }
  }

  #begin(one: Progress, signal: AbortSignal, atLeastAsk?: string): Promise<Attempt> {
    const decide: Approvals["decide"] = (request, _, __, place) => this.#decide(one, request, place);
    return this.#call.begin(one.machine, {
      approvals: { decide },
      signal,
      ...(atLeastAsk === undefined ? {} : { atLeastAsk }),
    });
  }

  // --- the question ---

  #decide(progress: Progress, request: ApprovalRequest, place: Asking["place"]): Promise<Decision> {
    const { promise, resolve } = Promise.withResolvers<Decision>();
    this.#asking.push({ progress, request, place, resolve });
    this.#enter(progress, "asking");
    return promise;
  }

  /** Undefined: it may run; otherwise why it has to be asked about, too. */
  #untilJudged(progress: Progress): Promise<string | undefined> {
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    this.#allowed.push({ progress, go: resolve });
    this.#enter(progress, "allowed");
    return promise;
  }

  /** Every machine has said whether it needs approval, or is no longer awaited. */
  #allJudged(): void {
    if (this.#judged) return void (this.#asking.length > 0 && this.#ask());
    if (this.#asking.length > 0) {
      for (const one of this.#all)
        if (one.state === "connecting" || one.state === "judging") this.#leaveOut(one, this.#silent(one));
      const [first] = this.#asking;
      // They come back as questions, and then all are here again.
      const allowed = this.#allowed.splice(0);
      if (allowed.length > 0) {
        const why = `${first!.progress.machine.name} needs an approval`;
        for (const { progress, go } of allowed) {
          this.#enter(progress, "judging");
          go(why);
        }
        return;
      }
    }
    this.#judged = true;
    const allowed = this.#allowed.splice(0);
    this.#beforeAll(allowed.map(({ progress }) => progress));
    for (const { go } of allowed) go(undefined);
    if (this.#asking.length > 0) void this.#ask();
  }

  async #ask(): Promise<void> {
    const order = (one: Asking): number => this.#all.indexOf(one.progress);
    let left = this.#asking.splice(0).sort((a, b) => order(a) - order(b));
    try {
      left = this.#settleByMode(left);
      let heading = this.#leftOutWords();
      while (left.length > 0) {
        const decision = await this.#question(left, heading);
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
        this.#beforeAll(left.map(({ progress }) => progress));
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
    this.#beforeAll(byMode.map(({ one }) => one.progress));
    const [first] = byMode;
    if (first !== undefined) {
      const machines = byMode.map(({ one }) => one.progress.machine.name);
      this.#call.publish({ ...answeredEvent(first.one.request, first.decision), machines });
    }
    for (const { one, decision } of byMode) this.#answer(one, decision);
    return asking.filter((one) => !byMode.some((done) => done.one === one));
  }

  async #question(left: readonly Asking[], heading: string): Promise<Decision> {
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
    this.#enter(one.progress, "judging");
    one.resolve(decision);
  }

  #release(one: Asking, result: ToolResult): void {
    this.#finish(one.progress, result);
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

  // --- who runs when ---

  /** Waits for a place among those that work at the same time; a result says why it does not run at all. */
  async #turn(one: Progress, reads: boolean): Promise<ToolResult | undefined> {
    const { parallel, bounded, maxFail } = this.#fleet;
    // Over open connections, waiting for each other only takes time.
    const most = reads && bounded !== true && maxFail === undefined ? Infinity : parallel;
    this.#enter(one, "queued");
    if (!reads && !this.#canaries.includes(one)) {
      const first = this.#canaries;
      await Promise.all(first.map(({ over }) => over.promise));
      const bad = first.filter(({ result }) => result?.result.ok !== true).map(({ machine }) => machine.name);
      if (bad.length > 0) return notRun(`the canary failed: ${foldNames(bad)}`);
    }
    while (this.#running >= most) await new Promise<void>((resolve) => this.#queue.push(resolve));
    const enough = maxFail !== undefined && this.#failed >= maxFail;
    // The place it was called for goes to the next one.
    if (enough || this.#call.signal.aborted) this.#queue.shift()?.();
    this.#call.signal.throwIfAborted();
    if (enough)
      return notRun(`${this.#failed} machine${this.#failed === 1 ? " has" : "s have"} failed (--max-fail ${maxFail})`);
    this.#running++;
    void one.over.promise.then(() => {
      this.#running--;
      this.#queue.shift()?.();
    });
    return undefined;
  }

  /** Those that go first, in the order of the machines. */
  #beforeAll(some: readonly Progress[]): void {
    const { canary } = this.#fleet;
    if (canary === undefined || this.#canaries.length > 0) return;
    this.#canaries = this.#all.filter((one) => some.includes(one)).slice(0, canary);
  }

  #enter(one: Progress, state: State): void {
    if (one.state === "finished") return;
    one.state = state;
    one.since = performance.now();
    this.#look();
  }

  #finish(one: Progress, result: ToolResult, digested?: string): void {
    if (one.state === "finished") return;
    const ms = Math.round(performance.now() - (one.state === "running" ? one.since : this.#started));
    const name = one.machine.name;
    one.state = "finished";
    one.result = { machine: name, result, ms, ...(digested === undefined ? {} : { digest: digested }) };
    if (!result.ok && (answered(one.result) || result.outcome === "unreachable")) this.#failed++;
    for (const id of result.outputs ?? []) if (id.startsWith("sh-")) this.#fleet.shells.set(id, name);
    this.#finished++;
    this.#call.publish({
      type: "machine_finished",
      call: this.#call.call,
      ...machineOutcome(one.result),
      done: this.#finished,
      of: this.#all.length,
      waiting: this.#longest().map(({ machine }) => machine.name),
    });
    one.over.resolve();
    if (this.#finished === this.#all.length) this.#done.resolve();
    else this.#look();
  }

  /** Those that are awaited the longest. Not by sorting all of them: this is done for every machine. */
  #longest(): readonly Progress[] {
    const first: Progress[] = [];
    for (const one of this.#all) {
      if (one.state === "finished" || one.since >= (first[MOST_WAITING - 1]?.since ?? Infinity)) continue;
      const at = first.findIndex(({ since }) => since > one.since);
      first.splice(at < 0 ? first.length : at, 0, one);
      first.length = Math.min(first.length, MOST_WAITING);
    }
    return first;
  }

  // --- those that are not awaited ---

  /** After every step of any machine, once for those that come together. */
  #look(): void {
    this.#looking ??= setImmediate(() => {
      this.#looking = undefined;
      this.#lookNow();
    });
  }

  /** Which machines are still awaited, and for how long? */
  #lookNow(): void {
    clearTimeout(this.#timer);
    const open = this.#all.filter(({ state }) => state !== "finished");
    const unjudged = open.filter(({ state }) => state === "judging" || (state === "connecting" && !this.#judged));
    const asks = this.#asking.length + this.#allowed.length > 0;
    if (asks && unjudged.length === 0) return this.#allJudged();
    // A question is on the screen, or a canary has to end: nothing is late.
    if (!asks && open.some(({ state }) => state === "asking" || state === "allowed" || state === "queued")) return;
    const late = asks ? unjudged : open;
    const deadline = this.#deadline(late, asks);
    if (deadline === undefined) return;
    this.#timer = setTimeout(
      () => {
        const over = late.filter((one) => performance.now() >= this.#limit(one));
        if (!asks) for (const one of over) this.#leaveOut(one, this.#silent(one));
        else if (over.length === late.length) this.#allJudged();
        this.#look();
      },
      Math.max(0, deadline - performance.now()),
    );
  }

  #deadline(late: readonly Progress[], asks: boolean): number | undefined {
    if (late.length === 0 || late.length === this.#all.length) return undefined;
    const running = late.filter(({ state }) => state === "running");
    if (running.length > 0) {
      if (this.#call.patient || this.#fleet.patient === true || !this.#areFew(running.length)) return undefined;
    }
    const limits = late.map((one) => this.#limit(one));
    return asks ? Math.max(...limits) : Math.min(...limits);
  }

  /** More are the rule and not the exception. */
  #areFew(machines: number): boolean {
    return machines <= Math.max(1, this.#all.length * FEW);
  }

  /** How long a machine is awaited when all others are done. */
  #limit(one: Progress): number {
    const { connect, run } = this.#fleet.patience ?? { connect: CONNECT_MS, run: RUN_MS };
    if (one.state === "connecting") {
      const slowest = Math.max(0, ...this.#all.map(({ machine }) => machine.openingMs ?? 0));
      const connecting = this.#all.filter(({ state }) => state === "connecting").length;
      // Where many are still being connected to, or none has answered so far, this computer or the network is slow.
      const factor = this.#areFew(connecting) ? CONNECT_FACTOR : MANY_CONNECT_FACTOR;
      const patience = Math.max(connect, factor * slowest, this.#all.some(wasReached) ? 0 : NOBODY_MS);
      // One whose turn to be opened has not come is not late.
      return (one.machine.openingSince ?? performance.now()) + patience;
    }
    const others = Math.max(0, ...this.#all.map(({ result }) => result?.ms ?? 0));
    return one.since + Math.max(run, RUN_FACTOR * others);
  }

  #leaveOut(one: Progress, result: ToolResult): void {
    const connecting = one.state === "connecting" || one.state === "judging";
    // Without a pane nothing outlives its connection.
    const lost = isLost(one) && one.machine.opened?.shell.kind === "direct";
    this.#finish(one, result);
    // A command that runs is left running; what has not begun must not begin later.
    if (connecting || lost) one.stop.abort(new Error("left out"));
  }

  #silent(one: Progress): ToolResult {
    const since = one.state === "connecting" ? (one.machine.openingSince ?? one.since) : one.since;
    const waited = formatDuration(Math.round((performance.now() - since) / 1000) * 1000);
    if (one.state === "connecting")
      return { ok: false, outcome: "unreachable", result: `no connection after ${waited}; buddy keeps trying` };
    if (one.state === "judging") return { ok: false, outcome: "unreachable", result: `it does not answer (${waited})` };
    if (isLost(one))
      return { ok: false, outcome: "unreachable", result: `the connection was lost (${waited}); buddy keeps trying` };
    return {
      ok: false,
      outcome: "still-running",
      result: `still running after ${waited}. Wait for it with shell_output wait="5m" on=["${one.machine.name}"], or stop it with send-keys keys=["C-c"].`,
      display: `still running after ${waited}`,
    };
  }

  #giveUpAll(): void {
    for (const one of this.#all) this.#finish(one, STOPPED);
  }
}

function wasReached({ state, result }: Progress): boolean {
  return state !== "connecting" && result?.result.outcome !== "unreachable";
}

function isLost({ machine }: Progress): boolean {
  return machine.opened?.transport.isReconnecting === true;
}

/** A machine that is still being connected to when all others are done gets so long altogether. */
const CONNECT_MS = 3_000;
const CONNECT_FACTOR = 1.2;
const MANY_CONNECT_FACTOR = 3;
const NOBODY_MS = 10_000;
/** The same for a command that runs longer than on all others, where few do. */
const RUN_MS = 10_000;
const RUN_FACTOR = 2;
const FEW = 0.2;
const LOOK_MS = 3_000;
/** Longer than a tool takes to stop. */
const CANCELLED_MS = 6_000;
const MOST_WAITING = 3;
