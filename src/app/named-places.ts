/** The names of the configuration and the machines behind them, in words: for `buddy targets` and /targets. */
import { BuddyError } from "../lib/errors.ts";
import { foldNames } from "../lib/names.ts";
import { type PlaceSources, resolvePlaces } from "../targets/names/resolve-places.ts";
import { labelOfPath, namesOfPath, type Place } from "../targets/place.ts";

export interface NamedPlaces {
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

/** What one name leads to: "ssh db1, in /srv", "12 machines: web[01-12]". */
export function meaning(places: readonly Place[]): string {
  const [first] = places;
  if (first !== undefined && places.length === 1) return whereabouts(first);
  return `${places.length} machines: ${spaced(foldNames(places.map(({ name }) => name)))}`;
}

export function whereabouts({ path, cd }: Place): string {
  return `${path.length === 0 ? "this machine" : labelOfPath(path)}${cd === undefined ? "" : `, in ${cd}`}`;
}

/** Names it is known by beside its own and those of its path: targets and groups. */
export function otherNames({ name, names, path }: Place): string[] {
  const own = new Set([name, ...namesOfPath(path)]);
  return names.filter((other) => !own.has(other));
}

/** A blank after each comma that is not within brackets. */
export function spaced(list: string): string {
  return list.replaceAll(/,(?![^[]*\])/g, ", ");
}
