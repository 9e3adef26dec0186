/** What is known of the machines of a run: their rules, names and labels, and what the operator wrote about them. */
import { buddyPaths } from "../config/paths.ts";
import type { LoadedConfig } from "../config/load.ts";
import { VERSION } from "../lib/version.ts";
import type { EffectiveRules } from "../policy/machine-rules.ts";
import type { Privacy } from "../policy/privacy.ts";
import { isLocal, type Place } from "../targets/place.ts";
import type { Target } from "../targets/target.ts";
import { aboutMachines, type HostFile, HostFiles } from "./about-machine.ts";
import type { LazyFleet } from "./lazy-fleet.ts";
import type { RunTarget } from "./lazy-target.ts";
import { MachineRules } from "./machine-rules.ts";
import { placeSources } from "./places.ts";
import type { KnownMachine } from "./recorder.ts";

/** Where the run works now. */
interface Machines {
  readonly places: readonly [Place, ...Place[]];
  readonly target: RunTarget;
  readonly fleet: LazyFleet | undefined;
}

export class RunMachines {
  readonly rules: MachineRules;
  readonly #at: Machines;
  readonly #hostFiles: HostFiles;
  readonly #privacy: Privacy;

  constructor(at: Machines, loaded: LoadedConfig, privacy: Privacy, problem: (message: string) => void) {
    this.#at = at;
    this.#privacy = privacy;
    this.rules = new MachineRules(loaded.config, () => at.places, placeSources(loaded));
    this.#hostFiles = new HostFiles(buddyPaths(loaded.env)?.dir, problem);
  }

  /** hosts/NAME.md files of the machine, for /status; of all machines where there are several. */
  hostFiles(): readonly HostFile[] {
    return this.#at.places.flatMap((place) => this.#hostFiles.of(place, this.#openedAt(place)));
  }

  #openedAt(place: Place): Target | undefined {
    if (this.#at.fleet === undefined) return this.#at.target.opened;
    return this.#at.fleet.machines.find(({ name }) => name === place.name)?.opened;
  }

  about(): string | undefined {
    const privacy = this.#privacy;
    const text = aboutMachines(
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

  /** What the operator calls a machine; undefined: all of the run. */
  async known(target: Target | undefined): Promise<KnownMachine> {
    if (target === undefined) {
      const names = [...new Set(this.#at.places.flatMap(({ name, names: more }) => [name, ...more]))];
      return { names, ...labelOf(this.rules.current) };
    }
    const machine = this.#at.fleet?.machines.find(({ opened }) => opened === target);
    const place = this.#at.places.find(({ name }) => name === machine?.name) ?? this.#at.places[0];
    // By all names of the machine: a label may hang on what only it reports.
    return { names: machine?.names ?? place.names, ...labelOf(await this.rules.of(target, place)) };
  }

  describe(resumed: boolean) {
    const identity = this.#at.target.opened?.identity;
    const cwd = this.#at.target.facts().cwd ?? "";
    const places = this.#at.places.every(isLocal)
      ? {}
      : { places: this.#at.places.map(({ name, path }) => ({ name, path })) };
    const resume = { ...places, ...(resumed ? { resumed: true } : {}) };
    const { label, mode } = this.rules.current;
    const rules = { ...(label === undefined ? {} : { label }), ...(mode === "normal" ? {} : { mode }) };
    if (identity === undefined) return { buddy: VERSION, cwd, ...rules, ...resume };
    const { user, host, machine, attach } = identity;
    return {
      buddy: VERSION,
      cwd,
      user,
      host,
      machine,
      ...rules,
      ...(attach === undefined ? {} : { attach }),
      ...resume,
    };
  }
}

function labelOf({ label }: EffectiveRules): { readonly label?: string } {
  return label === undefined ? {} : { label };
}
