/** The result of one machine: its events, what stands for a missing result, and a digest of its output. */
import { defined } from "../../lib/values.ts";
import { inWords, messageOf } from "../../lib/errors.ts";
import type { Target } from "../../targets/target.ts";
import type { MachineResult } from "../../tools/group-results.ts";
import type { MachineOutcome, ToolResult } from "../../tools/tool.ts";
import type { AgentEventBody } from "../events.ts";

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
