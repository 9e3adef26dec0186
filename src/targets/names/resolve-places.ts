/** From what an operator writes (`web,db[1-3],prod*,@hosts.txt`) to places; anything unclear is an error. */
import { BuddyError } from "../../lib/errors.ts";
import { matchesGlob, splitList } from "../../lib/names.ts";
import { closestMatch } from "../../lib/text.ts";
import { defined } from "../../lib/values.ts";
import { atMost } from "../../lib/waiting.ts";
import { LOCAL, type Place } from "../place.ts";
import { type Inventory, readInventory, inventoryNames, rememberNames } from "./inventory.ts";
import {
  expandRanges,
  MOST_PLACES,
  tooMany,
  readList,
  asProblem,
  namedMachines,
  withAllNames,
} from "./expand-names.ts";
import { parseDestination } from "../connection/ssh-destination.ts";
import { byAddress, inPatterns, loginPath, type SshHosts, sshHosts } from "./ssh-config.ts";
import {
  distinctNames,
  memberNames,
  merge,
  NamedMachines,
  type NamedTarget,
  ofInventory,
  place,
  placesOf,
} from "./make-places.ts";

export interface PlaceSources {
  readonly targets: Readonly<Record<string, NamedTarget>>;
  /** File of an Ansible inventory; read only for names that are unknown otherwise, and for globs. */
  readonly inventory?: string | undefined;
  /** buddy's state directory, where the names of the inventory are remembered for completion. */
  readonly state?: string | undefined;
  /** The operator's, for ~/.ssh/config and `@~/file`. */
  readonly home?: string | undefined;
  /** `@file` is relative to it. */
  readonly cwd: string;
  /** What `-` reads; absent if standard input is used for something else. */
  readonly stdin?: (() => Promise<string>) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called with the reason, if this takes a while. */
  readonly waiting?: ((what: string) => void) | undefined;
}

/** At least one place, each with a unique name. */
export async function resolvePlaces(what: string, sources: PlaceSources): Promise<Place[]> {
  const resolver = new Resolver(sources);
  const items = splitList(what);
  if (items.length === 0) throw new BuddyError("usage", "no machine was named", { hint: EXAMPLES });
  const places = await resolver.resolve(items);
  if (places.length > MOST_PLACES) throw tooMany(what, places.length);
  return distinctNames(await withAllNames(await oncePerLogin(places, resolver.sshHosts), resolver));
}

/**
 * `root@web1` and `web1` are one place if ssh logs in as root, and so are two names of one `Host`. Runs ssh only for
 * hosts that are written in two ways.
 */
async function oncePerLogin(places: readonly Place[], { sameHost }: SshHosts): Promise<Place[]> {
  const hosts = places.map(({ path: [first] }) => {
    const host = first?.kind === "ssh" ? parseDestination(first.destination).host : undefined;
    return host === undefined ? undefined : (sameHost.get(host) ?? host.toLowerCase());
  });
  const written = Map.groupBy(hosts, (host) => host);
  const paths = await atMost(8, [...places.entries()], async ([at, { path }]) => {
    const host = hosts[at];
    return host !== undefined && (written.get(host)?.length ?? 0) > 1 ? loginPath(path) : path;
  });
  return merge(places, paths);
}

/** The place with every name that configured targets give it, so that no second name bypasses a rule. */
export async function withKnownNames(place: Place, sources: PlaceSources): Promise<Place> {
  const [named = place] = await withAllNames([place], new Resolver(sources));
  return named;
}

/**
 * Other names of the same machine: an alias and its address are one machine, and so are two aliases, unless a key or a
 * jump host makes them different. Asks ssh to resolve each destination, which starts a process, so only for names that
 * `counts` selects.
 */
export async function namesByAddress(
  place: Place,
  sources: PlaceSources,
  counts: (name: string) => boolean,
): Promise<string[]> {
  // Cached by sources: a run on many machines asks for each of them.
  const machines = machinesOf.get(sources) ?? namedMachines(new Resolver(sources));
  machinesOf.set(sources, machines);
  machines.catch(() => machinesOf.delete(sources));
  const named = (await machines).flatMap(({ names, path }) => {
    const more = names.filter((name) => counts(name) && !place.names.includes(name));
    return path[0]?.kind === place.path[0]?.kind && more.length > 0 ? [{ names: more, path }] : [];
  });
  if (named.length === 0) return [];
  const own = await byAddress(place.path);
  const known = new NamedMachines();
  await atMost(8, named, async ({ names, path }) => {
    const other = await byAddress(path);
    if (own.isAlias && other.isAlias && other.route !== own.route) return;
    for (const name of names) known.add(name, other.path);
  });
  return [...new Set(known.namesOn(own.path))];
}

const machinesOf = new WeakMap<PlaceSources, Promise<Place[]>>();

/** Both lists, each place once and with a unique name. */
export function joinPlaces(one: readonly Place[], other: readonly Place[]): Place[] {
  return distinctNames(merge([...one, ...other]));
}

