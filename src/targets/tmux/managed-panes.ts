/** The tmux sessions and panes that buddy manages on a target: those with its mark, within limits, and no others. */
import { BuddyError } from "../../lib/errors.ts";
import type { ManagedPane, Pane, PaneSelector, Panes } from "../target.ts";
import type { CleanChildren } from "../read-only/clean-children.ts";
import type { OutputStore } from "../output/output-store.ts";
import { paneCommand } from "./bootstrap.ts";
import { unmanagedPane } from "./unmanaged-pane.ts";
import { NoPrompt, NoShell, TmuxPane } from "./pane.ts";
import { markPane, type PaneRow } from "./session-info.ts";
import { tmuxQuote } from "./control.ts";
import { removeLeftovers } from "./session-files.ts";
import { TmuxSession, type TmuxSessionOptions } from "./tmux-session.ts";

export interface ManagedPanesOptions {
  /** For the default session; others are created in the same way. */
  readonly session: TmuxSessionOptions;
  readonly maxSessions: number;
  readonly maxPanes: number;
  readonly outputStore: OutputStore;
  readonly clean: Pick<CleanChildren, "reader" | "scriptForReader" | "inPane">;
}

const SHARED = "shared";
/** By then the first command has started. */
const LEFTOVERS_AFTER_MS = 1000;

export class ManagedPanes implements Panes {
  readonly #options: ManagedPanesOptions;
  /** The session with the shared pane. */
  readonly #default: TmuxSession;
  /** The others. */
  readonly #sessions = new Map<string, TmuxSession>();
  readonly #panes = new Map<string, TmuxPane>();
  /** Those that are just being found. */
  readonly #found = new Map<string, Promise<TmuxPane>>();
  #leftovers: ReturnType<typeof setTimeout> | undefined;

  constructor(options: ManagedPanesOptions) {
    this.#options = options;
    this.#default = new TmuxSession(options.session);
  }

  /** Name of the default session, and prefix of all others. */
  get session(): string {
    return this.#default.name;
  }

