/** The machines of a run that has several: opened in parallel, so that none delays another. */
import { ConnectionDropped } from "../../targets/errors.ts";
import { defined } from "../../lib/values.ts";
import type { FleetMachine, FleetParts } from "../../agent/fleet/fleet-parts.ts";
import { BuddyError, messageOf } from "../../lib/errors.ts";
import { foldNames } from "../../lib/names.ts";
import { clip } from "../../lib/text.ts";
import { within } from "../../lib/waiting.ts";
import { type Place, isLocal } from "../../targets/place.ts";
import type { Target, TargetNotice, TargetOptions } from "../../targets/target.ts";
import type { TargetFacts } from "../../tools/tool.ts";
import { LazyTarget, type RunTarget, openTarget, targetOptions } from "./lazy-target.ts";
import { machineParts } from "../run-tools.ts";
import type { Run, RunOptions } from "../run.ts";
import type { Workplace } from "./workplace.ts";

interface LazyFleetOptions {
  readonly places: readonly Place[];
  /** Machines that are in use already, and stay open. */
  readonly kept?: (place: Place) => LazyTarget | undefined;
  /** Which machine a background shell runs on, as far as known from before. */
  readonly shells?: FleetParts["shells"] | undefined;
  readonly open: (options: TargetOptions) => Promise<Target>;
  targetOptions(place: Place): Omit<TargetOptions, "signal" | "onNotice">;
  /** The parts that decide on calls for one machine. */
  permit(target: LazyTarget, place: Place): FleetMachine["permit"];
  readonly approvals: FleetParts["approvals"];
  readonly limits: FleetLimits;
  onNotice(machine: string, notice: TargetNotice): void;
  onOpen(machine: string, target: Target): void;
  onUnreachable(machine: string, label: string, error: unknown): void;
}

/** --parallel, --canary, --max-fail. */
export interface FleetLimits extends Omit<FleetParts, "machines" | "approvals" | "shells" | "gone"> {
  /** Also for a single machine: `buddy run`. */
  readonly always?: boolean;
}

export class LazyFleet implements RunTarget {
  readonly parts: FleetParts;
  readonly #machines: readonly Machine[];
  readonly #label: string;
  readonly #names: readonly string[];
  readonly #slots: Slots;

