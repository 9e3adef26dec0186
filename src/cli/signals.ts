/** SIGINT, SIGTERM and SIGHUP: the first one asks the work to end, a second one ends the process. */
import { BuddyError, type ErrorCode, exitCodeOf } from "../lib/errors.ts";
import { onSignals } from "../lib/processes.ts";

export interface Signals extends Disposable {
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
