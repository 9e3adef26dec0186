/**
 * From the model's tool calls to their results, a batch at a time: validated, run, masked, wrapped; a failure is a
 * result too.
 */
import { inWords } from "../../lib/errors.ts";
import { clip, collapseSpaces, shorten } from "../../lib/text.ts";
import { defined, mapTexts, parseJson } from "../../lib/values.ts";
import { unlessAborted } from "../../lib/waiting.ts";
import type { ToolCall, ToolMessage } from "../../model/types.ts";
import { type BudgetKind, outputBudget } from "../../tools/bound-output.ts";
import type { MachineResult } from "../../tools/group-results.ts";
import { parseArguments, type Registry, takeOn } from "../../tools/registry.ts";
import { envelope, type Intent, type TargetFacts, type Tool, type ToolResult } from "../../tools/tool.ts";
import type { AgentEventBody, ProposedChange } from "../events.ts";
import type { FleetMachine, FleetParts } from "../fleet/fleet-parts.ts";
import type { Attempt } from "../fleet/run-on-machines.ts";
import type { PermitParts } from "../permit/permission.ts";
import type { AroundChange } from "../permit/permit.ts";
import type { PrintedKinds, StartedCall } from "./begin-call.ts";
import type { CallHooks } from "./call-hooks.ts";
import type { Recorder } from "./call-record.ts";
import { cancelled, ResultNotes } from "./call-results.ts";
import type { RunTimes } from "./run-times.ts";
import type { Desk } from "./desk.ts";

export interface CallParts extends Omit<PermitParts, "prompts"> {
  readonly registry: Registry;
  /** Where the run has several machines. */
  readonly fleet?: FleetParts | undefined;
  /** Asks for passwords that programs on the target need. */
  readonly desk?: Pick<Desk, "passwords">;
  facts(): TargetFacts;
  /** What the operator wrote about the machine; undefined until it is known which one that is. */
  about?(): string | undefined;
  /** [limits]; 0 = scale with the model's context. */
  readonly limits: Readonly<Record<BudgetKind, number>>;
  /** The operator's programs that may object to a call. */
  readonly hooks?: CallHooks | undefined;
  /** Keeps the record of decisions and effects. */
  readonly recorder?: Recorder | undefined;
  /** Runs around a call that may change something. */
  readonly around?: AroundChange;
}

export interface BatchContext {
  readonly signal: AbortSignal;
  readonly contextLimit: number;
  /** The model reads images. */
  readonly seesImages: boolean;
  publish(body: AgentEventBody): void;
  /** The operator's own calls: no model declared anything. */
  readonly operator?: boolean;
  /** The machine that the calls are for, where there are several. */
  readonly machine?: string;
  /** Gets each question to the operator that a program waits for, where there are several machines. */
  asked?<T>(answer: Promise<T>): Promise<T>;
  /** Gets the result of each machine, where there are several. */
  onMachines?(results: readonly MachineResult[]): void;
}

export class CallRunner {
  readonly #parts: CallParts;
  /** Loaded with the first call. */
  #beginCall: typeof import("./begin-call.ts").beginCall | undefined;
  /** What the model learns in addition to the results. */
  readonly notes: ResultNotes;
  readonly turn = new TurnState();

  constructor(parts: CallParts) {
    this.#parts = parts;
    this.notes = new ResultNotes(parts);
  }

  beginTurn(prompt: string, readOnly = false): void {
    this.turn.begin(prompt, readOnly);
    this.notes.beginTurn();
  }

  forget(): void {
    this.notes.forget();
    this.turn.forget();
  }

