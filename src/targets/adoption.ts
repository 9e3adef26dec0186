/**
 * A target in whose pane buddy can adopt a shell that the operator started: while it is adopted, the target is the
 * machine and user of that shell. The connection still leads to the outer machine, so what needs it is refused.
 */
import { BuddyError } from "../lib/errors.ts";
import { fileAccess } from "./files/files.ts";
import type {
  BackgroundShells,
  FileAccess,
  Locks,
  MachineFacts,
  Panes,
  Target,
  TargetIdentity,
  TargetNotice,
  Transport,
} from "./target.ts";
import { STANDARD_PATH } from "./read-only/clean-environment.ts";
import { VIEW } from "./tmux/adopted-hooks.ts";
import type { AdoptedShell } from "./tmux/adopted-shell.ts";

export interface AdoptingPane {
  /** Adopts the shell in the foreground of the pane; calls `ended` when the outer shell is back. */
  adopt(ended: () => void): Promise<AdoptedShell>;
}

export interface AdoptionOptions {
  readonly tell: (notice: TargetNotice) => void;
  /** The target without an adopted shell, if not `outer`: a pane of the operator has no shell of its own. */
  readonly without?: Target;
}

export function adoptable(outer: Target, pane: AdoptingPane, { tell, without = outer }: AdoptionOptions): Target {
  const inner: { readonly target: Target; readonly shell: AdoptedShell }[] = [];
  const now = (): Target => inner.at(-1)?.target ?? without;
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
    get panes() {
      return now().panes;
    },
    get isAdopted() {
      return inner.length > 0;
    },
    get isElsewhere() {
      return now().isElsewhere === true;
    },
    now,
    async adopt() {
      const around = inner.at(-1);
      if (around?.shell.isReady === true) {
        throw new BuddyError("usage", `buddy already works in the shell of ${who(around.target.identity)}`, {
          hint: "Type exit in the pane to leave it.",
        });
      }
      const view = around?.shell.machine.view ?? (await viewOf(outer.transport));
      const shell = await pane.adopt(() => {
        const at = inner.findIndex((one) => one.shell === shell);
        if (at < 0) return;
        const left = inner.splice(at)[0]?.target.identity ?? outer.identity;
        tell({
          kind: "warning",
          text: `The shell of ${who(left)} in the pane has ended: ${continues(now(), without)}`,
        });
      });
      const target = innerTarget(around?.target ?? outer, shell, view === shell.machine.view);
      inner.push({ target, shell });
      return target.identity;
    },
    onNotice: (listener) => outer.onNotice(listener),
    [Symbol.asyncDispose]: () => outer[Symbol.asyncDispose](),
  };

  function continues(target: Target, last: Target): string {
    if (target !== last || last === outer) return `commands run as ${who(target.identity)} again.`;
    return "buddy runs nothing until the operator adopts another one there (/adopt).";
  }
}

async function viewOf(transport: Transport): Promise<string> {
  const { stdout } = await transport.run(`{ ${VIEW}; } 2>/dev/null`, { timeoutMs: 5000, quick: true });
  return stdout.toString().trim();
}

/** `sameFiles`: both see the same files, so the connection can be used for file access. */
function innerTarget(outer: Target, shell: AdoptedShell, sameFiles: boolean): Target {
  const { user, uid, host, machine, os, home, bash } = shell.machine;
  const before = outer.transport.facts;
  const sameMachine = machine === before.machine && host === before.host;
  const isSame = sameMachine && sameFiles && uid === before.uid;
  const identity: TargetIdentity = {
    ...outer.identity,
    label: `${outer.identity.label}, in it ${user}@${host}`,
    user,
    host,
    // Approvals remembered for one user do not apply to another, nor to a container on the same machine.
    machine: sameMachine && !isSame ? `${machine} ${user}${sameFiles ? "" : " elsewhere"}` : machine,
    os,
    cwd: shell.cwd,
    shellName: shell.name,
  };
  const programs: Record<string, string> = bash ? { bash: "bash" } : {};
  const facts: MachineFacts = { ...before, user, uid, host, machine, os, home, path: "", programs, cwd: shell.cwd };
  const locks: Locks = {
    shell: bash ? "bash" : "sh",
    namespace: { kind: "none", why: NO_NAMESPACE },
    settled: Promise.resolve({ kind: "none", why: NO_NAMESPACE }),
    path: STANDARD_PATH,
    passesOn: () => false,
  };
  const refuse = (): Promise<never> => Promise.reject(outside(identity, outer.identity));
  return {
    ...outer,
    isAdopted: true,
    isElsewhere: !isSame,
    identity,
    shell,
    transport: innerTransport(outer.transport, facts, isSame ? undefined : refuse),
    files: isSame ? fileAccess(outer.transport, { cwd: () => shell.cwd }) : refusingFiles(refuse),
    background: isSame ? outer.background : refusingShells(refuse),
    ...(outer.panes === undefined || isSame ? {} : { panes: onlyShared(outer.panes, refuse) }),
    locks,
  };
}

const NO_NAMESPACE = "the shell was adopted";

/** A target without a shell: every call fails with the same error. */
export function refusingTarget(target: Target, error: () => BuddyError): Target {
  const refuse = (): Promise<never> => Promise.reject(error());
  return {
    ...target,
    shell: {
      kind: "tmux",
      cwd: target.shell.cwd,
      where: refuse,
      run: refuse,
      wait: refuse,
      readOutput: target.shell.readOutput,
    },
    files: refusingFiles(refuse),
    background: refusingShells(refuse),
  };
}

function outside(inner: TargetIdentity, outer: TargetIdentity): BuddyError {
  const text = `this would act on ${who(outer)} (${outer.label}), but buddy works in the shell of ${who(inner)}`;
  return new BuddyError("target", text, {
    advice: "Use run_shell, which runs in that shell; for files cat, tee or sed.",
  });
}

function who({ user, host }: TargetIdentity): string {
  return `${user}@${host}`;
}

/** The connection is the outer one; scripts on it would run on the wrong machine. */
function innerTransport(outer: Transport, facts: MachineFacts, refuse: (() => Promise<never>) | undefined): Transport {
  return {
    label: outer.label,
    kind: outer.kind,
    // The rules of the outer machine apply, too.
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

/** All other panes are on the outer machine. */
function onlyShared(panes: Panes, refuse: () => Promise<never>): Panes {
  return {
    pane: (selector = {}) => (Object.keys(selector).length === 0 ? panes.pane() : refuse()),
    createSession: refuse,
    killSession: refuse,
    createPane: refuse,
    killPane: refuse,
    list: () => panes.list(),
  };
}
