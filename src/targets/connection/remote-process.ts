/** A process started through a client (ssh, docker exec), with its pid on the target, where it is also ended. */
import { randomBytes } from "node:crypto";
import { constants } from "node:os";
import { BuddyError } from "../../lib/errors.ts";
import { TooFewSessions } from "../errors.ts";
import { quote, quoteAll } from "../../lib/quote.ts";
import { loaderLine } from "../script-line.ts";
import type { Process, SpawnOptions } from "../target.ts";
import { scriptOnStdin } from "./script-file.ts";

/** Ends processes on the target: killing ssh or `docker exec` leaves them running. */
export interface ProcessEnder {
  /** Directory on the target where a process records itself before it starts; "" if none could be created. */
  readonly directory: string;
  watch(group: number, isClient: boolean): void;
  unwatch(group: number): void;
  signal(group: number, signal: string): void;
}

export interface RemoteOptions extends SpawnOptions {
  /** The directory to start in if it exists. */
  readonly softCwd?: string;
  /** Script that runs first, and exits if the process must not start. */
  readonly check?: string | undefined;
}

const CLIENT_GRACE_MS = 3000;
const MAX_NOISE = 16 * 1024;

/** `client` runs LOADER on the target; nothing was written to it yet. */
export function remoteProcess(
  client: Process,
  argv: readonly string[],
  options: RemoteOptions,
  ender: ProcessEnder | undefined,
): Process {
  const nonce = randomBytes(12).toString("hex");
  const record = ender?.directory ? `${ender.directory}/${options.isClient ? "c" : "g"}` : "";
  client.stdin.write(startLines(argv, options, nonce, record));
  const started = Promise.withResolvers<number>();
  started.promise.catch(() => {});
  const out = afterMark(client.stdout, `\u001e${nonce}\u001e`);
  const err = afterMark(client.stderr, `\u001e${nonce} `, "\u001e");
  void err.mark.then(({ found, text }) => {
    if (found) started.resolve(Number(text));
    else started.reject(notStarted(argv, text));
  });

  let timer: ReturnType<typeof setTimeout> | undefined;
  let sent: NodeJS.Signals | undefined;
  let givenUp = false;
  const kill = (signal?: NodeJS.Signals) => {
    sent = signal ?? "SIGTERM";
    if (ender === undefined) return client.kill(signal);
    void started.promise.then((pid) => {
      ender.signal(pid, (signal ?? "SIGTERM").slice(3));
      if (signal === undefined) ender.signal(pid, "LATER-KILL");
    }, noop);
    if (signal !== undefined && signal !== "SIGKILL") return;
    timer ??= setTimeout(() => {
      givenUp = true;
      client.kill();
    }, CLIENT_GRACE_MS);
  };
  const abort = () => kill();
  options.signal?.addEventListener("abort", abort, { once: true });
  if (ender !== undefined) void started.promise.then((pid) => ender.watch(pid, options.isClient ?? false), noop);
  const exited = client.exited.then((code) => {
    clearTimeout(timer);
    options.signal?.removeEventListener("abort", abort);
    void started.promise.then((pid) => ender?.unwatch(pid), noop);
    // ssh reports a process killed by a signal as 255, like a lost connection; a client that we ended, as anything.
    return (code === 255 || givenUp) && sent !== undefined ? 128 + constants.signals[sent] : code;
  });
  return { pid: started.promise, stdin: client.stdin, stdout: out.rest, stderr: err.rest, exited, kill };
}

function startLines(argv: readonly string[], options: RemoteOptions, nonce: string, record: string): string {
  const { script } = options;
  const before = stepsBefore(options, nonce, record);
  // The shell that reads this is already the wanted one.
  if (script !== undefined && argv.length === 1 && argv[0] === "sh")
    return loaderLine([...before, script.text].join("\n"), script.args);
  const start = script === undefined ? { argv, stdin: "" } : scriptOnStdin(argv, script);
  return loaderLine([...before, `exec ${quoteAll(start.argv)}`].join("\n")) + start.stdin;
}

function stepsBefore(options: RemoteOptions, nonce: string, record: string): string[] {
  const steps = [];
  if (options.check !== undefined) steps.push(options.check);
  if (record !== "") steps.push(`(: >${quote(record)}$$) 2>/dev/null`);
  steps.push(`printf '\\036%s\\036' ${nonce}; printf '\\036%s %s\\036' ${nonce} $$ >&2`);
  if (options.cwd !== undefined) steps.push(`cd ${quote(atDirectory(options.cwd))} || exit 126`);
  else if (options.softCwd !== undefined) steps.push(`cd ${quote(atDirectory(options.softCwd))} 2>/dev/null`);
  for (const [name, value] of Object.entries(options.env ?? {})) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) throw new TypeError(`not a variable name: ${name}`);
    steps.push(`export ${name}=${quote(value)}`);
  }
  return [...steps, "unset l NL"];
}

