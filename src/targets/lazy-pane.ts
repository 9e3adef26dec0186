/**
 * The shared pane of one of many machines: created with the first command that needs approval. Until then commands that
 * only read run in a direct shell; the pane then enters the directory of that shell.
 */
import type { DirectShell } from "./direct/direct-shell.ts";
import { BuddyError } from "../lib/errors.ts";
import type { AdoptedShell } from "./tmux/adopted-shell.ts";
import type { ManagedPanes } from "./tmux/managed-panes.ts";
import type { TmuxPane } from "./tmux/pane.ts";
import type {
  OutputPage,
  Pane,
  Panes,
  PaneSelector,
  ReadOutputOptions,
  RunOptions,
  RunResult,
  Shell,
  ShellPlace,
} from "./target.ts";

export interface LazyPaneOptions {
  readonly panes: ManagedPanes;
  /** Runs commands without approval before there is a pane, and all commands if there cannot be one. */
  readonly direct: DirectShell;
  /** Throws if the machine's tmux cannot be used. */
  usable(): Promise<void>;
  /** Changes the directory of the new pane. */
  enter(pane: Pane, cwd: string): Promise<void>;
  /** Reports why there is no pane; rethrows any other error. */
  unusable(error: unknown): void;
}

export class LazyPane implements Shell, Panes {
  readonly #options: LazyPaneOptions;
  #opening: Promise<Shell> | undefined;
  #pane: Shell | undefined;
  #shared: TmuxPane | undefined;

  constructor(options: LazyPaneOptions) {
    this.#options = options;
  }

  get kind(): Shell["kind"] {
    return this.#pane?.kind ?? "tmux";
  }

  get cwd(): string {
    return (this.#pane ?? this.#options.direct).cwd;
  }

  get environmentFile(): string | undefined {
    return (this.#pane ?? this.#options.direct).environmentFile;
  }

  get environmentVersion(): number | undefined {
    return (this.#pane ?? this.#options.direct).environmentVersion;
  }

  /** Undefined while there is no pane. */
  get session(): string | undefined {
    return this.#pane?.kind === "tmux" ? this.#options.panes.session : undefined;
  }

  /** A question asks this, which may be refused: only what runs needs a pane, and that begins where this shell is. */
  async where(): Promise<ShellPlace> {
    return (this.#opening === undefined ? this.#options.direct : await this.#opening).where();
  }

  async run(command: string, options: RunOptions = {}): Promise<RunResult> {
    if (this.#opening === undefined && options.unasked !== undefined && options.noWait !== true) {
      const result = await this.#options.direct.run(command, options);
      const { outcome } = result;
      // The pane's shell may find more programs through its start-up files; this attempt changed nothing.
      if (outcome.kind !== "exited" || outcome.code !== NOT_FOUND) return result;
    }
    return (await this.#shell()).run(command, options);
  }

  async wait(options?: Omit<RunOptions, "noWait">): Promise<RunResult> {
    return (this.#opening === undefined ? this.#options.direct : await this.#opening).wait(options);
  }

  readOutput(id: string, options?: ReadOutputOptions): Promise<OutputPage> {
    return this.#options.direct.readOutput(id, options);
  }

  async close(): Promise<void> {
    if (this.#opening !== undefined) await this.#options.panes.close();
    await this.#options.direct[Symbol.asyncDispose]();
  }

  async adopt(ended: () => void): Promise<AdoptedShell> {
    await this.#shell();
    if (this.#shared === undefined) throw new BuddyError("target", "tmux cannot be used on this machine");
    return this.#shared.adopt(ended);
  }

  // --- panes ---

  pane(selector?: PaneSelector): Promise<Pane> {
    return this.#withPanes((panes) => panes.pane(selector));
  }

  createSession(name: string): ReturnType<Panes["createSession"]> {
    return this.#withPanes((panes) => panes.createSession(name));
  }

  killSession(name: string): Promise<void> {
    return this.#withPanes((panes) => panes.killSession(name));
  }

  createPane(name: string, session?: string): ReturnType<Panes["createPane"]> {
    return this.#withPanes((panes) => panes.createPane(name, session));
  }

  killPane(name: string, session?: string): Promise<void> {
    return this.#withPanes((panes) => panes.killPane(name, session));
  }

  list(): ReturnType<Panes["list"]> {
    return this.#opening === undefined ? Promise.resolve([]) : this.#withPanes((panes) => panes.list());
  }

  async #withPanes<T>(act: (panes: ManagedPanes) => Promise<T>): Promise<T> {
    await this.#shell();
    return act(this.#options.panes);
  }

  #shell(): Promise<Shell> {
    return (this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    }));
  }

  async #open(): Promise<Shell> {
    const { panes, direct, usable, enter, unusable } = this.#options;
    // If the sshd allows few sessions, the pane needs that of the direct shell.
    await direct.rest();
    try {
      await usable();
      const pane = (this.#shared = await panes.openShared());
      if (pane.cwd !== direct.cwd) await enter(pane, direct.cwd);
      return (this.#pane = pane);
    } catch (error) {
      unusable(error);
      return (this.#pane = direct);
    }
  }
}

const NOT_FOUND = 127;
