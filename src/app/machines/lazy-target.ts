/** The target of a run: opened while the first model request is under way; what is known about it before and after. */
import { defined } from "../../lib/values.ts";
import { currentDirectory, exactName } from "../../lib/byte-names.ts";
import { isLocal, labelOfPath, pathKey, type Place } from "../../targets/place.ts";
import type { Target, TargetNotice, TargetOptions } from "../../targets/target.ts";
import type { TargetFacts } from "../../tools/tool.ts";
import type { GlobalOptions } from "../../cli/args/options.ts";
import type { LoadedConfig } from "../../config/load.ts";
import { within } from "../../lib/waiting.ts";
import { surroundingTmux } from "../../lib/terminal.ts";

interface LazyTargetOptions {
  readonly open: (options: TargetOptions) => Promise<Target>;
  readonly target: Omit<TargetOptions, "signal" | "onNotice">;
  readonly onNotice: OnNotice;
  /** The target is open. */
  readonly onOpen: (target: Target) => void;
}

type OnNotice = (notice: TargetNotice) => void;

/** What a run works on: one machine, or several. */
export interface RunTarget extends AsyncDisposable {
  /** Why it could not be opened, if a tool wanted it. */
  readonly error: unknown;
  readonly opened: Target | undefined;
  /** One for each machine. */
  readonly targets: readonly LazyTarget[];
  start(): void;
  get(): Promise<Target>;
  facts(): TargetFacts;
  leaveIfSilent(): Promise<void>;
  /** It is in use now. Notices of a machine that was open before go here, if it is the only one. */
  follow(onNotice: OnNotice): void;
  /** Closes all machines but these. */
  leave(staying: readonly LazyTarget[]): Promise<void>;
}

export class LazyTarget implements RunTarget {
  readonly #options: LazyTargetOptions;
  readonly #leave = new AbortController();
  #onNotice: OnNotice;
  #opening: Promise<Target> | undefined;
  #opened: Target | undefined;
  #error: unknown;
  #lostAt: number | undefined;
  /** When a failed opening may be tried again. */
  #againAt = Number.POSITIVE_INFINITY;
  #asked = false;
  /** Needed for every event, and does not change in a run. */
  #hasTmux: boolean | undefined;
  #here: Pick<TargetFacts, "who" | "system"> | undefined;

  constructor(options: LazyTargetOptions) {
    this.#options = options;
    this.#onNotice = options.onNotice;
  }

  get targets(): readonly [LazyTarget] {
    return [this];
  }

