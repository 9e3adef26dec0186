/** How a target runs a command without approval: as a clean child, in the read-only namespace if there is one. */
import { within } from "../../lib/waiting.ts";
import type { Locks, Process, NamespaceState, SecondLock, GuardShell, Transport, Unasked } from "../target.ts";
import {
  type CleanScript,
  type CleanShell,
  cleanScript,
  cleanShell,
  LOOK,
  type NamespaceEntry,
} from "./clean-script.ts";
import {
  type AskingPane,
  fitsStandingInPane,
  fitsStandingShell,
  NAMESPACE,
  standingInPane,
  standingShell,
} from "./standing-shell.ts";
import { isTakenOver, settings, STANDARD_PATH } from "./clean-environment.ts";
import { quote } from "../../lib/quote.ts";
import { messageOf } from "../../lib/errors.ts";

export type StandingScript = (text: string, unasked: Unasked) => string | undefined;

/** For a bash in a pane: lines before those of the clean child; "" if there are none. */
export type PaneScript = (text: string, unasked: Unasked, pane: AskingPane) => string;

export class CleanChildren implements Locks {
  readonly #shell: CleanShell;
  /** NAME=VALUE words of their environment. */
  readonly #own: readonly string[];
  readonly #path: string;
  readonly #namespace: ReadOnlyNamespace;

  /** `inGuard`: such commands may run in the guard's session, which keeps a clean shell for them. */
  constructor(transport: Transport, lock: SecondLock = "auto", inGuard = false) {
    this.#shell = cleanShell(transport.facts);
    this.#own = settings(transport.facts);
    this.#path = transport.facts.path || STANDARD_PATH;
    const stands = inGuard && this.#shell.kind === "bash" ? this.#shell.path : "";
    this.#namespace = new ReadOnlyNamespace(transport, lock, stands);
  }

  /** Makes the namespace in the background. */
  start(): void {
    this.#namespace.make();
  }

  async end(): Promise<void> {
    await this.#namespace[Symbol.asyncDispose]();
  }

  get shell(): CleanShell["kind"] {
    return this.#shell.kind;
  }

  get path(): string {
    return this.#path;
  }

  readonly passesOn = isTakenOver;

  get namespace(): NamespaceState {
    return this.#namespace.state;
  }

  get settled(): Promise<NamespaceState> {
    return this.#namespace.settled;
  }

