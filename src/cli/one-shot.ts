/** A command that does one thing and ends: its signals, its time limit, its streams, and its errors in words. */
import { BuddyError, EXIT, type ExitCode, exitCodeOf } from "../lib/errors.ts";
import { Output } from "../lib/output.ts";
import { isTerminal, wantsColor } from "../lib/terminal.ts";
import { isTimeout } from "../lib/waiting.ts";
import type { ApprovalMode } from "../policy/approvals.ts";
import { boundText } from "../tools/bound-output.ts";
import type { GlobalOptions } from "./args/options.ts";
import { watchSignals } from "./signals-and-crashes.ts";

export interface OneShot {
  readonly out: Output;
  readonly err: Output;
  /** Aborted by a signal, --timeout, or a reader that went away. */
  readonly signal: AbortSignal;
  /** As if Ctrl-C had been pressed: a terminal in raw mode sends no signal. */
  interrupt(): void;
  /** The error that an aborted signal stands for. */
  stopped(): unknown;
}

interface OneShotOptions {
  readonly globals: GlobalOptions;
  readonly timeoutMs: number | undefined;
  readonly out?: Output | undefined;
  readonly err?: Output | undefined;
  /** Adds to an error what the user can do about it. */
  explain?(error: unknown): Promise<unknown>;
}

export async function oneShot(
  { globals, timeoutMs, out = new Output(1), err = new Output(2), explain }: OneShotOptions,
  work: (around: OneShot) => Promise<ExitCode>,
): Promise<ExitCode> {
  // Not `using`: its first use takes 100 µs.
  const signals = watchSignals();
  const ending = new AbortController();
  const limits = [signals.signal, ending.signal];
  if (timeoutMs !== undefined) limits.push(AbortSignal.timeout(timeoutMs));
  const signal = AbortSignal.any(limits);
  const stopped = () => (isTimeout(signal.reason) ? late(timeoutMs ?? 0) : signal.reason);
  // `| head -1`: the reader is gone, so there is no reason to continue.
  out.onBroken(() => ending.abort(new Error("the reader is gone")));
  // A reader that does not read must not hold up the end of a run.
  signal.addEventListener("abort", () => setTimeout(() => [out, err].forEach((one) => one.giveUp()), LAST_WORDS_MS));
  try {
    const code = await work({ out, err, signal, interrupt: () => signals.interrupt(), stopped });
    await out.flush();
    if (out.failure !== undefined) throw out.failure;
    if (out.cut) throw stopped();
    return code;
  } catch (error) {
    if (out.broken && out.failure === undefined) return EXIT.ok;
    const { describeError } = await import("./report-error.ts");
    const cause = out.failure ?? (signal.aborted ? stopped() : ((await explain?.(error)) ?? error));
    const color = colorOf(globals, err, "auto");
    await err.write(`${describeError(cause, { verbose: globals.verbose, color })}\n`);
    return exitCodeOf(cause);
  } finally {
    await Promise.all([out.flush(), err.flush()]);
    signals[Symbol.dispose]();
  }
}

export function colorOf(globals: GlobalOptions, { fd }: Output, setting: "auto" | "always" | "never"): boolean {
  return wantsColor({ flag: globals.color, env: process.env, isTty: isTerminal(fd), setting });
}

/** For a run without a terminal, where something needed an approval. */
export function approvalNeeded(
  turn: { readonly unapproved: readonly string[]; readonly onlyByPerson: boolean },
  mode: ApprovalMode,
): BuddyError {
  const what = turn.unapproved.map((action) => boundText(action, 200, () => "left out")).join("; ");
  // A mode that approves everything else may be in effect already.
  const onlyByPerson = turn.onlyByPerson || mode.kind === "all" || mode.kind === "until";
  return new BuddyError("approval", `approval required, but there is no terminal to ask on: ${what}`, {
    hint: onlyByPerson
      ? "Only a person approves this; --approve does not cover it. Run it from a terminal."
      : "Run it from a terminal, or allow it: --approve all, --approve 10m, or shell_allow in [tools] for single commands.",
  });
}

function late(timeoutMs: number): BuddyError {
  return new BuddyError("timeout", `not finished within --timeout (${timeoutMs / 1000} s)`, {
    hint: "Raise --timeout or narrow the task",
  });
}

const LAST_WORDS_MS = 300;
