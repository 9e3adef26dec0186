/** The ssh connection that everything else uses: a ControlMaster with its own socket. */
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { lendTerminal } from "../../lib/terminal.ts";
import { startChild, refusedProgram, unusableProgram, type UnusableProgram } from "../../lib/start-child.ts";
import { within } from "../../lib/waiting.ts";
import { PermanentRefusal } from "../errors.ts";
import { quote, quoteAll } from "../../lib/quote.ts";
import type { Process } from "../target.ts";
import { exitCleanup } from "./exit-cleanup.ts";
import { sshWords, type SshDestination } from "./ssh-destination.ts";
import { lacksProxyWords, sshFailure } from "./ssh-failure.ts";
import { socketDirectory, socketName, sweepSockets } from "./socket-directory.ts";

/**
 * Overrides settings of the user that would interfere, such as forwardings that collide with those of another session,
 * or a RemoteCommand. All others apply: jump hosts, keys, agent, variables to send.
 */
const COMMON_OPTIONS = [
  "ClearAllForwardings=yes",
  "ForwardX11=no",
  "RemoteCommand=none",
  "RequestTTY=no",
  "PermitLocalCommand=no",
];

// After kill -9 of buddy and its exit cleanup there are no clients left, and the master exits by itself.
const PERSIST = "ControlPersist=10";

const MASTER_OPTIONS = [
  ...COMMON_OPTIONS,
  "ControlMaster=yes",
  PERSIST,
  "ConnectTimeout=20",
  "ServerAliveInterval=5",
  "ServerAliveCountMax=3",
];

/** At INFO ssh prints why it fails; the user may have set QUIET. */
const UNASKED_OPTIONS = ["BatchMode=yes", "LogLevel=INFO"];

/** Without the master a client must fail: by default it would connect by itself, perhaps to another machine. */
const CLIENT_OPTIONS = [...COMMON_OPTIONS, "ControlMaster=no", "ProxyCommand=false", "BatchMode=yes", "LogLevel=ERROR"];

const ALONE_OPTIONS = [
  ...MASTER_OPTIONS.filter((one) => !one.startsWith("Control")),
  "ControlMaster=no",
  "ControlPath=none",
  "BatchMode=yes",
  "LogLevel=ERROR",
];

const MAX_SAID = 16 * 1024;
const BATCH_LIMIT_MS = 60_000;
const ENDED_MS = 1000;

export interface MasterOptions {
  readonly destination: SshDestination;
  /** Questions may be asked on the terminal. */
  readonly interactive: boolean;
  readonly signal?: AbortSignal | undefined;
}

export class SshMaster implements AsyncDisposable {
  readonly #destination: SshDestination;
  /** Undefined for the user's own connection, which stays open. */
  readonly #own: Own | undefined;

  private constructor(destination: SshDestination, own?: Own) {
    this.#destination = destination;
    this.#own = own;
  }

  /** The user's own connection, if it is up (ControlMaster, ControlPath): no password is asked again. */
  static async shared(destination: SshDestination): Promise<SshMaster | undefined> {
    const asked = startSsh(["-O", "check", ...sshWords(destination)], {
      stdio: ["ignore", "ignore", "ignore"],
      detached: true,
      timeout: 3000,
    });
    return (await asked.exited) === 0 ? new SshMaster(destination) : undefined;
  }

  /** Logs in once more over a new connection; returns why that fails. */
  static async probe(destination: SshDestination, signal: AbortSignal): Promise<string | undefined> {
    const said = await logInAlone(destination, signal);
    if (said === undefined) return undefined;
    return signal.aborted ? "no answer in time" : said.trim().split("\n").at(-1);
  }

  get isShared(): boolean {
    return this.#own === undefined;
  }

  /**
   * The connection and its first session in one process, for one of many machines. Asks nothing; if it fails, that
   * process prints why.
   */
  static async startWithSession(
    destination: SshDestination,
    command: string,
    spawn: (argv: readonly string[]) => Process,
  ): Promise<{ readonly master: SshMaster; readonly first: Process }> {
    const socket = await newSocket(destination);
    const letGo = exitCleanup().onDeath(`rm -f ${quote(socket)}`);
    const chosen = settings([...MASTER_OPTIONS.filter((one) => one !== PERSIST), ...UNASKED_OPTIONS]);
    const problem = unusableProgram("ssh");
    if (problem !== undefined) throw noSsh(problem);
    const first = spawn(["ssh", "-T", "-M", "-S", socket, ...chosen, ...sshWords(destination), command]);
    return { master: new SshMaster(destination, { socket, letGo, first }), first };
  }

