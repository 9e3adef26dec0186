/** Turns what went wrong into a ModelError: which host, what happened, what to do about it, never a key. */
import { ProviderError, Malformed } from "./provider-error.ts";
import { ModelError, type ModelFailure } from "./errors.ts";
import { explainNetworkError, PROXY_HINT } from "./http/network-errors.ts";

/** What the words need to know of the profile. */
export interface Situation {
  readonly host: string;
  readonly profile: string;
  readonly model: string;
  readonly api: "completions" | "responses";
  readonly auth: "api-key" | "login";
  readonly baseUrl: string;
  readonly hasKey: boolean;
  /** Where the key came from, in words. */
  readonly keySource: string | undefined;
  readonly proxy: string | undefined;
  readonly redact: (text: string) => string;
}

export function explain(error: unknown, at: Situation): ModelError {
  if (error instanceof ModelError) return error;
  if (error instanceof ProviderError) return explainProviderError(error, error.status, undefined, at);
  if (error instanceof Malformed) {
    return new ModelError("protocol", at.redact(`${at.host}: ${error.message}`), {
      brief: at.redact(error.message),
      retryable: error.retryable,
      hint: error.retryable
        ? undefined
        : `Check api_base_url (${at.baseUrl}) and api = "${at.api}" of profile "${at.profile}".`,
    });
  }
  return explainNetworkError(error, at);
}

/** A provider's complaint with the HTTP status it came with (none inside a stream). */
export function explainProviderError(
  complaint: ProviderError,
  status: number | undefined,
  retryAfterMs: number | undefined,
  at: Situation,
): ModelError {
  const kind = classify(complaint, status);
  const culprit =
    complaint.param !== undefined && !complaint.message.includes(complaint.param) ? ` (${complaint.param})` : "";
  const words = complaint.message === "" ? "" : `: ${complaint.message}${culprit}`;
  const code = status === undefined ? "" : `${status}${STATUS[status] ? ` ${STATUS[status]}` : ""}`;
  const about = code === "" ? "" : ` (${code})`;
  return new ModelError(kind.reason, at.redact(`${at.host} ${SAYS[kind.reason]}${about}${words}`), {
    brief: at.redact(`${code === "" ? "error" : code}${words}`),
    retryable: kind.retryable,
    status,
    retryAfterMs: retryAfterMs ?? (kind.reason === "rate-limit" ? askedInWords(complaint.message) : undefined),
    providerCode: complaint.code,
    providerText: at.redact([complaint.param, complaint.code, complaint.message].filter(Boolean).join(" ")),
    hint: redactMaybe(hintFor(kind.reason, complaint, status, at), at),
  });
}

/** "Please try again in 1.2s": inside a stream there is no header to say it. */
function askedInWords(message: string): number | undefined {
  const [, amount, unit] = /try again in (\d+(?:\.\d+)?) ?(ms|s)\b/i.exec(message) ?? [];
  return amount === undefined ? undefined : Number(amount) * (unit?.toLowerCase() === "ms" ? 1 : 1000);
}

interface Kind {
  readonly reason: ModelFailure;
  readonly retryable: boolean;
}

const SAYS: Record<ModelFailure, string> = {
  "context-limit": "says the conversation is too long",
  auth: "refused the credentials",
  "rate-limit": "is limiting requests",
  refused: "refused the request",
  "not-found": "does not know this address or model",
  network: "cannot be reached",
  timeout: "took too long",
  overloaded: "failed",
  protocol: "sent something unexpected",
  "content-filter": "stopped the request with its content filter",
  cancelled: "was interrupted",
};

const STATUS: Readonly<Record<number, string>> = {
  400: "bad request",
  401: "unauthorized",
  402: "payment required",
  403: "forbidden",
  404: "not found",
  405: "method not allowed",
  407: "proxy authentication required",
  408: "request timeout",
  409: "conflict",
  413: "too large",
  422: "unprocessable",
  429: "too many requests",
  500: "internal error",
  502: "bad gateway",
  503: "unavailable",
  504: "gateway timeout",
  529: "overloaded",
};

