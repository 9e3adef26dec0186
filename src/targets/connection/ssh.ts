/** Processes on a host over ssh: one multiplexed connection, opened again when it drops. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { homeDirectory } from "../../lib/local-directories.ts";
import { canAsk } from "../../lib/terminal.ts";
import { BuddyError } from "../../lib/errors.ts";
import { within } from "../../lib/waiting.ts";
import { ConnectionLost, MachineChanged, PermanentRefusal } from "../errors.ts";
import { unlessRefused } from "./remote-process.ts";
import { NoAnswer, RemoteSession } from "./remote-session.ts";
import { ScriptRunnerLost } from "./script-runner.ts";
import { LINE_TAKEN, LOADER } from "../script-line.ts";
import type {
  MachineFacts,
  Process,
  ScriptOptions,
  ScriptResult,
  GuardShell,
  SpawnOptions,
  Transport,
} from "../target.ts";
import { LocalTransport } from "./local.ts";
import { Reconnector } from "./reconnector.ts";
import { destinationOf, sshArguments, type SshDestination } from "./ssh-destination.ts";
import { sshFailure } from "./ssh-failure.ts";
import { SshMaster } from "./ssh-master.ts";

/** In single quotes, which sh, fish and csh all read in the same way. */
const REMOTE_COMMAND = `exec sh -c '${LOADER}'`;
/** The same for a shell that reads its program from stdin: dash and busybox read that in large pieces. */
const REMOTE_SHELL = "exec sh";
const OPEN_MS = 30_000;
/** Including the login. */
const LOGIN_MS = 60_000;
/** Exit code of ssh itself. */
const CONNECTION_FAILED = 255;
/** For the user's own connection. */
const SHARED_MS = 10_000;
const CHECK_MS = 5000;
const BACKOFF_MS = [0, 500, 1000, 2000, 4000, 8000, 8000, 8000, 8000];

export interface SshOptions {
  /** [user@]host[:port] or an alias of ~/.ssh/config. */
  readonly destination: string;
  readonly args?: readonly string[] | undefined;
  readonly cwd?: string | undefined;
  readonly interactive: boolean;
  /** One of many machines: as few processes as possible. */
  readonly frugal?: boolean;
  /** A process follows at once. */
  readonly ahead?: boolean;
  readonly signal?: AbortSignal | undefined;
}

export class SshTransport implements Transport {
  readonly kind = "ssh";
  readonly label: string;
  readonly facts: MachineFacts;
  readonly #options: SshOptions;
  readonly #local: LocalTransport;
  #connection: Connection;
  readonly #reconnector: Reconnector;
  #closing: Promise<void> | undefined;

  private constructor(options: SshOptions, local: LocalTransport, connection: Connection) {
    this.#options = options;
    this.#local = local;
    this.#connection = connection;
    this.facts = connection.remoteSession.facts;
    const { user, text } = destinationOf(options);
    this.label = user === undefined ? `ssh ${this.facts.user}@${text}` : `ssh ${text}`;
    this.#reconnector = new Reconnector(this.label, (signal, mayAsk) => this.#reconnect(signal, mayAsk));
  }

  static async open(options: SshOptions): Promise<SshTransport> {
    const destination = destinationOf(options);
    // Clients are local processes: the local transport manages their environment, groups and end.
    const local = new LocalTransport({ cwd: "/" });
    try {
      return new SshTransport(
        options,
        local,
        await connect(destination, options, local, options.interactive, options.signal),
      );
    } catch (error) {
      await local[Symbol.asyncDispose]();
      throw error;
    }
  }

  get isReconnecting(): boolean {
    return this.#reconnector.busy;
  }

  get guardShell(): GuardShell | undefined {
    return this.#connection.remoteSession.guardShell;
  }

  spawn(argv: readonly string[], options?: SpawnOptions): Process {
    this.#reconnector.assertOpen();
    return this.#connection.remoteSession.spawn(argv, options);
  }

  run(script: string, options: ScriptOptions = {}): Promise<ScriptResult> {
    return this.#reconnector.run(options.signal, () => this.#connection.remoteSession.run(script, options));
  }

