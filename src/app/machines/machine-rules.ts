/** The rules of the machines that a run works on, matched with every name of a machine. */
import { destinationOf, destinationText } from "../../targets/connection/ssh-destination.ts";
import type { ResolvedSsh } from "../../targets/names/ssh-config.ts";
import type { Config, MachineRuleSettings } from "../../config/schema.ts";
import { BuddyError } from "../../lib/errors.ts";
import { foldNames, splitList } from "../../lib/names.ts";
import { quoteAll } from "../../lib/quote.ts";
import {
  effectiveRules,
  type EffectiveRules,
  type MachineRule,
  matchesName,
  NO_RULES,
  strictest,
} from "../../policy/machine-rules.ts";
import type { PlaceSources } from "../../targets/names/resolve-places.ts";
import { isLocal, labelOfPath, LOCAL, type Place, placeOf } from "../../targets/place.ts";
import type { Target, Transport } from "../../targets/target.ts";

export class MachineRules {
  readonly #rules: readonly MachineRule[];
  readonly #places: () => readonly Place[];
  readonly #sources: PlaceSources | undefined;
  readonly #opened = new WeakMap<Target, { readonly place: Place; readonly found: Promise<EffectiveRules> }>();
  readonly #known = new WeakMap<Place, EffectiveRules>();
  readonly #byName = new Map<string, Promise<EffectiveRules>>();

  /** `places`: where the run works now. */
  constructor({ rules }: Pick<Config, "rules">, places: () => readonly Place[], sources?: PlaceSources) {
    this.#rules = rules.map(asRule);
    this.#places = places;
    this.#sources = sources;
  }

  /** No rules are configured. */
  get none(): boolean {
    return this.#rules.length === 0;
  }