/** Every configured name and machine, and every host of ~/.ssh/config. */
export function knownNames({ targets, home }: Pick<PlaceSources, "targets" | "home">): string[] {
  return [...new Set([LOCAL.name, ...Object.keys(targets), ...memberNames(targets).keys(), ...sshHosts(home).names])];
}

/** Those and the names of the inventory, for completion, which does not wait long. */
export async function completedNames(sources: PlaceSources): Promise<{ names: string[]; inventory: string[] }> {
  const names = knownNames(sources);
  const { inventory, state } = sources;
  const listed = inventory === undefined ? [] : await inventoryNames(inventory, state);
  return { names, inventory: listed.filter((name) => !names.includes(name)) };
}

const EXAMPLES = "For example --on web1, --on 'web*,db1', --on web[01-12] or --on @hosts.txt";

class Resolver {
  readonly #sources: PlaceSources;
  #hosts: SshHosts | undefined;
  #inventory: Promise<Inventory> | undefined;
  #members: ReadonlyMap<string, Place> | undefined;
  /** By name, of targets that are not groups. */
  readonly #machines = new Map<string, Place[]>();

  constructor(sources: PlaceSources) {
    this.#sources = sources;
  }

  get targets(): PlaceSources["targets"] {
    return this.#sources.targets;
  }

