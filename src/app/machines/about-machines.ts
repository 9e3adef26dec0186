/** What is known about the machines of a run: rules, names and labels, and the operator's notes. */
import { defined } from "../../lib/values.ts";
import { buddyPaths } from "../../config/paths.ts";
import type { LoadedConfig } from "../../config/load.ts";
import { VERSION } from "../../lib/version.ts";
import type { EffectiveRules } from "../../policy/machine-rules.ts";
import type { Privacy } from "../../policy/privacy/privacy.ts";
import { areLocal, type Place } from "../../targets/place.ts";
import type { Target } from "../../targets/target.ts";
import type { FleetMachine } from "../../agent/fleet/fleet-parts.ts";
import type { LazyFleet } from "./lazy-fleet.ts";
import type { RunTarget } from "./lazy-target.ts";
import { MachineRules } from "./machine-rules.ts";
import { placeSources } from "./places.ts";
import type { KnownMachine } from "../audit-recorder.ts";
import { existsSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { holdsSecrets } from "../../policy/files/secret-files.ts";
import { boundText } from "../../tools/bound-output.ts";
import { foldNames } from "../../lib/names.ts";
import { messageOf } from "../../lib/errors.ts";
import { wholeCharacters } from "../../lib/text.ts";
import { readTextStart } from "../../lib/files.ts";

/** Where the run works now. */
interface Machines {
  readonly places: readonly [Place, ...Place[]];
  readonly target: RunTarget;
  readonly fleet: LazyFleet | undefined;
}

interface FoundPlace extends Pick<Machines, "places"> {
  readonly machine: FleetMachine;
  readonly place: Place;
}

interface AboutOptions {
  problem(message: string): void;
  /** Gets what takes a while. */
  waiting(what: string): void;
}

export class AboutMachines {
  readonly rules: MachineRules;
  readonly #at: Machines;
  readonly #hostFiles: HostFiles;
  readonly #privacy: Privacy;
  /** Every line of the record asks for one of many. /on changes the places. */
  readonly #found = new WeakMap<Target, FoundPlace>();

  constructor(at: Machines, loaded: LoadedConfig, privacy: Privacy, { problem, waiting }: AboutOptions) {
    this.#at = at;
    this.#privacy = privacy;
    const sources = loaded.config.rules.length === 0 ? undefined : placeSources(loaded, waiting);
    this.rules = new MachineRules(loaded.config, () => at.places, sources);
    this.#hostFiles = new HostFiles(buddyPaths(loaded.env)?.dir, problem);
  }

  /** The hosts/NAME.md files of all machines, for /status. */
  hostFiles(): readonly HostFile[] {
    return this.#at.places.flatMap((place) => this.#hostFiles.of(place, this.#openedAt(place)));
  }

  #openedAt(place: Place): Target | undefined {
    if (this.#at.fleet === undefined) return this.#at.target.opened;
    return this.#at.fleet.machines.find(({ name }) => name === place.name)?.opened;
  }

  /** Undefined: of several machines it is none, as it was opened again since. */
  #placeOf(target: Target): Place | undefined {
    const { fleet, places } = this.#at;
    if (fleet === undefined) return places[0];
    const is = ({ opened }: FleetMachine) => opened === target || opened?.now?.() === target;
    const found = this.#found.get(target);
    if (found?.places === places && is(found.machine)) return found.place;
    const machine = fleet.machines.find(is);
    const place = places.find(({ name }) => name === machine?.name);
    if (machine !== undefined && place !== undefined) this.#found.set(target, { machine, place, places });
    return place;
  }

  about(): string | undefined {
    if (this.rules.none && this.#hostFiles.none) return undefined;
    const privacy = this.#privacy;
    const text = notesForModel(
      this.#at.places.map((place) => ({
        name: place.name,
        rules: this.rules.at(place),
        files: this.#hostFiles
          .of(place, this.#openedAt(place))
          .map((file) => ({ ...file, text: privacy.mask(file.text, { from: file.path }) })),
      })),
    );
    return text === undefined ? undefined : privacy.mask(text, { from: "[rules] notes" });
  }

  /** The operator's names for a machine; undefined: for all of the run. */
  async known(target: Target | undefined): Promise<KnownMachine> {
    if (target === undefined) {
      const names = [...new Set(this.#at.places.flatMap(({ name, names: more }) => [name, ...more]))];
      return { names, ...defined({ label: this.rules.current.label }) };
    }
    const place = this.#placeOf(target);
    if (place === undefined) return { names: [target.identity.label] };
    // Waits for all names of the machine: a label may depend on one that it reports itself.
    const { label } = await this.rules.of(target, place);
    return { names: [...new Set([place.name, ...place.names])], ...defined({ label }) };
  }

  describe(resumed: boolean) {
    const { target, places } = this.#at;
    const { user, host, machine, attach } = target.opened?.identity ?? {};
    const { label, mode } = this.rules.current;
    return {
      buddy: VERSION,
      cwd: target.facts().cwd ?? "",
      ...defined({ user, host, machine, label, mode: mode === "normal" ? undefined : mode, attach }),
      ...(areLocal(places) ? {} : { places: places.map(({ name, path }) => ({ name, path })) }),
      ...(resumed ? { resumed } : {}),
    };
  }
}

/** What the operator wrote about a machine in ~/.config/buddy/hosts/NAME.md. */
interface HostFile {
  readonly path: string;
  readonly text: string;
  /** Bytes of the whole file, of which `text` may be only the beginning. */
  readonly bytes: number;
}

interface DescribedMachine {
  readonly name: string;
  readonly rules: EffectiveRules;
  readonly files: readonly HostFile[];
}

/** Undefined if there are none. Machines with the same notes share a paragraph. */
export function notesForModel(machines: readonly DescribedMachine[]): string | undefined {
  const texts = machines.map(({ rules, files }) => aboutMachine(rules, files));
  if (!texts.some((text) => text !== undefined)) return undefined;
  if (machines.length === 1) return `What the operator wrote about this machine:\n\n${texts[0]}`;
  const same = Map.groupBy(machines, (_, index) => texts[index]);
  const parts = [...same].flatMap(([text, members]) =>
    text === undefined ? [] : [`${foldNames(members.map(({ name }) => name))}:\n\n${text}`],
  );
  return boundText(
    `What the operator wrote about these machines:\n\n${parts.join("\n\n")}`,
    MOST_CHARACTERS,
    () => "left out",
  );
}

function aboutMachine(rules: EffectiveRules, files: readonly HostFile[]): string | undefined {
  const facts = [
    ...(rules.label === undefined ? [] : [`It is labelled ${rules.label}.`]),
    ...(rules.mode === "guarded" ? [GUARDED] : rules.mode === "read-only" ? [READ_ONLY] : []),
    ...rules.notes,
  ];
  const texts = [
    ...(facts.length === 0 ? [] : [facts.map((fact) => `- ${fact}`).join("\n")]),
    ...files.map(({ path, text }) => `From ${path}:\n\n${text.trim()}`),
  ];
  return texts.length === 0 ? undefined : texts.join("\n\n");
}

const GUARDED = "It is guarded: the operator must type its name to approve what is high risk.";
const READ_ONLY =
  "It is read-only: nothing can approve a change there. Look, and propose commands; the operator runs them by hand.";

/** The files of a machine: by its own names, and by the host name it reports once it is open. */
export class HostFiles {
  readonly #directory: string | undefined;
  readonly #problem: (message: string) => void;
  readonly #read = new Map<string, HostFile | undefined>();

  constructor(configDirectory: string | undefined, problem: (message: string) => void) {
    const directory = configDirectory === undefined ? undefined : join(configDirectory, "hosts");
    this.#directory = directory !== undefined && existsSync(directory) ? directory : undefined;
    this.#problem = problem;
  }

  /** There is no directory for them. */
  get none(): boolean {
    return this.#directory === undefined;
  }

  of(place: Place, opened: Target | undefined): readonly HostFile[] {
    const directory = this.#directory;
    if (directory === undefined) return [];
    const host = opened?.identity.host;
    const names = [...place.names, ...(host === undefined ? [] : [host, host.replace(/\..*$/, "")])];
    const found = new Map<string, HostFile>();
    let room = MOST_BYTES;
    for (const name of new Set(names.filter((one) => /^[^/\0]+$/.test(one) && !one.startsWith(".")))) {
      const file = this.#file(join(directory, `${name}.md`));
      if (file === undefined || found.has(file.real) || room <= 0) continue;
      const cut = cutAt(file.text, room);
      room -= Buffer.byteLength(cut);
      found.set(file.real, { path: file.path, bytes: file.bytes, text: withNotice(cut, file) });
    }
    return [...found.values()];
  }

  #file(path: string): (HostFile & { readonly real: string }) | undefined {
    if (!this.#read.has(path)) this.#read.set(path, this.#open(path));
    const file = this.#read.get(path);
    return file === undefined ? undefined : { ...file, real: realpathSync(path) };
  }

  #open(path: string): HostFile | undefined {
    if (!existsSync(path)) return undefined;
    try {
      if (holdsSecrets(realpathSync(path))) throw new Error("it is a link to a file with keys");
      const start = readTextStart(path, MOST_BYTES);
      return start.text.trim() === "" ? undefined : { path, ...start };
    } catch (error) {
      this.#problem(`${path} was not read: ${messageOf(error)}`);
      return undefined;
    }
  }
}

function cutAt(text: string, bytes: number): string {
  const all = Buffer.from(text);
  return all.length <= bytes ? text : all.toString("utf8", 0, wholeCharacters(all, bytes));
}

function withNotice(text: string, { bytes, path }: HostFile): string {
  const left = bytes - Buffer.byteLength(text);
  return left <= 0 ? text : `${text}\n[${left} bytes of ${path} are left out: at most ${MOST_BYTES} are read]`;
}

const MOST_BYTES = 8192;
const MOST_CHARACTERS = 32_000;
