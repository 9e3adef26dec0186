/** Opens a target from its options: connects to the machine, chooses and starts its shell, and identifies it. */
import { shownName } from "../lib/byte-names.ts";
import { BuddyError } from "../lib/errors.ts";
import { adoptable, refusingTarget } from "./adoption.ts";
import { backgroundShells } from "./background/background.ts";
import { TmuxUnusable } from "./errors.ts";
import { CleanChildren } from "./read-only/clean-children.ts";
import { fileAccess } from "./files/files.ts";
import { isLocal, labelOfHop } from "./place.ts";
import { quote } from "../lib/quote.ts";
import { DirectShell } from "./direct/direct-shell.ts";
import { OutputStore } from "./output/output-store.ts";
import { choosePaneShell, type PaneShell } from "./tmux/bootstrap.ts";
import { insideManagedPane, ownPane } from "./tmux/unmanaged-pane.ts";
import { NoShell } from "./tmux/pane.ts";
import { LazyPane } from "./lazy-pane.ts";
import { ManagedPanes } from "./tmux/managed-panes.ts";
import type { Pane, Panes, Shell, Target, TargetIdentity, TargetNotice, TargetOptions, Transport } from "./target.ts";
import { askTmux } from "./connection/identity.ts";
import { openTransport } from "./connection/open-transport.ts";
import { attachCommand, tmuxSocket } from "./attach-command.ts";
import { sha256 } from "../lib/values.ts";

export async function openTarget(options: TargetOptions): Promise<Target> {
  const notices = new Notices(options.onNotice);
  if (options.pane === undefined && options.tmux !== "never" && isLocal(options.place)) await insideManagedPane();
  const unusable = (error: unknown): string => {
    if (!(error instanceof TmuxUnusable) || options.tmux === "required") throw error;
    return error instanceof NoShell ? `${error.message} (attach to the pane, which says what to do)` : error.message;
  };
  const transport = await openTransport(options, true);
  const tellMissing = (why: string) =>
    notices.tell({
      kind: "info",
      text: `${why}; commands run in a direct shell without a pane to watch.`,
    });
  const abandon = () => void transport.abandon();
  options.signal?.addEventListener("abort", abandon);
  try {
    if (options.pane !== undefined) {
      const none = await tmuxMissing(transport);
      if (none !== undefined) throw new BuddyError("target", `--pane ${options.pane} needs tmux 3.2 or newer: ${none}`);
      return await openOperatorPane(transport, options.pane, options, notices);
    }
    const later =
      options.paneLater === true || (transport.guardShell !== undefined && transport.facts.tmuxUnasked === true);
    if (later && options.tmux === "auto")
      return openForMany(transport, options, notices, (error) => tellMissing(unusable(error)));
    const missing = options.tmux === "never" ? "" : await tmuxMissing(transport);
    if (missing !== undefined && options.tmux === "required") {
      throw new BuddyError("target", `--tmux cannot be used: ${missing} (${transport.label})`, {
        hint: "Install tmux 3.2 or newer on that machine, or leave --tmux out.",
      });
    }
    const opened = missing === undefined ? await openWithPane(transport, options, notices).catch(unusable) : missing;
    if (typeof opened !== "string") return opened;
    if (opened !== "") tellMissing(opened);
    return openDirect(transport, options, notices);
  } catch (error) {
    await transport[Symbol.asyncDispose]();
    throw error;
  } finally {
    options.signal?.removeEventListener("abort", abandon);
  }
}

async function tmuxMissing(transport: Transport): Promise<string | undefined> {
  const { tmuxVersion: version, tmuxProblem = "tmux is not installed" } = await askTmux(transport);
  if (version === undefined) return tmuxProblem;
  return isTooOld(version) ? `tmux ${version} is too old: 3.2 is needed` : undefined;
}

function isTooOld(version: string): boolean {
  // "master" and "openbsd-7.4" have no version number like 3.2 and are new enough.
  const [, major, minor] = (/^(\d+)\.(\d+)/.exec(version) ?? []).map(Number);
  return major !== undefined && minor !== undefined && (major < 3 || (major === 3 && minor < 2));
}

