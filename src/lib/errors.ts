/** The only error type a user sees, and the only table of exit codes. */
export class BuddyError extends Error {
  readonly code: ErrorCode;
  /** What the user can do: one sentence or a few short lines. */
  readonly hint: string | undefined;
  /** What the model can do, in terms of its tools; people do not see it. */
  readonly advice: string | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: { hint?: string | undefined; advice?: string | undefined; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "BuddyError";
    this.code = code;
    this.hint = options.hint;
    this.advice = options.advice;
  }
}

export type ErrorCode =
  | "usage" // the command line is wrong
  | "config" // a configuration file or value is wrong
  | "auth" // no key, or not signed in
  | "model" // the model endpoint failed
  | "target" // the machine to work on cannot be opened or was lost
  | "tool" // a tool, an MCP server or the loop failed
  | "budget" // what the session may cost, or a turn may take, is used up
  | "approval" // an approval was needed, but there is no terminal to ask on
  | "session" // a stored session cannot be read, written or locked
  | "timeout" // --timeout ran out
  | "interrupted" // SIGINT
  | "terminated" // SIGTERM
  | "hangup" // SIGHUP
  | "internal"; // a bug in buddy

export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  approval: 3,
  auth: 4,
  /** Of buddy policy shell. */
  blocked: 4,
  timeout: 124,
  hangup: 129,
  interrupted: 130,
  terminated: 143,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

const EXIT_OF: Record<ErrorCode, ExitCode> = {
  usage: EXIT.usage,
  config: EXIT.usage,
  auth: EXIT.auth,
  model: EXIT.failure,
  target: EXIT.failure,
  tool: EXIT.failure,
  budget: EXIT.failure,
  approval: EXIT.approval,
  session: EXIT.failure,
  timeout: EXIT.timeout,
  interrupted: EXIT.interrupted,
  terminated: EXIT.terminated,
  hangup: EXIT.hangup,
  internal: EXIT.failure,
};

export function exitCodeOf(error: unknown): ExitCode {
  return error instanceof BuddyError ? EXIT_OF[error.code] : EXIT.failure;
}

/** Message and hint as one text. */
export function inWords(error: unknown, reader: "people" | "model" = "people"): string {
  const message = messageOf(error);
  if (!(error instanceof BuddyError)) return message;
  const { hint, advice } = error;
  const more = [hint, ...(reader === "model" ? [advice] : [])].filter((text) => text !== undefined).join(" ");
  if (more === "") return message;
  // A message of several lines ends with a program's own output.
  if (message.includes("\n")) return `${message}\n${more}`;
  return `${message}${/[.!?]$/.test(message) ? "" : "."} ${more}`;
}

/** The message of a caught value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
