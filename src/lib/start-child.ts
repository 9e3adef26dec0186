/**
 * The only way to start a program, so that no child gets buddy's keys or the variables of its runtime; and why a
 * program cannot be started.
 */
import { closeSync, lstatSync, openSync, readlinkSync, readSync, statSync } from "node:fs";
import { isHidden } from "./processes.ts";
import type { Environment } from "./values.ts";

/** The whole environment without secrets: for programs that work for the operator (shells, ssh, container engines). */
export function childEnv(extra: Environment = {}, from: Environment = process.env): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries({ ...from, ...extra })) {
    if (value !== undefined && !isHidden(name)) env[name] = value;
  }
  return env;
}

/** Only what a look-up needs: for programs that are run before any configuration is read. */
export function lookUpEnv(extra: Environment = {}): Record<string, string> {
  const known = Object.entries(process.env).filter(([name]) => LOOK_UP.test(name));
  return childEnv(extra, Object.fromEntries(known));
}

const LOOK_UP =
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|TERM|LANG|LC_\w+|TMPDIR|TMUX\w*|XDG_\w+|SSH_AUTH_SOCK|DOCKER_(?:HOST|CONTEXT|CONFIG|CERT_PATH|TLS_VERIFY)|CONTAINER_HOST|CONTAINERS_\w+|DBUS_SESSION_BUS_ADDRESS)$/;

type Stdio = Bun.Spawn.Writable;
type Readable = Bun.Spawn.Readable;

/** Like `Bun.spawn`; without `env` the child gets `childEnv()`. */
export function startChild<
  const In extends Stdio = "ignore",
  const Out extends Readable = "pipe",
  const Err extends Readable = "inherit",
>(
  argv: readonly string[],
  options: Bun.Spawn.SpawnOptions<In, Out, Err> & { readonly env?: Record<string, string> } = {},
): Bun.Subprocess<In, Out, Err> {
  return Bun.spawn([...argv], { ...options, env: options.env ?? childEnv() });
}

interface Answer {
  /** -1 when there is none: see `failure`. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Why the program has no exit code: it could not be executed (`file`), was killed, or did not end in time. */
  readonly failure?: UnusableProgram;
}

/**
 * Runs a short look-up to its end, while everything else waits: without `timeoutMs` for five seconds at most. A program
 * that is missing or cannot be executed is a result, not an exception.
 */
export function askProgram(
  argv: readonly string[],
  options: {
    readonly stdin?: string | number;
    readonly timeoutMs?: number;
    readonly env?: Record<string, string>;
  } = {},
): Answer {
  const { stdin = "", timeoutMs = 5_000 } = options;
  try {
    const done = Bun.spawnSync([...argv], {
      stdin: typeof stdin === "number" ? stdin : Buffer.from(stdin),
      stdout: "pipe",
      stderr: "pipe",
      env: options.env ?? lookUpEnv(),
      timeout: timeoutMs,
      killSignal: "SIGKILL",
      // A group of its own, so that programs it started end with it; but a question about our terminal needs that.
      detached: typeof stdin !== "number",
      maxBuffer: MOST_BYTES,
    });
    if (done.signalCode !== undefined && typeof stdin !== "number") endGroup(done.pid);
    const printed = { stdout: done.stdout.toString(), stderr: done.stderr.toString() };
    if (done.signalCode === undefined) return { code: done.exitCode, ...printed };
    const why = done.exitedDueToTimeout
      ? `did not answer within ${timeoutMs / 1000} s`
      : done.exitedDueToMaxBuffer
        ? "printed too much"
        : `was ended by ${done.signalCode}`;
    return { code: -1, ...printed, failure: { text: `${argv[0]} ${why}` } };
  } catch (error) {
    return { code: -1, stdout: "", stderr: "", failure: refusedProgram(argv[0] ?? "", error) };
  }
}

const MOST_BYTES = 8 * 1024 * 1024;

/** Ends a program that leads a process group, and what it started, even if they ignore signals. */
function endGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // All of it has ended.
  }
}

type ProgramEnd =
  | { readonly kind: "ended"; readonly code: number; readonly stdout: string; readonly stderr: string }
  /** Its time was up, or it was killed; `why`: "did not end within 5 s", "was ended by SIGSEGV". */
  | { readonly kind: "killed"; readonly why: string }
  | { readonly kind: "not-started"; readonly error: NodeJS.ErrnoException };

