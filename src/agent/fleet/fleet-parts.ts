/** What a run on several machines is made of, which of them a call is for, and the result of each. */
import { inWords, messageOf } from "../../lib/errors.ts";
import { foldNames, matchNames } from "../../lib/names.ts";
import { defined } from "../../lib/values.ts";
import type { Approvals } from "../../policy/approvals.ts";
import type { Target } from "../../targets/target.ts";
import { groupedResult, type MachineResult } from "../../tools/group-results.ts";
import { withNotes } from "../../tools/notes.ts";
import type { MachineOutcome, ToolResult } from "../../tools/tool.ts";
import { cancelled, textOf } from "../calls/call-results.ts";
import type { AgentEventBody } from "../events.ts";
import type { PermitParts } from "../permit/permission.ts";

export interface FleetMachine {
  readonly name: string;
  /** Every name that `on` may use for it: its own, those of its groups, its ssh alias. */
  readonly names: readonly string[];
  /** What belongs to this machine: its target, its judges and rules. */
  readonly permit: Partial<PermitParts> & Pick<PermitParts, "target">;
  readonly opened: Target | undefined;
  /** When its opening began, and how long it took (milliseconds of performance.now). */
  readonly openingSince: number | undefined;
  readonly openingMs: number | undefined;
}

export interface FleetParts {
  readonly machines: readonly FleetMachine[];
  readonly approvals: Pick<Approvals, "decide" | "settled">;
  /** How many machines connect, or change something, at the same time. */
  readonly parallel: number;
  /** `parallel` was given by the operator: it holds for what only reads, too. */
  readonly bounded?: boolean;
  /** On how many machines a change runs first; the others follow if it succeeds there. */
  readonly canary?: number | undefined;
  /** After how many failures nothing starts on the other machines. */
  readonly maxFail?: number | undefined;
  /** There is one call, and it waits also for machines on which it takes much longer than on the others. */
  readonly patient?: boolean;
  /** How long to wait for the last one: while it connects, and while it runs (milliseconds). */
  readonly patience?: { readonly connect: number; readonly run: number };
  /** Which machine a background shell runs on. */
  readonly shells: Map<string, string>;
  /** Machines that were open, and did not answer the last call. */
  readonly gone: Set<string>;
}

/** The machines that `on` names, or that have what the call reads; a text: what is wrong with `on`. */
export function machinesFor(
  { machines, shells }: FleetParts,
  on: readonly string[] | undefined,
  input: unknown,
): readonly FleetMachine[] | string {
  const { shell_id, output_id } = (input ?? {}) as Readonly<Record<string, unknown>>;
  // Outputs are stored on this machine, for all machines together.
  if (typeof output_id === "string") return [machines.find(({ opened }) => opened !== undefined) ?? machines[0]!];
  if (on === undefined) {
    const owner = typeof shell_id === "string" ? shells.get(shell_id) : undefined;
    const known = machines.find(({ name }) => name === owner);
    return known === undefined ? machines : [known];
  }
  const unknown = on.filter((one) => !machines.some(({ names }) => matchNames([one], names).length > 0));
  const all = foldNames(machines.map(({ name }) => name));
  if (unknown.length > 0) return `on: this run has no machine called ${unknown.join(", ")}. Its machines: ${all}.`;
  return machines.filter(({ names }) => matchNames(on, names).length > 0);
}

// ── The result of one machine: its events, what stands for a missing result, and a digest of its output.

/** For one machine: its output carries its name, and its questions are not reported (they are asked for all). */
export function machineBatch<B extends { readonly signal: AbortSignal; publish(body: AgentEventBody): void }>(
  batch: B,
  machine: string,
  signal: AbortSignal,
): B {
  const publish = (body: AgentEventBody): void => {
    if (body.type === "approval_asked" || body.type === "approval_answered") return;
    batch.publish(body.type === "tool_output" ? { ...body, machine } : body);
  };
  return { ...batch, signal, publish, machine };
}

/** The model said how long to wait, or that it takes long. */
export function saysHowLong(input: unknown): boolean {
  const { wait, mode, delay } = input as Readonly<Record<string, unknown>>;
  return wait !== undefined || delay !== undefined || mode === "slow";
}

/** One result of them all; after a stop, what had happened by then. */
export function joinedResult(results: readonly MachineResult[], budget: number, signal: AbortSignal): ToolResult {
  const machines = results.map(machineOutcome);
  const [only] = results;
  if (results.length === 1 && only !== undefined) return { ...withNotes(only.result), machines };
  const grouped = { ...groupedResult(results, budget), machines };
  if (!signal.aborted) return grouped;
  const { ok, outcome, result, display = result } = cancelled(signal);
  const after = (words: unknown, text: unknown) => `${textOf(words)}\n${textOf(text)}`;
  return {
    ...grouped,
    ok,
    outcome,
    result: after(result, grouped.result),
    display: after(display, grouped.display ?? grouped.result),
  };
}

export function machineOutcome({ machine, result, ms }: MachineResult): MachineOutcome {
  return {
    machine,
    ok: result.ok,
    outcome: result.outcome,
    ...defined({ exit_code: result.exitCode }),
    ms,
    ...defined({ output_id: result.outputId }),
  };
}

/** Of the whole output, where the result has only a part: the rest may differ between machines. */
export async function digest({ cut, outputs = [] }: ToolResult, target: Target): Promise<string | undefined> {
  if (cut !== true) return undefined;
  const hash = new Bun.CryptoHasher("sha256");
  for (const id of outputs) {
    for (let offset = 0; offset < MOST_DIGESTED;) {
      const page = await target.shell.readOutput(id, { offset, limit: PAGE });
      hash.update(page.done ? page.text.replace(/\n$/, "") : page.text);
      if (page.done || page.nextOffset <= offset) break;
      offset = page.nextOffset;
    }
  }
  return hash.digest("hex");
}

export function unreachable(error: unknown): ToolResult {
  return { ok: false, outcome: "unreachable", result: inWords(error, "model"), display: messageOf(error) };
}

export function failure(error: unknown): ToolResult {
  return { ok: false, outcome: "failed", result: `error: ${messageOf(error)}` };
}

export function notRun(why: string): ToolResult {
  return { ok: false, outcome: "not-run", result: `not run: ${why}`, display: why };
}

export const NOT_CHOSEN: ToolResult = {
  ok: true,
  outcome: "left-out",
  result: "the operator chose other machines for this",
};
export const STOPPED: ToolResult = {
  ok: false,
  outcome: "cancelled",
  result: "operation cancelled by user",
  display: "stopped",
};

const MOST_DIGESTED = 64 * 1024 * 1024;
const PAGE = 1024 * 1024;
