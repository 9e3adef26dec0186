/** One managed tmux session on the target: its control client, kept up across drops, and what its panes say. */
import { randomBytes } from "node:crypto";
import { BuddyError } from "../../lib/errors.ts";
import { PermanentRefusal, SessionGone } from "../errors.ts";
import type { TargetNotice, Transport } from "../target.ts";
import { attachScript, type PaneShell } from "./bootstrap.ts";
import { ControlClient, type Reply, tmuxQuote } from "./control.ts";
import { markPane, PANE_FORMAT, type PaneRow, parsePanes } from "./pane-rows.ts";
import { prepareArguments, RESTORE_FILES } from "./session-files.ts";

export interface TmuxSessionOptions {
  readonly transport: Transport;
  readonly socket: string;
  readonly session: string;
  /** Prefix of everything this buddy manages: the name of its default session. */
  readonly owner: string;
  readonly shell: PaneShell;
  readonly cwd: string;
  readonly unset: readonly string[];
  readonly notice: (notice: TargetNotice) => void;
  readonly heartbeatMs?: number;
}

/** Somebody who follows a pane. */
export interface PaneSink {
  output(bytes: Buffer): void;
  /** The connection is gone; `reconnected` or `gone` follows. */
  dropped(why: string): void;
  reconnected(): void;
  /** The pane does not exist any more, or cannot be reached again. */
  gone(why: string): void;
  /** tmux left output out. */
  paused(): void;
}

const HEARTBEAT_MS = 3000;
/** Between attempts; the transport waits by itself within each. */
const BACKOFF_MS = [0, 500, 2000, 5000, 15_000, 30_000];
const LOCAL_BACKOFF_MS = [0, 100];
const EARLY_BYTES = 256 * 1024;
const EARLY_PANES = 8;

