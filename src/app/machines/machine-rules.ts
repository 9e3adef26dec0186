/** The rules of the machine that a run works on: matched with every name it has, once it is open with all of them. */
import type { Config, MachineRuleSettings } from "../../config/schema.ts";
import { foldNames } from "../../lib/names.ts";
import {
  effectiveRules,
  type EffectiveRules,
  type MachineRule,
  matchesName,
  NO_RULES,
} from "../../policy/machine-rules.ts";
import type { PlaceSources } from "../../targets/names/resolve-places.ts";
import { isLocal, labelOfPath, LOCAL, type Place } from "../../targets/place.ts";
import type { Target, Transport } from "../../targets/target.ts";

export class MachineRules {
  readonly #rules: readonly MachineRule[];
  readonly #places: () => readonly Place[];
  readonly #sources: PlaceSources | undefined;
  readonly #opened = new WeakMap<Target, Promise<EffectiveRules>>();
  readonly #known = new WeakMap<Place, EffectiveRules>();

  /** `places`: where the run works now. */
  constructor({ rules }: Pick<Config, "rules">, places: () => readonly Place[], sources?: PlaceSources) {
    this.#rules = rules.map(asRule);
    this.#places = places;
    this.#sources = sources;
  }

  /** None are configured. */
  get none(): boolean {
    return this.#rules.length === 0;
  }