async function openWithPane(transport: Transport, options: TargetOptions, notices: Notices): Promise<Target> {
  const base = parts(transport, options, notices);
  const shell = paneShell(transport, options);
  const panes = managedPanes(base);
  // In parallel with the pane: the first command needs both. Not remotely: a connection may allow few programs at once.
  if (transport.kind === "local") base.clean.start();
  try {
    const shared = await panes.openShared();
    const wanted = options.cwd !== undefined || transport.kind === "local";
    if (wanted && shared.cwd !== transport.facts.cwd) await enterDirectory(shared, transport.facts.cwd, notices);
    const identity = identify(transport, shell.name, {
      session: panes.session,
      attach: attachCommand(options, panes.session, transport),
    });
    const target = assemble({ ...base, identity, shell: shared, panes, close: () => panes.close() });
    return adoptable(target, shared, { tell: notices.tell });
  } catch (error) {
    await Promise.all([panes.close(), base.clean.end()]);
    base.outputStore[Symbol.dispose]();
    throw error;
  }
}

/** One of many machines: its pane is created with the first command that needs approval. */
function openForMany(
  transport: Transport,
  options: TargetOptions,
  notices: Notices,
  unusable: (error: unknown) => void,
): Target {
  const base = parts(transport, options, notices);
  const pane = new LazyPane({
    panes: managedPanes(base),
    direct: directShell(base),
    usable: async () => {
      const missing = await tmuxMissing(transport);
      if (missing !== undefined) throw new TmuxUnusable("target", missing);
    },
    enter: (shared, cwd) => enterDirectory(shared, cwd, notices),
    unusable,
  });
  const identity: TargetIdentity = {
    ...identify(transport, paneShell(transport, options).name),
    get tmuxSession() {
      return pane.session;
    },
    get attach() {
      return pane.session === undefined ? undefined : attachCommand(options, pane.session, transport);
    },
  };
  const target = assemble({ ...base, identity, shell: pane, panes: pane, close: () => pane.close() });
  return adoptable(target, pane, { tell: notices.tell });
}

function paneShell({ facts }: Transport, { shell, bourne }: TargetOptions): PaneShell {
  return choosePaneShell(facts, shell, bourne);
}

function managedPanes({ transport, options, notices, outputStore, clean }: Parts): ManagedPanes {
  const session = sessionName(options, transport);
  return new ManagedPanes({
    session: {
      transport,
      session,
      owner: session,
      shell: paneShell(transport, options),
      socket: tmuxSocket(options, transport),
      cwd: transport.facts.cwd,
      notice: notices.tell,
      idleMs: options.tmuxIdleMs,
      heartbeatMs: options.heartbeatMs,
    },
    maxSessions: options.maxSessions,
    maxPanes: options.maxPanes,
    outputStore,
    clean,
  });
}

/** A pane of the operator's own tmux: buddy adopts the shell in it and has no other. */
async function openOperatorPane(
  transport: Transport,
  id: string,
  options: TargetOptions,
  notices: Notices,
): Promise<Target> {
  const { OperatorPane } = await import("./tmux/operator-pane.ts");
  const base = parts(transport, { ...options, secondLock: "off" }, notices);
  const pane = await OperatorPane.open({ transport, id, outputStore: base.outputStore }).catch((error: unknown) => {
    base.outputStore[Symbol.dispose]();
    throw error;
  });
  const outer = assemble({
    ...base,
    identity: { ...identify(transport, "no shell"), label: `pane ${id}` },
    shell: await pane.panes.pane(),
    panes: pane.panes,
    close: () => pane.close(),
  });
  const left = () =>
    new BuddyError("target", `the shell that buddy worked in, in pane ${id}, has ended`, {
      hint: "Bring another shell to its prompt there, then /adopt it.",
    });
  const without = refusingTarget(outer, left);
  const target = adoptable(outer, pane, { tell: notices.tell, without });
  try {
    await target.adopt?.();
    return target;
  } catch (error) {
    await pane.close();
    base.outputStore[Symbol.dispose]();
    throw error;
  }
}

/** An existing pane may be in any directory: commands must run where buddy was started, or where --cd says. */
async function enterDirectory(shell: Shell, cwd: string, notices: Notices): Promise<void> {
  const { outcome } = await shell.run(`cd ${quote(cwd)}`, { waitMs: ENTER_MS });
  if (outcome.kind === "exited" && outcome.code === 0) return;
  const why = outcome.kind === "exited" ? `cd failed (exit code ${outcome.code})` : "a program is running in it";
  notices.tell({ kind: "warning", text: `The pane is in ${shownName(shell.cwd)}, not in ${shownName(cwd)}: ${why}.` });
}

const ENTER_MS = 3_000;

function openDirect(transport: Transport, options: TargetOptions, notices: Notices): Target {
  const base = parts(transport, options, notices);
  const shell = directShell(base);
  const up = options.frugal === true && transport.guardShell !== undefined ? Promise.resolve() : shell.warm();
  const name = transport.facts.programs["bash"] === undefined ? "sh" : "bash";
  return assemble({
    ...base,
    identity: identify(transport, name),
    up,
    shell,
    ownPane: transport.kind === "local" ? ownPane() : undefined,
    close: async () => shell[Symbol.asyncDispose](),
  });
}

