/**
 * From the model's tool calls to their results: validate, get permission, run, bound, wrap; a failure is a result too.
 */
import { BuddyError } from "../lib/errors.ts";
import { trace } from "../lib/trace.ts";
import { clip } from "../lib/text.ts";
import { mapTexts } from "../lib/values.ts";
import { unlessAborted } from "../lib/waiting.ts";
import type { ToolCall, ToolMessage } from "../model/types.ts";
import type { Target } from "../targets/target.ts";
import { boundText, type BudgetKind, outputBudget } from "../tools/bound-output.ts";
import {
  envelope,
  withNote,
  type Intent,
  type TargetFacts,
  type Tool,
  type ToolContext,
  type ToolResult,
} from "../tools/tool.ts";
import type { MachineResult } from "../tools/group-results.ts";
import { parseArguments, type Registry, takeOn } from "../tools/registry.ts";
import type { OutputKind } from "../policy/output-kind.ts";
import type { CallHooks } from "./call-hooks.ts";
import { CallRecord, type Recorder } from "./call-record.ts";
import { paneKey, CallOutput, readKey, secretTexts, type Stream, unknownSecrets, withValues } from "./call-output.ts";
import type { AgentEventBody, ProposedChange } from "./events.ts";
import type { FleetMachine, FleetParts } from "./fleet/fleet-parts.ts";
import type { Attempt } from "./fleet/run-on-machines.ts";
import type { Passwords } from "./passwords.ts";
import type { Permission, PermitCall, PermitParts } from "./permission.ts";
import type { AroundChange } from "./run-permitted.ts";
import { readOnlyParts } from "./read-only-parts.ts";

export interface CallParts extends Omit<PermitParts, "prompts"> {
  readonly registry: Registry;
  /** Where the run has several machines. */
  readonly fleet?: FleetParts | undefined;
  /** Who gives passwords to programs on the target. */
  readonly passwords?: Passwords;
  facts(): TargetFacts;
  /** What the operator wrote about the machine, as far as it is known which one that is. */
  about?(): string | undefined;
  /** [limits]; 0 = scale with the model's context. */
  readonly limits: Readonly<Record<BudgetKind, number>>;
  /** Programs of the operator's that may object. */
  readonly hooks?: CallHooks | undefined;
  /** Keeps the record of decisions and effects. */
  readonly recorder?: Recorder | undefined;
  /** What is done before and after a call that may change something. */
  readonly around?: AroundChange;
}

export interface BatchContext {
  readonly signal: AbortSignal;
  readonly contextLimit: number;
  /** The model reads images. */
  readonly seesImages: boolean;
  publish(body: AgentEventBody): void;
  /** What each of several machines answered. */
  onMachines?(results: readonly MachineResult[]): void;
}

export class CallRunner {
  readonly #parts: CallParts;
  #readOnly = false;
  /** News from the target the model has not heard yet. */
  readonly #news: string[] = [];
  /** What later reads of an output, or of a pane, will show; by its id or pane. */
  readonly #printed = new Map<string, OutputKind>();
  readonly #prompts: string[] = [];
  /** The last call with its outcome, and how often in a row it came. */
  #repeated = { signature: "", times: 0 };
  /** What the model knows of the target. */
  #facts: Pick<TargetFacts, "who" | "system" | "cwd" | "tmux"> | undefined;
  /** What the model has heard of it. */
  #about: string | undefined;
  /** The newest time that a result gave. */
  #stamped = 0;
  #unapproved: string[] = [];
  readonly #proposed = new Map<string, ProposedChange>();
  #done: string[] = [];

  constructor(parts: CallParts) {
    this.#parts = parts;
  }

  /** Actions refused because there was no terminal to ask on, since the last turn began. */
  get unapproved(): readonly string[] {
    return this.#unapproved;
  }

