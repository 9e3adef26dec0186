/**
 * One call from permission to its result: judged, asked about, recorded, run, bounded. Loaded with the first call.
 */
import { inWords } from "../../lib/errors.ts";
import { trace } from "../../lib/trace.ts";
import { defined } from "../../lib/values.ts";
import { unlessAborted } from "../../lib/waiting.ts";
import type { ToolCall } from "../../model/types.ts";
import { isListing, type OutputKind } from "../../policy/privacy/listed-secrets.ts";
import { outputKind } from "../../policy/privacy/output-kind.ts";
import type { Privacy } from "../../policy/privacy/privacy.ts";
import type { Shell, Target } from "../../targets/target.ts";
import { boundText } from "../../tools/bound-output.ts";
import { noted, withNotes } from "../../tools/notes.ts";
import { type Tool, type ToolContext, type ToolResult, withNote } from "../../tools/tool.ts";
import type { Attempt } from "../fleet/run-on-machines.ts";
import type { Permission, PermitCall, PermitParts } from "../permit/permission.ts";
import { printing } from "../permit/permit-shell.ts";
import { permit, permitUrl, runPermitted } from "../permit/permit.ts";
import { CallRecord } from "./call-record.ts";
import {
  bounded,
  CallOutput,
  cancelled,
  orCancelled,
  refusedWithoutRecord,
  secretTexts,
  type Stream,
  textOf,
  unknownSecrets,
  withValues,
} from "./call-results.ts";
import type { RunTimes } from "./run-times.ts";
import type { BatchContext, CallParts, Ready, TurnState } from "./tool-calls.ts";

export interface StartedCall {
  readonly call: ToolCall;
  readonly ready: Ready;
  readonly batch: BatchContext;
  readonly times: RunTimes;
  /** How many characters the model gets of the result. */
  readonly budget: number;
  /** Where there are several machines: the parts that belong to this one. */
  readonly machine?: Partial<PermitParts>;
}

/** How long a call took, and when its lines arrived. */
/** Permission first; what runs then is a separate step, so that several machines can be asked about at once. */
export async function beginCall(parts: CallParts, turn: TurnState, started: StartedCall): Promise<Attempt> {
  const { tool, input } = started.ready;
  const secrets = parts.privacy.used(secretTexts(tool, input).join("\n"));
  if (secrets.unknown.length > 0) return { kind: "result", result: unknownSecrets(secrets.unknown) };
  return new OneCall(parts, turn, started, secrets.names).begin();
}

type Granted = Extract<Permission, { kind: "run" }>;

class OneCall {
  readonly #parts: CallParts;
  readonly #turn: TurnState;
  readonly #started: StartedCall;
  readonly #printing: CallOutput;
  readonly #printed: PrintedKinds;
  readonly #record: CallRecord;
  readonly #context: ToolContext;
  readonly #wanted: PermitCall;
  #pinned: Target | undefined;