/** Runs a program to its end, asynchronously; throws the signal's reason. */
export async function runProgram(
  argv: readonly string[],
  options: {
    readonly timeoutMs: number;
    readonly signal?: AbortSignal | undefined;
    readonly cwd?: string;
    readonly env?: Record<string, string>;
    readonly mostBytes?: number;
  },
): Promise<ProgramEnd> {
  const { timeoutMs, signal, mostBytes, ...rest } = options;
  signal?.throwIfAborted();
  const started = performance.now();
  let child;
  try {
    child = startChild(argv, {
      ...rest,
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      // Away from the terminal and its signals.
      detached: true,
      killSignal: "SIGKILL",
      ...(mostBytes === undefined ? {} : { maxBuffer: mostBytes }),
    });
  } catch (error) {
    return { kind: "not-started", error: error as NodeJS.ErrnoException };
  }
  const { pid } = child;
  const end = () => endGroup(pid);
  const timer = setTimeout(end, timeoutMs);
  signal?.addEventListener("abort", end);
  const [stdout, stderr, code] = await Promise.all([
    printed(child.stdout, child.exited),
    printed(child.stderr, child.exited),
    child.exited,
  ]);
  clearTimeout(timer);
  signal?.removeEventListener("abort", end);
  signal?.throwIfAborted();
  if (child.signalCode === null) return { kind: "ended", code, stdout, stderr };
  end();
  const isLate = performance.now() - started >= timeoutMs;
  return {
    kind: "killed",
    why: isLate ? `did not end within ${timeoutMs / 1000} s` : `was ended by ${child.signalCode}`,
  };
}

/** What a program prints until its end: others that it left running may keep the stream open. */
async function printed(stream: ReadableStream<Uint8Array>, exited: Promise<unknown>): Promise<string> {
  const reader = stream.getReader();
  void exited.then(() => setTimeout(() => void reader.cancel(), REST_MS).unref());
  const text = new TextDecoder();
  let all = "";
  for (let next = await reader.read(); !next.done; next = await reader.read())
    all += text.decode(next.value, { stream: true });
  return all + text.decode();
}

/** How long what was printed at the end may take to arrive. */
const REST_MS = 200;

/** Why a program cannot be used: it is missing, or its file cannot be executed. */
export interface UnusableProgram {
  /** "tmux is not installed", "/usr/bin/tmux cannot be executed: …". */
  readonly text: string;
  /** The file that cannot be executed. */
  readonly file?: string;
}

/** Undefined when it can be started, as far as its mode says. */
export function unusableProgram(name: string): UnusableProgram | undefined {
  const path = process.env["PATH"] ?? "";
  if (Bun.which(name, { PATH: path }) !== null) return undefined;
  for (const directory of path.split(":")) {
    const file = `${directory || "."}/${name}`;
    const why = whyNotFound(file);
    if (why !== undefined) return cannotBeExecuted(file, why);
  }
  return { text: `${name} is not installed` };
}

/** Why the system refused to start this file. */
export function refusedProgram(file: string, error: unknown): UnusableProgram {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "ENOENT") return cannotBeExecuted(file, missingInterpreter(file));
  if (code === "ENOEXEC") return cannotBeExecuted(file, "it is not a program for this machine");
  return cannotBeExecuted(file, code === "EACCES" ? NO_PERMISSION : message);
}

function cannotBeExecuted(file: string, why: string): UnusableProgram {
  return { text: `${file} cannot be executed: ${why}`, file };
}

const NO_PERMISSION = "no permission";

/** Also undefined if we may not enter the directory: PATH can contain directories of other users. */
function whyNotFound(file: string): string | undefined {
  try {
    if (statSync(file, { throwIfNoEntry: false })?.isFile()) return NO_PERMISSION;
  } catch {
    // A link to itself is handled below.
  }
  try {
    if (lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return undefined;
    if (statSync(file, { throwIfNoEntry: false })?.isDirectory()) return undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ELOOP") return undefined;
  }
  return `it is a broken link to ${readlinkSync(file)}`;
}

/** The interpreter of a script is in its first line; a binary has a loader. */
function missingInterpreter(file: string): string {
  const start = new Uint8Array(256);
  try {
    const opened = openSync(file, "r");
    readSync(opened, start);
    closeSync(opened);
  } catch {
    return "it is gone";
  }
  const interpreter = /^#!\s*(\S+)/.exec(new TextDecoder().decode(start))?.[1];
  return interpreter === undefined ? "its loader is missing" : `its interpreter ${interpreter} is missing`;
}
