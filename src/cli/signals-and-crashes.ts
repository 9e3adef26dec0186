/**
 * How a run ends from outside: the first signal asks it to stop, the second ends it; and errors that nothing caught.
 */
import { BuddyError, type ErrorCode, exitCodeOf } from "../lib/errors.ts";
import { onSignals } from "../lib/processes.ts";

interface Signals extends Disposable {
  /** Aborts with a BuddyError whose exit code belongs to the signal. */
  readonly signal: AbortSignal;
  /** As if Ctrl-C had been pressed: a terminal in raw mode sends no signal. */
  interrupt(): void;
}

export function watchSignals(): Signals {
  const stop = new AbortController();
  const receive = (name: keyof typeof CODES) => {
    const error = new BuddyError(CODES[name], WORDS[name]);
    if (stop.signal.aborted) process.exit(exitCodeOf(error));
    stop.abort(error);
  };
  const stopListening = onSignals({
    SIGINT: () => receive("SIGINT"),
    SIGTERM: () => receive("SIGTERM"),
    SIGHUP: () => receive("SIGHUP"),
  });
  return {
    signal: stop.signal,
    interrupt: () => receive("SIGINT"),
    [Symbol.dispose]: stopListening,
  };
}

const CODES = { SIGINT: "interrupted", SIGTERM: "terminated", SIGHUP: "hangup" } as const satisfies Record<
  string,
  ErrorCode
>;
const WORDS = { SIGINT: "interrupted", SIGTERM: "ended by SIGTERM", SIGHUP: "the terminal was closed" } as const;

// Uncaught errors: one handler at a time, so that two of them cannot race for the exit.

type CrashHandler = (error: unknown) => void | Promise<void>;

let current: CrashHandler | undefined;

/** Until it is disposed of; then the handler before it is back. */
export function handleCrashes(handler: CrashHandler): Disposable {
  if (current === undefined)
    for (const event of ["uncaughtException", "unhandledRejection"] as const) process.on(event, crashed);
  const before = current;
  current = handler;
  return {
    [Symbol.dispose]() {
      current = before;
      if (current === undefined)
        for (const event of ["uncaughtException", "unhandledRejection"] as const) process.off(event, crashed);
    },
  };
}

function crashed(error: unknown): void {
  void current?.(error);
}
