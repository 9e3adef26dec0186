/**
 * A pane of the operator's own tmux (`--pane %3`): followed through a control client that changes no settings, and
 * typed into only while the adopted shell in it is at its prompt.
 */
import { randomBytes } from "node:crypto";
import { BuddyError } from "../../lib/errors.ts";
import { within, pause } from "../../lib/waiting.ts";
import type { OutputStore } from "../output/output-store.ts";
import type { KeysOptions, Pane, Panes, ShellPlace, Transport } from "../target.ts";
import { type AdoptedShell, AdoptedShells } from "./adopted-shell.ts";
import { joinScript } from "./bootstrap.ts";
import { capturePane, lineBeforeCursor, pressKeys, sendKeys } from "./capture.ts";
import { ControlClient } from "./control.ts";
import { asksForPassword, foregroundGroup, type ForegroundState, mayReadSilently, probeForeground } from "./probe.ts";
import { hasPrintable, stillThere } from "./typed-keys.ts";
import { holdsShell } from "./watch-command.ts";
import { surroundingTmux } from "../../lib/terminal.ts";

/** How long tmux may take to answer. */
const JOIN_MS = 10_000;
const LEAVE_MS = 2000;
/** How often buddy checks whether a shell that shows no prompt still exists. */
const LOOK_MS = 1000;

interface OperatorPaneOptions {
  readonly transport: Transport;
  readonly id: string;
  readonly outputStore: OutputStore;
}

export class OperatorPane {
  readonly id: string;
  /** For capture-pane and send-keys: this pane and no other. */
  readonly panes: Panes;
  readonly #options: OperatorPaneOptions;
  readonly #shells: AdoptedShells;
  readonly #row: OperatorPaneRow;
  #width: number;
  readonly #client: ControlClient;
  #looking: ReturnType<typeof setInterval> | undefined;

  static async open(options: OperatorPaneOptions): Promise<OperatorPane> {
    const { transport, id } = options;
    const socket = operatorSocket();
    const row = await findPane(transport, socket, id);
    const script = joinScript({ facts: transport.facts, socket, session: row.session });
    const process = transport.spawn(["sh"], { script });
    process.stdin.write(`${randomBytes(8).toString("hex")}\n`);
    const shells = new AdoptedShells();
    let pane: OperatorPane | undefined;
    const client = new ControlClient(process, {
      output: (from, bytes) => {
        if (from === id) shells.feed(bytes);
      },
      event: (line) => {
        if (/^%(unlinked-)?window-close|^%layout-change|^%sessions?-/.test(line)) void pane?.look().catch(() => {});
      },
      closed: () => shells.endAll(),
    });
    if ((await within(client.preamble, JOIN_MS)) === undefined) {
      client.abandon("no answer");
      throw new BuddyError("target", `the tmux server of pane ${id} did not answer`, {
        hint: "It may be stopped, or a different version from the tmux on PATH.",
      });
    }
    process.stdin.write("attached\n");
    return (pane = new OperatorPane(options, row, client, shells));
  }

  private constructor(
    options: OperatorPaneOptions,
    row: OperatorPaneRow,
    client: ControlClient,
    shells: AdoptedShells,
  ) {
    this.id = options.id;
    this.#options = options;
    this.#row = row;
    this.#width = row.width;
    this.#client = client;
    this.#shells = shells;
    this.panes = this.#onlyThis();
  }

  /** Directory of the innermost shell. */
  get cwd(): string {
    return this.#shells.innermost?.cwd ?? "/";
  }

