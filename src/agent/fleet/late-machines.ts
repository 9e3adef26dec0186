/** How long the slowest machines of a call are waited for, and the results of those that take longer. */
import { formatDuration } from "../../lib/durations.ts";
import type { ToolResult } from "../../tools/tool.ts";
import type { FleetParts } from "./fleet-parts.ts";
import type { Progress } from "./run-on-machines.ts";

/** Until when a machine is waited for once all others are done. */
export function waitUntil(one: Progress, all: readonly Progress[], { patience: given }: FleetParts): number {
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
export function areFew(machines: number, all: readonly Progress[]): boolean {
  return machines <= Math.max(1, all.length * FEW);
}

/** `patient`: this call is all there is, nothing is tried after it. */
export function lateResult(one: Progress, { patient = false }: Pick<FleetParts, "patient">): ToolResult {
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

export function isLost({ machine }: Progress): boolean {
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
