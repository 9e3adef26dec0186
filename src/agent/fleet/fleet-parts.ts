/** What a run on several machines is made of, and which of them a call means. */
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
  /** Machines that connect or change something at the same time. */
  readonly parallel: number;
  /** The number was asked for: it holds for what only reads, too. */
  readonly bounded?: boolean;
  /** A change happens on so many first; the others follow when it went well there. */
  readonly canary?: number | undefined;
  /** After so many failures nothing begins on the others. */
  readonly maxFail?: number | undefined;
  /** Also waits for a command that takes much longer than on the others. */
  readonly patient?: boolean;
  /** How long to wait for the last one: while it connects, and while it runs (milliseconds). */
  readonly patience?: { readonly connect: number; readonly run: number };
  /** Which machine a background shell runs on. */
  readonly shells: Map<string, string>;
}

/** The machines that `on` names; a text says what is wrong with it. */
function chooseMachines(
  { machines }: Pick<FleetParts, "machines">,
  on: readonly string[] | undefined,
): readonly FleetMachine[] | string {
  if (on === undefined) return machines;
  const unknown = on.filter((one) => !machines.some(({ names }) => matchNames([one], names).length > 0));
  const all = foldNames(machines.map(({ name }) => name));
  if (unknown.length > 0) return `on: this run has no machine called ${unknown.join(", ")}. Its machines: ${all}.`;
  return machines.filter(({ names }) => matchNames(on, names).length > 0);
}

/** The same, where what the call reads says by itself which machine has it. */
export function machinesFor(
  fleet: FleetParts,
  on: readonly string[] | undefined,
  input: unknown,
): readonly FleetMachine[] | string {
  const { shell_id, output_id } = (input ?? {}) as Readonly<Record<string, unknown>>;
  const { machines } = fleet;
  // Outputs are kept here, for all machines together.
  if (typeof output_id === "string") return [machines.find(({ opened }) => opened !== undefined) ?? machines[0]!];
  const owner = on === undefined && typeof shell_id === "string" ? fleet.shells.get(shell_id) : undefined;
  const known = machines.find(({ name }) => name === owner);
  return known === undefined ? chooseMachines(fleet, on) : [known];
}
