/** One managed tmux session on the target: its control client, reconnected after drops, and the output of its panes. */
import { randomBytes } from "node:crypto";
import { BuddyError, messageOf } from "../../lib/errors.ts";
import { pause, within } from "../../lib/waiting.ts";
import { ConnectionLost, PermanentRefusal, SessionGone, TmuxUnusable, TooFewSessions } from "../errors.ts";
import type { TargetNotice, Transport } from "../target.ts";
import { attachScript, type PaneShell } from "./bootstrap.ts";
import { ControlClient, type Reply, tmuxQuote } from "./control.ts";
import {
  type Claim,
  claimCommand,
  freeName,
  isHeld,
  lastClaim,
  ownCommands,
  ownMark,
  releaseCommands,
  endWhenIdle,
  readSession,
  markPane,
  PANE_FORMAT,
  type PaneRow,
  parsePanes,
  restoreSize,
  type SessionInfo,
} from "./session-info.ts";
import { PaneFollowers, type PaneSink } from "./pane-followers.ts";
import { PREPARE, prepareArguments, STAMP } from "./session-files.ts";

export interface TmuxSessionOptions {
  readonly transport: Transport;
  readonly socket: string;
  readonly session: string;
  /** The name of the default session, a prefix of all that this buddy manages. */
  readonly owner: string;
  readonly shell: PaneShell;
  readonly cwd: string;
  readonly notice: (notice: TargetNotice) => void;
  readonly heartbeatMs?: number | undefined;
  /** A session that is unused for this long ends; 0 or undefined: never. */
  readonly idleMs?: number | undefined;
}

/** How long tmux may take to answer when a session is opened, and when buddy reports that it waits. */
const ATTACH_MS = 10_000;
const SLOW_MS = 3000;
const STILL_THERE_MS = 2000;
const OPEN_ATTEMPTS = 4;
const OPEN_AGAIN_MS = 100;
const HEARTBEAT_MS = 3000;
/** There only a tmux server that was stopped does not answer. */
const LOCAL_HEARTBEAT_MS = 10_000;
/** Between attempts; the transport also waits within each. */
const BACKOFF_MS = [0, 500, 2000, 5000, 15_000, 30_000];
const LOCAL_BACKOFF_MS = [0, 100];

/** The connection to tmux. Who needs it while it is being made waits for that: a second client would double output. */
type Link =
  /** Never opened, or given up: `open` makes it. */
  | { readonly kind: "none" }
  | { readonly kind: "opening"; readonly done: Promise<boolean> }
  | { readonly kind: "up"; readonly client: ControlClient }
  | { readonly kind: "reconnecting"; readonly done: Promise<void> }
  | { readonly kind: "closed" };

export class TmuxSession {
  readonly options: TmuxSessionOptions;
  #name: string;
  /** tmux's session id, which stays if the operator renames the session. */
  #id = "";
  readonly #mark = ownMark();
  #claim = 0;
  #whyMoved = "";
  readonly #followers = new PaneFollowers();
  #link: Link = { kind: "none" };
  readonly #closing = new AbortController();
  #clientPid = 0;
  #key = "";
  #directory = "";
  #runDirectory = "";
  #heartbeat: ReturnType<typeof setInterval> | undefined;

  constructor(options: TmuxSessionOptions) {
    this.options = options;
    this.#name = options.session;
  }

  /** Not the configured name if another buddy uses that session or another version created it: see `whyMoved`. */
  get name(): string {
    return this.#name;
  }

  get whyMoved(): string {
    return this.#whyMoved;
  }

