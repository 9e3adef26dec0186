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
import { ScriptRunnerLost, SENT_ELSEWHERE } from "./script-runner.ts";
import { LINE_TAKEN, LOADER } from "../script-line.ts";
import type { Process } from "../target.ts";
import { LocalTransport } from "./local.ts";
import { RemoteTransport } from "./remote-transport.ts";
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

export class SshTransport extends RemoteTransport {
  readonly kind = "ssh";
  readonly #options: SshOptions;
  readonly #local: LocalTransport;
  #master: SshMaster;

  private constructor(options: SshOptions, local: LocalTransport, { master, remoteSession }: Connection) {
    const { user, text } = destinationOf(options);
    const label = user === undefined ? `ssh ${remoteSession.facts.user}@${text}` : `ssh ${text}`;
    super(label, remoteSession, remoteSession.facts);
    this.#options = options;
    this.#local = local;
    this.#master = master;
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

  connectAnew(signal: AbortSignal): Promise<string | undefined> {
    return SshMaster.probe(destinationOf(this.#options), signal);
  }

  protected override async closeOuter(): Promise<void> {
    await this.#master[Symbol.asyncDispose]();
    await this.#local[Symbol.asyncDispose]();
  }

  protected override async openAgain(signal: AbortSignal, mayAsk: boolean): Promise<RemoteSession> {
    await this.#master[Symbol.asyncDispose]();
    const destination = destinationOf(this.#options);
    const options = { ...this.#options, cwd: this.facts.cwd, again: true };
    for (let attempt = 0; ; attempt++) {
      await delay(BACKOFF_MS[attempt], undefined, { signal }).catch(() => signal.throwIfAborted());
      try {
        const { master, remoteSession } = await connect(destination, options, this.#local, mayAsk && canAsk(), signal);
        this.#master = master;
        return await this.onSameMachine(remoteSession);
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof MachineChanged) await this.#master[Symbol.asyncDispose]();
        if (!(error instanceof ConnectionLost) || mayAsk || attempt === BACKOFF_MS.length - 1) throw error;
      }
    }
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
      // One that answered in a wrong way is not lost: buddy gives it up.
      const isWrong = error instanceof ScriptRunnerLost && error.message === SENT_ELSEWHERE;
      const code = first === undefined || isWrong ? 0 : await within(first.exited, 0);
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
    /: \|\| exit 71$/m,
    "another program reads what buddy sends, and prints it",
    "A ForceCommand or a start-up file of the account starts it: use another account, or start it only in interactive shells.",
  ],
  [
    new RegExp(SENT_ELSEWHERE),
    `${SENT_ELSEWHERE}: a start-up file of the account (such as ~/.bashrc) does that`,
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
