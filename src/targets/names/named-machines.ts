/** Which machines the names of the configuration lead to, and which ones a group that cannot be read may mean. */
import { closestMatch } from "../../lib/text.ts";
import { parseDestination } from "../connection/ssh-destination.ts";
import { type Hop, type Place, pathKey } from "../place.ts";

/**
 * Which names lead to which machine. The rules of a name hold for every place that its machine leads to: for another
 * user there, and for what is further in.
 */
export class NamedMachines {
  /** By the machine; then the names, each with the ports of its ssh destinations (0 where none is written). */
  readonly #names = new Map<string, Map<string, Set<number>>>();
  /** A machine is in several groups, and its path is read once. */
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
      // A destination without a port may lead to any.
      return [...(this.#names.get(key) ?? [])].flatMap(([name, ports]) =>
        port === 0 || ports.has(0) || ports.has(port) ? [name] : [],
      );
    });
  }
}

/** Another user on the same host is the same machine. */
function machineOf(path: readonly Hop[]): { readonly key: string; readonly port: number } {
  const [first, ...inner] = path;
  if (first?.kind !== "ssh") return { key: pathKey(path), port: 0 };
  const { host, port = 0 } = parseDestination(first.destination);
  return { key: `${host.toLowerCase()} ${pathKey(inner)}`, port };
}

/** A group with entries that name nothing: which machines belong to it is not certain. */
export interface DoubtfulGroup {
  readonly group: string;
  readonly why: string;
  /** The entries that name nothing, as written; "any" where what they could name cannot be read at all. */
  readonly entries: readonly string[] | "any";
}

/** A name that is nearly one of the machine's may be mistyped, and may mean it. */
export function mayHold({ entries }: DoubtfulGroup, { names }: Pick<Place, "names">): boolean {
  if (entries === "any") return true;
  return entries.some((entry) => {
    const pattern = entry.toLowerCase().replace(/\[.*$/, "*");
    const known = names.map((name) => name.toLowerCase());
    if (/[*?]/.test(pattern)) return known.some((name) => new Bun.Glob(pattern).match(name));
    return closestMatch(pattern, known) !== undefined;
  });
}
