/** The one place where an error becomes words on stderr; returns the exit code that goes with it. */
import { log } from "../lib/log.ts";
import { wantsColor, isTerminal } from "../lib/terminal.ts";
import { BuddyError, EXIT, type ExitCode, exitCodeOf } from "../lib/errors.ts";
import { fileError } from "../lib/files.ts";
import { printable } from "../lib/text.ts";
import { redactor } from "../lib/secrets/redact.ts";

interface ReportOptions {
  readonly verbose: boolean;
  readonly color?: boolean;
  /** Texts that must never be shown, in addition to what looks like a key. */
  readonly secrets?: readonly string[];
}

export function reportError(error: unknown, options: ReportOptions): ExitCode {
  // The reader of a pipe went away (`| head -1`): nothing is wrong, and nothing could be read.
  if (isBrokenPipe(error)) return EXIT.ok;
  const color = options.color ?? wantsColor({ env: process.env, isTty: isTerminal(2) });
  log.error(describeError(error, { ...options, color }));
  return exitCodeOf(error);
}

/** `buddy: sentence`, then what to do; with `verbose` also where it happened and why. */
export function describeError(error: unknown, { verbose, color = false, secrets = [] }: ReportOptions): string {
  const keys = [process.env.BUDDY_API_KEY, process.env.AGENT_API_KEY].flatMap((key) => key ?? []);
  const redact = redactor([...secrets, ...keys]);
  const clean = (text: string) => printable(redact(text));
  const label = color ? "\u001b[1;31mbuddy:\u001b[0m" : "buddy:";
  const lines: string[] = [];
  if (error instanceof BuddyError) {
    lines.push(`${label} ${clean(error.message)}`);
    if (error.hint !== undefined) lines.push(...indented(clean(error.hint)));
  } else if (isSystemError(error)) {
    // A disk, a permission or a limit of the machine, in code that does not describe it better.
    const what = error.path === undefined ? firstLine(error) : `${error.path}: ${fileError(error)} (${error.syscall})`;
    lines.push(`${label} ${clean(what)}`);
  } else {
    lines.push(`${label} something went wrong inside buddy: ${clean(firstLine(error))}`);
    lines.push(`  this is a bug${verbose ? "" : "; run it again with --verbose to see where it happened"}`);
  }
  if (verbose) lines.push(...details(error).map(clean));
  return lines.join("\n");
}

function indented(text: string): string[] {
  return text.split("\n").map((line) => (line === "" ? "" : `  ${line}`));
}

function details(error: unknown): string[] {
  const lines: string[] = [];
  // Bounded: a chain of causes may be a ring.
  for (let cause = error, depth = 0; cause !== undefined && cause !== null && depth < 8; depth++) {
    const text = cause instanceof Error ? (cause.stack ?? String(cause)) : String(cause);
    lines.push("", depth === 0 ? text : `caused by: ${text}`);
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  return lines;
}

function firstLine(error: unknown): string {
  const text = error instanceof Error ? error.message || error.name : String(error);
  return text.split("\n", 1)[0] ?? "";
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  if (!(error instanceof Error)) return false;
  const { code, syscall } = error as NodeJS.ErrnoException;
  return syscall !== undefined && /^E[A-Z0-9]+$/.test(code ?? "");
}

function isBrokenPipe(error: unknown): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === "EPIPE";
}