  get #owner(): string {
    return this.options.session === this.options.owner ? this.name : this.options.owner;
  }

  /** tmux's session id; "" before it is open. */
  get id(): string {
    return this.#id;
  }

  /** How tmux commands address the session. */
  get target(): string {
    return tmuxQuote(`${this.#id}:`);
  }

  get key(): string {
    return this.#key;
  }

  get directory(): string {
    return this.#directory;
  }

  /** For temporary files: the line to take, the script to source. */
  get runDirectory(): string {
    return this.#runDirectory;
  }

  get closed(): boolean {
    return this.#link.kind === "closed";
  }

  get connected(): boolean {
    return this.#link.kind === "up";
  }

  /** Resolves when a reconnect that is under way has succeeded or was given up. */
  async settled(): Promise<void> {
    while (this.#link.kind === "reconnecting") await this.#link.done;
  }

  /** Attaches and creates the session if needed; returns whether it is new. */
  async open(): Promise<boolean> {
    await this.settled();
    switch (this.#link.kind) {
      case "up":
        return false;
      case "opening":
        return this.#link.done;
      case "closed":
        throw this.#notAttached();
      default: {
        const done = this.#open();
        this.#link = { kind: "opening", done };
        return done;
      }
    }
  }

  async send(lines: readonly string[], taken?: (replies: readonly Reply[]) => void): Promise<Reply[]> {
    return (await this.#connectedClient()).send(lines, taken);
  }

  async ask(line: string): Promise<readonly string[]> {
    return (await this.#connectedClient()).ask(line);
  }

  async panes(): Promise<PaneRow[]> {
    return parsePanes(await this.ask(this.#listPanes()));
  }

  follow(pane: string, sink: PaneSink): () => void {
    return this.#followers.follow(pane, sink);
  }

  /** Restores key and start-up files after something removed them. */
  async restoreFiles(): Promise<void> {
    const { transport, socket } = this.options;
    const args = prepareArguments({ facts: transport.facts, socket, session: this.name });
    const result = await transport.run(PREPARE, { args, input: `${this.#key}\n`, quick: true });
    if (result.code !== 0) throw cannotWrite(result.stderr);
  }

  /** After the session itself was ended. */
  async removeFiles(): Promise<void> {
    const args = [this.#directory, this.#runDirectory];
    if (args.every((one) => one.endsWith(`.${this.name}`)))
      await this.options.transport.run('rm -rf "$1" "$2"', { args, quick: true });
  }

  /** Whoever waits for the connection is refused. */
  async close(): Promise<void> {
    const link = this.#link;
    this.#link = { kind: "closed" };
    this.#closing.abort();
    clearInterval(this.#heartbeat);
    if (link.kind !== "up") return;
    void link.client.send(releaseCommands(this.#claim)).catch(() => {});
    await link.client.close();
  }

  async #open(): Promise<boolean> {
    try {
      const { client, fresh } = await this.#opened();
      this.#up(client);
      return fresh;
    } catch (error) {
      if (!this.closed) this.#link = { kind: "none" };
      throw error;
    }
  }

  async #opened(): Promise<{ readonly client: ControlClient; readonly fresh: boolean }> {
    if (this.#key !== "") await this.options.transport.ensure();
    for (let attempt = 1; ; attempt++) {
      try {
        const { client, created } = await this.#attach(true);
        const found = await this.#take(client, created, attempt);
        if (found !== undefined) return { client, fresh: found.fresh };
      } catch (error) {
        // Only the client ended (a file size limit, for example), not the connection.
        if (error instanceof ConnectionLost && (await this.options.transport.answers(STILL_THERE_MS)))
          throw new TmuxUnusable("target", error.message, { cause: error });
        // The server ended between creating the session and attaching to it.
        if (!(error instanceof SessionGone)) throw error;
        if (attempt >= OPEN_ATTEMPTS) throw new TmuxUnusable("target", error.message, { cause: error });
        await Bun.sleep(OPEN_AGAIN_MS * attempt);
      }
    }
  }

  /** Claims the session; undefined if another buddy or version has it: then the name has changed. */
  async #take(client: ControlClient, created: boolean, attempt: number): Promise<{ fresh: boolean } | undefined> {
    const seen = await this.#readSession(client, created);
    if (!seen.managed) {
      await client.close();
      throw new BuddyError("target", `the tmux session ${this.name} exists and is not buddy's`, {
        hint: "Name another one with --tmux NAME, or end that session.",
      });
    }
    const isForeign = seen.key !== "" && seen.stamp !== STAMP;
    if (isForeign || !(await this.#claimAfter(client, seen))) {
      await client.close();
      const { session, owner } = this.options;
      const why = isForeign ? "was made by another version of buddy" : "is in use by another buddy";
      if (session !== owner) throw new BuddyError("tool", `the tmux session ${this.name} ${why}`);
      this.#whyMoved ||= why;
      this.#moveTo(freeName(session, seen, attempt));
      return undefined;
    }
    if (seen.key === "") this.#markSession(client, seen.panes[0]);
    else {
      // Output from before the claim may belong to another buddy.
      this.#followers.forgetEarly();
      await this.#keepKey(seen.key);
    }
    const { idleMs = 0, transport } = this.options;
    const idle = { ms: idleMs, directory: this.#directory, tmux: transport.facts.programs["tmux"] ?? "tmux" };
    void client.send(endWhenIdle(seen, idle)).catch(() => {});
    restoreSize(client, this.#id);
    return { fresh: seen.key === "" };
  }

  /** False if another buddy has the session. */
  async #claimAfter(client: ControlClient, { claim, attached }: SessionInfo): Promise<boolean> {
    if (this.#isMine(claim)) {
      this.#claim = claim.number;
      void client.send(ownCommands({ number: claim.number - 1, value: "" }, this.#mark)).catch(() => {});
      return true;
    }
    if (isHeld(claim, attached)) return false;
    const [claimed, options] = await client.send([claimCommand(claim, this.#mark), "show-options"]);
    const last = lastClaim(options?.lines ?? []);
    if (claimed?.ok !== true || !this.#isMine(last)) return false;
    this.#claim = last.number;
    void client.send(ownCommands(claim, this.#mark)).catch(() => {});
    return true;
  }

  #isMine({ value }: Claim): boolean {
    return value.endsWith(`/${this.#mark}`);
  }

  async #readSession(client: ControlClient, created: boolean): Promise<SessionInfo> {
    const seen = await readSession(client, created ? [claimCommand({ number: 0, value: "" }, this.#mark)] : []);
    this.#id = seen.id;
    this.#endStale(seen);
    this.#clientPid = seen.clientPid;
    return seen;
  }

  /** The client before this one may still hang on the server. */
  #endStale({ attached, clientPid }: SessionInfo): void {
    const stale = this.#clientPid;
    if (stale === clientPid || !attached.has(String(stale))) return;
    const kill = 'kill -9 "$1" 2>/dev/null; :';
    void this.options.transport.run(kill, { args: [String(stale)], quick: true }).catch(() => {});
  }

  #moveTo(name: string): void {
    this.#name = name;
    this.#key = "";
    this.#id = "";
    this.#followers.forgetEarly();
  }

  /** The directory was removed, and the new key is not the one that the shells of this session use: restores that. */
  async #keepKey(key: string): Promise<void> {
    if (key === this.#key) return;
    this.#key = key;
    const script = 'IFS= read -r k && umask 077 && printf "%s\\n" "$k" >"$1/key"';
    const result = await this.options.transport.run(script, {
      args: [this.#directory],
      input: `${key}\n`,
      quick: true,
    });
    if (result.code !== 0) throw cannotWrite(result.stderr);
  }

  /** Nothing waits for the replies: what is asked next comes after these commands. */
  #markSession(client: ControlClient, pane: PaneRow | undefined): void {
    const lines = [
      `set-option -t ${this.target} @buddy_key ${this.#key}`,
      `set-option -t ${this.target} @buddy_stamp ${STAMP}`,
      `set-option -t ${this.target} destroy-unattached off`,
      // Long enough for the whole session name, which the operator needs to attach.
      `set-option -t ${this.target} status-left-length 80`,
      // On buddy's own server: commands must not set the clipboard of an attached operator.
      ...(this.options.socket === "" ? [] : ["set-option -s set-clipboard external"]),
      ...(pane === undefined ? [] : markPane(pane.id, "shared", this.#owner)),
    ];
    void client.send(lines).catch(() => {});
  }

  async #attach(create: boolean): Promise<{ readonly client: ControlClient; readonly created: boolean }> {
    const { transport } = this.options;
    const script = attachScript({ ...this.options, session: this.name, owner: this.#owner, create });
    const process = transport.spawn(["sh"], { script });
    process.stdin.write(`${this.#key || randomBytes(16).toString("hex")}\n`);
    const client: ControlClient = new ControlClient(process, {
      output: (pane, bytes) => this.#followers.output(pane, bytes),
      event: (line) => this.#event(client, line),
      closed: (why) => {
        if (this.#link.kind !== "up" || this.#link.client !== client) return;
        if (client.broken) this.#giveUp(why);
        else this.#lost(why);
      },
    });
    // If the process was never started, its pid rejects with the reason.
    const said = await this.#greeting(client).catch(async (error: unknown) => {
      await process.pid;
      throw error;
    });
    process.stdin.write("attached\n");
    const greeting = said.find((line) => line.startsWith("buddy ")) ?? "";
    const [, key = "", directory = ""] = /^buddy (\w+) (.+)$/.exec(greeting) ?? [];
    this.#key = key;
    this.#directory = directory;
    this.#runDirectory = said.find((line) => line.startsWith("buddy-run "))?.slice("buddy-run ".length) ?? directory;
    return { client, created: said.includes("buddy-created") };
  }

  /** The output of the start-up script before tmux answers; throws TmuxUnusable if only tmux does not. */
  async #greeting(client: ControlClient): Promise<readonly string[]> {
    const { transport, notice, socket } = this.options;
    const slow = setTimeout(() => notice({ kind: "info", text: "Waiting for tmux to answer …" }), SLOW_MS);
    try {
      const said = await within(client.preamble, ATTACH_MS);
      if (said !== undefined) return said;
      client.abandon("no answer");
      if (!(await transport.answers(STILL_THERE_MS)))
        throw new ConnectionLost("target", `${transport.label} does not answer: the connection stopped`);
      const server = `the tmux server${socket === "" ? "" : ` ${socket}`}`;
      const seconds = Math.round(ATTACH_MS / 1000);
      throw new TmuxUnusable(
        "target",
        `${server} did not answer within ${seconds} s: it is stopped (SIGSTOP), or a different version`,
        {
          hint: `End it on the target with: tmux ${socket === "" ? "" : `-L ${socket} `}kill-server. Or work without a pane: --no-tmux.`,
        },
      );
    } finally {
      clearTimeout(slow);
    }
  }

  async #connectedClient(): Promise<ControlClient> {
    await this.settled();
    if (this.#link.kind === "up") return this.#link.client;
    throw this.#notAttached();
  }

  #notAttached(): BuddyError {
    return new BuddyError("target", `not attached to the tmux session ${this.name}`);
  }

  /** This client is the connection from now on, unless the session was closed or the client ended meanwhile. */
  #up(client: ControlClient): void {
    if (this.closed) void client.close();
    if (this.closed || client.closed)
      throw new ConnectionLost("target", `the connection to the tmux session ${this.name} is gone`);
    this.#link = { kind: "up", client };
    this.#watch(client);
  }

  #event(client: ControlClient, line: string): void {
    const [kind, subject = ""] = line.split(" ");
    if (kind === "%pause") {
      void client.send([`refresh-client -A ${tmuxQuote(`${subject}:continue`)}`]).catch(() => {});
      this.#followers.paused(subject);
    } else if (kind === "%client-detached" || kind === "%client-session-changed") {
      restoreSize(client, this.#id);
    } else if (kind !== undefined && /^%(unlinked-)?window-close|^%layout-change|^%sessions-changed/.test(kind)) {
      void this.#checkPanes(client);
    }
  }

  /** `display-message -t` succeeds even for a pane that is gone; only the list shows that. */
  async #checkPanes(client: ControlClient): Promise<void> {
    if (this.#followers.none || !this.connected) return;
    const [reply] = await client.send([this.#listPanes()]).catch(() => []);
    if (reply === undefined) return;
    this.#followers.listed(reply.ok ? parsePanes(reply.lines) : []);
  }

  /** A command failed because the pane does not exist. */
  lostPane(pane: string): void {
    this.#followers.lost(pane);
  }

  #listPanes(): string {
    return `list-panes -s -t ${this.target} -F '${PANE_FORMAT}'`;
  }

  #lost(why: string): void {
    clearInterval(this.#heartbeat);
    const { promise: done, resolve } = Promise.withResolvers<void>();
    this.#link = { kind: "reconnecting", done };
    this.#followers.dropped(why);
    void this.#reconnect(why)
      .catch((error: unknown) => this.#giveUp(messageOf(error)))
      .finally(resolve);
  }

  /** Until it is up again, given up or closed. */
  async #reconnect(why: string): Promise<void> {
    const { transport, notice } = this.options;
    const remote = transport.kind !== "local";
    if (remote) notice({ kind: "reconnecting", text: `Connection lost (${why}); reconnecting …` });
    let failed = `the connection to ${transport.label} was lost`;
    for (const delay of remote ? BACKOFF_MS : LOCAL_BACKOFF_MS) {
      await pause(delay, this.#closing.signal).catch(() => {});
      if (this.closed) return;
      try {
        await transport.ensure(this.#closing.signal);
        const { client } = await this.#attach(false);
        if (await this.#resume(client)) return;
        return this.#giveUp(`another buddy took the tmux session ${this.name} over meanwhile`);
      } catch (error) {
        failed = error instanceof SessionGone ? `the tmux session ${this.name} is gone` : messageOf(error);
        // The host may still count the session of the lost client.
        const isFinal = error instanceof PermanentRefusal && !(error instanceof TooFewSessions);
        if (isFinal || error instanceof SessionGone) break;
      }
    }
    this.#giveUp(failed);
  }

  /** False if another buddy has the session now. */
  async #resume(client: ControlClient): Promise<boolean> {
    const seen = await this.#readSession(client, false);
    if (!(await this.#claimAfter(client, seen))) {
      await client.close();
      return false;
    }
    this.#up(client);
    this.#followers.listed(seen.panes);
    this.#followers.reconnected();
    const { transport, notice } = this.options;
    if (transport.kind !== "local") notice({ kind: "reconnected", text: "Connected again." });
    return true;
  }

  #giveUp(why: string): void {
    if (this.closed) return;
    const { transport, notice } = this.options;
    // "Reconnecting" was reported, so its failure is reported, too, even if no command waits.
    if (transport.kind !== "local")
      notice({ kind: "warning", text: `Reconnecting failed: ${why.replace(/\.$/, "")}.` });
    this.#link = { kind: "none" };
    this.#followers.endAll(why);
  }

  /** A dead connection or a stopped server may give no error, only silence: asks for an answer regularly. */
  #watch(client: ControlClient): void {
    clearInterval(this.#heartbeat);
    const isLocal = this.options.transport.kind === "local";
    const every = this.options.heartbeatMs ?? (isLocal ? LOCAL_HEARTBEAT_MS : HEARTBEAT_MS);
    let asked = 0;
    let looked = performance.now();
    this.#heartbeat = setInterval(() => {
      // If buddy itself was stopped or busy, an answer may be there and not read.
      const wasAway = performance.now() - looked > every;
      looked = performance.now();
      if (wasAway) asked = 0;
      const silence = performance.now() - client.lastHeard;
      if (asked > 0 && client.lastHeard < asked && performance.now() - asked > every * 1.5) {
        client.abandon(`no answer for ${Math.round(silence / 1000)} s`);
      } else if (silence >= every && (asked === 0 || client.lastHeard > asked)) {
        asked = performance.now();
        client.send(["display-message -p alive"]).catch(() => {});
      }
    }, every / 2);
    this.#heartbeat.unref();
  }
}

function cannotWrite(why: string): BuddyError {
  return new BuddyError("target", `buddy's files on the target cannot be written: ${why.trim()}`);
}