  /** What is known now: until the machine is open, only by its written names. Decisions wait for `of`. */
  at(place: Place): EffectiveRules {
    if (this.#rules.length === 0) return NO_RULES;
    const known = this.#known.get(place) ?? effectiveRules(this.#rules, placeNames(place));
    this.#known.set(place, known);
    return known;
  }

  /**
   * Of the machines that a command names, as written and as the operator's names lead to them. `from` runs the command:
   * if it is another machine, its ssh has its own configuration.
   */
  named(name: string, from?: Transport): Promise<EffectiveRules> {
    if (this.#rules.length === 0) return Promise.resolve(NO_RULES);
    const key = JSON.stringify([from?.kind === "local" ? undefined : from?.facts.machine, name]);
    const found = this.#byName.get(key) ?? rulesNamed(this.#rules, name, this.#sources, from);
    this.#byName.set(key, found);
    found.catch(() => this.#byName.delete(key));
    return found;
  }

  /** Of the machine that buddy itself runs on. */
  async here(): Promise<EffectiveRules> {
    if (this.#rules.length === 0) return NO_RULES;
    const { localMachine } = await import("../../targets/connection/identity.ts");
    return effectiveRules(this.#rules, [...placeNames(LOCAL), localMachine()]);
  }

  /** For people: of several machines all labels, the mode if it is the same, and the shortest limit. */
  get current(): EffectiveRules {
    if (this.#rules.length === 0) return NO_RULES;
    const places = this.#places();
    const [first] = places;
    return first !== undefined && places.length === 1
      ? this.at(first)
      : together(places.map((place) => ({ ...this.at(place), name: place.name })));
  }

  /** Of an open target. Fails if the names of the machine cannot be determined: it must not escape its rules. */
  of(target: Target, place: Place): Promise<EffectiveRules> {
    if (this.#rules.length === 0) return Promise.resolve(NO_RULES);
    const known = this.#opened.get(target);
    // /on may keep a target open and know it by further names.
    const found =
      known?.place === place ? known.found : rulesOpened(this.#rules, place, target.transport, this.#sources);
    this.#opened.set(target, { place, found });
    found.catch(() => this.#opened.delete(target));
    // The target in use decides: an adopted shell has its own rules, and afterwards the old ones hold again.
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
  // A note that is not about all machines names those it is about.
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

/**
 * A name, group or pattern leads to machines of the operator's with further names, and so does what ssh makes of it.
 * One that ssh refuses may be any machine.
 */
async function rulesNamed(
  rules: readonly MachineRule[],
  name: string,
  sources: PlaceSources | undefined,
  from: Transport | undefined,
): Promise<EffectiveRules> {
  const names = [name, ...(from === undefined || from.kind === "local" ? [] : await namesOn(from, name))];
  const found = [effectiveRules(rules, names)];
  if (sources !== undefined)
    for (const one of names)
      for (const place of await placesNamed(one, sources))
        found.push(
          isResolvable(place)
            ? await orAny(namedRules(rules, place, sources), effectiveRules(rules, [ANY]))
            : effectiveRules(rules, place.names),
        );
  const all = strictest(found.map((one) => ({ ...one, pattern: "", notes: undefined })));
  return { ...all, patterns: [...new Set(found.flatMap(({ patterns }) => patterns))] };
}

/** Matches every rule. */
const ANY = "*" as const;

/** Not a pattern; and without ssh on this machine a name means only what is written. */
function isResolvable({ path: [first] }: Place): boolean {
  return first?.kind !== "ssh" || (isDestination(first.destination) && Bun.which("ssh") !== null);
}

/** `any`: if ssh refuses. */
async function orAny<T, A>(found: Promise<T>, any: A): Promise<T | A> {
  try {
    return await found;
  } catch (error) {
    if (error instanceof BuddyError) return any;
    throw error;
  }
}

/** What the ssh of another machine makes of a name: the host, and the jump hosts on the way to it. */
async function namesOn(from: Transport, name: string, most = MAX_JUMPS): Promise<string[]> {
  if (!isDestination(name)) return [];
  const { resolvedSshOn } = await import("../../targets/names/ssh-config.ts");
  const found = await orAny(resolvedSshOn(from, name), ANY);
  if (found === undefined) return [];
  if (found === ANY) return [ANY];
  const { user, host, port } = found;
  const hops = most === 0 ? [] : await hopsOf(found);
  const further = await Promise.all(hops.map((hop) => namesOn(from, hop, most - 1)));
  return [destinationText({ user: user === "" ? undefined : user, host, port }), ...hops, ...further.flat()];
}

/** Jump hosts may have jump hosts themselves. */
const MAX_JUMPS = 4;

function isDestination(name: string): boolean {
  try {
    destinationOf(name);
    return true;
  } catch (error) {
    if (error instanceof BuddyError) return false;
    throw error;
  }
}

/** What a name may lead to, with its user and port and without them, and each name of a range. */
async function placesNamed(name: string, sources: PlaceSources): Promise<Place[]> {
  const [{ resolvePlaces, withKnownNames }, { expandRanges }] = await Promise.all([
    import("../../targets/names/resolve-places.ts"),
    import("../../targets/names/expand-names.ts"),
  ]);
  const orNone = (error: unknown): never[] => {
    if (error instanceof BuddyError) return [];
    throw error;
  };
  const bare = name.replace(/^[^@\s]*@/, "").replace(/^([^:\s]+):\d+$/, "$1");
  const each = await Promise.all(
    [...new Set([name, bare])].map(async (one) => expandRanges(one)).map((one) => one.catch(orNone)),
  );
  const places = each.flat().map(async (one) => {
    if (!/^[^-@]/.test(one)) return [];
    const found = await resolvePlaces(one, sources).catch(orNone);
    const written: Place = { name: one, path: [{ kind: "ssh", destination: one }], names: [one] };
    return found.length > 0 ? found : await withKnownNames(written, sources).catch(orNone);
  });
  return (await Promise.all(places)).flat();
}

/** Of a machine that is not open: by its written names, the host that ssh makes of them, and those in `sources`. */
export async function rulesByName(
  { rules }: Pick<Config, "rules">,
  place: Place,
  sources?: PlaceSources,
): Promise<EffectiveRules> {
  return rules.length === 0 ? NO_RULES : namedRules(rules.map(asRule), place, sources);
}

async function namedRules(
  rules: readonly MachineRule[],
  place: Place,
  sources: PlaceSources | undefined,
): Promise<EffectiveRules> {
  const places = [place, ...(await jumpPlaces(place))];
  const hosts = await Promise.all(places.map(async (one) => [...placeNames(one), ...(await resolvedHosts(one))]));
  return withKnown(await byAddress(rules, places, sources), hosts.flat());
}

/** The machines that ssh goes through on the way to a place, by its configuration. */
async function jumpPlaces({ path: [first] }: Place, most = MAX_JUMPS): Promise<Place[]> {
  if (first?.kind !== "ssh" || most === 0 || !isDestination(first.destination)) return [];
  const { resolvedSsh } = await import("../../targets/names/ssh-config.ts");
  const hops = (await hopsOf(await resolvedSsh(first))).filter(isDestination).map((ssh) => placeOf({ ssh }));
  const further = await Promise.all(hops.map((hop) => jumpPlaces(hop, most - 1)));
  return [...hops, ...further.flat()];
}

/** ProxyJump, and the machines that a ProxyCommand names. */
async function hopsOf({ jump = "", command }: Pick<ResolvedSsh, "jump" | "command">): Promise<string[]> {
  return [...splitList(jump), ...(command === undefined ? [] : await namesInCommand(command))];
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
  const hops = await jumpPlaces(place);
  const [own, known, ...further] = await Promise.all([
    machineNames(place, transport),
    byAddress(rules, [place, ...hops], sources),
    ...hops.map(async (hop) => [...placeNames(hop), ...(await resolvedHosts(hop))]),
  ]);
  return withKnown(known, [...own, ...further.flat()]);
}

interface KnownByAddress {
  readonly rules: readonly MachineRule[];
  readonly names: readonly string[];
  readonly notes: readonly string[];
}

function withKnown({ rules, names, notes }: KnownByAddress, own: readonly string[]): EffectiveRules {
  const found = effectiveRules(rules, [...own, ...names]);
  return { ...found, notes: [...found.notes, ...notes] };
}

/**
 * Names with rules that lead to the same machine, however it was written. If the inventory cannot be read, rules that
 * may be about one of its groups hold for every machine, with a note.
 */
async function byAddress(
  rules: readonly MachineRule[],
  [place, ...hops]: readonly Place[],
  sources: PlaceSources | undefined,
): Promise<KnownByAddress> {
  if (place === undefined || sources === undefined || isLocal(place)) return { rules, names: [], notes: [] };
  const { knownNames, namesByAddress } = await import("../../targets/names/resolve-places.ts");
  const matches = ({ pattern }: MachineRule, names: readonly string[]) =>
    names.some((name) => matchesName(pattern, name));
  try {
    const counts = (name: string) => rules.some((rule) => matches(rule, [name]));
    const names = await Promise.all([place, ...hops].map((one) => namesByAddress(one, sources, counts)));
    return { rules, names: names.flat(), notes: [] };
  } catch (error) {
    if (!(error instanceof BuddyError) || sources.inventory === undefined) throw error;
    const known = [...knownNames(sources), ...placeNames(place)];
    const unclear = new Set(rules.filter((rule) => !matches(rule, known)));
    if (unclear.size === 0) return { rules, names: [], notes: [] };
    const applied = [...unclear].map(({ pattern }) => `[rules.${JSON.stringify(pattern)}]`).join(" and ");
    return {
      rules: rules.map((rule) => (unclear.has(rule) ? { ...rule, pattern: "*" } : rule)),
      names: [],
      notes: [`${error.message}; until it can be read, ${applied} applies here, to be safe`],
    };
  }
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

/** Names that are known without asking the machine. */
function placeNames(place: Place): string[] {
  // Loaded only if there are rules: node:os would cost every start.
  const here = isOnThisMachine(place) ? ["local", process.getBuiltinModule("node:os").hostname()] : [];
  return [...place.names, labelOfPath(place.path), ...here];
}

/** Every name of a machine: written, resolved by ssh, and reported by it and by the machines on the way. */
async function machineNames(place: Place, transport: Transport): Promise<string[]> {
  const { localMachine } = await import("../../targets/connection/identity.ts");
  const reported: string[] = [];
  for (let at: Transport | undefined = transport; at !== undefined; at = at.base) {
    // A command of this machine that leads elsewhere (kubectl) does not work on this machine.
    if (at.kind === "local" && !isOnThisMachine(place)) continue;
    reported.push(at.facts.host, at.facts.machine);
  }
  const here = reported.includes(localMachine()) ? ["local"] : [];
  return [...placeNames(place), ...reported, ...here, ...(await resolvedHosts(place))];
}

async function resolvedHosts({ path }: Place): Promise<string[]> {
  const written = await viaNames(path);
  const destinations = [...path.filter((hop) => hop.kind === "ssh"), ...written];
  if (destinations.length === 0) return [];
  const { resolvedSsh } = await import("../../targets/names/ssh-config.ts");
  const names = destinations.map(async (destination) => {
    try {
      const { host, user } = await resolvedSsh(destination);
      // A rule may be written as a destination: `ssh web1` leads to root@web1, too.
      return [host, `${user}@${host}`, `${user}@${destinationOf(destination).host}`];
    } catch (error) {
      // Not every name in a `via` is a host for ssh: it may be a container or a pattern.
      if (error instanceof BuddyError && typeof destination === "string") return [];
      throw error;
    }
  });
  return [...written, ...(await Promise.all(names)).flat()];
}

/** The machines that commands of `via` connect to: `via = ["ssh", "web1"]` leads to web1, also behind env or sh -c. */
async function viaNames(path: Place["path"]): Promise<string[]> {
  const texts = path.flatMap((hop) => (hop.kind === "via" ? [quoteAll(hop.argv)] : []));
  if (texts.length === 0) return [];
  return (await Promise.all(texts.map(namesInCommand))).flat();
}

async function namesInCommand(command: string): Promise<string[]> {
  const { commandsIn } = await import("../../policy/shell/judge.ts");
  const { namedMachines } = await import("../../policy/shell/named-machines.ts");
  return namedMachines(commandsIn(command));
}

/** This machine, or a container on it. */
function isOnThisMachine(place: Place): boolean {
  return isLocal(place) || place.path.every(({ kind }) => kind === "container");
}
