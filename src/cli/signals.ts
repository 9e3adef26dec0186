/** SIGINT, SIGTERM and SIGHUP: the first one asks the work to end, a second one ends the process. */
import { BuddyError, type ErrorCode, exitCodeOf } from "../lib/errors.ts";
import { isIgnored } from "../lib/ignored-signals.ts";

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
  const names = (Object.keys(CODES) as (keyof typeof CODES)[]).filter((name) => !isIgnored(name));
  const listeners = names.map((name) => {
    const listener = () => receive(name);
    process.on(name, listener);
    return { name, listener };
  });
  return {
    signal: stop.signal,
    interrupt: () => receive("SIGINT"),
    [Symbol.dispose]() {
      for (const { name, listener } of listeners) process.removeListener(name, listener);
    },
  };
}

const CODES = { SIGINT: "interrupted", SIGTERM: "terminated", SIGHUP: "hangup" } as const satisfies Record<
  string,
  ErrorCode
>;
const WORDS = { SIGINT: "interrupted", SIGTERM: "ended by SIGTERM", SIGHUP: "the terminal was closed" } as const;