export class TmuxSession {
  readonly name: string;
  readonly options: TmuxSessionOptions;
  readonly #sinks = new Map<string, PaneSink>();
  /** Output of panes that nobody follows yet: a new pane speaks before its number is known. */
  readonly #early = new Map<string, Buffer[]>();
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
    this.name = options.session;
  }

  get key(): string {
    return this.#key;
  }

  get directory(): string {
    return this.#directory;
  }

  /** For files of a moment: the line to take, the script to source. */
  get runDirectory(): string {
    return this.#runDirectory;
  }

  get closed(): boolean {
    return this.#closed;
  }

  get connected(): boolean {
    return this.#client !== undefined && !this.#client.closed;
  }

  /** Attaches, making the session when there is none; tells whether it was made. */
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
    return parsePanes(await this.ask(`list-panes -s -t ${tmuxQuote(`=${this.name}`)} -F '${PANE_FORMAT}'`));
  }

  follow(pane: string, sink: PaneSink): () => void {
    this.#sinks.set(pane, sink);
    const early = this.#early.get(pane) ?? [];
    this.#early.delete(pane);
    for (const bytes of early) sink.output(bytes);
    return () => {
      if (this.#sinks.get(pane) === sink) this.#sinks.delete(pane);
    };
  }

  /** Puts key and start-up files in place again, where something cleaned them away. */
  async restoreFiles(): Promise<void> {
    const { transport, socket } = this.options;
    const args = prepareArguments({ facts: transport.facts, socket, session: this.name });
    const result = await transport.run(RESTORE_FILES, { args, input: `${this.#key}\n` });
    if (result.code !== 0) throw cannotWrite(result.stderr);
  }

  /** After the session itself is gone. */
  async removeFiles(): Promise<void> {
    const args = [this.#directory, this.#runDirectory];
    if (args.every((one) => one.endsWith(`.${this.name}`)))
      await this.options.transport.run('rm -rf "$1" "$2"', { args });
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#heartbeat);
    await this.#client?.close();
  }

  async #open(): Promise<boolean> {
    if (this.connected) return false;
    if (this.#key !== "") await this.options.transport.ensure();
    const client = await this.#attach(true);
    this.#client = client;
    const target = tmuxQuote(`=${this.name}:`);
    const [managed, key, panes, pid] = await client.send([
      `show-options -qv -t ${target} @buddy_managed`,
      `show-options -qv -t ${target} @buddy_key`,
      `list-panes -s -t ${target} -F '${PANE_FORMAT}|#{pane_start_command}'`,
      "display-message -p '#{client_pid}'",
    ]);
    this.#clientPid = Number(pid?.lines[0]) || 0;
    const isManaged = managed?.lines[0] === "1";
    const first = panes?.lines[0] ?? "";
    if (!isManaged && !first.includes(`${this.#directory}/supervisor.sh`)) {
      await client.close();
      throw new BuddyError("target", `the tmux session ${this.name} exists and is not buddy's`, {
        hint: "Name another one with --tmux NAME, or end that session.",
      });
    }
    if (!isManaged) await this.#mark(client, target, parsePanes([first])[0]);
    else if (key?.lines[0]) await this.#keepKey(key.lines[0]);
    this.#watch();
    return !isManaged;
  }

  /** Something cleaned the directory away, and the key made anew is not the one that the shells of this session know. */
  async #keepKey(key: string): Promise<void> {
    if (key === this.#key) return;
    this.#key = key;
    const script = 'IFS= read -r k && umask 077 && printf "%s\\n" "$k" >"$1/key"';
    const result = await this.options.transport.run(script, { args: [this.#directory], input: `${key}\n` });
    if (result.code !== 0) throw cannotWrite(result.stderr);
  }

  async #mark(client: ControlClient, target: string, pane: PaneRow | undefined): Promise<void> {
    const owner = tmuxQuote(this.options.owner);
    await client.send([
      `set-option -t ${target} @buddy_managed 1`,
      `set-option -t ${target} @buddy_key ${this.#key}`,
      `set-option -t ${target} @buddy_owner ${owner}`,
      `set-option -t ${target} destroy-unattached off`,
      ...(pane === undefined ? [] : markPane(pane.id, "shared", this.options.owner)),
    ]);
  }

  async #attach(create: boolean): Promise<ControlClient> {
    const { transport, socket, shell, cwd, unset } = this.options;
    const script = attachScript({
      facts: transport.facts,
      socket,
      session: this.name,
      cwd,
      shell,
      unset,
      create,
      login: transport.kind === "ssh",
      plain: false,
    });
    const process = transport.spawn(["sh"], { script });
    process.stdin.write(`${this.#key || randomBytes(16).toString("hex")}\n`);
    const client: ControlClient = new ControlClient(process, {
      output: (pane, bytes) => this.#output(pane, bytes),
      event: (line) => this.#event(line),
      closed: (why) => {
        if (this.#client === client) this.#lost(why);
      },
    });
    // A process that was never started knows why.
    const said = await client.preamble.catch(async (error: unknown) => {
      await process.pid;
      throw error;
    });
    const greeting = said.find((line) => line.startsWith("buddy ")) ?? "";
    const [, key, directory] = /^buddy (\w+) (.+)$/.exec(greeting) ?? [];
    if (key === undefined || directory === undefined) {
      client.abandon("no greeting");
      throw new BuddyError(
        "target",
        said.join(" ").replace(/^buddy-error /, "") || "the pane's start-up files are missing",
      );
    }
    this.#key = key;
    this.#directory = directory;
    this.#runDirectory = said.find((line) => line.startsWith("buddy-run "))?.slice("buddy-run ".length) ?? directory;
    return client;
  }

  #connectedClient(): ControlClient {
    if (this.#client !== undefined && !this.#client.closed) return this.#client;
    throw new BuddyError("target", `not attached to the tmux session ${this.name}`);
  }

  #output(pane: string, bytes: Buffer): void {
    const sink = this.#sinks.get(pane);
    if (sink !== undefined) return sink.output(bytes);
    const early = this.#early.get(pane) ?? [];
    this.#early.set(pane, early);
    const oldest = this.#early.keys().next().value;
    if (this.#early.size > EARLY_PANES && oldest !== undefined) this.#early.delete(oldest);
    if (early.reduce((sum, one) => sum + one.length, 0) < EARLY_BYTES) early.push(bytes);
  }

  #event(line: string): void {
    const [kind, subject = ""] = line.split(" ");
    if (kind === "%pause") {
      void this.#client?.send([`refresh-client -A ${tmuxQuote(`${subject}:continue`)}`]).catch(() => {});
      this.#sinks.get(subject)?.paused();
    } else if (kind !== undefined && /^%(unlinked-)?window-close|^%layout-change|^%sessions-changed/.test(kind)) {
      void this.#checkPanes();
    }
  }

  /** `display-message -t` succeeds for a pane that is gone; only the list tells. */
  async #checkPanes(): Promise<void> {
    if (this.#sinks.size === 0 || !this.connected) return;
    const [reply] = await this.#connectedClient()
      .send([`list-panes -s -t ${tmuxQuote(`=${this.name}`)} -F '${PANE_FORMAT}'`])
      .catch(() => []);
    if (reply === undefined) return;
    this.#dropMissing(reply.ok ? parsePanes(reply.lines) : []);
  }

  #dropMissing(rows: readonly PaneRow[]): void {
    const there = new Set(rows.filter((row) => !row.dead).map((row) => row.id));
    for (const pane of this.#sinks.keys()) {
      if (!there.has(pane)) this.lostPane(pane);
    }
  }

  /** A command was refused because the pane does not exist. */
  lostPane(pane: string): void {
    const sink = this.#sinks.get(pane);
    this.#sinks.delete(pane);
    sink?.gone("its pane was closed");
  }

  #lost(why: string): void {
    clearInterval(this.#heartbeat);
    if (this.#closed) return;
    for (const sink of this.#sinks.values()) sink.dropped(why);
    this.#reconnecting ??= this.#reconnect(why).finally(() => {
      this.#reconnecting = undefined;
      // Dropped again before it was known to stand.
      if (this.#client?.closed === true) this.#lost(why);
    });
  }

  async #reconnect(why: string): Promise<void> {
    const { transport, notice } = this.options;
    const remote = transport.kind !== "local";
    if (remote)
      notice({ kind: "reconnecting", text: `Connection to ${transport.label} lost (${why}); reconnecting …` });
    const stale = this.#clientPid;
    for (const delay of remote ? BACKOFF_MS : LOCAL_BACKOFF_MS) {
      await Bun.sleep(delay);
      if (this.#closed) return;
      try {
        await transport.ensure();
      } catch (error) {
        if (error instanceof PermanentRefusal) return this.#giveUp(error.message);
        continue;
      }
      const client = await this.#attach(false).catch((error: unknown) => error as Error);
      if (client instanceof Error) {
        if (client instanceof SessionGone) break;
        continue;
      }
      const resumed = await this.#resume(client, stale, remote).catch(() => false);
      if (resumed !== false) return;
    }
    this.#giveUp(`the tmux session ${this.name} is gone`);
  }

  async #resume(client: ControlClient, stale: number, remote: boolean): Promise<void> {
    this.#client = client;
    this.#watch();
    const [pid, panes] = await client.send([
      "display-message -p '#{client_pid}'",
      `list-panes -s -t ${tmuxQuote(`=${this.name}`)} -F '${PANE_FORMAT}'`,
    ]);
    this.#clientPid = Number(pid?.lines[0]) || 0;
    if (stale > 0 && stale !== this.#clientPid) {
      void this.options.transport.run('kill -9 "$1" 2>/dev/null; :', { args: [String(stale)] }).catch(() => {});
    }
    this.#dropMissing(panes?.ok === true ? parsePanes(panes.lines) : []);
    for (const sink of this.#sinks.values()) sink.reconnected();
    if (remote)
      this.options.notice({ kind: "reconnected", text: `Connected to ${this.options.transport.label} again.` });
  }

  #giveUp(why: string): void {
    this.#client = undefined;
    const sinks = [...this.#sinks.values()];
    this.#sinks.clear();
    for (const sink of sinks) sink.gone(why);
  }

  /** A black hole gives no error: only silence after a question tells. */
  #watch(): void {
    clearInterval(this.#heartbeat);
    if (this.options.transport.kind === "local" && this.options.heartbeatMs === undefined) return;
    const every = this.options.heartbeatMs ?? HEARTBEAT_MS;
    let asked = 0;
    this.#heartbeat = setInterval(() => {
      const client = this.#client;
      if (client === undefined || client.closed) return;
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
