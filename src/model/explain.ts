/** Turns what went wrong into a ModelError: which host, what happened, what to do about it, never a key. */
import { formatDuration } from "../lib/durations.ts";
import { messageOf } from "../lib/errors.ts";
import { proxyLabel } from "../lib/network.ts";
import { PARAMETERS } from "./adjustments.ts";
import { errorRows, NO_STATUS } from "./error-rows.ts";
import { ModelError, type ModelFailure } from "./errors.ts";
import { MAX_WAIT_MS, waitInWords } from "./http/retry.ts";
import { Malformed, ProviderError } from "./provider-error.ts";
import type { ModelProfile } from "./types.ts";

/** What messages need to know about the profile. */
export interface Situation extends Omit<ModelProfile, "name"> {
  readonly host: string;
  readonly profile: string;
  readonly hasKey: boolean;
  /** Where the key came from, in words. */
  readonly keySource: string | undefined;
  readonly proxy: string | undefined;
  /** The profile says which certificates to trust. */
  readonly ownCa?: boolean;
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

/** A provider's error with the HTTP status it came with (none inside a stream) and the wait its headers ask for. */
export function explainProviderError(
  error: ProviderError,
  status: number | undefined,
  headerWaitMs: number | undefined,
  at: Situation,
): ModelError {
  const waitMs = headerWaitMs ?? error.retryAfterMs ?? waitInWords(error.text);
  const meant = meantStatus(error, status);
  const { reason, retry } = classify(error, meant, waitMs);
  const [param] = error.params;
  const culprit = param !== undefined && !error.message.includes(param) ? ` (${param})` : "";
  const words = error.message === "" ? "" : `: ${error.message}${culprit}`;
  const code = status === undefined ? "" : `${status}${STATUS[status] ? ` ${STATUS[status]}` : ""}`;
  const about = code === "" ? "" : ` (${code})`;
  const hint = hintFor(reason, error, meant, at);
  const resets = reason === "quota" && waitMs !== undefined ? `; resets in ${formatDuration(waitMs)}` : "";
  return new ModelError(reason, at.redact(`${at.host} ${SAYS[reason]}${about}${words}${resets}`), {
    brief: at.redact(`${code === "" ? "error" : code}${words}`),
    retryable: retry !== false,
    retryOnce: retry === "once",
    status: meant,
    retryAfterMs: waitMs,
    providerCode: error.code,
    providerParams: error.params,
    providerText: at.redact(error.text),
    hint: hint && at.redact(hint),
  });
}

const SAYS: Record<ModelFailure, string> = {
  "context-limit": "reports that the conversation is too long",
  auth: "refused the credentials",
  quota: "reports that the credit or quota of this account is used up",
  "rate-limit": "is limiting requests",
  "unknown-model": "does not offer this model",
  "tools-unsupported": "cannot call tools with this model",
  parameter: "does not accept a part of the request",
  "bad-tool-call": "could not read the model's tool call",
  refused: "refused the request",
  "not-found": "does not know this address",
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
  511: "network sign-in required",
  529: "overloaded",
};

function hintFor(
  reason: ModelFailure,
  error: ProviderError,
  status: number | undefined,
  at: Situation,
): string | undefined {
  const profile = `profile "${at.profile}"`;
  const another = "choose another profile with --model";
  switch (reason) {
    case "context-limit":
      return "Shorten the conversation with /compact, or start a new session.";
    case "auth":
      if (at.auth === "login" && !at.hasKey) return `Sign in again with \`buddy login ${at.profile}\`.`;
      return at.hasKey
        ? `The key came from ${at.keySource ?? "the configuration"}: check that it belongs to ${at.host} and may use "${at.model}".`
        : `No key was sent: set BUDDY_API_KEY, or api_key_env, api_key_file or api_key in ${profile}.`;
    case "quota":
      return `No credit or quota is left: add credit or wait for the reset at ${at.host}, or ${another}.`;
    case "unknown-model":
      return /responses/i.test(error.message) && at.api !== "responses"
        ? `This model speaks another protocol: set api = "responses" in ${profile}.`
        : `Check the model name "${at.model}" of ${profile} (\`buddy models ${at.profile}\` lists the models); if it is right, set api = "${otherProtocol(at)}".`;
    case "not-found":
      if (at.baseUrl.startsWith("http:") && /https/i.test(error.message))
        return `Write https:// in api_base_url (${at.baseUrl}) of ${profile}.`;
      if (URL.parse(at.baseUrl)?.pathname === "/")
        return `Most endpoints have a path: try ${at.baseUrl}/v1 as api_base_url of ${profile}.`;
      return `The endpoint may speak another protocol: set api = "${otherProtocol(at)}" in ${profile}, or correct api_base_url (${at.baseUrl}).`;
    case "tools-unsupported":
      return `buddy works through tools: ${another}, or start the server with tool calling (vLLM: --enable-auto-tool-choice --tool-call-parser; llama.cpp: --jinja).`;
    case "rate-limit":
      return `Wait a little, or ${another}.`;
    case "parameter":
      return `Check the settings of ${profile} (api, max_tokens, temperature, reasoning_effort, extra_body).`;
    case "bad-tool-call":
      return `Try again, or ${another}.`;
    case "refused":
      if (status === 407) return PROXY_HINT;
      if (status === 403)
        return `This key or account may not use "${at.model}" at ${at.host}: check its permissions, or the region.`;
      if (status === 400 || status === 422)
        return `Check "${at.model}" and the settings of ${profile} (api, temperature, reasoning_effort).`;
      return undefined;
    case "content-filter":
      return `Rephrase the request, or ${another}.`;
    case "overloaded":
      return `The provider reports an error: try again later, or ${another}.`;
    case "network":
      return status === 511 ? "Sign in to this network in a browser, then try again." : undefined;
    case "timeout":
    case "protocol":
    case "cancelled":
      return undefined;
  }
}

function otherProtocol(at: Situation): string {
  return at.api === "completions" ? "responses" : "completions";
}

/** A gateway often answers with a status of its own and says in the body what the server behind it answered. */
function meantStatus(error: ProviderError, status: number | undefined): number | undefined {
  if (status === undefined || ![400, 500, 502, 503].includes(status)) return status;
  return error.status ?? (/\binvalid_request_error\b/.test(error.text) ? 400 : status);
}

interface Failure {
  readonly reason: ModelFailure;
  /** The same request may succeed after a wait; "once" where a third try would not help either. */
  readonly retry: boolean | "once";
}

/** By one table of words, then by the HTTP status. `waitMs`: what the server asked for, in any place. */
function classify(error: ProviderError, status: number | undefined, waitMs: number | undefined): Failure {
  const code = status ?? NO_STATUS;
  const soon = waitMs !== undefined && waitMs <= MAX_WAIT_MS;
  for (const row of errorRows()) {
    if (row.status !== undefined && !row.status.includes(code)) continue;
    if (row.except?.includes(code)) continue;
    if (row.wait !== undefined && row.wait !== (waitMs !== undefined)) continue;
    if (row.soon === false && soon) continue;
    if (row.words.test(error.text)) return { reason: row.reason, retry: row.retry ?? false };
  }
  const failure = byCulprit(error.params[0], code) ?? byStatus(code);
  // Whoever names a wait will serve again after it.
  return failure.reason === "refused" && soon ? { reason: "overloaded", retry: true } : failure;
}

/** By the field that the server objects to, where its words are not known. */
function byCulprit(param: string | undefined, status: number): Failure | undefined {
  if (param === undefined || ![400, 404, 422].includes(status)) return undefined;
  if (param === "model") return { reason: "unknown-model", retry: false };
  return new RegExp(`^(${PARAMETERS})$`).test(param) ? { reason: "parameter", retry: false } : undefined;
}

function byStatus(status: number): Failure {
  switch (status) {
    case 401:
      return { reason: "auth", retry: false };
    case 402:
      return { reason: "quota", retry: false };
    case 404:
    case 405:
      return { reason: "not-found", retry: false };
    case 408:
      return { reason: "timeout", retry: true };
    case 410:
      return { reason: "unknown-model", retry: false };
    case 413:
      return { reason: "context-limit", retry: false };
    case 429:
      return { reason: "rate-limit", retry: true };
    case NO_STATUS:
    case 409:
    case 424:
    case 425:
    case 498:
    case 499:
      return { reason: "overloaded", retry: true };
    default:
      return status >= 500 && status !== 501
        ? { reason: "overloaded", retry: true }
        : { reason: "refused", retry: false };
  }
}

// ── Connection failures in words: the code the runtime gives, the host, and the usual cause.

export function explainNetworkError(error: unknown, at: Situation): ModelError {
  const code = codeOf(error);
  const via = at.proxy === undefined ? "" : ` through the proxy ${proxyLabel(at.proxy)}`;
  const fail = (brief: string, message: string, retryable: boolean, hint?: string) =>
    new ModelError("network", at.redact(`${message}${via}`), {
      brief: at.redact(`${brief}${via}`),
      retryable,
      hint: hint && at.redact(hint),
      providerCode: code,
    });

  if (CERTIFICATE.test(code)) {
    const { brief, says, hint } = certificateWords(code, at);
    return fail(brief, `${at.host} presents a certificate ${says} (${code})`, false, hint);
  }
  const words = messageOf(error);
  const tunnel = /^Proxy refused to open a tunnel: (.*)$/.exec(words)?.[1];
  if (tunnel !== undefined) {
    return fail(tunnel, `no connection to ${at.host}: ${tunnel}`, tunnel.startsWith("5"), PROXY_HINT);
  }
  switch (code) {
    case "ECONNREFUSED":
      return fail("connection refused", `cannot connect to ${at.host}: connection refused`, true, refusedHint(at));
    case "ENOTFOUND":
    case "EAI_AGAIN":
    case "DNS_ENOTFOUND":
      return fail(
        "the name does not resolve",
        `cannot find ${at.host}: the name does not resolve`,
        true,
        `Check the address ${at.baseUrl} of profile "${at.profile}", the network and DNS.`,
      );
    case "ECONNRESET":
    case "EPIPE":
      return fail(
        "connection broken",
        `${at.host} closed the connection unexpectedly`,
        true,
        at.baseUrl.startsWith("http:")
          ? `Try again; if the server speaks TLS, write https:// in api_base_url (${at.baseUrl}).`
          : "Usually the network or the provider: try again.",
      );
    case "ENETUNREACH":
    case "EHOSTUNREACH":
    case "ENETDOWN":
      return fail("no route", `no route to ${at.host}`, true, "Check the network connection.");
    case "EACCES":
    case "EPERM":
      return fail(
        "not permitted",
        `this machine does not permit connections to ${at.host}`,
        true,
        "A firewall or sandbox on this machine refuses them.",
      );
    case "EMFILE":
    case "ENFILE":
      return fail("too many open files", `too many files are open to connect to ${at.host}`, true, "Raise ulimit -n.");
    case "ETIMEDOUT":
      return fail(
        "timed out",
        `connecting to ${at.host} timed out`,
        true,
        "Check the network, a firewall, or HTTPS_PROXY.",
      );
    case "ZlibError":
    case "BrotliDecompressionError":
    case "ZstdDecompressionError":
      return fail(
        "the answer cannot be decompressed",
        `the answer from ${at.host} cannot be decompressed`,
        true,
        "The server or a proxy announces a compression that it does not use, or cuts the answer off.",
      );
    case "ResponseHeadersTooLarge":
      return fail(
        "headers too long",
        `the headers of the answer from ${at.host} are too long`,
        false,
        `Check api_base_url (${at.baseUrl}) of profile "${at.profile}": this is not a model server, or a broken one.`,
      );
    case "EPROTO":
      return fail(
        "no TLS",
        `${at.host} does not speak TLS on this port`,
        false,
        `Check http:// or https:// in api_base_url (${at.baseUrl}).`,
      );
    default: {
      const short = (words.split(" For more information, pass")[0] ?? words).replace(GUESS, "");
      // Without a code it did not come from the network: trying again would not help.
      return fail(short, `the request to ${at.host} failed: ${short}`, code !== "");
    }
  }
}

/** Bun adds it to every error that it does not know. */
const GUESS = /:? Was there a typo in the url or port\?/;

/** Also for a 407 that came as an answer. */
const PROXY_HINT =
  "The proxy refused the connection: check proxy in the profile, HTTPS_PROXY or HTTP_PROXY (with user and password before the host) and NO_PROXY.";

function certificateWords(code: string, at: Situation): { brief: string; says: string; hint: string } {
  if (/EXPIRED|NOT_YET_VALID/.test(code))
    return {
      brief: "certificate out of date",
      says: code.includes("EXPIRED") ? "that has expired" : "that is not valid yet",
      hint: "The server needs a new certificate; if it has one, check the clock of this machine.",
    };
  if (/ALTNAME|HOSTNAME_MISMATCH/.test(code))
    return {
      brief: "certificate of another host",
      says: "for another name",
      hint: `Use a name that the certificate covers in api_base_url (${at.baseUrl}) of profile "${at.profile}".`,
    };
  const brief = "untrusted certificate";
  if (at.ownCa)
    return {
      brief,
      says: "that no certificate in ca_file signed",
      hint: `Name the certificate of the CA that signed it in ca_file of profile "${at.profile}".`,
    };
  return {
    brief,
    says: "that this machine does not trust",
    hint: `If a company proxy or a private CA is in between, name its certificate file in ca_file of profile "${at.profile}", or in NODE_EXTRA_CA_CERTS.`,
  };
}

const CERTIFICATE = /CERT|SELF_SIGNED|UNABLE_TO_(VERIFY|GET)|ALTNAME|HOSTNAME_MISMATCH/;

function codeOf(error: unknown): string {
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : "";
}

function refusedHint(at: Situation): string {
  if (at.proxy !== undefined)
    return "The proxy does not answer: check proxy in the profile, HTTPS_PROXY, HTTP_PROXY and NO_PROXY.";
  return /^(localhost|127\.|\[?::1)/.test(at.host)
    ? "Is the local model server running? (`ollama serve`, LM Studio, llama-server)"
    : `Check the address ${at.baseUrl} of profile "${at.profile}".`;
}