function atDirectory(path: string): string {
  return path.startsWith("/") ? path : `./${path}`;
}

interface Marked {
  readonly rest: ReadableStream<Uint8Array>;
  /** The text in the mark; or everything that came instead of it. */
  readonly mark: Promise<{ found: boolean; text: string }>;
}

/** Drops greetings of login shells, banners and engine notices before the mark; passes everything after it on. */
function afterMark(stream: ReadableStream<Uint8Array>, start: string, end = ""): Marked {
  const reader = stream.getReader();
  const mark = Promise.withResolvers<{ found: boolean; text: string }>();
  let noise = Buffer.alloc(0);
  let found = false;
  const look = (): Uint8Array | undefined => {
    const from = noise.indexOf(start);
    if (from < 0) return undefined;
    const textFrom = from + start.length;
    const to = end === "" ? textFrom : noise.indexOf(end, textFrom);
    if (to < 0) return undefined;
    found = true;
    mark.resolve({ found, text: noise.toString("latin1", textFrom, to) });
    return noise.subarray(to + end.length);
  };
  const upToMark = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    for (;;) {
      const { value, done } = await reader.read().catch((error: unknown) => {
        mark.resolve({ found, text: String(error) });
        throw error;
      });
      if (done) {
        mark.resolve({ found, text: noise.toString() });
        if (noise.length > 0) controller.enqueue(noise);
        return controller.close();
      }
      noise = Buffer.concat([noise, value]);
      const remainder = look();
      noise = remainder === undefined ? noise.subarray(-MAX_NOISE) : Buffer.alloc(0);
      if (remainder === undefined) continue;
      return remainder.length === 0 ? passOn(controller) : controller.enqueue(remainder);
    }
  };
  const passOn = (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> =>
    reader.read().then(({ value, done }) => (done ? controller.close() : controller.enqueue(value)));
  const rest = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => (found ? passOn(controller) : upToMark(controller)),
      cancel: (reason) => reader.cancel(reason),
    },
    // Reads one chunk ahead: the mark is found even if nothing reads stderr.
    { highWaterMark: 1 },
  );
  return { rest, mark: mark.promise };
}

/**
 * If `first` is refused a session on its connection, `second` replaces it and gets what was written so far. The error
 * output of the first stays before that of the second: it explains why there is one.
 */
export function unlessRefused(first: Process, second: () => Process): Process {
  const written: (string | Uint8Array)[] = [];
  let answered = false;
  let ended = false;
  let current = first;
  let said = "";
  const heard = Promise.withResolvers<void>();
  const next = Promise.all([first.exited, heard.promise]).then(() => {
    if (answered || !SESSION_REFUSED.test(said)) return undefined;
    current = second();
    for (const data of written.splice(0)) current.stdin.write(data);
    if (ended) current.stdin.end();
    return current;
  });
  const both = (stream: "stdout" | "stderr", hear: (bytes: Uint8Array) => void, over: () => void) => {
    let reader = first[stream].getReader();
    let isFirst = true;
    return new ReadableStream<Uint8Array>({
      async pull(controller) {
        for (;;) {
          const { value, done } = await reader.read();
          if (!done) {
            if (isFirst) hear(value);
            return controller.enqueue(value);
          }
          if (isFirst) over();
          const other = isFirst ? await next : undefined;
          if (other === undefined) return controller.close();
          isFirst = false;
          reader = other[stream].getReader();
        }
      },
      cancel: (reason) => reader.cancel(reason),
    });
  };
  return {
    pid: first.pid,
    stdin: {
      write(data) {
        if (!answered && current === first) written.push(data);
        current.stdin.write(data);
      },
      end() {
        ended = true;
        current.stdin.end();
      },
    },
    stdout: both(
      "stdout",
      () => {
        answered = true;
        written.length = 0;
      },
      noop,
    ),
    stderr: both("stderr", (bytes) => (said = (said + Buffer.from(bytes).toString()).slice(-MAX_NOISE)), heard.resolve),
    exited: next.then((other) => (other ?? first).exited),
    kill: (signal) => current.kill(signal),
  };
}

/** What ssh prints when the host accepts no further session on a connection. */
export const SESSION_REFUSED = /session request failed|session open refused|open failed/i;

function notStarted(argv: readonly string[], said: string): BuddyError {
  if (SESSION_REFUSED.test(said)) {
    return new TooFewSessions(
      "target",
      "the sshd allows too few sessions on one connection (MaxSessions), and a second login would need a prompt",
      {
        hint: "Raise MaxSessions in its sshd_config; 10 is the default.",
      },
    );
  }
  return new BuddyError(
    "target",
    `${argv[0]} was not started: ${said.trim().split("\n").at(-1) || "the connection is gone"}`,
  );
}

function noop(): void {}