  /**
   * One result for each call, in call order. Calls that change nothing run in parallel; any other waits for those
   * before it.
   */
  async run(calls: readonly ToolCall[], batch: BatchContext): Promise<ToolMessage[]> {
    const planned = await Promise.all(calls.map((call) => planCall(this.#parts, call)));
    const results: ToolMessage[] = [];
    for (let at = 0; at < planned.length;) {
      let end = at + 1;
      if (planned[at]!.concurrent) while (end < planned.length && planned[end]!.concurrent) end++;
      this.#parts.approvals.following = planned.slice(end).filter(({ concurrent }) => !concurrent).length;
      results.push(...(await Promise.all(planned.slice(at, end).map((plan) => this.#perform(plan, batch)))));
      at = end;
    }
    return results;
  }

  /** A call by the operator: judged, asked about and reported like one of the model. */
  async runForOperator(tool: Tool, input: unknown, batch: BatchContext, machine?: string): Promise<ToolResult> {
    const call = { id: `operator-${crypto.randomUUID()}`, name: tool.name, arguments: JSON.stringify(input) };
    const intent = tool.intent(input);
    const one = machine === undefined ? undefined : await this.#machineOf(machine, batch.signal);
    const ready = { tool, input, intent, ...(one === undefined ? {} : { machines: [one] }) };
    const plan: Plan = { call, concurrent: false, args: input, title: intent.title, ready, operator: true };
    return (await this.#outcome(plan, batch)).outcome;
  }

  /** Which of several machines has this identity; after a resume they must be connected to first. */
  async #machineOf(machine: string, signal: AbortSignal): Promise<FleetMachine | undefined> {
    const { machines = [] } = this.#parts.fleet ?? {};
    const known = machines.find(({ opened }) => opened?.identity.machine === machine);
    if (known !== undefined) return known;
    const others = machines.filter(({ opened }) => opened === undefined);
    const first = Promise.any(
      others.map(async (one) =>
        (await one.permit.target()).identity.machine === machine ? one : Promise.reject(new Error("another machine")),
      ),
    );
    return unlessAborted(
      signal,
      first.catch(() => undefined),
    );
  }

  async #perform(plan: Plan, batch: BatchContext): Promise<ToolMessage> {
    const { outcome, content } = await this.#outcome(plan, batch);
    const { images } = outcome;
    return { role: "tool", callId: plan.call.id, name: plan.call.name, content, ...(images && { images }) };
  }

  async #outcome(plan: Plan, batch: BatchContext): Promise<{ outcome: ToolResult; content: string }> {
    const { call } = plan;
    const machines = plan.ready?.machines?.map(({ name }) => name);
    batch.publish({
      type: "tool_started",
      call: call.id,
      tool: call.name,
      title: plan.title,
      args: plan.args,
      ...defined({ machines }),
    });
    const { RunTimes } = await import("./run-times.ts");
    let times = new RunTimes();
    let outcome: ToolResult;
    if (batch.signal.aborted) outcome = cancelled(batch.signal);
    else if (plan.ready === undefined)
      outcome = {
        ok: false,
        outcome: "invalid",
        result: `error: ${plan.problem}`,
        display: "the model made a call that is not valid",
      };
    else if (this.#parts.fleet !== undefined && plan.ready.machines !== undefined) {
      const each = new Map(plan.ready.machines.map(({ name }) => [name, new RunTimes()]));
      outcome = await this.#onMachines(this.#parts.fleet, plan.ready.machines, plan.ready, call, batch, each);
      times = RunTimes.together([...each.values()]);
    } else {
      const attempt = await this.#begin({ ready: plan.ready, call, batch, times });
      outcome = attempt.kind === "result" ? attempt.result : await attempt.run();
    }
    const remarked = plan.operator === true ? outcome : this.notes.add(outcome, call);
    outcome = this.#masked(remarked, `${call.name}: ${plan.title}`);
    const how = outcome.exitCode === undefined ? outcome.outcome : `exit code ${outcome.exitCode}`;
    this.turn.note(`${call.name}: ${clip(collapseSpaces(plan.title), 100)} (${how})`);
    const content = envelope(outcome.result, plan.operator === true ? undefined : this.notes.newTime());
    batch.publish({
      type: "tool_finished",
      call: call.id,
      tool: call.name,
      ok: outcome.ok,
      outcome: outcome.outcome,
      ...defined({ exit_code: outcome.exitCode, cwd: outcome.cwd }),
      ...times.ended(),
      ...(plan.operator === true || batch.operator === true ? { title: this.#mask(plan.title, plan.title) } : {}),
      result: content,
      ...defined({ display: outcome.display, output_cut: outcome.displayCut, output_id: outcome.outputId }),
      ...(outcome.displayCut === true && times.lines.count > 0 ? { output_lines: times.lines.count } : {}),
      ...defined({ machines: outcome.machines }),
    });
    return { outcome, content };
  }

  /** The same call on several machines, and one result of them all. `times`: of each, by its name. */
  async #onMachines(
    fleet: FleetParts,
    machines: readonly FleetMachine[],
    ready: Ready,
    call: ToolCall,
    batch: BatchContext,
    times: ReadonlyMap<string, RunTimes>,
  ): Promise<ToolResult> {
    const [{ runOnMachines }, { joinedResult, machineBatch, saysHowLong }] = await Promise.all([
      import("../fleet/run-on-machines.ts"),
      import("../fleet/fleet-parts.ts"),
    ]);
    const results = await runOnMachines(fleet, {
      call: call.id,
      machines,
      signal: batch.signal,
      patient: saysHowLong(ready.input),
      begin: (machine, { signal, asked, ...parts }) =>
        this.#begin({
          // A copy for each: a tool recognises its input, and what it saw on one machine does not hold for another.
          ready: { ...ready, input: { ...(ready.input as object) } },
          call,
          batch: { ...machineBatch(batch, machine.name, signal), asked },
          times: times.get(machine.name)!,
          machine: { ...machine.permit, ...parts },
        }),
      publish: batch.publish,
    });
    batch.onMachines?.(results);
    return joinedResult(results, this.#budget(ready.tool, batch), batch.signal);
  }

  #budget(tool: Tool, batch: BatchContext): number {
    const kind = tool.budget ?? "file";
    return outputBudget(kind, batch.contextLimit, this.#parts.limits[kind]);
  }

  async #begin(started: Omit<StartedCall, "budget">): Promise<Attempt> {
    this.#beginCall ??= (await import("./begin-call.ts")).beginCall;
    return this.#beginCall(this.#parts, this.turn, {
      ...started,
      budget: this.#budget(started.ready.tool, started.batch),
    });
  }

  #mask(text: string, from: string): string {
    return this.#parts.privacy.mask(text, { from });
  }

  /** No secret reaches the model, the screen or the log, whatever part of a result it is in. */
  #masked(outcome: ToolResult, from: string): ToolResult {
    const mask = (text: string): string => this.#mask(text, from);
    return {
      ...outcome,
      result: mapTexts(outcome.result, mask),
      ...(outcome.display === undefined ? {} : { display: mask(outcome.display) }),
    };
  }
}

