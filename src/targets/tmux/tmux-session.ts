/** One managed tmux session on the target: its control client, reconnected after drops, and the output of its panes. */
import { randomBytes } from "node:crypto";
import { BuddyError, messageOf } from "../../lib/errors.ts";
import { within } from "../../lib/waiting.ts";
import { ConnectionLost, PermanentRefusal, SessionGone, TmuxUnusable } from "../errors.ts";
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

export class TmuxSession {
  readonly options: TmuxSessionOptions;
  #name: string;
  /** tmux's session id, which stays if the operator renames the session. */
  #id = "";
  readonly #mark = ownMark();
  #claim = 0;
  #whyMoved = "";
  readonly #followers = new PaneFollowers();
  #client: ControlClient | undefined;
  #clientPid = 0;
  #key = "";
  #directory = "";
  #runDirectory = "";
  #heartbeat: ReturnType<typeof setInterval> | undefined;
  #opening: Promise<boolean> | undefined;
  #reconnecting: Promise<void> | undefined;
  #closed = false;

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
    return this.#closed;
  }

  get connected(): boolean {
    return this.#client !== undefined && !this.#client.closed;
  }

  /** Resolves when a reconnect that is under way has succeeded or was given up. */
  settled(): Promise<void> {
    return this.#reconnecting ?? Promise.resolve();
  }

  /** Attaches and creates the session if needed; returns whether it is new. */
  open(): Promise<boolean> {
    this.#opening ??= this.#open().finally(() => (this.#opening = undefined));
    return this.#opening;
  }

  async send(lines: readonly string[], taken?: (replies: readonly Reply[]) => void): Promise<Reply[]> {
    await this.#reconnecting;
    return this.#connectedClient().send(lines, taken);
  }

  async ask(line: string): Promise<readonly string[]> {
    await this.#reconnecting;
    return this.#connectedClient().ask(line);
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

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#heartbeat);
    const client = this.#client;
    if (client === undefined || client.closed) return;
    void client.send(releaseCommands(this.#claim)).catch(() => {});
    await client.close();
  }

  async #open(): Promise<boolean> {
    if (this.connected) return false;
    if (this.#key !== "") await this.options.transport.ensure();
    for (let attempt = 1; ; attempt++) {
      try {
        const { client, created } = await this.#attach(true);
        const found = await this.#take(client, created, attempt);
        if (found === undefined) continue;
        this.#client = client;
        this.#watch();
        return found.fresh;
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
    this.#clientPid = seen.clientPid;
    return seen;
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
      event: (line) => this.#event(line),
      closed: (why) => {
        if (this.#client === client) this.#lost(why);
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

  #connectedClient(): ControlClient {
    if (this.#client !== undefined && !this.#client.closed) return this.#client;
    throw new BuddyError("target", `not attached to the tmux session ${this.name}`);
  }

  #event(line: string): void {
    const [kind, subject = ""] = line.split(" ");
    if (kind === "%pause") {
      void this.#client?.send([`refresh-client -A ${tmuxQuote(`${subject}:continue`)}`]).catch(() => {});
      this.#followers.paused(subject);
    } else if (kind === "%client-detached" || kind === "%client-session-changed") {
      if (this.#client !== undefined) restoreSize(this.#client, this.#id);
    } else if (kind !== undefined && /^%(unlinked-)?window-close|^%layout-change|^%sessions-changed/.test(kind)) {
      void this.#checkPanes();
    }
  }

  /** `display-message -t` succeeds even for a pane that is gone; only the list shows that. */
  async #checkPanes(): Promise<void> {
    if (this.#followers.none || !this.connected) return;
    const [reply] = await this.#connectedClient()
      .send([this.#listPanes()])
      .catch(() => []);
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
    if (this.#closed) return;
    this.#followers.dropped(why);
    this.#reconnecting ??= this.#reconnect(why).finally(() => {
      this.#reconnecting = undefined;
      // Dropped again meanwhile.
      if (this.#client?.closed === true) this.#lost(why);
    });
  }

  async #reconnect(why: string): Promise<void> {
    const { transport, notice } = this.options;
    const remote = transport.kind !== "local";
    if (remote) notice({ kind: "reconnecting", text: `Connection lost (${why}); reconnecting …` });
    const stale = this.#clientPid;
    let failed = `the connection to ${transport.label} was lost`;
    for (const delay of remote ? BACKOFF_MS : LOCAL_BACKOFF_MS) {
      await Bun.sleep(delay);
      if (this.#closed) return;
      try {
        await transport.ensure();
      } catch (error) {
        failed = messageOf(error);
        if (error instanceof PermanentRefusal) return this.#giveUp(failed);
        continue;
      }
      const attached = await this.#attach(false).catch((error: unknown) => error as Error);
      if (attached instanceof SessionGone) return this.#giveUp(`the tmux session ${this.name} is gone`);
      if (attached instanceof Error) {
        failed = attached.message;
        continue;
      }
      const resumed = await this.#resume(attached.client, stale, remote).catch(() => "dropped" as const);
      if (resumed === "resumed") return;
      if (resumed === "taken") return this.#giveUp(`another buddy took the tmux session ${this.name} over meanwhile`);
    }
    this.#giveUp(failed);
  }

  async #resume(client: ControlClient, stale: number, remote: boolean): Promise<"resumed" | "taken"> {
    const seen = await this.#readSession(client, false);
    if (!(await this.#claimAfter(client, seen))) {
      await client.close();
      return "taken";
    }
    this.#client = client;
    this.#watch();
    if (stale > 0 && stale !== this.#clientPid) {
      const kill = 'kill -9 "$1" 2>/dev/null; :';
      void this.options.transport.run(kill, { args: [String(stale)], quick: true }).catch(() => {});
    }
    this.#followers.listed(seen.panes);
    this.#followers.reconnected();
    if (remote) this.options.notice({ kind: "reconnected", text: "Connected again." });
    return "resumed";
  }

  #giveUp(why: string): void {
    const { transport, notice } = this.options;
    // "Reconnecting" was reported, so its failure is reported, too, even if no command waits.
    if (transport.kind !== "local" && !this.#closed)
      notice({ kind: "warning", text: `Reconnecting failed: ${why.replace(/\.$/, "")}.` });
    this.#client = undefined;
    this.#followers.endAll(why);
  }

  /** A dead connection or a stopped server may give no error, only silence: asks for an answer regularly. */
  #watch(): void {
    clearInterval(this.#heartbeat);
    const isLocal = this.options.transport.kind === "local";
    const every = this.options.heartbeatMs ?? (isLocal ? LOCAL_HEARTBEAT_MS : HEARTBEAT_MS);
    let asked = 0;
    let looked = performance.now();
    this.#heartbeat = setInterval(() => {
      const client = this.#client;
      // If buddy itself was stopped or busy, an answer may be there and not read.
      const wasAway = performance.now() - looked > every;
      looked = performance.now();
      if (client === undefined || client.closed) return;
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
