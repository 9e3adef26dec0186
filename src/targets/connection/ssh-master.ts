/** One ssh connection that everything else goes through: a ControlMaster with a socket of its own. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { BuddyError } from "../../lib/errors.ts";
import { startChild } from "../../lib/start-child.ts";
import { within } from "../../lib/within.ts";
import { quoteAll } from "../quote.ts";
import { exitCleanup } from "./exit-cleanup.ts";
import type { SshDestination } from "./ssh-destination.ts";
import { sshFailure } from "./ssh-failure.ts";
import { socketDirectory, socketName, sweepSockets } from "./socket-directory.ts";

/**
 * Over the user's own configuration: what would get in the way of a connection for work, such as forwardings that collide
 * with those of another session, or a RemoteCommand. The rest of it holds: jump hosts, keys, agent, variables to send.
 */
const COMMON_OPTIONS = [
  "ClearAllForwardings=yes",
  "ForwardX11=no",
  "RemoteCommand=none",
  "RequestTTY=no",
  "PermitLocalCommand=no",
];

const MASTER_OPTIONS = [
  ...COMMON_OPTIONS,
  "ControlMaster=yes",
  // Every script runner is a client: without any, after kill -9 of buddy and its exit cleanup, the master goes by itself.
  "ControlPersist=10",
  "ConnectTimeout=20",
  "ServerAliveInterval=5",
  "ServerAliveCountMax=3",
];

/** Without the master, a client must fail: by default it would connect by itself, unguarded and perhaps elsewhere. */
const CLIENT_OPTIONS = [...COMMON_OPTIONS, "ControlMaster=no", "ProxyCommand=false", "BatchMode=yes", "LogLevel=ERROR"];

const MAX_SAID = 16 * 1024;
const BATCH_LIMIT_MS = 60_000;

export interface MasterOptions {
  readonly destination: SshDestination;
  /** Questions may be asked on the terminal. */
  readonly interactive: boolean;
  readonly signal?: AbortSignal;
}

export class SshMaster implements AsyncDisposable {
  readonly socket: string;
  readonly #destination: SshDestination;
  readonly #letGo: () => void;

  private constructor(socket: string, destination: SshDestination, letGo: () => void) {
    this.socket = socket;
    this.#destination = destination;
    this.#letGo = letGo;
  }

  static async start(options: MasterOptions): Promise<SshMaster> {
    if (Bun.which("ssh") === null) {
      throw new BuddyError("target", "there is no ssh here", {
        hint: "Install it: the package is called openssh-client.",
      });
    }
    const directory = socketDirectory();
    await sweepSockets(directory, askToExit);
    const socket = join(directory, socketName(options.destination.text));
    // Known before there is anything to clean up, so that no moment is left uncovered.
    const letGo = exitCleanup().onDeath(`${quoteAll(exitArgv(socket))}; rm -f ${quoteAll([socket])}`);
    const master = new SshMaster(socket, options.destination, letGo);
    try {
      await connect(socket, options);
      return master;
    } catch (error) {
      await master[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** What runs `command` over there, through this connection. */
  argv(command: string): string[] {
    return ["ssh", "-T", "-S", this.socket, ...settings(CLIENT_OPTIONS), ...place(this.#destination), command];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await askToExit(this.socket);
    rmSync(this.socket, { force: true });
    this.#letGo();
  }
}

/** Errors that a repeated attempt may overcome. */
export class PassingFailure extends BuddyError {}

async function connect(socket: string, options: MasterOptions): Promise<void> {
  const { destination, interactive } = options;
  const chosen = interactive ? MASTER_OPTIONS : [...MASTER_OPTIONS, "BatchMode=yes"];
  const argv = ["ssh", "-M", "-N", "-f", "-S", socket, ...settings(chosen), ...place(destination)];
  // Not detached when it may ask: ssh reads answers from the terminal, which only the foreground group may do.
  // After the login -f takes it out of the group, so that Ctrl-C does not cut the line before buddy has cleaned up.
  const child = startChild(argv, { stdin: "ignore", stdout: "ignore", stderr: "pipe", detached: !interactive });
  const stop = () => child.kill("SIGTERM");
  options.signal?.addEventListener("abort", stop, { once: true });
  const timer = interactive ? undefined : setTimeout(stop, BATCH_LIMIT_MS);
  const stderr = listen(child.stderr, interactive);
  const code = await child.exited;
  // What the master says later, when the line breaks, must not go across somebody's screen.
  stderr.hide();
  clearTimeout(timer);
  options.signal?.removeEventListener("abort", stop);
  options.signal?.throwIfAborted();
  if (code === 0) return;
  // Only a failed ssh closes its stderr; a proxy it had started may hold it a little longer.
  await within(stderr.ended, 500);
  const said = child.signalCode === "SIGTERM" ? `Connection timed out after ${BATCH_LIMIT_MS / 1000} s` : stderr.text();
  const { error, passing } = sshFailure(said, destination.text, destination.host);
  throw passing ? new PassingFailure(error.code, error.message, { hint: error.hint }) : error;
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

function place({ user, host, port }: SshDestination): string[] {
  const flags = port === undefined ? [] : ["-p", String(port)];
  if (user !== undefined) flags.push("-l", user);
  return [...flags, "--", host];
}

function exitArgv(socket: string): string[] {
  return ["ssh", "-F", "none", "-S", socket, "-O", "exit", "buddy"];
}

async function askToExit(socket: string): Promise<void> {
  const asked = startChild(exitArgv(socket), {
    stdio: ["ignore", "ignore", "ignore"],
    detached: true,
    timeout: 3000,
  });
  await asked.exited;
}