  /** The shared pane of the default session, ready for commands. */
  async openShared(): Promise<TmuxPane> {
    const session = this.#default;
    const created = await session.open();
    if (session.whyMoved !== "") {
      const text = `The tmux session ${session.options.session} ${session.whyMoved}; using ${session.name} instead.`;
      this.#options.session.notice({ kind: "info", text });
    }
    this.#leftovers = setTimeout(() => {
      const { directory, options } = session;
      removeLeftovers(options.transport, directory.slice(0, directory.lastIndexOf("/"))).catch(() => {});
    }, LEFTOVERS_AFTER_MS);
    this.#leftovers.unref();
    const row = await this.#sharedRow(session);
    const isNew = created || row.fresh === true;
    try {
      return await this.#manage(session, SHARED, row, isNew);
    } catch (error) {
      if (error instanceof NoPrompt) return this.#withoutStartUpFiles(session, row, error.message);
      // The cause may have been fixed since an earlier buddy created the pane.
      if (error instanceof NoShell && !isNew) return this.#recreate(session, row);
      throw error;
    }
  }

  /**
   * The user's start-up files reach no prompt (`exec fish` in .bashrc, for example): recreates the pane without them.
   */
  async #withoutStartUpFiles(session: TmuxSession, row: PaneRow, why: string): Promise<TmuxPane> {
    const pane = await this.#recreate(session, row, true);
    this.#options.session.notice({
      kind: "warning",
      text: `The start-up files of ${session.options.shell.name} did not reach a prompt (${why}); the pane runs without them.`,
    });
    return pane;
  }

  async #recreate(session: TmuxSession, row: PaneRow, plain = false): Promise<TmuxPane> {
    this.#panes.get(paneKey(session, SHARED))?.release();
    const fresh = await this.#newPane(session, SHARED, plain);
    await session.ask(`kill-pane -t ${row.id}`);
    return this.#manage(session, SHARED, fresh, true);
  }

  async pane(selector: PaneSelector = {}): Promise<Pane> {
    if (selector.target !== undefined) return this.#byTarget(selector.target);
    const session = await this.#opened(selector.session);
    const name = validName("pane", selector.pane ?? SHARED);
    const key = paneKey(session, name);
    const known = this.#found.get(key) ?? this.#panes.get(key);
    if (known !== undefined) return known;
    // Calls in parallel share it: a pane has one follower.
    const found = this.#find(session, name).finally(() => this.#found.delete(key));
    this.#found.set(key, found);
    return found;
  }

  async #find(session: TmuxSession, name: string): Promise<TmuxPane> {
    const row = (await session.panes()).find((one) => one.name === name);
    if (row === undefined && name === SHARED) return this.#manage(session, name, await this.#sharedRow(session), true);
    return this.#manage(session, name, row ?? (await this.#noPane(session, name)), false);
  }

  async #noPane(session: TmuxSession, name: string): Promise<never> {
    throw new BuddyError("tool", `there is no managed pane ${JSON.stringify(name)} in ${session.name}`, {
      hint: `Managed panes: ${(await this.list()).map((one) => `${one.session}/${one.pane}`).join(", ")}.`,
      advice: "Create one with tmux-create-pane.",
    });
  }

  async createSession(name: string): Promise<{ session: string; created: boolean }> {
    const full = this.#fullName(name);
    const existing = await this.#managedSessions();
    if (existing.includes(full)) return { session: full, created: false };
    if (existing.length >= this.#options.maxSessions) {
      throw new BuddyError(
        "tool",
        `there are ${existing.length} managed sessions already, the limit is ${this.#options.maxSessions}`,
        {
          hint: "[tmux] max_sessions raises the limit.",
          advice: "End one with tmux-kill-session, or use another pane.",
        },
      );
    }
    const session = this.#session(full);
    await session.open();
    await this.#manage(session, SHARED, await this.#sharedRow(session), true);
    return { session: full, created: true };
  }

  async killSession(name: string): Promise<void> {
    const full = this.#fullName(name);
    if (full === this.session) {
      throw new BuddyError("tool", `${full} is the default session and cannot be ended`, {
        advice: "Only sessions created with tmux-create-session can be ended.",
      });
    }
    await this.#requireManaged(full);
    for (const [key, pane] of this.#panes) {
      if (!key.startsWith(`${full}/`)) continue;
      pane.release();
      this.#panes.delete(key);
    }
    const session = this.#sessions.get(full);
    this.#sessions.delete(full);
    await session?.close();
    await this.#default.ask(`kill-session -t ${tmuxQuote(session?.id || `=${full}`)}`);
    await session?.removeFiles();
  }

  async createPane(name: string, sessionName?: string): Promise<{ session: string; pane: string; created: boolean }> {
    const session = await this.#opened(sessionName);
    const pane = validName("pane", name);
    const rows = (await session.panes()).filter((row) => row.name !== "");
    if (rows.some((row) => row.name === pane)) return { session: session.name, pane, created: false };
    if (rows.length >= this.#options.maxPanes) {
      throw new BuddyError(
        "tool",
        `${session.name} has ${rows.length} managed panes already, the limit is ${this.#options.maxPanes}`,
        {
          hint: "[tmux] max_panes raises the limit.",
          advice: "End one with tmux-kill-pane.",
        },
      );
    }
    await this.#manage(session, pane, await this.#newPane(session, pane), true);
    return { session: session.name, pane, created: true };
  }

  async killPane(name: string, sessionName?: string): Promise<void> {
    const session = await this.#opened(sessionName);
    const pane = validName("pane", name);
    if (pane === SHARED) {
      throw new BuddyError("tool", "the shared pane cannot be closed", {
        advice: "Only panes created with tmux-create-pane can be closed.",
      });
    }
    const row = (await session.panes()).find((one) => one.name === pane) ?? (await this.#noPane(session, pane));
    this.#panes.get(paneKey(session, pane))?.release();
    this.#panes.delete(paneKey(session, pane));
    await session.ask(`kill-pane -t ${row.id}`);
  }

  async list(): Promise<readonly ManagedPane[]> {
    const found: ManagedPane[] = [];
    for (const name of await this.#managedSessions()) {
      const session = await this.#opened(name);
      for (const row of await session.panes()) {
        if (row.name === "") continue;
        const running = this.#panes.get(paneKey(session, row.name))?.running;
        const pane = { session: name, pane: row.name, shared: row.name === SHARED, command: row.command };
        found.push(running === undefined ? pane : Object.assign(pane, { running }));
      }
    }
    return found;
  }

  async close(): Promise<void> {
    clearTimeout(this.#leftovers);
    await Promise.all([...this.#panes.values()].map((pane) => pane.leaveAdopted()));
    for (const pane of this.#panes.values()) pane.release();
    await Promise.all([this.#default, ...this.#sessions.values()].map((session) => session.close()));
  }

  async #manage(session: TmuxSession, name: string, row: PaneRow, created: boolean): Promise<TmuxPane> {
    const pane = new TmuxPane(row, {
      session,
      name,
      outputStore: this.#options.outputStore,
      clean: this.#options.clean,
      notice: this.#options.session.notice,
      revive: () => this.#revive(session, name),
    });
    this.#panes.set(paneKey(session, name), pane);
    await pane.start(created);
    return pane;
  }

  async #revive(session: TmuxSession, name: string): Promise<PaneRow> {
    await session.open();
    if (name === SHARED) return this.#sharedRow(session);
    return (await session.panes()).find((row) => row.name === name) ?? this.#newPane(session, name);
  }

  /** The pane marked `shared`, or a new one. */
  async #sharedRow(session: TmuxSession): Promise<PaneRow & { readonly fresh?: boolean }> {
    const rows = (await session.panes()).filter((row) => !row.dead);
    const row = rows.find((one) => one.name === SHARED);
    return row ?? { ...(await this.#newPane(session, SHARED)), fresh: true };
  }

  async #newPane(session: TmuxSession, name: string, plain = false): Promise<PaneRow> {
    const { options } = session;
    const command = paneCommand(options, { plain, directory: session.directory });
    const window = name === SHARED ? "buddy-shared" : name;
    const words = command.map(tmuxQuote).join(" ");
    const made = await session.ask(
      `new-window -d -P -F '#{pane_id}' -t ${session.target} -n ${tmuxQuote(window)} -c ${tmuxQuote(options.cwd)} ${words}`,
    );
    const id = made[0] ?? "";
    await session.send(markPane(id, name, this.session));
    const row = (await session.panes()).find((one) => one.id === id);
    if (row === undefined) throw new BuddyError("target", "the new pane ended at once", { hint: made.join("\n") });
    return row;
  }

  async #byTarget(target: string): Promise<Pane> {
    const session = await this.#opened();
    const [id = "", owner = "", name = "", sessionName = ""] =
      (
        await session.ask(
          `display-message -p -t ${tmuxQuote(target)} '#{pane_id}|#{@buddy_owner}|#{@buddy_pane}|#{session_name}'`,
        )
      )[0]?.split("|") ?? [];
    if (!id.startsWith("%")) {
      throw new BuddyError("tool", `tmux has no pane ${JSON.stringify(target)}`, {
        hint: "Name a managed session and pane instead.",
      });
    }
    if (owner === this.session && name !== "") return this.pane({ session: sessionName, pane: name });
    return unmanagedPane({
      tmux: session,
      id,
      mayType: false,
      refusal: () =>
        new BuddyError("tool", `pane ${id} is not managed by buddy and is never changed`, {
          advice: "Use the shared pane, or create one with tmux-create-pane.",
        }),
    });
  }

  async #opened(name?: string): Promise<TmuxSession> {
    const full = name === undefined ? this.session : this.#fullName(name);
    const session = full === this.session ? this.#default : this.#sessions.get(full);
    if (session?.connected === true) return session;
    if (full !== this.session) await this.#requireManaged(full);
    const fresh = this.#session(full);
    await fresh.open();
    return fresh;
  }

  async #requireManaged(name: string): Promise<void> {
    const managed = await this.#managedSessions();
    if (managed.includes(name)) return;
    throw new BuddyError("tool", `${JSON.stringify(name)} is not a session that buddy manages`, {
      hint: `Managed sessions: ${managed.join(", ")}.`,
    });
  }

  async #managedSessions(): Promise<string[]> {
    const session = await this.#opened();
    const lines = await session.ask(
      "list-sessions -F '#{session_id}|#{session_name}|#{@buddy_managed}|#{@buddy_owner}'",
    );
    // The operator may have renamed an open session.
    const open = new Map([this.#default, ...this.#sessions.values()].map((one) => [one.id, one.name]));
    return lines
      .map((line) => line.split("|"))
      .filter(([, , managed, owner]) => managed === "1" && owner === this.session)
      .map(([id = "", name = ""]) => open.get(id) ?? name);
  }

  #session(name: string): TmuxSession {
    if (name === this.session) return this.#default;
    const known = this.#sessions.get(name);
    if (known !== undefined) return known;
    const session = new TmuxSession({ ...this.#options.session, session: name, owner: this.session });
    this.#sessions.set(name, session);
    return session;
  }

  #fullName(name: string): string {
    validName("session", name);
    return name === this.session || name.startsWith(`${this.session}-`) ? name : `${this.session}-${name}`;
  }
}

/** By the configured name: the default session may get another one. */
function paneKey(session: TmuxSession, pane: string): string {
  return `${session.options.session}/${pane}`;
}

function validName(what: "pane" | "session", name: string): string {
  if (/^[\w-]{1,64}$/.test(name)) return name;
  throw new BuddyError("tool", `${JSON.stringify(name)} is not a valid ${what} name`, {
    hint: "Use letters, digits, - and _ only.",
  });
}
