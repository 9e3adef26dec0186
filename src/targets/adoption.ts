/**
 * A target whose shared pane may hold a shell of the operator's: while that one is adopted, the target is the machine and
 * user in it. Its connection stays the one to the outer machine, so what needs a connection is refused.
 */
import { BuddyError } from "../lib/errors.ts";
import { fileAccess } from "./files.ts";
import type {
  BackgroundShells,
  FileAccess,
  Locks,
  MachineFacts,
  Target,
  TargetIdentity,
  TargetNotice,
  Transport,
} from "./target.ts";
import type { AdoptedShell } from "./tmux/adopted-shell.ts";

export interface AdoptingPane {
  /** The shell in the foreground of the pane, with buddy's hooks in it; `ended` when the pane's own prompt is back. */
  adopt(ended: () => void): Promise<AdoptedShell>;
}

export function adoptable(outer: Target, pane: AdoptingPane, tell: (notice: TargetNotice) => void): Target {
  let inner: Target | undefined;
  const now = (): Target => inner ?? outer;
  return {
    get identity() {
      return now().identity;
    },
    get transport() {
      return now().transport;
    },
    get shell() {
      return now().shell;
    },
    get files() {
      return now().files;
    },
    get background() {
      return now().background;
    },
    get locks() {
      return now().locks;
    },
    get isAdopted() {
      return inner !== undefined;
    },
    ...(outer.panes === undefined ? {} : { panes: outer.panes }),
    now,
    async adopt() {
      if (inner !== undefined) {
        throw new BuddyError("usage", `buddy works in the shell of ${who(inner.identity)} already`, {
          hint: "exit in the pane leaves it.",
        });
      }
      const shell = await pane.adopt(() => {
        if (inner === undefined) return;
        const left = who(inner.identity);
        inner = undefined;
        const text = `The shell of ${left} in the pane has ended: commands run as ${who(outer.identity)} again.`;
        tell({ kind: "warning", text });
      });
      inner = innerTarget(outer, shell);
      return inner.identity;
    },
    onNotice: (listener) => outer.onNotice(listener),
    [Symbol.asyncDispose]: () => outer[Symbol.asyncDispose](),
  };
}

function innerTarget(outer: Target, shell: AdoptedShell): Target {
  const { user, uid, host, machine, os, home, bash } = shell.machine;
  const before = outer.transport.facts;
  const sameMachine = machine !== "" && machine === before.machine && host === before.host;
  const isSame = sameMachine && uid === before.uid;
  const identity: TargetIdentity = {
    ...outer.identity,
    label: `${outer.identity.label}, in it ${user}@${host}`,
    user,
    host,
    // What was remembered for one user of a machine does not count for another.
    machine: sameMachine && !isSame ? `${machine} ${user}` : machine,
    os,
    cwd: shell.cwd,
    shellName: shell.name,
  };
  const programs: Record<string, string> = bash ? { bash: "bash" } : {};
  const facts: MachineFacts = { ...before, user, uid, host, machine, os, home, programs, cwd: shell.cwd };
  const locks: Locks = {
    shell: bash ? "bash" : "sh",
    room: { kind: "none", why: NO_ROOM },
    settled: Promise.resolve({ kind: "none", why: NO_ROOM }),
  };
  const refuse = (): Promise<never> => Promise.reject(outside(identity, outer.identity));
  return {
    ...outer,
    isAdopted: true,
    identity,
    shell,
    transport: innerTransport(outer.transport, facts, isSame ? undefined : refuse),
    files: isSame ? fileAccess(outer.transport, { cwd: () => shell.cwd }) : refusingFiles(refuse),
    background: isSame ? outer.background : refusingShells(refuse),
    locks,
  };
}

const NO_ROOM = "the shell was adopted";

function outside(inner: TargetIdentity, outer: TargetIdentity): BuddyError {
  const text = `this would act on ${who(outer)}, but buddy works in the shell of ${who(inner)}`;
  return new BuddyError("target", text, {
    hint: "Use run_shell, which runs in that shell; files: cat, tee, sed.",
  });
}

function who({ user, host }: TargetIdentity): string {
  return `${user}@${host}`;
}

/** The connection itself is the outer one; scripts and processes on it would not be on the machine that is meant. */
function innerTransport(outer: Transport, facts: MachineFacts, refuse: (() => Promise<never>) | undefined): Transport {
  return {
    label: outer.label,
    kind: outer.kind,
    // The rules of the machine that leads there count, too.
    base: outer,
    facts,
    spawn: (argv, options) => outer.spawn(argv, options),
    ensure: (signal) => outer.ensure(signal),
    reconnect: (signal) => outer.reconnect(signal),
    answers: (ms) => outer.answers(ms),
    connectAnew: (signal) => outer.connectAnew(signal),
    abandon: () => outer.abandon(),
    run: (script, options) => refuse?.() ?? outer.run(script, options),
    [Symbol.asyncDispose]: () => outer[Symbol.asyncDispose](),
  };
}

function refusingFiles(refuse: () => Promise<never>): FileAccess {
  const files: FileAccess = {
    asRoot: () => files,
    resolve: refuse,
    read: refuse,
    write: refuse,
    look: refuse,
    restore: refuse,
  };
  return files;
}

function refusingShells(refuse: () => Promise<never>): BackgroundShells {
  return { start: refuse, output: refuse, kill: refuse, list: () => Promise.resolve([]) };
}
