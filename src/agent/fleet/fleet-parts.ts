/** What a run on several machines is made of, and which of them a call is for. */
import { foldNames, matchNames } from "../../lib/names.ts";
import type { Approvals } from "../../policy/approvals.ts";
import type { Target } from "../../targets/target.ts";
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