  static async start(options: MasterOptions): Promise<SshMaster> {
    const socket = await newSocket(options.destination);
    // Registered before there is anything to clean up.
    const letGo = exitCleanup().onDeath(
      `[ ! -S ${quote(socket)} ] || { ${quoteAll(exitArgv(socket))}; rm -f ${quote(socket)}; }`,
    );
    const master = new SshMaster(options.destination, { socket, letGo });
    try {
      await connect(socket, options);
      return master;
    } catch (error) {
      await master[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The ssh command that runs `command` on the host through this connection. */
  argv(command: string): string[] {
    const socket = this.#own === undefined ? [] : ["-S", this.#own.socket];
    return ["ssh", "-T", ...socket, ...settings(CLIENT_OPTIONS), ...sshWords(this.#destination), command];
  }

  /** The same over a new connection, without questions. */
  aloneArgv(command: string): string[] {
    return ["ssh", "-T", ...settings(ALONE_OPTIONS), ...sshWords(this.#destination), command];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#own === undefined) return;
    const { socket, first, letGo } = this.#own;
    if (first === undefined) await askToExit(socket);
    else {
      first.kill();
      await within(first.exited, ENDED_MS);
    }
    rmSync(socket, { force: true });
    letGo();
  }
}

interface Own {
  readonly socket: string;
  readonly letGo: () => void;
  /** The process of the connection, if that is also its first session. */
  readonly first?: Process;
}

async function newSocket({ text }: SshDestination): Promise<string> {
  const directory = socketDirectory();
  await sweepSockets(directory, askToExit);
  return join(directory, socketName(text));
}

const startSsh: typeof startChild = (argv, options) => {
  const problem = unusableProgram("ssh");
  if (problem !== undefined) throw noSsh(problem);
  try {
    return startChild(["ssh", ...argv], options);
  } catch (error) {
    throw noSsh(refusedProgram(Bun.which("ssh") ?? "ssh", error));
  }
};

function noSsh({ text, file }: UnusableProgram): PermanentRefusal {
  const hint =
    file === undefined
      ? "Install the OpenSSH client (package openssh-client or openssh-clients)."
      : `Check it: ls -l ${quote(file)}`;
  return new PermanentRefusal("target", text, { hint });
}

function connect(socket: string, options: MasterOptions): Promise<void> {
  return options.interactive ? lendTerminal(() => logIn(socket, options)) : logIn(socket, options);
}

async function logIn(socket: string, options: MasterOptions): Promise<void> {
  const { destination, interactive } = options;
  const chosen = interactive ? MASTER_OPTIONS : [...MASTER_OPTIONS, ...UNASKED_OPTIONS];
  const argv = ["-M", "-N", "-f", "-S", socket, ...settings(chosen), ...sshWords(destination)];
  // Not detached when it may ask: only the foreground group can read from the terminal. After the login -f takes it out
  // of the group, so that Ctrl-C does not cut the connection before buddy has cleaned up.
  const child = startSsh(argv, { stdin: "ignore", stdout: "ignore", stderr: "pipe", detached: !interactive });
  const stop = () => child.kill("SIGTERM");
  options.signal?.addEventListener("abort", stop, { once: true });
  const timer = interactive ? undefined : setTimeout(stop, BATCH_LIMIT_MS);
  const stderr = listen(child.stderr, interactive);
  const code = await child.exited;
  // What the master prints later, when the connection breaks, must not appear on the screen.
  stderr.hide();
  clearTimeout(timer);
  options.signal?.removeEventListener("abort", stop);
  options.signal?.throwIfAborted();
  if (code === 0) return;
  // Only a failed ssh closes its stderr; a proxy may hold it open a little longer.
  await within(stderr.ended, 500);
  const said = child.signalCode === "SIGTERM" ? `Connection timed out after ${BATCH_LIMIT_MS / 1000} s` : stderr.text();
  const limit = options.signal ?? AbortSignal.timeout(BATCH_LIMIT_MS);
  const more = lacksProxyWords(said) ? await logInAlone(destination, limit) : undefined;
  options.signal?.throwIfAborted();
  throw sshFailure(more === undefined ? said : `${more}\n${said}`, destination);
}

/** Logs in over a new connection and out again; returns what ssh printed if that fails. */
async function logInAlone(destination: SshDestination, signal: AbortSignal): Promise<string | undefined> {
  const argv = ["-T", ...settings(["ConnectTimeout=10", ...ALONE_OPTIONS]), ...sshWords(destination), "exit 0"];
  const child = startSsh(argv, { stdin: "ignore", stdout: "ignore", stderr: "pipe", detached: true });
  const stop = () => child.kill("SIGKILL");
  signal.addEventListener("abort", stop, { once: true });
  const stderr = listen(child.stderr, false);
  const code = signal.aborted ? (stop(), await child.exited) : await child.exited;
  signal.removeEventListener("abort", stop);
  if (code === 0) return undefined;
  await within(stderr.ended, 500);
  return stderr.text() || `exit code ${code}`;
}

interface Listening {
  readonly text: () => string;
  readonly ended: Promise<void>;
  readonly hide: () => void;
}

function listen(stream: ReadableStream<Uint8Array>, shown: boolean): Listening {
  let text = "";
  let show = shown;
  const decoder = new TextDecoder();
  const read = async () => {
    for await (const chunk of stream) {
      text = (text + decoder.decode(chunk, { stream: true })).slice(-MAX_SAID);
      if (show) process.stderr.write(chunk);
    }
  };
  return { text: () => text, ended: read().catch(() => {}), hide: () => void (show = false) };
}

function settings(options: readonly string[]): string[] {
  return options.flatMap((one) => ["-o", one]);
}

function exitArgv(socket: string): string[] {
  return ["ssh", "-F", "none", "-S", socket, "-O", "exit", "buddy"];
}

async function askToExit(socket: string): Promise<void> {
  // Before the login there is no socket. Without ssh it is only removed.
  if (!existsSync(socket) || unusableProgram("ssh") !== undefined) return;
  const asked = startChild(exitArgv(socket), {
    stdio: ["ignore", "ignore", "ignore"],
    detached: true,
    timeout: 3000,
  });
  await asked.exited;
}
