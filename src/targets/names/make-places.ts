/** Makes places from configured targets, inventories and destinations: each once, with all its names. */
import { BuddyError } from "../../lib/errors.ts";
import { type Hop, LOCAL, nameOfPath, namesOfPath, pathKey, type Place, type PlaceTmux } from "../place.ts";
import type { Inventory } from "./inventory.ts";
import { expandRanges } from "./expand-names.ts";
import { closestMatch } from "../../lib/text.ts";
import { defined } from "../../lib/values.ts";
import { parseDestination } from "../connection/ssh-destination.ts";

/** One `[targets.NAME]`. */
export interface NamedTarget {
  /** Destinations; ranges are allowed. */
  readonly ssh?: readonly string[];
  /** Containers and commands to enter, in this order. */
  readonly inner?: readonly Exclude<Hop, { kind: "ssh" }>[];
  readonly cd?: string;
  readonly tmux?: PlaceTmux;
  /** Other names: then it is a group and has no other field. */
  readonly include?: readonly string[];
}

export function placesOf(name: string, { ssh, inner = [], cd, tmux }: NamedTarget): Place[] {
  const hosts = ssh?.flatMap((one) => expandRanges(one));
  const starts: Hop[][] = hosts === undefined ? [[]] : hosts.map((destination) => [{ kind: "ssh", destination }]);
  return starts.map((start) => {
    const path = [...start, ...inner];
    const host = nameOfPath(start);
    const own = starts.length === 1 ? name : inner.length === 0 ? host : `${name}@${host}`;
    return {
      name: own,
      path,
      names: [...new Set([own, name, ...(path.length === 0 ? [LOCAL.name] : namesOfPath(path))])],
      ...defined({ cd, tmux }),
    };
  });
}

export function place(path: readonly Hop[]): Place {
  return { name: nameOfPath(path), path, names: namesOfPath(path) };
}

export function ofInventory(inventory: Inventory, name: string): Place {
  const host = inventory.hosts.get(name);
  const path = host?.path ?? [{ kind: "ssh", destination: name } as const];
  if (typeof path === "string")
    throw new BuddyError("config", `${name} of the inventory cannot be used: ${path}`, {
      hint: `Describe it in [targets.${name}] (ssh with a Host of ~/.ssh/config, container or via), or leave it out.`,
    });
  return {
    name,
    path,
    names: [...new Set([name, ...(host?.groups ?? []), ...(path.length === 0 ? [LOCAL.name] : namesOfPath(path))])],
  };
}

/**
 * The machines of targets by the name each is shown with, unless two of them share a name. For a machine of several
 * targets, only the directory and tmux settings that all of them have.
 */
export function memberNames(targets: Readonly<Record<string, NamedTarget>>): Map<string, Place> {
  const found = new Map<string, Place | undefined>();
  for (const [name, target] of Object.entries(targets)) {
    if (target.include !== undefined || target.ssh === undefined) continue;
    for (const place of readable(name, target)) {
      const other = found.get(place.name);
      const taken = found.has(place.name) && (other === undefined || pathKey(other.path) !== pathKey(place.path));
      found.set(place.name, taken ? undefined : other === undefined ? place : inCommon(other, place));
    }
  }
  return new Map([...found].filter((entry): entry is [string, Place] => entry[1] !== undefined));
}

function inCommon({ cd, tmux, ...one }: Place, other: Place): Place {
  return {
    ...one,
    ...(cd !== undefined && cd === other.cd ? { cd } : {}),
    ...(tmux !== undefined && Bun.deepEquals(tmux, other.tmux) ? { tmux } : {}),
  };
}

/** None if the target cannot be read, which is reported where it is used. */
function readable(name: string, target: NamedTarget): Place[] {
  try {
    return placesOf(name, target);
  } catch (error) {
    if (error instanceof BuddyError) return [];
    throw error;
  }
}

/** Places with equal paths become one, with all names. `paths`: to compare instead of their own, in the same order. */
export function merge(places: readonly Place[], paths = places.map(({ path }) => path)): Place[] {
  const byPath = new Map<string, Place>();
  for (const [index, one] of places.entries()) {
    const key = pathKey(paths[index] ?? one.path);
    const before = byPath.get(key);
    byPath.set(key, before === undefined ? one : { ...before, names: [...new Set([...before.names, ...one.names])] });
  }
  return [...byPath.values()];
}

/** Two machines with one name get another of their names, or a number. */
export function distinctNames(places: readonly Place[]): Place[] {
  const taken = new Map<string, number>();
  for (const { name } of places) taken.set(name, (taken.get(name) ?? 0) + 1);
  const used = new Set<string>();
  return places.map((one) => {
    let name = one.name;
    if ((taken.get(name) ?? 0) > 1)
      name = one.names.find((other) => !taken.has(other) && !used.has(other) && other.includes(name)) ?? name;
    for (let at = 2; used.has(name); at++) name = `${one.name}~${at}`;
    used.add(name);
    return name === one.name ? one : { ...one, name, names: [...new Set([name, ...one.names])] };
  });
}

/**
 * Which names lead to which machine. The rules of a name apply to every place on its machine: other users, and
 * containers inside.
 */
export class NamedMachines {
  /** By machine: its names, each with the ports of its ssh destinations (0 if none is written). */
  readonly #names = new Map<string, Map<string, Set<number>>>();
  /** Cached, since a machine is in several groups. */
  readonly #read = new WeakMap<readonly Hop[], ReturnType<typeof machineOf>>();

  add(name: string, path: readonly Hop[]): void {
    const machine = this.#read.get(path) ?? machineOf(path);
    this.#read.set(path, machine);
    const { key, port } = machine;
    const names = this.#names.get(key) ?? new Map<string, Set<number>>();
    this.#names.set(key, names.set(name, (names.get(name) ?? new Set()).add(port)));
  }

  namesOn(path: readonly Hop[]): string[] {
    const steps = path.length === 0 ? [path] : path.map((_, at) => path.slice(0, at + 1));
    return steps.flatMap((step) => {
      const { key, port } = machineOf(step);
      // A destination without a port may lead to any port.
      return [...(this.#names.get(key) ?? [])].flatMap(([name, ports]) =>
        port === 0 || ports.has(0) || ports.has(port) ? [name] : [],
      );
    });
  }
}

/** Another user on the same host is the same machine. */
function machineOf(path: readonly Hop[]): { readonly key: string; readonly port: number } {
  const [first, ...inner] = path;
  if (first?.kind !== "ssh") {
    const names = path.map((hop) => (hop.kind === "container" ? { kind: hop.kind, name: hop.name } : hop));
    return { key: pathKey(names), port: 0 };
  }
  const { host, port = 0 } = parseDestination(first.destination);
  return { key: `${host.toLowerCase()} ${pathKey(inner)}`, port };
}

/** A group with unknown entries: which machines belong to it is uncertain. */
export interface DoubtfulGroup {
  readonly group: string;
  readonly why: string;
  /** The unknown entries, as written; "any" if they could name any machine. */
  readonly entries: readonly string[] | "any";
}

/** An entry that is similar to a name of the machine may be a typing error for it. */
export function mayHold({ entries }: DoubtfulGroup, { names }: Pick<Place, "names">): boolean {
  if (entries === "any") return true;
  return entries.some((entry) => {
    const pattern = entry.toLowerCase().replace(/\[.*$/, "*");
    const known = names.map((name) => name.toLowerCase());
    if (/[*?]/.test(pattern)) return known.some((name) => new Bun.Glob(pattern).match(name));
    return closestMatch(pattern, known) !== undefined;
  });
}