  /** In the order written, each place once. */
  async resolve(items: readonly string[], trail: readonly string[] = []): Promise<Place[]> {
    const found: Place[] = [];
    for (const item of items) found.push(...(await this.#item(item, trail)));
    return merge(found);
  }

  async #item(item: string, trail: readonly string[]): Promise<Place[]> {
    const isFile = item.startsWith("@") || item === "-";
    if (isFile && trail.length === 0) return this.#file(item === "-" ? "-" : item.slice(1));
    if (isFile) throw inGroup(trail, `${item}: a group takes names only`);
    const found = await Promise.all(
      expandRanges(item).map((one) => (/[*?]/.test(one) ? this.#glob(one, trail) : this.named(one, trail))),
    );
    return found.flat();
  }

  async named(name: string, trail: readonly string[] = []): Promise<Place[]> {
    const known = await this.#known(name, trail);
    if (known !== undefined) return known;
    throw inGroup(trail, await this.#unknown(name));
  }

  /** Undefined if nothing has this name. */
  async #known(name: string, trail: readonly string[]): Promise<Place[] | undefined> {
    const target = Object.hasOwn(this.targets, name) ? this.targets[name] : undefined;
    if (target !== undefined) return this.target(name, target, trail);
    if (name === LOCAL.name) return [LOCAL];
    const member = this.#memberNames().get(name);
    if (member !== undefined) return [member];
    const { names, patterns } = this.sshHosts;
    const bare = hostIn(name);
    if (names.includes(bare)) return [place([{ kind: "ssh", destination: name }])];
    // The inventory comes before a pattern such as `Host web*`.
    const listed = await this.#inInventory(name);
    if (listed !== undefined) return listed;
    const isCovered = patterns.some((list) => inPatterns(list, bare));
    return isCovered ? [place([{ kind: "ssh", destination: name }])] : undefined;
  }

  async #inInventory(name: string): Promise<Place[] | undefined> {
    if (this.#sources.inventory === undefined) return undefined;
    const inventory = await this.#readInventory();
    if (inventory.hosts.has(name)) return [ofInventory(inventory, name)];
    return inventory.groups.get(name)?.map((member) => ofInventory(inventory, member));
  }

  /** Its hosts with their groups, but those that cannot be reached as Ansible would. */
  async inventoryPlaces(): Promise<Place[]> {
    if (this.#sources.inventory === undefined) return [];
    const inventory = await this.#readInventory();
    const usable = [...inventory.hosts.values()].filter(({ path }) => typeof path !== "string");
    return usable.map(({ name }) => ofInventory(inventory, name));
  }

  async target(name: string, target: NamedTarget, trail: readonly string[] = []): Promise<Place[]> {
    if (target.include === undefined) {
      const places = this.#machines.get(name) ?? placesOf(name, target);
      this.#machines.set(name, places);
      return places;
    }
    if (trail.includes(name)) {
      throw new BuddyError(
        "config",
        trail.at(-1) === name
          ? `the group ${name} includes itself`
          : `the groups ${[...trail.slice(trail.indexOf(name)), name].join(" → ")} include each other`,
        { hint: "Remove one of these names from include." },
      );
    }
    if (target.include.length === 0) {
      throw new BuddyError("config", `the group ${name} is empty`, {
        hint: `Add names to include below [targets.${name}].`,
      });
    }
    const members = await this.resolve(target.include, [...trail, name]);
    return members.map((member) => ({ ...member, names: [...new Set([...member.names, name])] }));
  }

  async #glob(pattern: string, trail: readonly string[]): Promise<Place[]> {
    const [, user, wanted = pattern] = /^([^@]+)@(.*)$/.exec(pattern) ?? [];
    const hosts = user === undefined ? await this.all() : this.sshHosts.names;
    const found = hosts.filter((name) => matchesGlob(wanted, name) && !trail.includes(name));
    const names = user === undefined ? found : found.map((host) => `${user}@${host}`);
    if (names.length === 0) throw inGroup(trail, await this.#nothingMatches(pattern));
    return (await Promise.all(names.map((name) => this.named(name, trail)))).flat();
  }

  /** Names of targets, their members, ~/.ssh/config and the inventory. */
  async all(): Promise<string[]> {
    const own = [...Object.keys(this.targets), ...this.#memberNames().keys(), ...this.sshHosts.names];
    if (this.#sources.inventory === undefined) return [...new Set(own)];
    const { hosts, groups } = await this.#readInventory();
    return [...new Set([...own, ...groups.keys(), ...hosts.keys()])];
  }

  /** One name or host per line. Anything that is not a known name is an ssh destination. */
  async #file(path: string): Promise<Place[]> {
    const shown = path === "-" ? "standard input" : path;
    const text = path === "-" ? await this.#standardInput() : readList(path, this.#sources);
    const found: Place[] = [];
    for (const [at, line] of text.split(/\r?\n/).entries()) {
      const item = line.replace(/(^|\s)#.*$/, "").trim();
      if (item === "") continue;
      try {
        found.push(...(await this.#line(item)));
      } catch (error) {
        if (!(error instanceof BuddyError)) throw error;
        throw new BuddyError(error.code, `${shown} line ${at + 1}: ${error.message}`, {
          hint: error.hint,
          cause: error,
        });
      }
      if (found.length > MOST_PLACES) throw tooMany(`@${path}`, found.length);
    }
    if (found.length > 0) return found;
    throw new BuddyError("usage", `${shown} names no machine`, { hint: "Write one name or host per line." });
  }

  async #line(item: string): Promise<Place[]> {
    if (item.startsWith("@") || item === "-") throw new BuddyError("usage", "a list cannot name another list");
    if (/[\s,]/.test(item))
      throw new BuddyError("usage", `${JSON.stringify(item)} is more than one name`, {
        hint: "Write one name or host per line.",
      });
    if (/[*?]/.test(item)) return this.#glob(item, []);
    const names = expandRanges(item);
    const found = await Promise.all(
      names.map(async (name) => (await this.#known(name, [])) ?? [place([{ kind: "ssh", destination: name }])]),
    );
    return found.flat();
  }

  #standardInput(): Promise<string> {
    const { stdin } = this.#sources;
    if (stdin !== undefined) return stdin();
    throw new BuddyError("usage", "standard input cannot name machines: it is used for something else", {
      hint: "Put the names into a file and use --on @FILE.",
    });
  }

  async inventoryProblem(): Promise<BuddyError | undefined> {
    if (this.#sources.inventory === undefined) return undefined;
    const read = await this.#readInventory().catch(asProblem);
    return read instanceof BuddyError ? read : undefined;
  }

  #memberNames(): ReadonlyMap<string, Place> {
    return (this.#members ??= memberNames(this.targets));
  }

  get sshHosts(): SshHosts {
    return (this.#hosts ??= sshHosts(this.#sources.home));
  }

  #readInventory(): Promise<Inventory> {
    const { inventory: file = "", state, signal, waiting } = this.#sources;
    return (this.#inventory ??= readInventory(file, { signal, ...defined({ waiting }) }).then((inventory) => {
      rememberNames(file, inventory, state);
      return inventory;
    }));
  }

  async #unknown(name: string): Promise<BuddyError> {
    const near = nearest(name, await this.all());
    return new BuddyError("usage", `no machine or group is called ${JSON.stringify(name)}`, {
      hint:
        near.length > 0
          ? `Did you mean ${near.join(", ")}? ${LISTED}`
          : `${LISTED} For a host without a name: buddy --ssh HOST`,
    });
  }

  async #nothingMatches(pattern: string): Promise<BuddyError> {
    const near = nearest(pattern.replaceAll(/[*?]/g, ""), await this.all());
    return new BuddyError("usage", `no machine or group matches ${JSON.stringify(pattern)}`, {
      hint: near.length > 0 ? `The nearest names: ${near.join(", ")}. ${LISTED}` : LISTED,
    });
  }
}

/** Without user and port; an IPv6 address also without brackets. */
function hostIn(name: string): string {
  const host = /^(?:.*@)?([^@]*)$/.exec(name)?.[1] ?? name;
  const [, address] = /^\[([^\]]*)\](?::\d+)?$/.exec(host) ?? [];
  return address ?? host.replace(/^([^:]*):\d+$/, "$1");
}

const LISTED = "`buddy targets` lists the names.";

function inGroup(trail: readonly string[], problem: BuddyError | string): BuddyError {
  const error = typeof problem === "string" ? new BuddyError("config", problem) : problem;
  const group = trail.at(-1);
  if (group === undefined) return error;
  return new BuddyError("config", `the group ${group} cannot be used: ${error.message}`, {
    hint: error.hint,
    cause: error,
  });
}

/** A few similar names, the closest first. */
function nearest(word: string, known: readonly string[]): string[] {
  const near: string[] = [];
  for (let left = [...known]; near.length < 3;) {
    const next = closestMatch(word, left);
    if (next === undefined) break;
    near.push(next);
    left = left.filter((name) => name !== next);
  }
  return near;
}
