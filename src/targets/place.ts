/** A place to work: the hops that lead to it from this machine, and all its names. */
import { parseDestination } from "./connection/ssh-destination.ts";
import { quoteAll } from "../lib/quote.ts";

export interface Place {
  /** What people call it, unique among the places of a run: "web1", "pg", "local". */
  readonly name: string;
  /** From this machine inwards; empty: this machine. */
  readonly path: readonly Hop[];
  readonly cd?: string;
  readonly tmux?: PlaceTmux;
  /** Its own name first, then target names, groups and the ssh destinations as written; rules match any of them. */
  readonly names: readonly string[];
  /** Groups among its names that cannot be read in full and may contain it: their rules apply, to be safe. */
  readonly unsure?: readonly { readonly group: string; readonly why: string }[];
}

export type Hop =
  /** `args`: further arguments of ssh, from an inventory: a key, a jump host. */
  | { readonly kind: "ssh"; readonly destination: string; readonly args?: readonly string[] }
  /** `engine`: the only one to look in. */
  | { readonly kind: "container"; readonly name: string; readonly engine?: "docker" | "podman" }
  /** Any command that starts a program with piped stdio; `attach`: its form for a terminal. */
  | { readonly kind: "via"; readonly argv: readonly string[]; readonly attach?: readonly string[] };

export interface PlaceTmux {
  readonly mode: "required" | "never";
  readonly session?: string;
}

export const LOCAL: Place = { name: "local", path: [], names: ["local"] };

/** The place that --ssh and --container name. */
export function placeOf({ ssh, container }: { ssh?: string | undefined; container?: string | undefined }): Place {
  const path: Hop[] = [];
  if (ssh !== undefined) path.push({ kind: "ssh", destination: ssh });
  if (container !== undefined) path.push({ kind: "container", name: container });
  return path.length === 0 ? LOCAL : { name: nameOfPath(path), path, names: namesOfPath(path) };
}

export function isLocal({ path }: Pick<Place, "path">): boolean {
  return path.length === 0;
}

/** Whether all places are this machine. */
export function areLocal(places: readonly Pick<Place, "path">[]): boolean {
  return !places.some((place) => !isLocal(place));
}

/**
 * "local", "ssh deploy@web1", "container api on ssh web1", "kubectl exec -i api -- on ssh web1": the innermost first.
 */
export function labelOfPath(path: readonly Hop[]): string {
  return path.length === 0 ? "local" : path.toReversed().map(labelOfHop).join(" on ");
}

export function labelOfHop(hop: Hop): string {
  switch (hop.kind) {
    case "ssh":
      return `ssh ${hop.destination}`;
    case "container":
      return `container ${hop.name}`;
    case "via":
      return quoteAll(hop.argv);
  }
}

/** Equal for places that are the same, whatever their names and directories. */
export function pathKey(path: readonly Hop[]): string {
  return JSON.stringify(
    path.map((hop) => {
      if (hop.kind === "via") return hop.argv;
      return hop.kind === "ssh" ? ["ssh", hop.destination, ...(hop.args ?? [])] : `${hop.engine ?? "c"} ${hop.name}`;
    }),
  );
}

/** The same machines, in any order. */
export function samePaths(one: readonly Place[], other: readonly Place[]): boolean {
  const keys = (places: readonly Place[]) => places.map(({ path }) => pathKey(path)).toSorted();
  return keys(one).join("\n") === keys(other).join("\n");
}

/** "web1", "api", "api@web1", "kubectl": a short name for a place without one. */
export function nameOfPath(path: readonly Hop[]): string {
  const [first, ...more] = path.toReversed().map(shortName);
  return first === undefined ? LOCAL.name : [first, ...more].join("@");
}

/** The names that follow from the path alone: each hop's own, and the ssh destination as written. */
export function namesOfPath(path: readonly Hop[]): string[] {
  const inward = path.toReversed().map((hop) => {
    if (hop.kind !== "ssh") return { short: shortName(hop), names: hop.kind === "container" ? [hop.name] : [] };
    const { host, text } = parseDestination(hop.destination);
    return { short: host, names: [host, text] };
  });
  const name = inward.map(({ short }) => short).join("@");
  return [...new Set([name, ...inward.flatMap(({ names }) => names)])];
}

/** The names a person would use for the machine at a place that reports this host name; the first is shown. */
export function calledNames(place: Place, host: string): string[] {
  const inner = place.path.at(-1);
  const own = inner === undefined || inner.kind === "via" ? [] : namesOfPath([inner]);
  const names = isLocal(place) ? [host, place.name] : [place.name, ...own, host];
  return [...new Set(names)].filter((name) => name !== "");
}

function shortName(hop: Hop): string {
  switch (hop.kind) {
    case "ssh":
      return parseDestination(hop.destination).host;
    case "container":
      return hop.name;
    case "via":
      return hop.argv[0]?.split("/").at(-1) ?? "via";
  }
}
