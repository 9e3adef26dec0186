/** What an operator writes for machines: ranges (web[01-12]) and files of names; and all names that a machine has. */
import { BuddyError } from "../../lib/errors.ts";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { fileError } from "../../lib/files.ts";
import { expandTilde } from "../../lib/user-directories.ts";
import { matchesGlob } from "../../lib/names.ts";
import type { Place } from "../place.ts";
import { type DoubtfulGroup, mayHold, merge, NamedMachines, type NamedTarget, place, placesOf } from "./make-places.ts";
import type { SshHosts } from "./ssh-config.ts";

/** More is a mistake: a mistyped range must not use up the memory. */
export const MOST_PLACES = 1000;

/** An address in brackets, [::1], is not a range. */
const BRACKETS = /\[([^\][:]*)\]/;

/** The text itself if it has no range; `whole` is quoted in errors. */
export function expandRanges(text: string, whole = text): string[] {
  const found = BRACKETS.exec(text);
  if (found === null) {
    if (hasBracket(text)) throw badRange(whole, "a bracket is missing");
    return [text];
  }
  const before = text.slice(0, found.index);
  const after = text.slice(found.index + found[0].length);
  const values = (found[1] ?? "").split(",").flatMap((part) => valuesOf(part.trim(), whole));
  if (hasBracket(before)) throw badRange(whole, "brackets cannot be nested");
  const rest = expandRanges(after, whole);
  if (values.length * rest.length > MOST_PLACES) throw tooMany(whole, values.length * rest.length);
  return values.flatMap((value) => rest.map((tail) => `${before}${value}${tail}`));
}

/** Except those of addresses. */
function hasBracket(text: string): boolean {
  return /[[\]]/.test(text.replace(/\[[^\][]*:[^\][]*\]/g, ""));
}

function valuesOf(part: string, text: string): string[] {
  const [, from, to] = /^(\d+)-(\d+)$/.exec(part) ?? [];
  if (from !== undefined && to !== undefined) return numbers(from, to, text);
  const [, first, last] = /^([a-z])-([a-z])$/i.exec(part) ?? [];
  if (first !== undefined && last !== undefined) return letters(first, last, text);
  if (/^[A-Za-z0-9]+$/.test(part)) return [part];
  throw badRange(text, part === "" ? "it is empty" : `${JSON.stringify(part)} is not a number, a letter or a range`);
}

/** 08-12 keeps two digits. */
function numbers(from: string, to: string, text: string): string[] {
  if (from.length > 9 || to.length > 9) throw badRange(text, "its numbers are too long");
  const count = Number(to) - Number(from) + 1;
  if (count < 1) throw badRange(text, `${from} is larger than ${to}`);
  if (count > MOST_PLACES) throw tooMany(text, count);
  const width = from.startsWith("0") ? from.length : 0;
  return Array.from({ length: count }, (_, at) => String(Number(from) + at).padStart(width, "0"));
}

function letters(first: string, last: string, text: string): string[] {
  const from = first.charCodeAt(0);
  const count = last.charCodeAt(0) - from + 1;
  if (count < 1 || count > 26) throw badRange(text, `${first} does not come before ${last}`);
  return Array.from({ length: count }, (_, at) => String.fromCharCode(from + at));
}

function badRange(text: string, why: string): BuddyError {
  return new BuddyError("usage", `the range in ${JSON.stringify(text)} cannot be read: ${why}`, {
    hint: "Write web[01-12], web[1,3,7-9] or rack[a-d].",
  });
}

export function tooMany(text: string, count: number): BuddyError {
  return new BuddyError("usage", `${JSON.stringify(text)} names ${count} machines; the limit is ${MOST_PLACES}`);
}

interface ListPlace {
  readonly cwd: string;
  readonly home?: string | undefined;
}

/** For completion: what a begun `@directory/na` may become. */
export function listFiles(begun: string, { cwd, home }: ListPlace): string[] {
  const [, directory = ""] = /^@(.*\/)?/.exec(begun) ?? [];
  try {
    const entries = readdirSync(resolve(cwd, expandTilde(directory, home)), { withFileTypes: true });
    return entries.map((entry) => `@${directory}${entry.name}${entry.isDirectory() ? "/" : ""}`).toSorted();
  } catch {
    return []; // no such directory: nothing to offer
  }
}

export function readList(path: string, { cwd, home }: ListPlace): string {
  const full = resolve(cwd, expandTilde(path, home));
  const problem = (why: string, cause?: unknown) =>
    new BuddyError("usage", `--on @${path}: ${why}`, {
      hint: "Name a file with one name or host per line.",
      cause,
    });
  if (path === "") throw problem("the name of the file is missing");
  try {
    const stat = statSync(full);
    if (!stat.isFile() && !stat.isFIFO() && !stat.isCharacterDevice()) throw problem("it is not a file");
    if (stat.size > LARGEST_LIST) throw problem("it is too large for a list of machines");
    const text = readFileSync(full, "utf8");
    if (text.includes("\0")) throw problem("it is not a text file");
    return text.replace(/^\uFEFF/, "");
  } catch (error) {
    throw error instanceof BuddyError ? error : problem(fileError(error), error);
  }
}

const LARGEST_LIST = 1024 * 1024;

// ── All names of a machine, including groups that can be read only in part, so that no second name bypasses a rule.

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