  constructor(options: LazyFleetOptions) {
    this.#slots = new Slots(options.limits.parallel);
    this.#machines = options.places.map((place) => new Machine(place, options, this.#slots));
    this.#names = this.#machines.map(({ name }) => name);
    // Short: it is in every event.
    this.#label = clip(`${this.#names.length} machines: ${foldNames(this.#names)}`, LABEL_COLUMNS);
    const { approvals, limits, shells = new Map() } = options;
    this.parts = { machines: this.#machines, approvals, ...limits, shells, gone: new Set() };
  }

  get machines(): readonly Machine[] {
    return this.#machines;
  }

  get targets(): readonly LazyTarget[] {
    return this.#machines.map(({ target }) => target);
  }

  /** There is no single target. */
  get opened(): undefined {
    return undefined;
  }

  /** Which machines could not be reached. */
  get error(): unknown {
    const missed = this.#machines.filter(({ name, target }) => target.isMissed || this.parts.gone.has(name));
    if (missed.length === 0) return undefined;
    const [first] = missed.filter(({ target }) => target.error !== undefined);
    if (first !== undefined && missed.length === 1) return first.target.error;
    return new BuddyError(
      "target",
      `${missed.length} of ${this.#machines.length} machines could not be reached: ${foldNames(missed.map(({ name }) => name))}`,
      first === undefined
        ? {}
        : { hint: `For example ${first.name}: ${messageOf(first.target.error)}`, cause: first.target.error },
    );
  }

  start(): void {
    for (const machine of this.#machines) machine.target.start();
  }

  get(): Promise<Target> {
    return Promise.reject(
      new BuddyError("usage", `this works on one machine, but the run has ${this.#label}`, {
        hint: "Choose one of them with --on NAME.",
      }),
    );
  }

  facts(): TargetFacts {
    const [only, ...more] = this.#machines;
    if (only !== undefined && more.length === 0) return { ...only.target.facts(), machines: this.#names };
    return { label: this.#label, machines: this.#names, tmux: undefined };
  }

  /** Waits a limited time for all machines; returns which have not answered, and why. */
  async answers(signal: AbortSignal): Promise<string[]> {
    const asked = Promise.allSettled(this.#machines.map(({ target }) => target.get()));
    await within(asked, ANSWER_MS, signal);
    const silent = this.#machines.filter(({ target }) => target.opened === undefined);
    const failed = silent.filter(({ target }) => target.error !== undefined);
    const waiting = silent.filter((machine) => !failed.includes(machine));
    const problems = [...Map.groupBy(failed, ({ target }) => messageOf(target.error))].map(
      ([why, machines]) => `${foldNames(machines.map(({ name }) => name))}: ${why}`,
    );
    if (waiting.length > 0) problems.push(`still connecting: ${foldNames(waiting.map(({ name }) => name))}`);
    return problems;
  }

  async leaveIfSilent(): Promise<void> {
    await Promise.all(this.#machines.map(({ target }) => target.leaveIfSilent()));
  }

  follow(): void {
    for (const { target, onNotice } of this.#machines) target.follow(onNotice);
  }

  async leave(staying: readonly LazyTarget[]): Promise<void> {
    this.#slots.close();
    await Promise.all(this.targets.map((target) => target.leave(staying)));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.leave([]);
  }
}

class Machine implements FleetMachine {
  readonly name: string;
  readonly names: readonly string[];
  readonly target: LazyTarget;
  readonly permit: FleetMachine["permit"];
  readonly onNotice: (notice: TargetNotice) => void;
  openingSince: number | undefined;
  openingMs: number | undefined;
  #failure: { readonly error: unknown; readonly at: number } | undefined;

  constructor(place: Place, options: LazyFleetOptions, slots: Slots) {
    this.name = place.name;
    this.names = [...new Set([place.name, ...place.names])];
    const settings = options.targetOptions(place);
    this.onNotice = (notice) => options.onNotice(this.name, notice);
    const target =
      options.kept?.(place) ??
      new LazyTarget({
        open: (wanted) => slots.take(() => this.#open(() => options.open(wanted))),
        // A question of ssh on the terminal would hold up all machines.
        target:
          options.places.length === 1
            ? { ...settings, paneLater: options.limits.always === true }
            : { ...settings, interactive: false, frugal: true },
        onNotice: this.onNotice,
        onOpen: (opened) => options.onOpen(this.name, opened),
      });
    this.target = target;
    const permit = options.permit(target, place);
    this.permit = {
      ...permit,
      target: () => this.#get(() => options.onUnreachable(this.name, target.facts().label, this.#failure?.error)),
    };
  }

  get opened(): Target | undefined {
    return this.target.opened;
  }

  /** A machine that could not be reached before is tried again in the background. */
  async #get(onUnreachable: () => void): Promise<Target> {
    const failure = this.#failure;
    if (this.target.opened !== undefined) return this.target.opened;
    if (failure === undefined) {
      try {
        return await this.target.get();
      } catch (error) {
        onUnreachable();
        throw error;
      }
    }
    if (performance.now() - failure.at < AGAIN_MS) throw failure.error;
    const again = this.target.get();
    const opened = await within(
      again.catch(() => undefined),
      SOON_MS,
    );
    if (opened === undefined) throw this.#failure?.error ?? failure.error;
    return opened;
  }

  async #open(open: () => Promise<Target>): Promise<Target> {
    const since = (this.openingSince = performance.now());
    this.openingMs = undefined;
    try {
      const target = await openPatiently(open);
      this.openingMs = performance.now() - since;
      this.#failure = undefined;
      return target;
    } catch (error) {
      this.#failure = { error, at: performance.now() };
      throw error;
    }
  }
}

/** An sshd that gets many connections at once drops some of them (MaxStartups): those are tried again. */
async function openPatiently(open: () => Promise<Target>): Promise<Target> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await open();
    } catch (error) {
      if (!(error instanceof ConnectionDropped) || attempt === ATTEMPTS) throw error;
      await Bun.sleep(attempt * DROPPED_MS * (0.5 + Math.random()));
    }
  }
}

/** Limits how many open at once; one that takes long gives its place to the next and continues. */
class Slots {
  #free: number;
  #closed = false;
  readonly #queue: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free === 0) await new Promise<void>((resolve) => this.#queue.push(resolve));
    else this.#free--;
    if (this.#closed) throw new BuddyError("target", "the run has ended");
    let held = true;
    const release = (): void => {
      if (!held) return;
      held = false;
      clearTimeout(timer);
      const next = this.#queue.shift();
      if (next === undefined) this.#free++;
      else next();
    };
    const timer = setTimeout(release, LONG_MS);
    try {
      return await work();
    } finally {
      release();
    }
  }

  close(): void {
    this.#closed = true;
    for (const next of this.#queue.splice(0)) next();
  }
}

const LABEL_COLUMNS = 100;
/** A machine that could not be reached is not tried more often than this. */
const AGAIN_MS = 10_000;
const SOON_MS = 300;
/** How long an operator who changes to several machines waits for them. */
const ANSWER_MS = 10_000;
const ATTEMPTS = 3;
const DROPPED_MS = 300;
const LONG_MS = 5_000;

/** The target of a run that has several machines, wired to the run. */
export function runFleet(
  run: Run,
  options: RunOptions,
  places: Run["places"],
  before: Pick<Workplace, "fleet" | "target"> | undefined,
): LazyFleet {
  const { loaded, globals } = options;
  return new LazyFleet({
    places,
    kept: (place) => before?.target.targets.find((target) => target.isAt(place)),
    shells: before?.fleet?.parts.shells,
    open: options.open ?? openTarget,
    targetOptions: (place) => ({
      ...targetOptions(loaded, globals, place),
      bourne: true,
      outputs: run.outputs,
      session: () => run.sessions.id,
    }),
    permit: (target, place) => machineParts({ loaded, target, place, rules: run.rules, local: isLocal(place) }),
    approvals: run.approvals,
    limits: {
      parallel: loaded.config.fleet.parallel,
      bounded: loaded.origins.has("fleet.parallel") || options.fleet?.parallel !== undefined,
      ...options.fleet,
    },
    onNotice: (machine, notice) => run.onNotice(notice, machine),
    onOpen: (machine, { identity: { label, user, host, machine: id, attach } }) =>
      run.agent.publish({ type: "machine", machine, state: "open", label, user, host, id, ...defined({ attach }) }),
    onUnreachable: (machine, label, error) =>
      run.agent.publish({ type: "machine", machine, state: "unreachable", label, message: messageOf(error) }),
  });
}
