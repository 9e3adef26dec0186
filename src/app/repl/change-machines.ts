/** /targets and /on: lists machines, and moves the conversation to others. */
import type { LoadedConfig } from "../../config/load.ts";
import { BuddyError } from "../../lib/errors.ts";
import { completedNames, joinPlaces, type PlaceSources, resolvePlaces } from "../../targets/names/resolve-places.ts";
import { pathKey, type Place, samePaths, labelOfPath, namesOfPath } from "../../targets/place.ts";
import type { TargetRow } from "../../ui/repl/host.ts";
import { formatDuration } from "../../lib/durations.ts";
import { atMost } from "../../lib/waiting.ts";
import { type EffectiveRules, NO_RULES } from "../../policy/machine-rules.ts";
import { rulesByName, uncertainRules } from "../machines/machine-rules.ts";
import { chosenPlaces, placeSources } from "../machines/places.ts";
import { listFiles } from "../../targets/names/expand-names.ts";
import type { Run } from "../run.ts";
import { foldNames, matchNames, splitList } from "../../lib/names.ts";

/** Without WHAT: the names in the configuration, and the machines in use that have none. */
export async function targetRows(run: Run, loaded: LoadedConfig, what?: string): Promise<TargetRow[]> {
  const waiting = waitingIn(run);
  const sources = placeSources(loaded, waiting);
  const inUse = new Set(run.places.map(({ path }) => pathKey(path)));
  const isCurrent = (places: readonly Place[]) =>
    places.length > 0 && places.every(({ path }) => inUse.has(pathKey(path)));
  if (what !== undefined) {
    const places = (await chosenPlaces({ on: what }, loaded, { waiting })).map(asNamed);
    const rules = await rulesOfNames(places, loaded, sources);
    return places.map((row) => {
      const [place] = row.places;
      const groups = otherNames(place);
      const also = groups.length === 0 ? "" : `; also: ${groups.join(", ")}`;
      const said = withRules(`${whereabouts(place)}${also}`, rules.get(row));
      return { name: row.name, meaning: said, current: isCurrent(row.places) };
    });
  }
  const known = await namedPlaces(sources);
  const unnamed = run.places.map(asNamed);
  const rules = await rulesOfNames([...known, ...unnamed], loaded, sources);
  const rows = known.map((row) => ({
    name: row.name,
    meaning: nameInWords(row, rules.get(row)),
    current: isCurrent(row.places),
  }));
  const named = new Set(rows.filter(({ current }) => current).map(({ name }) => name));
  const rest = unnamed.filter(({ places: [{ name, names }] }) => ![name, ...names].some((one) => named.has(one)));
  const others = rest.map((row) => {
    const meant = withRules(whereabouts(row.places[0]), rules.get(row));
    return { name: row.name, meaning: meant, current: true };
  });
  return [...others, ...rows];
}

function asNamed(place: Place): NamedPlaces & { readonly places: readonly [Place] } {
  return { name: place.name, kind: "machine", places: [place] };
}

/** All names; after an `@`, files that may list some. */
export async function targetNames(run: Run, loaded: LoadedConfig, begun = ""): Promise<TargetRow[]> {
  const sources = placeSources(loaded);
  if (begun.startsWith("@")) return listFiles(begun, sources).map((name) => ({ name, meaning: "", current: false }));
  const { names, inventory } = await completedNames(sources);
  const inUse = new Map(run.places.map((place) => [place.name, whereabouts(place)]));
  const others = (all: readonly string[], meaning: (name: string) => string) =>
    all.flatMap((name) => (inUse.has(name) ? [] : [{ name, meaning: meaning(name), current: false }]));
  return [
    ...[...inUse].map(([name, meaning]) => ({ name, meaning, current: true })),
    ...others(names, (name) =>
      Object.hasOwn(sources.targets, name) ? "" : name === "local" ? "this machine" : "from ~/.ssh/config",
    ),
    ...others(inventory, () => "from the inventory"),
  ];
}

/** What takes a while is said where the conversation is. */
function waitingIn(run: Run): (what: string) => void {
  return (what) => run.agent.publish({ type: "notice", kind: "info", message: `${what}; Ctrl-C stops` });
}

/** `+WHAT` adds to the machines in use, `-WHAT` removes them. */
export async function workOn(
  run: Run,
  loaded: LoadedConfig,
  what: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const [first, ...others] = await placesAfter(run.places, what, (on) =>
    chosenPlaces({ on }, loaded, { signal, waiting: waitingIn(run) }),
  );
  if (first === undefined)
    throw new BuddyError("usage", `${what} would remove every machine in use`, {
      hint: "/on NAME switches to another one; /on local to this machine.",
    });
  const before = run.places;
  const places = [first, ...others] as const;
  const sameDirectory = places.every(({ cd }, at) => cd === before[at]?.cd);
  if (samePaths(before, places) && sameDirectory) return [`already on ${meaning(before)}`];
  const notes = await run.workOn(places, signal);
  const said = [`on ${meaning(run.places)}`];
  const identity = run.target.opened?.identity;
  if (identity !== undefined) said[0] = `on ${identity.user}@${identity.host} (${identity.label})`;
  if (identity?.attach !== undefined) said.push(`watch with: ${identity.attach}`);
  said.push(...run.rules.current.notes.map((note) => `notes: ${note}`));
  return [...said, ...uncertainRules(loaded.config, run.places), ...notes];
}