  /** Whether it is the open target of this place: /on keeps its connection, pane, directory and variables. */
  isAt(place: Place): boolean {
    const { pane, place: own } = this.#options.target;
    if (this.#opened === undefined || this.#opened.isAdopted === true || pane !== undefined) return false;
    return pathKey(own.path) === pathKey(place.path) && own.cd === place.cd && Bun.deepEquals(own.tmux, place.tmux);
  }

  follow(onNotice: OnNotice): void {
    this.#onNotice = onNotice;
  }

  async leave(staying: readonly LazyTarget[]): Promise<void> {
    if (!staying.includes(this)) await this[Symbol.asyncDispose]();
  }

  get error(): unknown {
    return this.#asked ? this.#error : undefined;
  }

  get opened(): Target | undefined {
    return this.#opened;
  }

  /** Since when the connection is down, while it is tried again. */
  get lostAt(): number | undefined {
    return this.#lostAt;
  }

  /** A tool wanted it, and it was never there. */
  get isMissed(): boolean {
    return this.#asked && this.#opened === undefined;
  }

  /** Begins to open it; a failure is kept for the first caller of get(). */
  start(): void {
    if (this.#opening === undefined) this.#begin().catch(() => undefined);
  }

  async get(): Promise<Target> {
    this.#asked = true;
    return this.#begin();
  }

  facts(): TargetFacts {
    const { target } = this.#options;
    const opened = this.#opened;
    if (opened !== undefined) {
      const { label, user, host, os, shellName } = opened.identity;
      // The current directory, not the first one.
      const cwd = opened.shell.cwd || opened.identity.cwd;
      return {
        label,
        who: `${user}@${host}`,
        system: `${os}, ${shellName}`,
        cwd,
        tmux: opened.panes !== undefined,
        ...(opened.ownPane === undefined ? {} : { ownPane: true }),
      };
    }
    // Only the shell in the pane knows its user and directory.
    if (target.pane !== undefined) return { label: `pane ${target.pane}`, tmux: true };
    const label = labelOfPath(target.place.path);
    if (!isLocal(target.place)) {
      const tmux = target.tmux === "auto" ? undefined : target.tmux === "required";
      return { label, tmux, ...defined({ cwd: target.cwd }) };
    }
    const tmux =
      target.tmux === "required" || (target.tmux === "auto" && (this.#hasTmux ??= Bun.which("tmux") !== null));
    const ownPane = !tmux && Boolean(surroundingTmux() && process.env["TMUX_PANE"]);
    const cwd = exactName(target.cwd ?? currentDirectory());
    return { label, ...(this.#here ??= thisMachine()), cwd, tmux, ...(ownPane ? { ownPane } : {}) };
  }

  /** The run is about to end: stops opening, and abandons a machine that does not answer, so that the exit is quick. */
  async leaveIfSilent(): Promise<void> {
    this.#leave.abort();
    const target = this.#opened;
    if (target === undefined || (await target.transport.answers(SILENCE_MS))) return;
    // Closed before it is cut, so that nothing tries to reconnect.
    void Promise.resolve(target[Symbol.asyncDispose]()).catch(() => undefined);
    await target.transport.abandon();
  }

  /** Stops opening, or closes the target; waits only a moment if it does not answer or was never used. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#opening === undefined) return;
    this.leaveIfSilent().catch(() => undefined);
    const closing = this.#opening.then((target) => target[Symbol.asyncDispose]()).catch(() => undefined);
    await within(closing, this.#asked ? CLOSE_MS : CLOSE_UNUSED_MS);
  }

  #begin(): Promise<Target> {
    // A failed opening is tried again by the next tool call: the network may be back.
    if (this.#opening === undefined || performance.now() >= this.#againAt) {
      this.#againAt = Number.POSITIVE_INFINITY;
      this.#opening = this.#open();
    }
    return this.#opening;
  }

  async #open(): Promise<Target> {
    const { open, target, onOpen } = this.#options;
    const onNotice: OnNotice = (notice) => {
      // A warning says that it was given up.
      if (notice.kind === "reconnecting") this.#lostAt = Date.now();
      else if (notice.kind === "reconnected" || notice.kind === "warning") this.#lostAt = undefined;
      this.#onNotice(notice);
    };
    const since = performance.now();
    try {
      const opened = await open({ ...target, signal: this.#leave.signal, onNotice });
      this.#opened = opened;
      this.#error = undefined;
      onOpen(opened);
      return opened;
    } catch (error) {
      this.#error = error;
      const now = performance.now();
      this.#againAt = now - since < LONG_MS ? now : now + (now - since);
      throw error;
    }
  }
}

/** Enough about this machine for the system prompt, before its shell is open. */
function thisMachine(): Pick<TargetFacts, "who" | "system"> {
  const user = process.getuid?.() === 0 ? "root" : (process.env["USER"] ?? process.env["LOGNAME"]);
  const system = `${process.platform === "darwin" ? "macOS" : "Linux"} ${process.arch}`;
  return { system, ...defined({ who: user }) };
}

/** An opening that took this long to fail is not tried again for as long; until then, calls get its error. */
const LONG_MS = 5_000;
const SILENCE_MS = 500;
const CLOSE_MS = 1_500;
/** A target that was never used cleans up after itself, even when this process is gone. */
const CLOSE_UNUSED_MS = 10;

// How the target is opened, by command line and configuration.

/** The command line comes before the configuration of a place. */
export function targetOptions(
  loaded: LoadedConfig,
  globals: Pick<GlobalOptions, "on" | "cd" | "tmux" | "tmuxSession" | "pane">,
  place: Place,
): Omit<TargetOptions, "signal" | "onNotice"> {
  const { config } = loaded;
  // Without --on, the process itself has already changed to --cd.
  const cd = globals.cd ?? place.cd;
  const cwd =
    isLocal(place) && globals.on === undefined ? loaded.cwd : (cd ?? (isLocal(place) ? loaded.cwd : undefined));
  const tmuxSession = globals.tmuxSession ?? (globals.tmux === "auto" ? place.tmux?.session : undefined);
  return {
    place,
    tmux: globals.tmux === "auto" ? (place.tmux?.mode ?? "auto") : globals.tmux,
    ...defined({ tmuxSession, pane: globals.pane }),
    agentName: config.agent.name,
    tmuxSocket: config.tmux.socket,
    maxSessions: config.tmux.max_sessions,
    tmuxIdleMs: config.tmux.idle,
    maxPanes: config.tmux.max_panes,
    ...defined({ cwd }),
    backgroundTimeoutMs: config.tools.background_timeout,
    secondLock: config.safety.read_only_namespace,
  };
}

/** Loaded when a machine is opened, which many runs never do. */
export const openTarget = async (wanted: TargetOptions) => (await import("../../targets/open.ts")).openTarget(wanted);