const CONTEXT =
  /context[ _-]?(length|window|size|limit)|maximum context|prompt (is )?too long|input (is )?too long|too many (input |prompt )?tokens|exceeds? (the )?(model'?s? )?(maximum|max|limit)[^.]{0,40}tokens|reduce the length of (the|your)|exceed_context_size/i;
const FILTER = /content[_ -]?(filter|policy|management)|responsible ?ai|safety system/i;
const QUOTA =
  /insufficient_quota|usage_limit_reached|usage_not_included|billing|exceeded your current quota|credit balance|out of credits/i;

function classify(complaint: ProviderError, status: number | undefined): Kind {
  const text = `${complaint.code ?? ""} ${complaint.message}`;
  if (status !== 429 && CONTEXT.test(text)) return { reason: "context-limit", retryable: false };
  if ((status === undefined || status === 400) && FILTER.test(text))
    return { reason: "content-filter", retryable: false };
  switch (status) {
    case undefined:
      return classifyByWords(text);
    case 401:
      return { reason: "auth", retryable: false };
    case 402:
      return { reason: "rate-limit", retryable: false };
    case 404:
    case 405:
      return { reason: "not-found", retryable: false };
    case 408:
      return { reason: "timeout", retryable: true };
    case 409:
      return { reason: "overloaded", retryable: true };
    case 413:
      return { reason: "context-limit", retryable: false };
    case 429:
      return { reason: "rate-limit", retryable: !QUOTA.test(text) };
    default:
      return status >= 500 ? { reason: "overloaded", retryable: true } : { reason: "refused", retryable: false };
  }
}

/** Inside a stream there is no status, only the provider's names for things. */
function classifyByWords(text: string): Kind {
  if (QUOTA.test(text)) return { reason: "rate-limit", retryable: false };
  if (/rate.?limit|too many requests/i.test(text)) return { reason: "rate-limit", retryable: true };
  if (/invalid_api_key|authentication_error|unauthorized/i.test(text)) return { reason: "auth", retryable: false };
  if (/model_not_found|not_found_error/i.test(text)) return { reason: "not-found", retryable: false };
  if (/invalid_(request|prompt|value|image|encrypted)|bad_request|unsupported_/i.test(text))
    return { reason: "refused", retryable: false };
  return { reason: "overloaded", retryable: true };
}

function hintFor(
  reason: ModelFailure,
  complaint: ProviderError,
  status: number | undefined,
  at: Situation,
): string | undefined {
  const profile = `profile "${at.profile}"`;
  switch (reason) {
    case "context-limit":
      return "Shorten the conversation with /compact, or start a new session.";
    case "auth":
      if (at.auth === "login" && !at.hasKey) return `Sign in again with \`buddy login ${at.profile}\`.`;
      return at.hasKey
        ? `The key came from ${at.keySource ?? "the configuration"}: check that it belongs to ${at.host}.`
        : `No key was sent: set BUDDY_API_KEY, or api_key_env, api_key_file or api_key in ${profile}.`;
    case "not-found": {
      const other = at.api === "responses" ? "completions" : "responses";
      if (/model/i.test(complaint.message) || /model/i.test(complaint.code ?? "")) {
        return `Check the model name "${at.model}" of ${profile}; if it is right, this endpoint may speak the other protocol: api = "${other}".`;
      }
      return `The endpoint may speak the other protocol: set api = "${other}" in ${profile}, or correct api_base_url (${at.baseUrl}).`;
    }
    case "rate-limit":
      if (status === 402 || QUOTA.test(`${complaint.code ?? ""} ${complaint.message}`)) {
        return `The quota or credit of this account is used up: check it at the provider, or choose another profile with --model.`;
      }
      return "Wait a little, or choose another profile with --model.";
    case "refused":
      if (status === 407) return PROXY_HINT;
      if (status === 403)
        return `This key or account may not use "${at.model}" at ${at.host}: check its permissions, or the region.`;
      if (status === 400 || status === 422)
        return `Check "${at.model}" and the settings of ${profile} (api, temperature, reasoning_effort).`;
      return undefined;
    case "content-filter":
      return "Say it differently, or choose another profile with --model.";
    case "overloaded":
      return "The provider has trouble: try again later, or choose another profile with --model.";
    case "network":
    case "timeout":
    case "protocol":
    case "cancelled":
      return undefined;
  }
}

function redactMaybe(text: string | undefined, at: Situation): string | undefined {
  return text === undefined ? undefined : at.redact(text);
}