function directShell({ transport, options, notices, outputStore, clean }: Parts): DirectShell {
  return new DirectShell({
    transport,
    outputStore,
    clean: clean.script,
    standing: clean.standing,
    cwd: transport.facts.cwd,
    notice: notices.tell,
    guardShell: {
      mayUse: () => options.frugal === true && clean.namespace.kind !== "making",
      mayStand: clean.mayStand,
      standAgain: clean.standAgain,
    },
  });
}

/** What every target has, whatever its shell. */
interface Parts {
  readonly transport: Transport;
  readonly options: TargetOptions;
  readonly notices: Notices;
  readonly outputStore: OutputStore;
  readonly clean: CleanChildren;
}

function parts(transport: Transport, options: TargetOptions, notices: Notices): Parts {
  const tell = (text: string) => notices.tell({ kind: "warning", text });
  const outputStore = OutputStore.of(options.outputs, tell);
  const clean = new CleanChildren(transport, options.secondLock, options.frugal);
  return { transport, options, notices, outputStore, clean };
}

interface AllParts extends Parts {
  readonly identity: TargetIdentity;
  /** Resolves when the shell has its process: if sessions are few, it comes before the read-only namespace. */
  readonly up?: Promise<void>;
  readonly shell: Shell;
  readonly panes?: Panes;
  readonly ownPane?: Pane | undefined;
  readonly close: () => Promise<void>;
}

function assemble(all: AllParts): Target {
  const { transport, options, notices, identity, clean, up, shell, panes, ownPane, close } = all;
  let closing: Promise<void> | undefined;
  void Promise.resolve(up)
    .catch(() => {})
    .then(() => {
      if (closing === undefined) clean.start();
    });
  const closeAll = async () => {
    await Promise.all([close(), clean.end()]);
    all.outputStore[Symbol.dispose]();
    await transport[Symbol.asyncDispose]();
  };
  return {
    identity,
    transport,
    shell,
    files: fileAccess(transport, { cwd: () => shell.cwd, shell }),
    background: backgroundShells(transport, {
      timeoutMs: options.backgroundTimeoutMs,
      session: options.session,
      cwd: () => shell.cwd,
      environment: () => shell.environmentFile,
      clean: clean.script,
    }),
    panes,
    ownPane,
    locks: clean,
    onNotice: notices.listen,
    [Symbol.asyncDispose]: () => (closing ??= closeAll()),
  };
}

function identify(
  transport: Transport,
  shellName: string,
  tmux?: { session: string; attach: string | undefined },
): TargetIdentity {
  const { user, host, machine, os, cwd } = transport.facts;
  return {
    label: transport.label,
    user,
    host,
    machine: machine || transport.label,
    os,
    cwd,
    shellName,
    tmuxSession: tmux?.session,
    attach: tmux?.attach,
  };
}

/**
 * Stable for a target, so that a restart finds its session again. Locally each directory has its own: two buddies in
 * two projects must not share a session.
 */
function sessionName(options: TargetOptions, transport: Transport): string {
  if (options.tmuxSession !== undefined && options.tmuxSession !== "") return plainName(options.tmuxSession);
  if (options.agentName !== "") return `buddy-${plainName(options.agentName)}`;
  const { path } = options.place;
  // Where the login shell is fish, the panes of a fleet have another: each kind has its session.
  const isOther = paneShell(transport, options).kind !== paneShell(transport, { ...options, bourne: false }).kind;
  const host = path[0]?.kind === "ssh" ? path[0].destination : "local";
  const inner = path.filter(({ kind }) => kind !== "ssh");
  const target = [
    inner.toReversed().map(labelOfHop).join(" on "),
    host,
    transport.facts.user,
    ...(transport.kind === "local" ? [transport.facts.cwd] : []),
    ...(isOther ? ["sh"] : []),
  ];
  return `buddy-${sha256(target.join(" ")).slice(0, 12)}`;
}

/** `.` and `:` have a meaning in tmux targets. */
function plainName(name: string): string {
  return name.replace(/[^\w-]+/g, "-");
}

class Notices {
  readonly #listeners = new Set<(notice: TargetNotice) => void>();

  constructor(first: ((notice: TargetNotice) => void) | undefined) {
    if (first !== undefined) this.#listeners.add(first);
  }

  readonly tell = (notice: TargetNotice): void => {
    for (const listener of this.#listeners) listener(notice);
  };

  readonly listen = (listener: (notice: TargetNotice) => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
}