  /** Words that start a shell which reads such a script from a file, for a shell that has `__buddy_bare`. */
  get reader(): readonly string[] {
    const shell = this.#shell.kind === "bash" ? [this.#shell.path, "--norc", "-p"] : [this.#shell.path];
    return ["__buddy_bare", ...this.#own, ...shell];
  }

  readonly script: CleanScript = (text, { inNamespace }, to, begins) =>
    cleanScript(text, this.#shell, { own: this.#own, namespace: this.#entry(inNamespace) }, to, begins);

  /** The same for `reader`, which has the environment already. */
  readonly scriptForReader: CleanScript = (text, { inNamespace }, to) =>
    cleanScript(text, this.#shell, { own: [], namespace: this.#entry(inNamespace) }, to);

  #entry(inNamespace: boolean): NamespaceEntry | undefined {
    return inNamespace ? this.#namespace.entry : undefined;
  }

  /**
   * For a bash without a terminal: what it needs to keep a clean shell in the namespace; undefined: not for this text.
   */
  readonly standing: StandingScript = (text, { inNamespace }) => {
    const namespace = this.#entry(inNamespace);
    if (namespace === undefined || this.#shell.kind !== "bash" || !fitsStandingShell(text)) return undefined;
    return standingShell(this.#shell, this.#own, namespace);
  };

  readonly inPane: PaneScript = (text, { inNamespace }, pane) => {
    const namespace = this.#entry(inNamespace);
    if (namespace === undefined || this.#shell.kind !== "bash" || !fitsStandingInPane(text)) return "";
    return standingInPane(text, this.#shell, { own: this.#own, namespace }, pane);
  };

  /** For the session of one of many machines: whether its clean shell may take the text. */
  readonly mayStand = (session: GuardShell, text: string, { inNamespace }: Unasked): boolean =>
    inNamespace && session.stands && this.#namespace.entry !== undefined && fitsStandingShell(text);

  /** Starts another clean shell: the last one was killed, or its namespace was recreated. */
  readonly standAgain = (session: GuardShell): void => {
    const { entry } = this.#namespace;
    if (entry !== undefined) session.serveAgain(`${LOOK}\n__buddy_look ${quote(entry.file)}`, entry.enter);
  };
}

/** Longer than making a namespace takes on a machine with hundreds of mounts. */
const MAKE_MS = 30_000;

/**
 * The read-only namespace: a mount namespace on the target in which every file system is read-only. It is made in the
 * background when the target opens; commands without approval enter it. It ends with buddy.
 */
export class ReadOnlyNamespace implements AsyncDisposable {
  readonly #transport: Transport;
  readonly #lock: SecondLock;
  /** Path of the clean bash that the guard's session keeps in it; "" if none. */
  readonly #stands: string;
  #state: NamespaceState = { kind: "making" };
  #entry: NamespaceEntry | undefined;
  #process: Process | undefined;
  #session: GuardShell | undefined;
  #settled = Promise.withResolvers<NamespaceState>();
  /** Its process has ended: with a dropped connection, or killed. */
  #lost = false;
  #remade = 0;
  #closed = false;

  constructor(transport: Transport, lock: SecondLock, stands: string) {
    this.#transport = transport;
    this.#lock = lock;
    this.#stands = stands;
    if (lock === "off") this.#settle({ kind: "none", why: "read_only_namespace is off" });
    else if (!/Linux/.test(transport.facts.os)) this.#settle({ kind: "none", why: "the system is not Linux" });
  }

  /** Reading the state means that it is needed: makes a lost namespace again. */
  get state(): NamespaceState {
    if (this.#sessionIsGone) {
      this.#entry = undefined;
      this.#session = undefined;
      if (!this.#closed) this.#makeAnew();
    } else if (this.#lost && !this.#closed && this.#remade++ < MOST_REMADE) this.#makeAnew();
    return this.#state;
  }

  /** It has ended with the session that held it. */
  get #sessionIsGone(): boolean {
    return this.#session !== undefined && this.#session !== this.#transport.guardShell;
  }

  /** Resolves when it is known whether there is a namespace. */
  get settled(): Promise<NamespaceState> {
    void this.state;
    return this.#settled.promise;
  }

  /** How to enter it; undefined while there is no namespace. */
  get entry(): NamespaceEntry | undefined {
    return this.state.kind === "ready" ? this.#entry : undefined;
  }

  make(): void {
    if (this.#process !== undefined || this.#session !== undefined || this.#state.kind !== "making") return;
    const { uid } = this.#transport.facts;
    const { guardShell } = this.#transport;
    if (guardShell !== undefined) return void this.#makeIn(guardShell);
    const child = this.#transport.spawn(["sh"], {
      script: { name: "buddy-namespace", text: NAMESPACE, args: [`/tmp/buddy-${uid}`] },
      cwd: "/",
    });
    this.#process = child;
    const report = Promise.withResolvers<string>();
    const reported = this.#report(report.promise);
    void this.#listen(child, report.resolve)
      .catch(() => {})
      .finally(async () => {
        report.resolve("");
        await reported;
        this.#entry = undefined;
        this.#lost = this.#state.kind === "ready";
        if (this.#lost) this.#settle({ kind: "none", why: "its process has ended" });
      });
  }

  /** Reconnects first if the connection dropped. */
  #makeAnew(): void {
    this.#lost = false;
    this.#process = undefined;
    this.#state = { kind: "making" };
    this.#settled = Promise.withResolvers();
    this.#transport.ensure().then(
      () => this.#closed || this.make(),
      (error: unknown) => this.#settle({ kind: "none", why: messageOf(error) }),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    const child = this.#process;
    if (child === undefined) return;
    child.stdin.end();
    child.kill();
    await within(child.exited, CLOSE_MS).catch(() => {});
  }

  /** Without a process of its own: it ends with the session. */
  async #makeIn(session: GuardShell): Promise<void> {
    this.#session = session;
    const { facts } = this.#transport;
    const made = session.start({ bash: this.#stands, cwd: facts.cwd, own: settings(facts) });
    await this.#report(made.catch(() => ""));
    // Watching the mounts costs more than making the namespace, and a run of one command has ended by then.
    setTimeout(() => !this.#closed && session.watch(), WATCH_MS).unref();
  }

  /** The script prints one line: "ready KIND FILE ENTER…" or "none WHY"; later it remakes the namespace by itself. */
  async #listen(child: Process, report: (line: string) => void): Promise<void> {
    const decoder = new TextDecoder();
    let text: string | undefined = "";
    for await (const chunk of child.stdout) {
      if (text === undefined) continue;
      text += decoder.decode(chunk, { stream: true });
      const line = /^(.*)\n/.exec(text)?.[1];
      if (line === undefined && text.length < MAX_LINE) continue;
      report(line ?? "");
      text = undefined;
    }
  }

  async #report(made: Promise<string>): Promise<void> {
    const line = (await within(made, MAKE_MS)) ?? "none\tmaking it took too long";
    const [word, ...rest] = line.split("\t");
    if (word !== "ready") return this.#settle({ kind: "none", why: rest[0] || "it could not be made" });
    const [kind, file = "", ...argv] = rest;
    const enter = argv.map((one) => (one === "@pid@" ? '"$__buddy_pid"' : quote(one))).join(" ");
    this.#entry = { file, enter, required: this.#lock === "required" };
    const drops = argv.some((one) => /setpriv|capsh/.test(one)) || kind === "user";
    this.#settle({ kind: "ready", owners: kind === "root", sealed: drops });
  }

  #settle(state: NamespaceState): void {
    this.#state = state;
    this.#settled.resolve(state);
  }
}

const MAX_LINE = 64 * 1024;
const CLOSE_MS = 1500;
const WATCH_MS = 10_000;
/** After this many times, buddy stops making it again. */
const MOST_REMADE = 20;
