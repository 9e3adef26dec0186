/**
 * One call on several machines: each is judged by its own rules, one question covers all, then each runs independently.
 * No machine holds up another: one that does not answer is named in the result.
 */
import { formatDuration } from "../../lib/durations.ts";
import { foldNames } from "../../lib/names.ts";
import { defined } from "../../lib/values.ts";
import { unlessAborted } from "../../lib/waiting.ts";
import type { Approvals } from "../../policy/approvals.ts";
import type { Target } from "../../targets/target.ts";
import { answered, type MachineResult } from "../../tools/group-results.ts";
import type { ToolResult } from "../../tools/tool.ts";
import type { AgentEventBody } from "../events.ts";
import {
  digest,
  failure,
  type FleetMachine,
  type FleetParts,
  machineOutcome,
  notRun,
  STOPPED,
  unreachable,
} from "./fleet-parts.ts";
import { SharedQuestion } from "./shared-question.ts";

/** A call on one machine after the decision: it has its result already, or it may run. */
export type Attempt =
  | { readonly kind: "result"; readonly result: ToolResult }
  | {
      readonly kind: "run";
      /** It only reads, and so waits for no other machine. */
      readonly reads: boolean;
      run(): Promise<ToolResult>;
      /** In place of `run`: it was approved, but is not run here. */
      leave?(instead: ToolResult): Promise<void>;
    };

export interface FleetCall {
  readonly call: string;
  readonly machines: readonly FleetMachine[];
  readonly signal: AbortSignal;
  /** The call says how long to wait: machines that take longer than others are waited for. */
  readonly patient: boolean;
  begin(machine: FleetMachine, how: BeginOptions): Promise<Attempt>;
  publish(body: AgentEventBody): void;
}

interface BeginOptions {
  readonly approvals: Pick<Approvals, "decide">;
  readonly signal: AbortSignal;
  readonly atLeastAsk?: string;
  /** A program waits for what the operator is asked: until then the machine is not late. */
  asked<T>(answer: Promise<T>): Promise<T>;
}

/** One result for each machine, in the order of the machines. */
export async function runOnMachines(fleet: FleetParts, call: FleetCall): Promise<readonly MachineResult[]> {
  // Many machines soon make more calls than the reluctant JIT of src/main.ts is for.
  if (machineCalls >= MANY_CALLS) Bun.unsafe.setJITPolicy(1);
  machineCalls += call.machines.length;
  return new MachineCalls(fleet, call).all();
}

/** On all machines so far. */
let machineCalls = 0;
const MANY_CALLS = 100;

type State = "connecting" | "judging" | "asking" | "allowed" | "queued" | "running" | "finished";

/** How far the call has come on one machine. */
export interface Progress {
  readonly machine: FleetMachine;
  readonly stop: AbortController;
  readonly over: PromiseWithResolvers<void>;
  state: State;
  since: number;
  /** Questions of its program to the operator that are open, for a password. */
  questions: number;
  result?: MachineResult;
}

class MachineCalls {
  readonly #fleet: FleetParts;
  readonly #call: FleetCall;
  readonly #all: readonly Progress[];
  readonly #done = Promise.withResolvers<void>();
  readonly #question: SharedQuestion;
  /** Machines that may run unasked, but wait until it is known whether another one needs approval. */
  #allowed: { readonly progress: Progress; go(why: string | undefined): void }[] = [];
  /** The question was asked, or none was needed: later questions are asked together. */
  #judged = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #checking: ReturnType<typeof setImmediate> | undefined;
  /** All machines have begun: until then, none is late. */
  #begun = false;
  #running = 0;
  #finished = 0;
  #failed = 0;
  readonly #queue: (() => void)[] = [];
  #canaries: readonly Progress[] = [];