async function placesAfter(
  inUse: readonly Place[],
  what: string,
  chosen: (on: string) => Promise<readonly Place[]>,
): Promise<readonly Place[]> {
  if (what.startsWith("+")) return joinPlaces(inUse, await chosen(what.slice(1)));
  if (!what.startsWith("-")) return chosen(what);
  const items = splitList(what.slice(1));
  if (items.length === 0)
    throw new BuddyError("usage", "/on - needs the name of a machine in use", {
      hint: `In use: ${foldedNames(inUse)}`,
    });
  const leaving = new Set<Place>();
  for (const item of items) {
    // By its own name first: a container is also known by the name of its host.
    let found = inUse.filter(({ name }) => matchNames([item], [name]).length > 0);
    if (found.length === 0) found = inUse.filter(({ names }) => matchNames([item], names).length > 0);
    if (found.length === 0) {
      const paths = new Set((await chosen(item)).map(({ path }) => pathKey(path)));
      found = inUse.filter(({ path }) => paths.has(pathKey(path)));
    }
    if (found.length === 0)
      throw new BuddyError("usage", `${item} is not in use`, { hint: `In use: ${foldedNames(inUse)}` });
    for (const place of found) leaving.add(place);
  }
  return inUse.filter((place) => !leaving.has(place));
}

function foldedNames(places: readonly Place[]): string {
  return spaced(foldNames(places.map(({ name }) => name)));
}

/** The names of the configuration and the machines behind them, in words: for `buddy targets` and /targets. */
interface NamedPlaces {
  readonly name: string;
  readonly kind: "machine" | "group";
  readonly places: readonly Place[];
  /** Why the name cannot be used. */
  readonly problem?: BuddyError;
}

export function namedPlaces(sources: PlaceSources): Promise<NamedPlaces[]> {
  return Promise.all(
    Object.entries(sources.targets).map(async ([name, { include }]): Promise<NamedPlaces> => {
      try {
        const places = await resolvePlaces(name, sources);
        return { name, kind: include === undefined && places.length === 1 ? "machine" : "group", places };
      } catch (error) {
        if (!(error instanceof BuddyError)) throw error;
        return { name, kind: include === undefined ? "machine" : "group", places: [], problem: error };
      }
    }),
  );
}

/** "PROD, read-only, deny reboot"; "" without rules. */
export function ruleWords({ label, mode, autoApprove, allow, deny, approveMaxMs }: EffectiveRules): string {
  return [
    ...(label === undefined ? [] : [label]),
    ...(mode === "normal" ? [] : [mode]),
    ...(autoApprove === undefined ? [] : [`shell_auto_approve ${autoApprove}`]),
    ...(allow === undefined ? [] : [`allow ${allow.join(" | ") || "nothing"}`]),
    ...(deny.length === 0 ? [] : [`deny ${deny.join(" | ")}`]),
    ...(approveMaxMs === undefined ? [] : [`approve_max ${formatDuration(approveMaxMs)}`]),
  ].join(", ");
}

/** Where a name leads and what holds there, or why it cannot be used. */
export function nameInWords({ places, problem }: NamedPlaces, rules = ""): string {
  return problem?.message ?? withRules(meaning(places), rules);
}

function withRules(text: string, rules = ""): string {
  return rules === "" ? text : `${text}; rules: ${rules}`;
}

/** In words, for each name; machines whose rules differ from the rest are named. */
export async function rulesOfNames(
  rows: readonly NamedPlaces[],
  loaded: LoadedConfig,
  sources: PlaceSources,
): Promise<ReadonlyMap<NamedPlaces, string>> {
  if (loaded.config.rules.length === 0) return new Map();
  const paths = new Map(rows.flatMap(({ places }) => places.map((place) => [pathKey(place.path), place] as const)));
  const found = await atMost(MOST_AT_ONCE, [...paths], async ([key, place]) => {
    // A problem with ssh is shown when the machine is opened.
    const rules = await rulesByName(loaded.config, place, sources).catch(() => NO_RULES);
    return [key, ruleWords(rules)] as const;
  });
  const words = new Map(found);
  return new Map(
    rows.map((row) => {
      const groups = Map.groupBy(row.places, ({ path }) => words.get(pathKey(path)) ?? "");
      const said = [...groups].flatMap(([text, members]) => {
        if (text === "") return [];
        return groups.size === 1 ? [text] : [`${text} (${foldedNames(members)})`];
      });
      return [row, said.join("; ")];
    }),
  );
}

const MOST_AT_ONCE = 8;

/** What one name leads to: "ssh db1, in /srv", "12 machines: web[01-12]". */
export function meaning(places: readonly Place[]): string {
  const [first] = places;
  if (first !== undefined && places.length === 1) return whereabouts(first);
  return `${places.length} machines: ${foldedNames(places)}`;
}

export function whereabouts({ path, cd }: Place): string {
  return `${path.length === 0 ? "this machine" : labelOfPath(path)}${cd === undefined ? "" : `, in ${cd}`}`;
}

/** Names it has in addition to its own and those of its path: targets and groups. */
export function otherNames({ name, names, path }: Place): string[] {
  const own = new Set([name, ...namesOfPath(path)]);
  return names.filter((other) => !own.has(other));
}

/** Adds a space after each comma that is not within brackets. */
export function spaced(list: string): string {
  return list.replaceAll(/,(?![^[]*\])/g, ", ");
}