  async adopt(ended: () => void): Promise<AdoptedShell> {
    const why = (await this.#closedOff()) ?? (await this.#noShell());
    if (why !== undefined) {
      throw new BuddyError("target", `buddy cannot work in pane ${this.id}: ${why}`, {
        hint: "Bring a shell to its prompt there, then try again.",
      });
    }
    const isFirst = this.#shells.innermost === undefined;
    if (isFirst) this.#lookNoMore();
    // The group of the shell (or of sudo, ssh, podman around it) is in the foreground while it is at its prompt.
    const holder = await foregroundGroup(this.#options.transport, this.#row);
    const shell = await this.#shells.adopt(
      {
        outputStore: this.#options.outputStore,
        width: () => this.#width,
        send: (keys) => pressKeys(this.#client, this.id, keys),
        obstacle: () => this.#obstacle(holder),
      },
      ended,
    );
    if (isFirst) this.#lookNowAndThen(holder);
    return shell;
  }

  /** Ends the adopted shells if the pane is gone. */
  async look(): Promise<void> {
    await this.#closedOff();
  }

  async close(): Promise<void> {
    this.#lookNoMore();
    const left = this.#shells.leave().catch(() => {});
    await within(left, LEAVE_MS);
    await this.#client.close();
  }

  /** Why nothing may be typed for the shell of this process group. */
  async #obstacle(holder: number): Promise<string | undefined> {
    const why = await this.#closedOff();
    if (why !== undefined) return why;
    const group = await foregroundGroup(this.#options.transport, this.#row);
    return group === holder ? undefined : "another program is in the foreground of the pane";
  }

  /** Why keys for this pane alone cannot be typed into it. */
  async #closedOff(): Promise<string | undefined> {
    if (this.#client.closed) return "tmux has ended, or closed the connection";
    const listed = await this.#client.ask(`list-panes -s -t '${this.#row.session}:' -F '${OPERATOR_PANE}'`);
    const row = listed.map(parseOperatorPane).find(({ id }) => id === this.id);
    this.#width = row?.width ?? this.#width;
    if (row !== undefined && !row.dead) return whyClosedOff(row);
    this.#shells.endAll();
    return "it was closed, or moved to another session";
  }

  async #noShell(): Promise<string | undefined> {
    const { program, doing } = await probeForeground(this.#options.transport, this.#row, true);
    if (doing === "password") return `${program} asks for a password`;
    return holdsShell(program) ? undefined : `${program} is in the foreground, not a shell at its prompt`;
  }

  /** The outermost shell may end unnoticed, when a connection breaks: then its process group is gone. */
  #lookNowAndThen(holder: number): void {
    const gone = async () => {
      const script = 'kill -0 "-$1" 2>/dev/null || [ -d "/proc/$1" ]';
      const { code } = await this.#options.transport.run(script, {
        args: [String(holder)],
        timeoutMs: 5000,
        quick: true,
      });
      // Another shell may have been adopted meanwhile.
      if (code === 1 && this.#looking === looking) this.#shells.endAll();
    };
    const looking = setInterval(() => {
      const { innermost } = this.#shells;
      if (innermost === undefined) clearInterval(looking);
      else if (!innermost.isReady) void gone().catch(() => {});
    }, LOOK_MS);
    looking.unref();
    this.#looking = looking;
  }

  #lookNoMore(): void {
    clearInterval(this.#looking);
    this.#looking = undefined;
  }

