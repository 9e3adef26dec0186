/** All names of a machine, including groups that can be read only in part, so that no second name bypasses a rule. */
import { BuddyError } from "../../lib/errors.ts";
import { matchesGlob } from "../../lib/names.ts";
import type { Place } from "../place.ts";
import { expandRanges } from "./expand-names.ts";
import { type DoubtfulGroup, mayHold, merge, NamedMachines, type NamedTarget, place, placesOf } from "./make-places.ts";
import type { SshHosts } from "./ssh-config.ts";

type Targets = Readonly<Record<string, NamedTarget>>;

/** What names lead to. */
interface Names {
  readonly targets: Targets;
  readonly sshHosts: SshHosts;
  target(name: string, target: NamedTarget): Promise<Place[]>;
  named(name: string): Promise<Place[]>;
  all(): Promise<string[]>;
  inventoryProblem(): Promise<BuddyError | undefined>;
  inventoryPlaces(): Promise<Place[]>;
}

/** The machines of the targets, the inventory and the hosts of ~/.ssh/config, with their names. */
export async function namedMachines(names: Names): Promise<Place[]> {
  const targets = Object.entries(names.targets);
  const found = await Promise.all(
    targets.map(async ([name, target]) => {
      const { members } = await readable(names, name, target, new Set());
      return members.map((member) => ({ ...member, names: [...new Set([...member.names, name])] }));
    }),
  );
  const hosts = names.sshHosts.names.map((host) => place([{ kind: "ssh", destination: host }]));
  return merge([...found.flat(), ...(await names.inventoryPlaces()), ...hosts]);
}

/** A group that cannot be read in full counts if it may contain the machine. */
export async function withAllNames(places: readonly Place[], names: Names): Promise<Place[]> {
  const targets = Object.entries(names.targets);
  if (targets.length === 0) return [...places];
  const known = new NamedMachines();
  const doubtful: DoubtfulGroup[] = [];
  for (const [name, target] of targets) {
    const { members, unread, why } = await readable(names, name, target, new Set());
    for (const member of members) known.add(name, member.path);
    if (why === undefined) continue;
    const isUncertain = unread.some((entry) => /^[@-]/.test(entry)) || (await names.inventoryProblem()) !== undefined;
    doubtful.push({ group: name, why: why.message, entries: isUncertain ? "any" : unread });
  }
  return places.map((one) => {
    const own = [...new Set([...one.names, ...known.namesOn(one.path)])];
    const unsure = doubtful.filter((group) => !own.includes(group.group) && mayHold(group, { names: own }));
    return {
      ...one,
      names: [...own, ...unsure.map(({ group }) => group)],
      ...(unsure.length === 0 ? {} : { unsure: unsure.map(({ group, why }) => ({ group, why })) }),
    };
  });
}

interface Readable {
  readonly members: readonly Place[];
  readonly unread: readonly string[];
  readonly why?: BuddyError;
}

/** The readable members of a target, and its unreadable entries. Groups that include each other have all members. */
async function readable(names: Names, name: string, target: NamedTarget, seen: Set<string>): Promise<Readable> {
  seen.add(name);
  const whole = await names.target(name, target).catch(asProblem);
  if (!(whole instanceof BuddyError)) return { members: whole, unread: [] };
  const parts: Readable[] = [];
  for (const entry of target.ssh ?? [])
    parts.push(await orUnread(entry, async () => placesOf(name, { ...target, ssh: [entry] })));
  for (const entry of target.include ?? [])
    for (const one of await namesIn(names, entry)) {
      const inner = Object.hasOwn(names.targets, one) ? names.targets[one] : undefined;
      if (inner === undefined) parts.push(await orUnread(one, () => names.named(one)));
      else if (!seen.has(one)) parts.push(await readable(names, one, inner, seen));
    }
  return {
    members: parts.flatMap(({ members }) => members),
    unread: parts.flatMap(({ unread }) => unread),
    why: whole,
  };
}

/** The names that an entry stands for; the entry itself if there are no others. */
async function namesIn(names: Names, entry: string): Promise<string[]> {
  try {
    const known = /[*?]/.test(entry) ? await names.all() : [];
    return expandRanges(entry).flatMap((one) => {
      const found = known.filter((name) => matchesGlob(one, name));
      return found.length === 0 ? [one] : found;
    });
  } catch (error) {
    asProblem(error);
    return [entry];
  }
}

async function orUnread(entry: string, read: () => Promise<readonly Place[]>): Promise<Readable> {
  const found = await read().catch(asProblem);
  return found instanceof BuddyError ? { members: [], unread: [entry] } : { members: found, unread: [] };
}

export function asProblem(error: unknown): BuddyError {
  if (error instanceof BuddyError) return error;
  throw error;
}