// ── From a call as the model wrote it to one that is ready for a decision: tool, checked input, intent, machines.

export interface Ready {
  readonly tool: Tool;
  readonly input: unknown;
  readonly intent: Intent;
  /** The machines it runs on, where the run has several. */
  readonly machines?: readonly FleetMachine[];
}

interface Plan {
  readonly call: ToolCall;
  /** May run at the same time as its neighbours. */
  readonly concurrent: boolean;
  readonly args: unknown;
  readonly title: string;
  readonly problem?: string;
  readonly ready?: Ready;
  /** The model gets no result of it. */
  readonly operator?: boolean;
}

interface PlanParts extends Pick<PermitParts, "confirm"> {
  readonly registry: Registry;
  readonly fleet?: FleetParts | undefined;
  facts(): TargetFacts;
}

/** A call that cannot be planned fails alone: the others still get their results. */
async function planCall(parts: PlanParts, call: ToolCall): Promise<Plan> {
  try {
    return await plan(parts, call);
  } catch (error) {
    return invalid(call, inWords(error, "model"));
  }
}

async function plan(parts: PlanParts, call: ToolCall): Promise<Plan> {
  const tool = await parts.registry.get(call.name);
  if (tool === undefined) {
    const names = parts.registry.offered(parts.facts());
    return invalid(call, `there is no tool "${shorten(call.name, 100)}". Available: ${names.join(", ")}.`);
  }
  const { fleet } = parts;
  const given = fleet === undefined || tool.onTarget !== true ? { text: call.arguments } : takeOn(call.arguments);
  if ("problem" in given) return invalid(call, given.problem);
  const parsed = parseArguments(tool, given.text);
  if (!parsed.ok) return invalid(call, parsed.message, parsed.json);
  const intent = tool.intent(parsed.input);
  const machines =
    fleet === undefined || tool.onTarget !== true
      ? undefined
      : (await import("../fleet/fleet-parts.ts")).machinesFor(fleet, given.on, parsed.input);
  if (typeof machines === "string") return invalid(call, machines, parsed.json);
  return {
    call,
    concurrent:
      intent.kind === "read" ||
      (intent.kind === "server" && intent.believed) ||
      (intent.kind === "fetch" && parts.confirm.fetch !== "always"),
    args: parsed.json,
    title: intent.title,
    ready: { tool, input: parsed.input, intent, ...defined({ machines }) },
  };
}

function invalid(call: ToolCall, problem: string, json: unknown = parsedIfJson(call.arguments)): Plan {
  return { call, concurrent: true, args: json, title: call.name, problem };
}

function parsedIfJson(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

/** What the calls of a turn led to, and what earlier turns of the session allow later ones to use. */
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
