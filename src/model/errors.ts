/** ModelError: why a model turn failed, in words for an operator and with a reason the program can act on. */
import { BuddyError, type ErrorCode } from "../lib/errors.ts";

export class ModelError extends BuddyError {
  readonly reason: ModelFailure;
  /** The same without host and hint, for a line that names the host anyway. */
  readonly brief: string;
  /** Trying the same request again may help. */
  readonly retryable: boolean;
  /** One more try is enough. */
  readonly retryOnce: boolean;
  readonly status: number | undefined;
  /** The provider's own name for it, e.g. "context_length_exceeded". */
  readonly providerCode: string | undefined;
  /** The parameters it names. */
  readonly providerParams: readonly string[];
  /** The provider's own words, for deciding which parameter it refuses. */
  readonly providerText: string | undefined;
  /** How long the server asks to wait. */
  readonly retryAfterMs: number | undefined;
  /** The text of an answer that was interrupted. */
  readonly partial: string;

  constructor(reason: ModelFailure, message: string, details: ModelErrorDetails = {}) {
    const code = reason === "auth" ? "auth" : reason === "cancelled" ? "interrupted" : "model";
    super(details.errorCode ?? code, message, { hint: details.hint, cause: details.cause });
    this.name = "ModelError";
    this.reason = reason;
    this.brief = details.brief ?? message;
    this.retryable = details.retryable ?? false;
    this.retryOnce = details.retryOnce ?? false;
    this.status = details.status;
    this.providerCode = details.providerCode;
    this.providerParams = details.providerParams ?? [];
    this.providerText = details.providerText;
    this.retryAfterMs = details.retryAfterMs;
    this.partial = details.partial ?? "";
  }
}

export function cancelled(signal: AbortSignal, partial = ""): ModelError {
  return new ModelError("cancelled", "interrupted", { cause: signal.reason, partial });
}

export type ModelFailure =
  | "context-limit" // the conversation does not fit: compact and try again
  | "auth" // no key, a wrong key, or the sign-in is no longer valid
  | "quota" // no money, or the allowance of a plan is used up
  | "rate-limit" // too many requests for now
  | "unknown-model" // the endpoint does not serve this model, or not to this account
  | "tools-unsupported" // the model or its server cannot call tools
  | "parameter" // the server does not take a part of the request
  | "bad-tool-call" // the model wrote a call that its server cannot read
  | "refused" // the server understood and says no, for another reason
  | "not-found" // wrong path or wrong protocol
  | "network" // the host cannot be reached, or the connection broke
  | "timeout" // no answer, or a stream that fell silent
  | "overloaded" // the server failed or is overloaded
  | "protocol" // what came back is not what the protocol says
  | "content-filter" // the provider's filter stopped it
  | "cancelled"; // the caller's signal

interface ModelErrorDetails {
  readonly brief?: string;
  readonly hint?: string | undefined;
  readonly cause?: unknown;
  readonly retryable?: boolean;
  readonly retryOnce?: boolean;
  readonly status?: number | undefined;
  readonly providerCode?: string | undefined;
  readonly providerParams?: readonly string[];
  readonly providerText?: string | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly errorCode?: ErrorCode;
  readonly partial?: string;
}
