/**
 * The target of a run: opened alongside the first model request, and only if there is a prompt; its facts before and
 * after.
 */
import { defined } from "../../lib/values.ts";
import { currentDirectory, exactName } from "../../lib/byte-names.ts";
import { isLocal, labelOfPath, type Place } from "../../targets/place.ts";
import type { Target, TargetNotice, TargetOptions } from "../../targets/target.ts";
import type { TargetFacts } from "../../tools/tool.ts";
import type { GlobalOptions } from "../../cli/args/options.ts";
import type { LoadedConfig } from "../../config/load.ts";
import { secretVariables } from "../../config/profiles.ts";
import { within } from "../../lib/waiting.ts";

interface LazyTargetOptions {
  readonly open: (options: TargetOptions) => Promise<Target>;
  readonly target: Omit<TargetOptions, "signal" | "onNotice">;
  readonly onNotice: (notice: TargetNotice) => void;
  /** The machine has reported who it is. */
  readonly onOpen: (target: Target) => void;
}

/** What a run works on: one machine, or several. */
export interface RunTarget extends AsyncDisposable {
  /** Why it could not be opened, if a tool wanted it. */
  readonly error: unknown;
  readonly opened: Target | undefined;
  start(): void;
  get(): Promise<Target>;
  facts(): TargetFacts;
  leaveIfSilent(): Promise<void>;
}

export class LazyTarget implements RunTarget {
  readonly #options: LazyTargetOptions;
  readonly #leave = new AbortController();
  #opening: Promise<Target> | undefined;
  #opened: Target | undefined;
  #error: unknown;
  /** A failed opening may be tried again from then on. */
  #againAt = Number.POSITIVE_INFINITY;
  #asked = false;
  /** Asked for with every event, and does not change in one run. */
  #hasTmux: boolean | undefined;
  #here: Pick<TargetFacts, "who" | "system"> | undefined;

  constructor(options: LazyTargetOptions) {
    this.#options = options;
  }

  get error(): unknown {
    return this.#asked ? this.#error : undefined;
  }

  get opened(): Target | undefined {
    return this.#opened;
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
      // Where commands run now, not where they began.
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
    // Only the shell in it knows who and where it is.
    if (target.pane !== undefined) return { label: `pane ${target.pane}`, tmux: true };
    const label = labelOfPath(target.place.path);
    if (!isLocal(target.place)) {
      const tmux = target.tmux === "auto" ? undefined : target.tmux === "required";
      return { label, tmux, ...defined({ cwd: target.cwd }) };
    }
    const tmux =
      target.tmux === "required" || (target.tmux === "auto" && (this.#hasTmux ??= Bun.which("tmux") !== null));
    const ownPane = !tmux && Boolean(process.env["TMUX"] && process.env["TMUX_PANE"]);
    const cwd = exactName(target.cwd ?? currentDirectory());
    return { label, ...(this.#here ??= thisMachine()), cwd, tmux, ...(ownPane ? { ownPane } : {}) };
  }

  /** The run is about to end: stops opening, and abandons a machine that does not answer, so that the exit is quick. */
  async leaveIfSilent(): Promise<void> {
    this.#leave.abort();
    const target = this.#opened;
    if (target === undefined || (await target.transport.answers(SILENCE_MS))) return;
    // Closed first, then cut: nothing tries to connect again.
    void Promise.resolve(target[Symbol.asyncDispose]()).catch(() => undefined);
    await target.transport.abandon();
  }

  /**
   * Stops opening, or closes the target; waits only a moment for a machine that does not answer, or that was not used.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#opening === undefined) return;
    this.leaveIfSilent().catch(() => undefined);
    const closing = this.#opening.then((target) => target[Symbol.asyncDispose]()).catch(() => undefined);
    await within(closing, this.#asked ? LONGEST_GOODBYE_MS : SHORT_GOODBYE_MS);
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
    const { open, target, onNotice, onOpen } = this.#options;
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

/** Enough of this machine for the system prompt, before any shell was asked. */
function thisMachine(): Pick<TargetFacts, "who" | "system"> {
  const user = process.getuid?.() === 0 ? "root" : (process.env["USER"] ?? process.env["LOGNAME"]);
  const system = `${process.platform === "darwin" ? "macOS" : "Linux"} ${process.arch}`;
  return { system, ...defined({ who: user }) };
}

/** After an opening that failed this late, further calls get its error at once for as long again. */
const LONG_MS = 5_000;
const SILENCE_MS = 500;
const LONGEST_GOODBYE_MS = 1_500;
/** What was being opened for nothing is ended by its guards, also when this process is gone. */
const SHORT_GOODBYE_MS = 10;

// How the machine of a run is opened: what the command line and the configuration say about it.

/** The command line comes before what the configuration says about a place. */
export function targetOptions(
  loaded: LoadedConfig,
  globals: Pick<GlobalOptions, "on" | "cd" | "tmux" | "tmuxSession" | "pane">,
  place: Place,
): Omit<TargetOptions, "signal" | "onNotice"> {
  const { config } = loaded;
  // Without --on the process has changed to the local --cd already.
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
    secondLock: config.safety.second_lock,
    secretEnv: secretVariables(loaded),
  };
}

/** Loaded when a machine is opened, which many runs never do. */
export const openTarget = async (wanted: TargetOptions) => (await import("../../targets/open.ts")).openTarget(wanted);