  /** Changes of this turn that a read-only machine did not get. */
  get proposed(): readonly ProposedChange[] {
    return [...this.#proposed.values()];
  }

  /** What the calls of this turn did, one line each. */
  get done(): readonly string[] {
    return this.#done;
  }

  /** `prompt`: the operator's own words, without what was attached. `readOnly`: nothing may be changed until the next. */
  beginTurn(prompt: string, readOnly = false): void {
    this.#readOnly = readOnly;
    this.#unapproved = [];
    this.#proposed.clear();
    this.#done = [];
    this.#repeated = { signature: "", times: 0 };
    if (this.#prompts.push(prompt) > MOST_PROMPTS) this.#prompts.shift();
  }

  /** Another session: what was allowed by a prompt of the last one is forgotten. */
  forget(): void {
    this.#about = undefined;
    this.#stamped = 0;
    this.#prompts.length = 0;
    this.#printed.clear();
  }

  /** The model repeats one call and gets nowhere. */
  get stuck(): boolean {
    return this.#repeated.times >= STUCK_CALLS;
  }

  /** The system prompt says this of the target; what changes is added to results. */
  known(facts: TargetFacts): void {
    this.#facts = facts;
  }

  /** What the operator wrote about the machine, where the model has not heard it yet: it goes into the newest message. */
  newAbout(): string | undefined {
    const about = this.#parts.about?.();
    if (about === this.#about) return undefined;
    this.#about = about;
    return about;
  }

  /** Something happened on the target that the model must know with its next result. */
  tell(news: string): void {
    if (this.#news.length < MOST_NEWS && !this.#news.includes(news)) this.#news.push(news);
  }

  /**
   * One result for each call, in call order. Calls that change nothing run side by side; any other waits for those
   * before it.
   */
  async run(calls: readonly ToolCall[], batch: BatchContext): Promise<ToolMessage[]> {
    const planned = await Promise.all(calls.map((call) => this.#plan(call)));
    const results: ToolMessage[] = [];
    for (let at = 0; at < planned.length;) {
      let end = at + 1;
      if (planned[at]!.aside) while (end < planned.length && planned[end]!.aside) end++;
      results.push(...(await Promise.all(planned.slice(at, end).map((plan) => this.#perform(plan, batch)))));
      at = end;
    }
    return results;
  }

  /** What the operator does with a tool of their own: judged, asked about and reported like a call of the model. */
  async runForOperator(tool: Tool, input: unknown, batch: BatchContext, machine?: string): Promise<ToolResult> {
    const call = { id: `operator-${crypto.randomUUID()}`, name: tool.name, arguments: JSON.stringify(input) };
    const intent = tool.intent(input);
    // One of several: where the target of the run is not the machine it is about.
    const one = this.#parts.fleet?.machines.find(
      ({ opened }) => machine !== undefined && identityOf(opened) === machine,
    );
    const ready = { tool, input, intent, ...(one === undefined ? {} : { machines: [one] }) };
    const plan: Plan = { call, aside: false, args: input, title: intent.title, ready, operator: true };
    return (await this.#outcome(plan, batch)).outcome;
  }

  /** A call that cannot be planned is a failed one: the others still get their results. */
  async #plan(call: ToolCall): Promise<Plan> {
    try {
      return await this.#planned(call);
    } catch (error) {
      return { call, aside: true, args: readable(call.arguments), title: call.name, problem: inWords(error) };
    }
  }

  async #planned(call: ToolCall): Promise<Plan> {
    const tool = await this.#parts.registry.get(call.name);
    if (tool === undefined) {
      const names = this.#parts.registry.offered(this.#parts.facts());
      const message = `there is no tool "${call.name.slice(0, 100)}". Available: ${names.join(", ")}.`;
      return { call, aside: true, args: readable(call.arguments), title: call.name, problem: message };
    }
    const { fleet } = this.#parts;
    const given = fleet === undefined || tool.onTarget !== true ? { text: call.arguments } : takeOn(call.arguments);
    const wrong = (problem: string, json?: unknown): Plan => ({
      call,
      aside: true,
      args: json ?? readable(call.arguments),
      title: call.name,
      problem,
    });
    if ("problem" in given) return wrong(given.problem);
    const parsed = parseArguments(tool, given.text);
    if (!parsed.ok) return wrong(parsed.message, parsed.json);
    const intent = tool.intent(parsed.input);
    const machines =
      fleet === undefined || tool.onTarget !== true
        ? undefined
        : (await import("./fleet/fleet-parts.ts")).machinesFor(fleet, given.on, parsed.input);
    if (typeof machines === "string") return wrong(machines, parsed.json);
    return {
      call,
      aside:
        intent.kind === "read" ||
        (intent.kind === "server" && intent.believed) ||
        (intent.kind === "fetch" && this.#parts.confirm.fetch !== "always"),
      args: parsed.json,
      title: intent.title,
      ready: { tool, input: parsed.input, intent, ...(machines === undefined ? {} : { machines }) },
    };
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
      ...(machines === undefined ? {} : { machines }),
    });
    const clock = { ms: 0 };
    let outcome: ToolResult;
    if (batch.signal.aborted) outcome = cancelled(batch.signal);
    else if (plan.ready === undefined)
      outcome = {
        ok: false,
        outcome: "invalid",
        result: `error: ${plan.problem}`,
        display: "the model made a call that is not valid",
      };
    else outcome = await this.#execute(plan.ready, call, batch, clock);
    const remarked = plan.operator === true ? outcome : this.#remarks(outcome, call);
    outcome = this.#masked(remarked, `${call.name}: ${plan.title}`);
    const how = outcome.exitCode === undefined ? outcome.outcome : `exit code ${outcome.exitCode}`;
    this.#done.push(`${call.name}: ${clip(plan.title.replace(/\s+/g, " "), 100)} (${how})`);
    const content = envelope(outcome.result, plan.operator === true ? undefined : this.#newTime());
    batch.publish({
      type: "tool_finished",
      call: call.id,
      tool: call.name,
      ok: outcome.ok,
      outcome: outcome.outcome,
      ...(outcome.exitCode === undefined ? {} : { exit_code: outcome.exitCode }),
      ...(outcome.cwd === undefined ? {} : { cwd: outcome.cwd }),
      ms: Math.round(clock.ms),
      result: content,
      ...(outcome.display === undefined ? {} : { display: outcome.display }),
      ...(outcome.outputId === undefined ? {} : { output_id: outcome.outputId }),
      ...(outcome.machines === undefined ? {} : { machines: outcome.machines }),
    });
    return { outcome, content };
  }

  async #execute(ready: Ready, call: ToolCall, batch: BatchContext, clock: { ms: number }): Promise<ToolResult> {
    const { fleet } = this.#parts;
    if (fleet !== undefined && ready.machines !== undefined)
      return this.#onMachines(fleet, ready.machines, ready, call, batch, clock);
    const attempt = await this.#begin(ready, call, batch, clock);
    return attempt.kind === "result" ? attempt.result : await attempt.run();
  }

  /** The same call on several machines, and one result of them all. */
  async #onMachines(
    fleet: FleetParts,
    machines: readonly FleetMachine[],
    ready: Ready,
    call: ToolCall,
    batch: BatchContext,
    clock: { ms: number },
  ): Promise<ToolResult> {
    const [{ runOnMachines }, { machineBatch, machineOutcome, saysHowLong }, { groupedResult }] = await Promise.all([
      import("./fleet/run-on-machines.ts"),
      import("./fleet/machine-results.ts"),
      import("../tools/group-results.ts"),
    ]);
    const started = performance.now();
    const results = await runOnMachines(fleet, {
      call: call.id,
      machines,
      signal: batch.signal,
      patient: saysHowLong(ready.input),
      begin: (machine, { signal, ...parts }) =>
        this.#begin(
          // Of its own: a tool knows its input again, and what it saw of one machine does not hold for another.
          { ...ready, input: { ...(ready.input as object) } },
          call,
          machineBatch(batch, machine.name, signal),
          { ms: 0 },
          { ...machine.permit, ...parts },
        ),
      publish: batch.publish,
    });
    clock.ms = performance.now() - started;
    batch.onMachines?.(results);
    if (batch.signal.aborted) return cancelled(batch.signal);
    const outcomes = results.map(machineOutcome);
    const [only] = results;
    if (results.length === 1 && only !== undefined) return { ...only.result, machines: outcomes };
    return { ...groupedResult(results, this.#budget(ready.tool, batch)), machines: outcomes };
  }

  #budget(tool: Tool, batch: BatchContext): number {
    const kind = tool.budget ?? "file";
    return outputBudget(kind, batch.contextLimit, this.#parts.limits[kind]);
  }

  /** Permission first; what runs then is a step of its own, so that several machines can be asked about at once. */
  async #begin(
    ready: Ready,
    call: ToolCall,
    batch: BatchContext,
    clock: { ms: number },
    /** What belongs to one of several machines. */
    machine: Partial<PermitParts> = {},
  ): Promise<Attempt> {
    const { tool, input } = ready;
    const { privacy } = this.#parts;
    const budget = this.#budget(tool, batch);
    const result = (outcome: ToolResult): Attempt => ({ kind: "result", result: outcome });
    const secrets = privacy.used(secretTexts(tool, input).join("\n"));
    if (secrets.unknown.length > 0) return result(unknownSecrets(secrets.unknown));
    const earlier = this.#printed.get(readKey(input));
    const listed =
      tool.budget === "capture" && (earlier === "variables" || earlier === "secrets" || earlier === "opaque");
    const printing = new CallOutput(privacy, `${call.name}: ${ready.intent.title}`, listed ? "screen" : earlier);
    // Opening it may take long; a call that is cancelled meanwhile does not wait for that.
    let taken: Target | undefined;
    const target = async (): Promise<Target> => {
      const opened = await unlessAborted(batch.signal, (machine.target ?? this.#parts.target)());
      // What was decided for an adopted shell does not run in another one.
      return (taken ??= opened.now?.() ?? opened);
    };
    const publish = (stream: Stream, text: string): void => {
      if (text !== "") batch.publish({ type: "tool_output", call: call.id, stream, text });
    };
    const context: ToolContext = {
      signal: batch.signal,
      target,
      emit: ({ stream, text }) => publish(stream, printing.live(stream, text)),
      mask: (text, cut) => printing.mask(text, cut),
      budget,
      dryRun: this.#parts.dryRun,
      seesImages: batch.seesImages,
      ...askingPasswords(this.#parts.passwords, target),
    };
    const { intent } = ready;
    const record = new CallRecord(this.#parts.recorder, { tool: tool.name, call: call.id, intent }, target);
    const wanted: PermitCall = {
      ...ready,
      call: call.id,
      context,
      secrets: secrets.names,
      expect: (output) => printing.expect(output),
      reveal: (given) => withValues(tool, given, (text) => privacy.reveal(text)),
      publish: batch.publish,
      answered: (request, decision) => record.answered(request, decision),
    };
    const failed = (error: unknown): ToolResult =>
      batch.signal.aborted
        ? cancelled(batch.signal)
        : { ok: false, outcome: "failed", result: `error: ${inWords(error)}` };
    try {
      const [{ permit }, { runPermitted }] = await Promise.all([import("./permit.ts"), import("./run-permitted.ts")]);
      const given = { ...this.#parts, prompts: this.#prompts, ...machine, target };
      const parts = this.#readOnly ? readOnlyParts(given) : given;
      const { hooks } = this.#parts;
      const permission =
        hooks === undefined
          ? await permit(parts, wanted)
          : await (await import("./call-hooks.ts")).permitWithHooks(hooks, parts, wanted, record);
      traceDecision(call, ready.intent.title, permission);
      const unrecorded = await record.permitted(permission);
      if (unrecorded !== undefined) return result(refusedWithoutRecord(unrecorded));
      if (permission.kind === "result") {
        if (permission.nobody !== undefined) this.#refuse(permission.nobody);
        if (permission.proposed !== undefined) this.#propose(permission.proposed);
        return result(batch.signal.aborted ? cancelled(batch.signal) : permission.result);
      }
      if (permission.output !== undefined) printing.expect(permission.output);
      const mayVisit = async (url: string): Promise<boolean> => {
        const { permitUrl } = await import("./permit-fetch.ts");
        const refused = await permitUrl(parts, wanted, url, false);
        if (refused?.nobody !== undefined) this.#refuse(refused.nobody);
        return refused === undefined;
      };
      const permitted: ToolContext = {
        ...context,
        mayVisit,
        ...(permission.path === undefined ? {} : { onlyAt: permission.path }),
        ...(permission.unasked === undefined ? {} : { unasked: permission.unasked }),
        ...(permission.onlyIn === undefined ? {} : { onlyIn: permission.onlyIn }),
        ...(permission.onlyInto === undefined ? {} : { onlyInto: permission.onlyInto }),
        ...(permission.shown === undefined ? {} : { shown: permission.shown }),
      };
      const run = async (began: number): Promise<ToolResult> => {
        // Questions that come up now are each machine's own.
        const own = { ...parts, approvals: this.#parts.approvals };
        const ran = await runPermitted(own, wanted, permission, () =>
          orCancelled(tool.run(permission.input, permitted), batch.signal),
        );
        clock.ms = performance.now() - began;
        await record.finished(ran, clock.ms);
        for (const [stream, text] of printing.rest()) publish(stream, text);
        this.#remember(permission.input, ran, permission.output);
        if (batch.signal.aborted) return cancelled(batch.signal);
        const bounded = { ...within(ran, budget), ...(record.cwd === undefined ? {} : { cwd: record.cwd }) };
        return permission.note === undefined
          ? bounded
          : { display: textOf(bounded.result), ...bounded, result: withNote(bounded.result, permission.note) };
      };
      const reads = permission.unasked !== undefined || ready.intent.kind === "read" || ready.intent.kind === "own";
      const runRecorded = async (): Promise<ToolResult> => {
        const began = performance.now();
        try {
          return await run(began);
        } catch (error) {
          await record.finished({ outcome: "failed" }, performance.now() - began);
          return failed(error);
        }
      };
      return { kind: "run", reads, run: runRecorded };
    } catch (error) {
      return result(failed(error));
    }
  }

  /** The same change wanted twice is one. */
  #propose(change: ProposedChange): void {
    const key = JSON.stringify([change.where, change.directory, change.command]);
    if (this.#proposed.size < MOST_PROPOSED && !this.#proposed.has(key)) this.#proposed.set(key, change);
  }

  #refuse(action: string): void {
    if (!this.#unapproved.includes(action)) this.#unapproved.push(action);
  }

  /** For what is read of the same output later, and for the screen it stands on. */
  #remember(input: unknown, { outputs = [] }: ToolResult, output: OutputKind | undefined): void {
    if (output === undefined) return;
    for (const id of outputs) this.#printed.set(id, output);
    this.#printed.set(paneKey(input), output);
  }

  /** No secret reaches the model, the screen or the log, whatever part of a result it is in. */
  #masked(outcome: ToolResult, from: string): ToolResult {
    const { privacy } = this.#parts;
    const mask = (text: string): string => privacy.mask(text, { from });
    return {
      ...outcome,
      result: mapTexts(outcome.result, mask),
      ...(outcome.display === undefined ? {} : { display: mask(outcome.display) }),
    };
  }

  /** What has become known of the target, or changed there, since the model heard of it. */
  #changedFacts(): string[] {
    const before = this.#facts;
    const now = this.#parts.facts();
    this.#facts = now;
    if (before === undefined) return [];
    const notes: string[] = [];
    // Of this machine the system prompt says it all.
    if (now.label !== "local" && now.who !== undefined && (now.who !== before.who || now.system !== before.system))
      notes.push(`target: ${[now.who, now.system, now.cwd && `directory ${now.cwd}`].filter(Boolean).join(", ")}`);
    else if (now.cwd !== undefined && now.cwd !== before.cwd) notes.push(`directory: ${now.cwd}`);
    if (now.tmux === false && before.tmux !== false) notes.push("no tmux: commands run in a persistent shell");
    return notes;
  }

  /** The time, where the model has not had one for a minute: repeated with each result it would say nothing. */
  #newTime(): number | undefined {
    const now = Date.now();
    if (Math.abs(now - this.#stamped) < STAMP_EVERY_MS) return undefined;
    return (this.#stamped = now);
  }

  /** What the model must know beside the result itself. */
  #remarks(outcome: ToolResult, call: ToolCall): ToolResult {
    let { result } = outcome;
    const text = textOf(result);
    const about = this.newAbout();
    for (const news of [...this.#news.splice(0), ...this.#changedFacts(), ...(about === undefined ? [] : [about])])
      if (!text.includes(news)) result = withNote(result, news);
    if (outcome.outcome === "cancelled" || outcome.outcome === "timeout") this.#repeated = { signature: "", times: 0 };
    else {
      const signature = [call.name, call.arguments, ...(outcome.ok ? [text] : [])].join("\n");
      const times = this.#repeated.signature === signature ? this.#repeated.times + 1 : 1;
      this.#repeated = { signature, times };
      if (times >= SAME_CALLS) {
        const what = outcome.ok ? `has now given the same result ${times} times` : `has now failed ${times} times`;
        result = withNote(
          result,
          `this same call ${what} in a row. Do not send it again: change your approach, or tell the operator what stands in the way`,
        );
      }
    }
    // What is added is for the model alone.
    return result === outcome.result ? outcome : { display: text, ...outcome, result };
  }
}

function traceDecision(call: ToolCall, title: string, permission: Permission): void {
  trace("decision", () => ({
    call: call.id,
    tool: call.name,
    title,
    ...(permission.kind === "run"
      ? { decision: "run", ...(permission.unasked === undefined ? {} : { why: "proven to only read" }) }
      : { decision: permission.result.outcome, why: permission.result.display ?? permission.result.result }),
  }));
}

function askingPasswords(
  passwords: Passwords | undefined,
  target: ToolContext["target"],
): Pick<ToolContext, "password"> {
  const password = passwords?.for(target);
  return password === undefined ? {} : { password };
}

/** Resolves once the tool has ended, or shortly after cancellation even if the tool does not. */
async function orCancelled(work: Promise<ToolResult>, signal: AbortSignal): Promise<ToolResult> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let onAbort: (() => void) | undefined;
  const gaveUp = new Promise<ToolResult>((resolve) => {
    onAbort = () => (timer = setTimeout(() => resolve(cancelled(signal)), CANCEL_GRACE_MS));
    signal.addEventListener("abort", onAbort, { once: true });
  });
  try {
    return await Promise.race([work, gaveUp]);
  } finally {
    clearTimeout(timer);
    if (onAbort !== undefined) signal.removeEventListener("abort", onAbort);
    work.catch(() => undefined);
  }
}

/** Tools keep to their budget themselves, with words that fit them; this holds for whatever forgets to. */
function within(result: ToolResult, budget: number): ToolResult {
  const room = budget + NOTICE_ROOM;
  const text = typeof result.result === "string" ? result.result : (JSON.stringify(result.result) ?? "");
  if (text.length <= (typeof result.result === "string" ? room : 2 * room)) return result;
  return { ...result, result: boundText(text, budget, () => "ask for less at once") };
}

function refusedWithoutRecord(why: string): ToolResult {
  return {
    ok: false,
    outcome: "denied",
    result: `Not allowed: ${why}, and [audit] required = true allows no change without it. Continue with read-only work.`,
    display: `Not allowed: ${why}`,
  };
}

function inWords(error: unknown): string {
  if (error instanceof BuddyError) {
    const { message, hint } = error;
    return hint === undefined ? message : `${message}${/[.!?]$/.test(message) ? "" : "."} ${hint}`;
  }
  return error instanceof Error ? error.message : String(error);
}

function readable(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

interface Ready {
  readonly tool: Tool;
  readonly input: unknown;
  readonly intent: Intent;
  /** Where the run has several. */
  readonly machines?: readonly FleetMachine[];
}

interface Plan {
  readonly call: ToolCall;
  /** May run beside its neighbours. */
  readonly aside: boolean;
  readonly args: unknown;
  readonly title: string;
  readonly problem?: string;
  readonly ready?: Ready;
  /** The model gets no result of it. */
  readonly operator?: boolean;
}

function identityOf(target: Target | undefined): string | undefined {
  return target && (target.identity.machine || target.identity.label);
}

/** The operator stopped it, or its time was over. */
function cancelled(signal: AbortSignal): ToolResult {
  const timedOut = signal.reason instanceof Error && signal.reason.name === "TimeoutError";
  return timedOut
    ? {
        ok: false,
        outcome: "timeout",
        result: "operation stopped: the time given for the task is over",
        display: "out of time",
      }
    : { ok: false, outcome: "cancelled", result: "operation cancelled by user", display: "stopped" };
}

function textOf(result: unknown): string {
  return typeof result === "string" ? result : (JSON.stringify(result, undefined, 2) ?? "");
}

/** From here on the model is asked to stop repeating a call. */
const SAME_CALLS = 3;
/** From here on the turn ends. */
const STUCK_CALLS = 10;
const STAMP_EVERY_MS = 60_000;
const MOST_NEWS = 20;
const MOST_PROPOSED = 200;
const MOST_PROMPTS = 200;
const NOTICE_ROOM = 2_000;
/** A command on the target is stopped by then; a tool that hangs does not hold the operator. */
const CANCEL_GRACE_MS = 5_000;