  constructor(fleet: FleetParts, call: FleetCall) {
    this.#fleet = fleet;
    this.#call = call;
    this.#all = call.machines.map((machine) => ({
      machine,
      stop: new AbortController(),
      over: Promise.withResolvers<void>(),
      state: "connecting",
      since: performance.now(),
      questions: 0,
    }));
    this.#question = new SharedQuestion(fleet, call, this.#all, {
      approved: (some) => this.#pickCanaries(some),
      answered: (one) => this.#enter(one, "judging"),
      finish: (one, result) => this.#finish(one, result),
    });
  }

  async all(): Promise<readonly MachineResult[]> {
    let last: ReturnType<typeof setTimeout> | undefined;
    const leave = (): void => void (last = setTimeout(() => this.#giveUpAll(), CANCELLED_MS));
    this.#call.signal.addEventListener("abort", leave, { once: true });
    try {
      await this.#beginAll();
      await this.#done.promise;
    } finally {
      clearImmediate(this.#checking);
      clearTimeout(this.#timer);
      clearTimeout(last);
      this.#call.signal.removeEventListener("abort", leave);
    }
    return this.#all.map(({ result }) => result!);
  }

  /** A few at a time: if all began together, the first would get its command only after the last was judged. */
  async #beginAll(): Promise<void> {
    for (const [at, one] of this.#all.entries()) {
      void this.#one(one);
      if (at % BEGUN_TOGETHER === BEGUN_TOGETHER - 1) await new Promise<void>((resolve) => setImmediate(resolve));
    }
    this.#begun = true;
    this.#check();
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
      if (refusal !== undefined) {
        await attempt.leave?.(refusal);
        return this.#finish(one, refusal);
      }
      this.#enter(one, "running");
      const result = await attempt.run();
      this.#finish(one, result, await digest(result, target));
    } catch (error) {
      this.#finish(one, signal.aborted ? STOPPED : failure(error));
    }
  }

  #begin(one: Progress, signal: AbortSignal, atLeastAsk?: string): Promise<Attempt> {
    const decide: Approvals["decide"] = (request, _, __, place) => {
      const decision = this.#question.add(one, request, place);
      this.#enter(one, "asking");
      return decision;
    };
    return this.#call.begin(one.machine, {
      approvals: { decide },
      signal,
      asked: async (answer) => {
        one.questions++;
        try {
          return await answer;
        } finally {
          one.questions--;
          one.since = performance.now();
          this.#check();
        }
      },
      ...defined({ atLeastAsk }),
    });
  }

  /** Undefined: it may run; otherwise why it needs approval, too. */
  #untilJudged(progress: Progress): Promise<string | undefined> {
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    this.#allowed.push({ progress, go: resolve });
    this.#enter(progress, "allowed");
    return promise;
  }

  /** Every machine has reported whether it needs approval, or is no longer waited for. */
  #allJudged(): void {
    if (this.#judged) return void this.#question.ask();
    const { first } = this.#question;
    if (first !== undefined) {
      for (const one of this.#all)
        if (one.state === "connecting" || one.state === "judging") this.#leaveOut(one, lateResult(one, this.#fleet));
      // They ask, too; this runs again once they all have.
      const allowed = this.#allowed.splice(0);
      if (allowed.length > 0) {
        const why = `${first.machine.name} needs an approval`;
        for (const { progress, go } of allowed) {
          this.#enter(progress, "judging");
          go(why);
        }
        return;
      }
    }
    this.#judged = true;
    const allowed = this.#allowed.splice(0);
    this.#pickCanaries(allowed.map(({ progress }) => progress));
    for (const { go } of allowed) go(undefined);
    void this.#question.ask();
  }

  // --- who runs when ---

  /** Waits for a place among those that work at the same time; a result says why it does not run at all. */
  async #turn(one: Progress, reads: boolean): Promise<ToolResult | undefined> {
    const { parallel, bounded, maxFail } = this.#fleet;
    // Reading over open connections needs no limit.
    const most = reads && bounded !== true && maxFail === undefined ? Infinity : parallel;
    this.#enter(one, "queued");
    if (!reads && !this.#canaries.includes(one)) {
      const first = this.#canaries;
      await Promise.all(first.map(({ over }) => over.promise));
      if (this.#call.signal.aborted) return notRun("it was stopped before it started here");
      const bad = first.filter(({ result }) => result?.result.ok !== true).map(({ machine }) => machine.name);
      if (bad.length > 0) return notRun(`the canary failed: ${foldNames(bad)}`);
    }
    while (this.#running >= most) await new Promise<void>((resolve) => this.#queue.push(resolve));
    const enough = maxFail !== undefined && this.#failed >= maxFail;
    // Its place goes to the next one.
    if (enough || this.#call.signal.aborted) this.#queue.shift()?.();
    if (this.#call.signal.aborted) return STOPPED;
    if (enough)
      return notRun(`${this.#failed} machine${this.#failed === 1 ? " has" : "s have"} failed (--max-fail ${maxFail})`);
    this.#running++;
    void one.over.promise.then(() => {
      this.#running--;
      this.#queue.shift()?.();
    });
    return undefined;
  }

  /** Picks the canaries, in the order of the machines. */
  #pickCanaries(some: readonly Progress[]): void {
    const { canary } = this.#fleet;
    if (canary === undefined || this.#canaries.length > 0) return;
    this.#canaries = this.#all.filter((one) => some.includes(one)).slice(0, canary);
  }

  #enter(one: Progress, state: State): void {
    if (one.state === "finished") return;
    one.state = state;
    one.since = performance.now();
    this.#check();
  }

  #finish(one: Progress, result: ToolResult, digested?: string): void {
    if (one.state === "finished") return;
    // How long it ran or could not be reached, not how long the operator thought.
    const waited = one.state === "running" || one.state === "connecting";
    const ms = waited ? Math.round(performance.now() - one.since) : 0;
    const name = one.machine.name;
    one.state = "finished";
    one.result = { machine: name, result, ms, ...defined({ digest: digested }) };
    if (!result.ok && (answered(one.result) || result.outcome === "unreachable")) this.#failed++;
    if (result.outcome !== "unreachable") this.#fleet.gone.delete(name);
    else if (one.machine.opened !== undefined) this.#fleet.gone.add(name);
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
    else this.#check();
  }

  /** Those that have been waited for the longest. Without sorting all of them: this runs for every machine. */
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

  // --- those that are late ---

  /** After every step of any machine; once for several steps at the same time. */
  #check(): void {
    this.#checking ??= setImmediate(() => {
      this.#checking = undefined;
      this.#checkNow();
    });
  }

  /** Decides which machines are still waited for, and for how long. */
  #checkNow(): void {
    if (!this.#begun) return;
    clearTimeout(this.#timer);
    const open = this.#all.filter(({ state }) => state !== "finished");
    const unjudged = open.filter(({ state }) => state === "judging" || (state === "connecting" && !this.#judged));
    const asks = this.#question.first !== undefined || this.#allowed.length > 0;
    if (asks && unjudged.length === 0) return this.#allJudged();
    // While a question is on the screen, or a canary runs, nothing is late.
    if (!asks && open.some(isHeld)) return;
    const late = asks ? unjudged : open;
    if (late.length === 0 || late.length === this.#all.length) return;
    const running = late.filter(({ state }) => state === "running").length;
    if (running > 0 && (this.#call.patient || this.#fleet.patient === true || !areFew(running, this.#all))) return;
    const limits = late.map((one) => waitUntil(one, this.#all, this.#fleet));
    const deadline = asks ? Math.max(...limits) : Math.min(...limits);
    this.#timer = setTimeout(
      () => {
        const over = late.filter((one) => performance.now() >= waitUntil(one, this.#all, this.#fleet));
        if (!asks) for (const one of over) this.#leaveOut(one, lateResult(one, this.#fleet));
        else if (over.length === late.length) this.#allJudged();
        this.#check();
      },
      Math.max(0, deadline - performance.now()),
    );
  }

  #leaveOut(one: Progress, result: ToolResult): void {
    const connecting = one.state === "connecting" || one.state === "judging";
    // Without a pane, a command ends with its connection.
    const lost = isLost(one) && one.machine.opened?.shell.kind === "direct";
    this.#finish(one, result);
    // A running command is left running; what has not begun must not begin later.
    if (connecting || lost) one.stop.abort(new Error("left out"));
  }

  #giveUpAll(): void {
    for (const one of this.#all) this.#finish(one, STOPPED);
  }
}

/** Longer than a tool takes to stop. */
const CANCELLED_MS = 6_000;
const MOST_WAITING = 3;
const BEGUN_TOGETHER = 8;

// ── How long the slowest machines of a call are waited for, and the results of those that take longer.

/** Until when a machine is waited for once all others are done. */
function waitUntil(one: Progress, all: readonly Progress[], { patience: given }: FleetParts): number {
  const { connect, run } = given ?? { connect: CONNECT_MS, run: RUN_MS };
  if (one.state === "connecting") {
    const slowest = Math.max(0, ...all.map(({ machine }) => machine.openingMs ?? 0));
    const connecting = all.filter(({ state }) => state === "connecting").length;
    // If many are still connecting, or none has answered yet, this computer or the network is slow.
    const factor = areFew(connecting, all) ? CONNECT_FACTOR : MANY_CONNECT_FACTOR;
    const patience = Math.max(connect, factor * slowest, all.some(wasReached) ? 0 : NONE_REACHED_MS);
    // A machine whose turn to connect has not come is not late.
    return (one.machine.openingSince ?? performance.now()) + patience;
  }
  const others = Math.max(0, ...all.map(({ result }) => result?.ms ?? 0));
  return one.since + Math.max(run, RUN_FACTOR * others);
}

/** So few that they are the exception. */
function areFew(machines: number, all: readonly Progress[]): boolean {
  return machines <= Math.max(1, all.length * FEW);
}

/** `patient`: this call is all there is, nothing is tried after it. */
function lateResult(one: Progress, { patient = false }: Pick<FleetParts, "patient">): ToolResult {
  const since = one.state === "connecting" ? (one.machine.openingSince ?? one.since) : one.since;
  const waited = formatDuration(Math.round((performance.now() - since) / 1000) * 1000);
  const trying = patient ? "" : "; buddy keeps trying";
  if (one.state === "connecting")
    return { ok: false, outcome: "unreachable", result: `no connection after ${waited}${trying}` };
  if (one.state === "judging") return { ok: false, outcome: "unreachable", result: `no answer after ${waited}` };
  if (isLost(one))
    return {
      ok: false,
      outcome: "unreachable",
      result: `the connection was lost, no result after ${waited}${trying}`,
    };
  return {
    ok: false,
    outcome: "still-running",
    result: `still running after ${waited}. Wait for it with shell_output wait="5m" on=["${one.machine.name}"], or stop it with send-keys keys=["C-c"].`,
    display: `still running after ${waited}`,
  };
}

/** It waits for the operator, or for other machines. */
function isHeld({ state, questions }: Progress): boolean {
  return questions > 0 || state === "asking" || state === "allowed" || state === "queued";
}

function isLost({ machine }: Progress): boolean {
  return machine.opened?.transport.isReconnecting === true;
}

function wasReached({ state, result }: Progress): boolean {
  return state !== "connecting" && result?.result.outcome !== "unreachable";
}

/** How long a machine may take to connect when all others are done. */
const CONNECT_MS = 3_000;
const CONNECT_FACTOR = 1.2;
const MANY_CONNECT_FACTOR = 3;
const NONE_REACHED_MS = 10_000;
/** How long a command may take on a few machines when it has ended on all others. */
const RUN_MS = 10_000;
const RUN_FACTOR = 2;
const FEW = 0.2;