  /** With the name of the foreground program as the system reports it: the policy judges lines for another shell. */
  async #where(): Promise<ShellPlace> {
    const place = await this.#adopted().where();
    if (place.program === undefined) return place;
    const { program } = await probeForeground(this.#options.transport, this.#row, true);
    return { ...place, program, row: await lineBeforeCursor(this.#client, this.id).catch(() => "") };
  }

  #adopted(): AdoptedShell {
    const { innermost } = this.#shells;
    if (innermost !== undefined) return innermost;
    throw new BuddyError("tool", `no shell is adopted in pane ${this.id}`, { hint: "The operator can: /adopt." });
  }

  async #keys(options: KeysOptions): Promise<void> {
    await pause(options.delayMs ?? 0, options.signal);
    const { transport } = this.#options;
    const refuse = (why: string) => {
      throw new BuddyError("tool", `${why}: nothing was typed`, { advice: "Look at it with capture-pane first." });
    };
    const closed = await this.#closedOff();
    // Keys may go to a full-screen program.
    if (closed !== undefined && closed !== FULL_SCREEN) refuse(closed);
    const seen = await probeForeground(transport, this.#row, true);
    const line = seen.doing === "raw" ? await lineBeforeCursor(this.#client, this.id) : "";
    if (hasPrintable(options.keys ?? [], options.literalText ?? "")) {
      if (asksForPassword(seen, line, undefined)) refuse("a program in the pane asks for a password");
      if (await this.#mayReadSilently(seen)) refuse("fish reads a line, which may be a password (read -s)");
    }
    if (options.onlyWhere !== undefined) stillThere(await this.#where(), options.onlyWhere);
    await sendKeys(this.#client, this.id, options);
  }

  async #mayReadSilently(seen: ForegroundState): Promise<boolean> {
    const { innermost } = this.#shells;
    if (innermost?.name !== "fish" || (await innermost.where()).program === undefined) return false;
    return mayReadSilently(seen, "");
  }

  #onlyThis(): Panes {
    const refuse = () =>
      Promise.reject(
        new BuddyError("tool", `buddy works in pane ${this.id} of the operator's tmux and in no other`, {
          hint: "Leave out session and pane.",
        }),
      );
    const cwd = () => this.cwd;
    const pane: Pane = {
      kind: "tmux",
      id: this.id,
      get cwd() {
        return cwd();
      },
      where: () => this.#where(),
      run: async (command, options) => this.#adopted().run(command, options),
      wait: async (options) => this.#adopted().wait(options),
      readOutput: async (id, options) => this.#options.outputStore.read(id, options),
      capture: (options = {}) => capturePane(this.#client, this.id, options),
      keys: (options) => this.#keys(options),
    };
    return {
      pane: ({ session, pane: name, target } = {}) => {
        const isThis = session === undefined && name === undefined && (target ?? this.id) === this.id;
        return isThis ? Promise.resolve(pane) : refuse();
      },
      createSession: refuse,
      killSession: refuse,
      createPane: refuse,
      killPane: refuse,
      list: () => Promise.resolve([]),
    };
  }
}

const FULL_SCREEN = "a full-screen program is in it";

/** Undefined if keys typed into the pane go to it alone. */
function whyClosedOff(row: OperatorPaneRow): string | undefined {
  if (row.synchronized) return "its keys also go to other panes (synchronize-panes)";
  if (row.inputOff) return "its input is turned off (select-pane -d)";
  return row.fullScreen ? FULL_SCREEN : undefined;
}

interface OperatorPaneRow {
  readonly id: string;
  /** tmux's id of its session, `$1`. */
  readonly session: string;
  readonly pid: number;
  readonly tty: string;
  readonly dead: boolean;
  readonly width: number;
  readonly fullScreen: boolean;
  readonly synchronized: boolean;
  readonly inputOff: boolean;
  /** buddy manages it. */
  readonly managed: boolean;
}

const FIELDS = [
  "pane_id",
  "session_id",
  "pane_pid",
  "pane_tty",
  "pane_dead",
  "pane_width",
  "alternate_on",
  "pane_synchronized",
  "pane_input_off",
  "@buddy_managed",
];

const OPERATOR_PANE = FIELDS.map((name) => `#{${name}}`).join("|");

function parseOperatorPane(line: string): OperatorPaneRow {
  const [id = "", session = "", pid, tty = "", dead, width, fullScreen, synchronized, inputOff, managed = ""] =
    line.split("|");
  return {
    id,
    session,
    pid: Number(pid),
    tty,
    dead: dead === "1",
    width: Number(width),
    fullScreen: fullScreen === "1",
    synchronized: synchronized === "1",
    inputOff: inputOff === "1",
    managed: managed !== "",
  };
}

/** Socket of the tmux server that buddy was started in, otherwise of the default one. */
function operatorSocket(): string {
  const { env } = process;
  const inside = surroundingTmux();
  if (inside !== undefined) return inside;
  if (env["TMUX"])
    throw new BuddyError("target", `cannot use the tmux server ${env["TMUX"].split(",")[0]}`, {
      hint: `It has ended, or belongs to another user. ${OTHER}`,
    });
  return `${env["TMUX_TMPDIR"] || "/tmp"}/tmux-${process.getuid?.() ?? 0}/default`;
}

async function findPane(transport: Transport, socket: string, id: string): Promise<OperatorPaneRow> {
  const { tmux = "tmux" } = transport.facts.programs;
  const script = '"$1" -u -S "$2" list-panes -a -F "$3"';
  const listed = await transport.run(script, { args: [tmux, socket, OPERATOR_PANE], timeoutMs: LIST_MS });
  if (listed.code !== 0) {
    const why = listed.stderr.trim().split("\n")[0] || "no answer";
    throw new BuddyError("target", `cannot list the panes of the tmux server ${socket}: ${why}`, { hint: OTHER });
  }
  const rows = listed.stdout.toString().split("\n").map(parseOperatorPane);
  const row = rows.find((one) => one.id === id);
  if (row === undefined) {
    throw new BuddyError("target", `there is no pane ${id} on the tmux server ${socket}`, {
      hint: `See them with: tmux list-panes -a -F '#{pane_id} #{session_name} #{pane_current_command}'\n${OTHER}`,
    });
  }
  const isOwn = surroundingTmux() === socket && process.env["TMUX_PANE"] === id;
  if (isOwn) throw refused(id, "buddy itself was started in it", "Name another pane.");
  if (row.managed) throw refused(id, "it is one of buddy's own", "Leave --pane out to work in buddy's own panes.");
  if (row.dead) throw refused(id, "the program in it has ended", "Name another pane.");
  return row;
}

function refused(id: string, why: string, hint: string): BuddyError {
  return new BuddyError("target", `buddy cannot work in pane ${id}: ${why}`, { hint });
}

const LIST_MS = 5000;
const OTHER = "To use a pane of another tmux server, start buddy inside that server.";