  constructor(parts: CallParts, turn: TurnState, started: StartedCall, secrets: PermitCall["secrets"]) {
    const { call, ready, batch, budget } = started;
    const { tool, intent } = ready;
    const { privacy } = parts;
    this.#parts = parts;
    this.#turn = turn;
    this.#started = started;
    this.#printed = turn.printed ??= new PrintedKinds(privacy);
    this.#printing = new CallOutput(privacy, `${call.name}: ${intent.title}`);
    const target = () => this.#target();
    const ask = parts.desk?.passwords(target, batch.machine);
    const { asked } = batch;
    const password: ToolContext["password"] =
      ask === undefined || asked === undefined ? ask : (request) => asked(ask(request));
    this.#context = {
      signal: batch.signal,
      target,
      emit: ({ stream, text }) => this.#publish(stream, this.#printing.live(stream, text)),
      mask: (text, cut) => this.#printing.mask(text, cut),
      budget,
      seesImages: batch.seesImages,
      ...defined({ password, several: batch.machine === undefined ? undefined : true }),
    };
    // The record names the machine of a call that was cancelled, too.
    const decidedFor = async () => this.#pinned ?? target();
    const about = { tool: tool.name, call: call.id, intent };
    this.#record = new CallRecord(parts.recorder, about, decidedFor, (asked) => parts.approvals.withdraw?.(asked));
    this.#wanted = {
      ...ready,
      call: call.id,
      operator: batch.operator === true,
      context: this.#context,
      secrets,
      expect: (output) => this.#printing.expect(output),
      reveal: (given) => withValues(tool, given, (text) => privacy.reveal(text)),
      publish: batch.publish,
      answered: (request, decision) => this.#record.answered(request, decision),
    };
  }

  async begin(): Promise<Attempt> {
    const { ready, batch } = this.#started;
    const result = (outcome: ToolResult): Attempt => ({ kind: "result", result: outcome });
    try {
      const parts = this.#permitParts();
      const permission = await this.#permission(parts);
      const unrecorded = await this.#record.permitted(permission);
      if (unrecorded !== undefined) return result(refusedWithoutRecord(unrecorded));
      if (permission.kind === "result") {
        if (permission.unapproved !== undefined) this.#turn.refuse(permission.unapproved, permission.onlyByPerson);
        if (permission.proposed !== undefined) this.#turn.propose(permission.proposed, batch.machine);
        return result(permission.result);
      }
      if (permission.output !== undefined) this.#printing.expect(permission.output);
      else this.#printing.looksAt((await this.#printed.kindOf(ready.tool, ready.input, parts)) ?? "ordinary");
      const reads = permission.unasked !== undefined || ready.intent.kind === "read";
      return {
        kind: "run",
        reads,
        run: () => this.#runRecorded(parts, permission),
        leave: (instead) => this.#record.finished(instead, 0),
      };
    } catch (error) {
      const failed = this.#failed(error);
      // What was approved has not run, and what was to be remembered may not have been recorded.
      await this.#record.permitted({ kind: "result", result: failed });
      return result(failed);
    }
  }

  /** Opening a target may take long; a call that is cancelled meanwhile does not wait for it. */
  async #target(): Promise<Target> {
    const open = this.#started.machine?.target ?? this.#parts.target;
    const opened = await unlessAborted(this.#started.batch.signal, open());
    // What was decided for an adopted shell does not run in another one.
    return (this.#pinned ??= opened.now?.() ?? opened);
  }

  #publish(stream: Stream, text: string): void {
    const { call, batch, times } = this.#started;
    if (text === "") return;
    if (stream !== "info") times.lines.note(text);
    batch.publish({ type: "tool_output", call: call.id, stream, text });
  }

  #permitParts(): PermitParts {
    const { machine } = this.#started;
    const given = { ...this.#parts, prompts: this.#turn.prompts, ...machine, target: this.#context.target };
    return this.#turn.readOnly ? readOnlyParts(given) : given;
  }

  async #permission(parts: PermitParts): Promise<Permission> {
    const { call, ready } = this.#started;
    const { hooks } = this.#parts;
    const permission =
      hooks === undefined
        ? await permit(parts, this.#wanted)
        : await (await import("./call-hooks.ts")).permitWithHooks(hooks, parts, this.#wanted, this.#record);
    traceDecision(call, ready.intent.title, permission);
    return permission;
  }

  async #runRecorded(parts: PermitParts, permission: Granted): Promise<ToolResult> {
    try {
      const ran = await this.#run(parts, permission);
      // Those of several machines are grouped with their notes.
      return this.#started.machine === undefined ? withNotes(ran) : ran;
    } catch (error) {
      await this.#record.finished({ outcome: "failed" }, this.#started.times.ms);
      return this.#failed(error);
    }
  }

  async #run(parts: PermitParts, permission: Granted): Promise<ToolResult> {
    const { ready, batch, times, budget } = this.#started;
    const context = this.#permittedContext(parts, permission);
    // From here on, each machine asks for itself.
    const own = { ...parts, approvals: this.#parts.approvals };
    const ran = await runPermitted(own, this.#wanted, permission, () =>
      times.during(() => orCancelled(ready.tool.run(permission.input, context), batch.signal)),
    );
    await this.#record.finished(ran, times.ms);
    for (const [stream, text] of this.#printing.rest()) this.#publish(stream, text);
    // Also of a call that was cancelled: its output can be read later.
    if (permission.output !== undefined) {
      const target = this.#pinned ?? (await this.#target());
      await this.#printed.remember(ready.tool, permission.input, target, permission.output, ran);
    }
    if (batch.signal.aborted)
      return { ...cancelled(batch.signal), ...defined({ outputs: ran.outputs, notes: ran.notes }) };
    const { cwd } = this.#record;
    const kept = { ...bounded(ran, budget), ...defined({ cwd }) };
    if (permission.note === undefined) return kept;
    if (this.#started.machine !== undefined) return noted(kept, permission.note);
    // For the model alone: the operator knows.
    return { display: textOf(kept.result), ...kept, result: withNote(kept.result, permission.note) };
  }

  #permittedContext(parts: PermitParts, granted: Granted): ToolContext {
    const { path, unasked, onlyIn, onlyWhere, shown, revert } = granted;
    const mayVisit = async (url: string): Promise<boolean> => {
      const refused = await permitUrl(parts, this.#wanted, url, false);
      if (refused?.unapproved !== undefined) this.#turn.refuse(refused.unapproved, refused.onlyByPerson);
      return refused === undefined;
    };
    return {
      ...this.#context,
      mayVisit,
      ...defined({ onlyAt: path, unasked, onlyIn, onlyWhere, shown, mustEnd: revert === undefined ? undefined : true }),
    };
  }

  #failed(error: unknown): ToolResult {
    const { signal } = this.#started.batch;
    if (signal.aborted) return cancelled(signal);
    // A server or a machine may have written it.
    const shown = (text: string) =>
      boundText(text, this.#started.budget, () => "narrow the request", this.#context.mask);
    const result = shown(`error: ${inWords(error, "model")}`);
    return { ok: false, outcome: "failed", result, display: shown(inWords(error)) };
  }
}

/**
 * While a read-only runbook runs, nothing can approve a change, whatever configuration, mode or earlier answers allow.
 */
function readOnlyParts(parts: PermitParts): PermitParts {
  return {
    ...parts,
    readOnly: true,
    rules: async (target) => ({ ...(await parts.rules(target)), mode: "read-only", because: "this runbook" }),
  };
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

/** What kind of output earlier calls printed, for calls that show it again: by its id, by its shell, or on a screen. */
export class PrintedKinds {
  readonly #privacy: Privacy;
  readonly #outputs = new Map<string, OutputKind>();
  /** By shell, not by name: a pane has more than one. */
  #running = new WeakMap<Shell, OutputKind>();

  constructor(privacy: Privacy) {
    this.#privacy = privacy;
  }

  forget(): void {
    this.#outputs.clear();
    this.#running = new WeakMap();
  }

  /** What a call is about to show; undefined: nothing that was printed before. */
  async kindOf(tool: Tool, input: unknown, { target, ...judging }: Parts): Promise<OutputKind | undefined> {
    if (tool.budget === "capture") return this.#privacy.screen;
    const shown = tool.shows?.(input);
    if (shown === undefined) return undefined;
    const { id, background } = shown;
    if (id !== undefined)
      return this.#outputs.get(id) ?? (background === true ? startedEarlier(id, await target(), judging) : undefined);
    const shell = await tool.shell?.(input, await target());
    return shell && this.#running.get(shell);
  }

  /** Machines may use the same ids: one that stood for secrets once is never ordinary again. */
  async remember(tool: Tool, input: unknown, target: Target, output: OutputKind, ran: ToolResult): Promise<void> {
    for (const id of ran.outputs ?? []) if (!isListing(this.#outputs.get(id))) this.#outputs.set(id, output);
    if (tool.shows !== undefined) return;
    const shell = await tool.shell?.(input, target).catch(() => undefined);
    if (shell !== undefined) this.#running.set(shell, output);
  }
}

type Parts = Pick<PermitParts, "target" | "rules" | "judgeShell" | "maskOutput">;

/** For a background shell of another session, or from before a resume: judged by its command. */
async function startedEarlier(
  id: string,
  target: Target,
  { rules, judgeShell, maskOutput }: Omit<Parts, "target">,
): Promise<OutputKind | undefined> {
  const command = (await target.background.list()).find((shell) => shell.id === id)?.command;
  if (command === undefined) return undefined;
  const judged = await judgeShell(command, target.shell.cwd, await rules(target));
  return outputKind(printing(judged, command), maskOutput);
}