  /** One round trip if the connection is up. Asks nothing on the terminal, which may be in use. */
  ensure(signal?: AbortSignal): Promise<void> {
    return this.#reconnector.ensure(signal);
  }

  reconnect(signal?: AbortSignal): Promise<void> {
    return this.#reconnector.reconnect(signal);
  }

  answers(timeoutMs: number): Promise<boolean> {
    return this.#connection.remoteSession.answers(timeoutMs);
  }

  connectAnew(signal: AbortSignal): Promise<string | undefined> {
    return SshMaster.probe(destinationOf(this.#options), signal);
  }

  abandon(): Promise<void> {
    this.#connection.remoteSession.abandon("it was given up");
    return this[Symbol.asyncDispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    await this.#reconnector.close();
    await this.#connection.remoteSession.close();
    await this.#connection.master[Symbol.asyncDispose]();
    await this.#local[Symbol.asyncDispose]();
  }

  async #reconnect(signal: AbortSignal, mayAsk: boolean): Promise<void> {
    if (await this.#connection.remoteSession.answers(CHECK_MS, signal)) return;
    this.#connection.remoteSession.abandon("the connection was lost");
    await this.#connection.master[Symbol.asyncDispose]();
    const destination = destinationOf(this.#options);
    const options = { ...this.#options, cwd: this.facts.cwd, again: true };
    for (const [attempt, wait] of BACKOFF_MS.entries()) {
      await delay(wait, undefined, { signal }).catch(() => signal.throwIfAborted());
      try {
        const connection = await connect(destination, options, this.#local, mayAsk && canAsk(), signal);
        await this.#use(connection);
        return;
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof ConnectionLost) || mayAsk || attempt === BACKOFF_MS.length - 1) throw error;
      }
    }
  }

  async #use(connection: Connection): Promise<void> {
    const { machine, user, host } = connection.remoteSession.facts;
    const same = machine === this.facts.machine && user === this.facts.user && host === this.facts.host;
    if (this.#reconnector.closed || !same) {
      await connection.remoteSession.close();
      await connection.master[Symbol.asyncDispose]();
      this.#reconnector.assertOpen();
      throw new MachineChanged(
        "target",
        `${this.label} now reaches a different machine: ${user}@${host} (${machine}); it was ${this.facts.user}@${this.facts.host} (${this.facts.machine})`,
        { hint: "Nothing was run there. Start buddy again if this is the machine you want." },
      );
    }
    this.#connection = connection;
  }
}

interface Connection {
  readonly master: SshMaster;
  readonly remoteSession: RemoteSession;
}

async function connect(
  destination: SshDestination,
  options: Omit<SshOptions, "signal" | "interactive"> & { readonly again?: boolean },
  local: LocalTransport,
  interactive: boolean,
  signal: AbortSignal | undefined,
): Promise<Connection> {
  const frugal = options.frugal === true;
  const start = (argv: readonly string[]) => local.spawn(argv, { isClient: true });
  const open = async (master: SshMaster, first?: Process): Promise<Connection> => {
    // An sshd may allow only one session on a connection: then a needed client logs in once more.
    let isFull = false;
    const alone = () => {
      isFull = true;
      return start(master.aloneArgv(REMOTE_COMMAND));
    };
    const client = (needed: boolean): Process => {
      if (needed && isFull) return alone();
      const through = start(master.argv(REMOTE_COMMAND));
      return needed ? unlessRefused(through, alone) : through;
    };
    try {
      const remoteSession = await RemoteSession.open({
        label: `ssh ${destination.text}`,
        client,
        // A new login might reach another machine.
        checkMachine: "when-needed",
        first,
        cwd: options.cwd ?? "",
        again: options.again ?? false,
        frugal,
        ahead: options.ahead ?? false,
        timeoutMs: master.isShared ? SHARED_MS : first === undefined ? OPEN_MS : LOGIN_MS,
        signal,
      });
      return { master, remoteSession };
    } catch (error) {
      const code = first === undefined ? 0 : await within(first.exited, 0);
      await master[Symbol.asyncDispose]();
      if (!(error instanceof NoAnswer || error instanceof ScriptRunnerLost)) throw error;
      if (code === undefined) throw sshFailure(`Connection timed out after ${LOGIN_MS / 1000} s`, destination);
      throw code === CONNECTION_FAILED
        ? sshFailure(error.message, destination)
        : await commandsFail(error, destination);
    }
  };
  const shared = frugal && !mayShare() ? undefined : await SshMaster.shared(destination);
  if (shared !== undefined) {
    try {
      return await open(shared);
    } catch (error) {
      // A master whose network is gone still answers locally: open a new connection.
      signal?.throwIfAborted();
      if (!(error instanceof ConnectionLost)) throw error;
    }
  }
  if (!frugal || interactive) return await open(await SshMaster.start({ destination, interactive, signal }));
  const { master, first } = await SshMaster.startWithSession(destination, REMOTE_SHELL, start);
  return await open(master, first);
}

/** Asking costs a process for each machine: without a ControlPath in the configuration there is nothing to find. */
function mayShare(): boolean {
  return (sharing ??= configurationFiles().some((file) => {
    try {
      return /^\s*(?:ControlPath|Include(?!\s+\/etc\/ssh\/ssh_config\.d\/\*\.conf\s*$))\b/im.test(
        readFileSync(file, "utf8"),
      );
    } catch {
      return false;
    }
  }));
}

function configurationFiles(): string[] {
  const files = [join(homeDirectory(), ".ssh/config"), "/etc/ssh/ssh_config"];
  try {
    const more = readdirSync("/etc/ssh/ssh_config.d");
    return [...files, ...more.map((name) => join("/etc/ssh/ssh_config.d", name))];
  } catch {
    return files;
  }
}

let sharing: boolean | undefined;

/** The login succeeded but our first command failed: why, as far as its output shows. */
async function commandsFail(error: Error, destination: SshDestination): Promise<BuddyError> {
  // sshd prints this for every account without a home directory.
  const said = error.message.replace(/^Could not chdir to home directory .*$/gm, "").trim();
  const [, cause, hint] = CAUSES.find(([pattern]) => pattern.test(said)) ?? (await ownSetting(destination)) ?? [];
  const last = said.split("\n").at(-1) ?? "";
  const message = `login to ${destination.text} succeeded but commands fail: ${cause ?? (last || "no reason given")}`;
  const check = `Check with: ssh ${sshArguments(destination)} true`;
  if (cause !== undefined) return new PermanentRefusal("target", message, { hint: `${hint} ${check}`, cause: error });
  // The connection may have dropped right after the login.
  return new ConnectionLost("target", message, {
    hint: `Possible causes: a ForceCommand; a start-up file that waits for input, exits or starts another program; a login shell that runs nothing. ${check}`,
    cause: error,
  });
}

/**
 * A setting of the user's that leaves commands without input, or starts something else. It is not overridden: an ssh
 * before 8.7 knows neither and refuses them.
 */
async function ownSetting(destination: SshDestination): Promise<readonly [string, string, string] | undefined> {
  const { sshSettings } = await import("../names/ssh-config.ts");
  const settings = await sshSettings(destination).catch(() => []);
  const [name, value] =
    settings.find(([key, set]) => (key === "stdinnull" ? set === "yes" : key === "sessiontype" && set !== "default")) ??
    [];
  if (name === undefined) return undefined;
  const written = name === "stdinnull" ? "StdinNull" : "SessionType";
  const hint = `Set ${written} to ${name === "stdinnull" ? "no" : "default"} for this host.`;
  return [name, `your ssh configuration has ${written} ${value} for this host`, hint];
}

const CAUSES: readonly (readonly [RegExp, string, string])[] = [
  [
    /restricted/i,
    "the login shell is restricted (rbash)",
    "buddy needs a shell that may run programs: use another account, or another login shell.",
  ],
  [
    new RegExp(`${LINE_TAKEN}|\\b[0-9a-f]{32}\\b.*not found`, "i"),
    "a start-up file of the account (such as ~/.bashrc) reads from standard input",
    "Let it do so only in interactive shells: case $- in *i*) ;; *) return ;; esac",
  ],
  [
    /password change required|password has expired/i,
    "the password of the account has expired",
    "Log in once in a terminal and change it.",
  ],
  [
    /not available|nologin|logins are disabled/i,
    "the account has no login shell (nologin)",
    "Use another account, or give this one a shell.",
  ],
];