  /** What is known now: until the machine is open, what its written names say. Decisions wait for `of`. */
  at(place: Place): EffectiveRules {
    if (this.#rules.length === 0) return NO_RULES;
    const known = this.#known.get(place) ?? effectiveRules(this.#rules, placeNames(place));
    this.#known.set(place, known);
    return known;
  }

  /** Of machines that a text names, by what it calls them. */
  named(names: readonly string[]): EffectiveRules {
    return this.#rules.length === 0 ? NO_RULES : effectiveRules(this.#rules, names);
  }

  /** Of the machine that buddy runs on, wherever the run works. */
  async here(): Promise<EffectiveRules> {
    if (this.#rules.length === 0) return NO_RULES;
    const { localMachine } = await import("../../targets/connection/identity.ts");
    return effectiveRules(this.#rules, [...placeNames(LOCAL), localMachine()]);
  }

  /** For people: of several machines all labels, the mode where it is the same, and the shortest limit. */
  get current(): EffectiveRules {
    if (this.#rules.length === 0) return NO_RULES;
    const places = this.#places();
    const [first] = places;
    return first !== undefined && places.length === 1
      ? this.at(first)
      : together(places.map((place) => ({ ...this.at(place), name: place.name })));
  }

  /**
   * Taken for every target that is opened. A machine whose names cannot be determined is an error: it does not escape
   * its rules.
   */
  of(target: Target, place: Place): Promise<EffectiveRules> {
    if (this.#rules.length === 0) return Promise.resolve(NO_RULES);
    const found = this.#opened.get(target) ?? rulesOpened(this.#rules, place, target.transport, this.#sources);
    this.#opened.set(target, found);
    found.catch(() => this.#opened.delete(target));
    // Of the target that is in use: an adopted shell has rules of its own, and those before it hold again afterwards.
    return found.then((rules) => {
      this.#known.set(place, rules);
      return rules;
    });
  }
}

function together(all: readonly (EffectiveRules & { readonly name: string })[]): EffectiveRules {
  const labels = [...new Set(all.flatMap(({ label }) => label ?? []))];
  const windows = all.flatMap(({ approveMaxMs }) => approveMaxMs ?? []);
  const mode = all[0]?.mode ?? "normal";
  // A note that is not about all of them says which it is about.
  const about = (note: string): string => {
    const those = all.filter(({ notes }) => notes.includes(note));
    return those.length === all.length ? note : `${foldNames(those.map(({ name }) => name))}: ${note}`;
  };
  return {
    mode: all.every((one) => one.mode === mode) ? mode : "normal",
    ...(labels.length === 0 ? {} : { label: labels.join(" ") }),
    ...(windows.length === 0 ? {} : { approveMaxMs: Math.min(...windows) }),
    deny: [...new Set(all.flatMap(({ deny }) => deny))],
    notes: [...new Set(all.flatMap(({ notes }) => notes))].map(about),
    patterns: [...new Set(all.flatMap(({ patterns }) => patterns))],
  };
}

function asRule(settings: MachineRuleSettings): MachineRule {
  const { pattern, mode, label, shell_auto_approve: autoApprove, deny, allow, approve_max, notes } = settings;
  return { pattern, mode, label, autoApprove, deny, allow, approveMaxMs: approve_max, notes };
}

/** Without opening it: by its written names and the host that ssh makes of them. `sources` know its other names. */
export async function rulesByName(
  { rules }: Pick<Config, "rules">,
  place: Place,
  sources?: PlaceSources,
): Promise<EffectiveRules> {
  if (rules.length === 0) return NO_RULES;
  const all = rules.map(asRule);
  const more = await Promise.all([resolvedHosts(place), addressNames(all, place, sources)]);
  return effectiveRules(all, [...placeNames(place), ...more.flat()]);
}

/** Of a machine that is open: by all its names. */
export async function rulesOf(
  { rules }: Pick<Config, "rules">,
  place: Place,
  transport: Transport,
  sources?: PlaceSources,
): Promise<EffectiveRules> {
  return rules.length === 0 ? NO_RULES : rulesOpened(rules.map(asRule), place, transport, sources);
}

async function rulesOpened(
  rules: readonly MachineRule[],
  place: Place,
  transport: Transport,
  sources: PlaceSources | undefined,
): Promise<EffectiveRules> {
  const names = await Promise.all([machineNames(place, transport), addressNames(rules, place, sources)]);
  return effectiveRules(rules, names.flat());
}

/** Names with rules that lead to the same machine, however it was written. */
async function addressNames(rules: readonly MachineRule[], place: Place, sources: PlaceSources | undefined) {
  if (sources === undefined || isLocal(place)) return [];
  const { namesByAddress } = await import("../../targets/names/resolve-places.ts");
  return namesByAddress(place, sources, (name) => rules.some(({ pattern }) => matchesName(pattern, name)));
}

/** For people: rules that hold only because a group cannot be read, one sentence per group. */
export function uncertainRules({ rules }: Pick<Config, "rules">, places: readonly Place[]): string[] {
  if (rules.length === 0) return [];
  const unsure = places.flatMap((place) => (place.unsure ?? []).map((one) => ({ ...one, machine: place.name })));
  const groups = new Map(unsure.map(({ group, why }) => [group, why]));
  return [...groups].flatMap(([group, why]) => {
    const matching = rules.filter(({ pattern }) => matchesName(pattern, group));
    if (matching.length === 0) return [];
    const machines = foldNames(unsure.flatMap((one) => (one.group === group ? [one.machine] : [])));
    const patterns = matching.map(({ pattern }) => `[rules.${JSON.stringify(pattern)}]`).join(" and ");
    return [`${why}; it may hold ${machines}, so ${patterns} applies there until [targets.${group}] is corrected`];
  });
}

/** What the place itself says, before anything is asked. */
function placeNames(place: Place): string[] {
  // Asked for when there are rules: node:os costs every start that imports it.
  const here = isOnThisMachine(place) ? ["local", process.getBuiltinModule("node:os").hostname()] : [];
  return [...place.names, labelOfPath(place.path), ...here];
}

/** Everything a machine is known by: written, resolved by ssh, and reported by it and by the machines on the way. */
async function machineNames(place: Place, transport: Transport): Promise<string[]> {
  const { localMachine } = await import("../../targets/connection/identity.ts");
  const reported: string[] = [];
  for (let at: Transport | undefined = transport; at !== undefined; at = at.base) {
    // Where a command of this machine leads elsewhere (kubectl), this machine is not what it works on.
    if (at.kind === "local" && !isOnThisMachine(place)) continue;
    reported.push(at.facts.host, at.facts.machine);
  }
  const here = reported.includes(localMachine()) ? ["local"] : [];
  return [...placeNames(place), ...reported, ...here, ...(await resolvedHosts(place))];
}

async function resolvedHosts({ path }: Place): Promise<string[]> {
  const destinations = path.flatMap((hop) => (hop.kind === "ssh" ? [hop.destination] : []));
  if (destinations.length === 0) return [];
  const [{ resolvedSsh }, { parseDestination }] = await Promise.all([
    import("../../targets/names/ssh-config.ts"),
    import("../../targets/connection/ssh-destination.ts"),
  ]);
  const names = destinations.map(async (destination) => {
    const { host, user } = await resolvedSsh(destination);
    // A rule may be written as a destination: `ssh web1` leads to root@web1, too.
    return [host, `${user}@${host}`, `${user}@${parseDestination(destination).host}`];
  });
  return (await Promise.all(names)).flat();
}

/** This machine, or a container on it. */
function isOnThisMachine(place: Place): boolean {
  return isLocal(place) || place.path.every(({ kind }) => kind === "container");
}
