/** createModelClient: one interface over the wire protocols, with retries that the user can see. */
import { formatDuration } from "../lib/durations.ts";
import { BuddyError } from "../lib/errors.ts";
import { pause } from "../lib/pause.ts";
import { infoFor, type CatalogRule } from "./catalog.ts";
import { adjustmentFor, type Adjustment } from "./adjustments.ts";
import { dialectOf, type Dialect } from "./dialect.ts";
import { cancelled, ModelError } from "./errors.ts";
import { exchange, type Exchange, type ExchangeLimits } from "./http/exchange.ts";
import { explain, type Situation } from "./explain.ts";
import { anthropic } from "./protocols/anthropic.ts";
import { completions } from "./protocols/completions.ts";
import type { Protocol, Reply } from "./protocols/protocol.ts";
import { responses } from "./protocols/responses.ts";
import { proxyFor, type Environment } from "../lib/proxy.ts";
import { echoRedactor } from "../lib/redact.ts";
import { FIRST_WAIT_MS, MAX_TOTAL_WAIT_MS, MAX_WAIT_MS, waitBefore } from "./http/retry.ts";
import { shapeHistory } from "./shape-history.ts";
import type { Api, ModelClient, ModelEvent, ModelInfo, ModelProfile, ModelRequest } from "./types.ts";
import { usageOf } from "./usage.ts";

export function createModelClient(options: ModelOptions): ModelClient {
  return new HttpModelClient(options);
}

export interface ModelOptions {
  /** Name of the profile, for words and hints. */
  readonly name: string;
  readonly baseUrl: string;
  readonly api: Api;
  readonly auth: "api-key" | "login";
  readonly model: string;
  /** Whose rules the endpoint follows; otherwise by its address. */
  readonly provider?: string | undefined;
  readonly stream?: boolean;
  readonly key?: string | undefined;
  /** Where the key came from, e.g. "BUDDY_API_KEY" or "api_key_file ~/k". */
  readonly keySource?: string | undefined;
  /** Carries the key as it is, in place of `Authorization: Bearer`. */
  readonly keyHeader?: string | undefined;
  /** Where tokens of `auth = "login"`, or keys that expire, come from. */
  readonly login?: TokenSource | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly query?: Readonly<Record<string, string>> | undefined;
  /** Added to the body of every request; replaces what buddy puts there. */
  readonly extraBody?: Readonly<Record<string, unknown>> | undefined;
  /** For this endpoint, in place of the environment's. */
  readonly proxy?: string | undefined;
  /** PEM certificates to trust. */
  readonly ca?: string | undefined;
  readonly headerTimeoutMs?: number;
  readonly idleTimeoutMs?: number;
  /** One whole answer, however lively the stream is. */
  readonly totalTimeoutMs?: number;
  readonly retries?: number;
  /** The first wait; doubled with each retry. */
  readonly backoffMs?: number;
  /** All waits of one turn together. */
  readonly maxRetryMs?: number;
  readonly maxTokens?: number | undefined;
  readonly temperature?: number | undefined;
  readonly topP?: number | undefined;
  readonly reasoningEffort?: string | undefined;
  readonly contextLimit?: number | undefined;
  readonly images?: boolean | undefined;
  /** The user's own catalog rules, asked first. */
  readonly rules?: readonly CatalogRule[] | undefined;
  /** For HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY. */
  readonly env?: Environment;
  /** Besides the key: what must never appear in a message. */
  readonly secrets?: readonly string[];
  /** A unix socket instead of the host of the URL. */
  readonly unix?: string | undefined;
  readonly userAgent?: string;
}

/** Where the token of a signed-in user comes from; `forceRefresh` after the server refused the last one. */
export interface TokenSource {
  token(
    options: { forceRefresh?: boolean },
    signal: AbortSignal,
  ): Promise<{ accessToken: string; accountId?: string | undefined }>;
}

/** Signed-in requests of OpenAI profiles go here; any other base URL is used as it is. */
export const LOGIN_BASE_URL = "https://chatgpt.com/backend-api/codex";

const DEFAULTS = { headerMs: 120_000, idleMs: 120_000, totalMs: 3_600_000, retries: 4 };
const MAX_ANSWER_BYTES = 256 * 1024 * 1024;
const LINGER_MS = 2_000;

class HttpModelClient implements ModelClient {
  readonly profile: ModelProfile;
  readonly #options: ModelOptions;
  readonly #protocol: Protocol;
  readonly #url: string;
  readonly #host: string;
  readonly #limits: ExchangeLimits;
  readonly #dialect: Dialect;
  /** What this server has refused once is not sent again. */
  readonly #adjusted = new Set<Adjustment>();
  #info: ModelInfo | undefined;

  constructor(options: ModelOptions) {
    this.#options = options;
    this.#protocol = PROTOCOLS[options.api] as Protocol;
    const base = new URL(baseOf(options));
    base.username = base.password = base.hash = "";
    // Addresses for this protocol are given with the version and without it.
    if (options.api === "anthropic" && !/\/v\d+\/*$/.test(base.pathname))
      base.pathname += `${base.pathname.endsWith("/") ? "" : "/"}v1`;
    this.profile = {
      name: options.name,
      model: options.model,
      api: options.api,
      auth: options.auth,
      baseUrl: `${base.origin}${base.pathname}`.replace(/\/+$/, ""),
    };
    this.#host = base.host;
    this.#url = urlBelow(base, this.#protocol.path, options.query);
    this.#dialect = dialectOf({ ...options, host: base.host });
    this.#limits = {
      headerMs: options.headerTimeoutMs ?? DEFAULTS.headerMs,
      idleMs: options.idleTimeoutMs ?? DEFAULTS.idleMs,
      totalMs: options.totalTimeoutMs ?? DEFAULTS.totalMs,
      answerBytes: MAX_ANSWER_BYTES,
      lingerMs: LINGER_MS,
    };
  }

  get info(): ModelInfo {
    return (this.#info ??= infoFor(this.#options.model, this.#options));
  }

  async *stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent, void, void> {
    const {
      retries = DEFAULTS.retries,
      backoffMs: first = FIRST_WAIT_MS,
      maxRetryMs = MAX_TOTAL_WAIT_MS,
    } = this.#options;
    let waited = 0;
    let refreshed = false;
    let forceRefresh = false;
    for (let attempt = 1; ;) {
      const ask = await this.#prepare(request, forceRefresh, signal);
      const answer = exchange(ask, signal);
      let shown = false;
      let error: ModelError;
      try {
        for (;;) {
          const { done, value } = await answer.next();
          if (done) {
            yield this.#done(request, value);
            return;
          }
          for (const event of value) {
            shown ||= event.type !== "tool-call";
            yield event;
          }
        }
      } catch (caught) {
        error = explain(caught, ask.situation);
      } finally {
        // Closes the connection when the reader stops early; without effect when the answer has ended.
        await answer.return(undefined as never);
      }
      if (signal.aborted) throw error;
      const adjustment = adjustmentFor(error, this.#adjusted, ask.sent);
      forceRefresh = error.status === 401 && this.#options.login !== undefined && !this.#options.key && !refreshed;
      if (adjustment) this.#adjusted.add(adjustment);
      if (forceRefresh) refreshed = true;
      if (adjustment || forceRefresh) {
        if (shown) yield { type: "discard" };
        continue;
      }
      if (!error.retryable || attempt > (error.retryOnce ? Math.min(1, retries) : retries)) throw error;
      const wait = waitBefore(attempt, error.retryAfterMs, first);
      if (wait > MAX_WAIT_MS || waited + wait > maxRetryMs) throw tooLong(error, wait);
      if (shown) yield { type: "discard" };
      yield { type: "retry", attempt, of: retries, host: this.#host, reason: error.brief, waitMs: wait };
      await pause(wait, signal).catch(() => {
        throw cancelled(signal);
      });
      waited += wait;
      attempt++;
    }
  }

  #done(request: ModelRequest, { message, usage, finish, writtenCall }: Reply): ModelEvent {
    // Who is signed in pays by subscription: a price per token would be invented.
    const info = this.#usesLogin ? { ...this.info, priceIn: undefined, priceOut: undefined } : this.info;
    const from = this.#origin;
    return {
      type: "done",
      message: { ...message, from },
      usage: usageOf(usage, request, message, info),
      finish,
      ...(writtenCall && { writtenCall }),
    };
  }

  /** Protocol, host and model, as messages remember who wrote them. */
  get #origin(): string {
    return `${this.profile.api} ${this.#host} ${this.profile.model}`;
  }

  get #usesLogin(): boolean {
    return this.#options.auth === "login" && !this.#options.key;
  }

  async #prepare(
    request: ModelRequest,
    forceRefresh: boolean,
    signal: AbortSignal,
  ): Promise<Exchange & { readonly sent: Record<string, unknown> }> {
    const { key, keySource, env = {}, unix, secrets = [] } = this.#options;
    const hidden: string[] = key ? [key, ...secrets] : [...secrets];
    const headers: Record<string, string> = {
      "content-type": "application/json",
      accept: "text/event-stream, application/json",
      "user-agent": this.#options.userAgent ?? "buddy",
      ...this.#protocol.headers,
    };
    for (const [name, value] of Object.entries(this.#dialect.headers)) {
      const filled = value.replace("{session}", request.session ?? "");
      if (filled !== "") headers[name] = filled;
    }
    await this.#authorize(headers, hidden, forceRefresh, signal);
    if (this.#usesLogin && request.session !== undefined)
      headers["session_id"] = headers["conversation_id"] = request.session;
    for (const [name, value] of Object.entries(this.#options.headers ?? {})) {
      headers[name.toLowerCase()] = value;
      hidden.push(value);
    }
    const situation: Situation = {
      host: this.#host,
      profile: this.profile.name,
      model: this.profile.model,
      api: this.profile.api,
      auth: this.profile.auth,
      baseUrl: this.profile.baseUrl,
      hasKey: Boolean(key),
      keySource,
      proxy: unix === undefined ? (this.#options.proxy ?? proxyFor(new URL(this.#url), env)) : undefined,
      redact: echoRedactor(hidden),
    };
    const sent = this.#body(request);
    return {
      url: this.#url,
      headers,
      body: wellFormed(JSON.stringify(sent)),
      sent,
      protocol: this.#protocol,
      limits: this.#limits,
      situation,
      unix,
      ca: this.#options.ca,
    };
  }

  async #authorize(
    headers: Record<string, string>,
    hidden: string[],
    forceRefresh: boolean,
    signal: AbortSignal,
  ): Promise<void> {
    const { key, keySource, login, keyHeader = this.#protocol.keyHeader } = this.#options;
    const put = (secret: string) => {
      if (keyHeader === undefined || keyHeader.toLowerCase() === "authorization")
        headers["authorization"] = `Bearer ${secret}`;
      else headers[keyHeader.toLowerCase()] = secret;
    };
    if (key) return put(sendable(key, keySource));
    if (!login) {
      if (this.#usesLogin) throw notSignedIn(this.profile.name);
      return;
    }
    const { accessToken, accountId } = await login.token({ forceRefresh }, signal).catch((error: unknown) => {
      throw signal.aborted ? cancelled(signal) : error;
    });
    hidden.push(accessToken);
    if (!this.#usesLogin) return put(sendable(accessToken, "api_key_command"));
    headers["authorization"] = `Bearer ${accessToken}`;
    headers["originator"] = "buddy";
    if (accountId) headers["chatgpt-account-id"] = accountId;
  }

  #body(request: ModelRequest): Record<string, unknown> {
    const { model, stream = true, temperature, topP, reasoningEffort, maxTokens, extraBody } = this.#options;
    const login = this.#usesLogin;
    const adjusted = this.#adjusted;
    const messages = shapeHistory(request.messages, { to: this.#origin, dialect: this.#dialect, adjusted });
    const body = this.#protocol.body(
      { ...request, messages },
      {
        model,
        // The login endpoint only streams, and takes no sampling parameters.
        stream: login || (stream && !adjusted.has("stream")),
        maxTokens: login ? undefined : maxTokens,
        temperature: login ? undefined : temperature,
        topP: login ? undefined : topP,
        reasoningEffort,
        reasoning: this.info.reasoning,
        maxOutput: this.info.maxOutput,
        dialect: this.#dialect,
        adjusted,
      },
    ) as Record<string, unknown>;
    return extraBody === undefined ? body : withExtra(body, extraBody);
  }
}

const PROTOCOLS = { completions, responses, anthropic } as const;

/** The base URL keeps its own query; a path never lands behind it. */
export function urlBelow(base: URL, path: string, query: Readonly<Record<string, string>> = {}): string {
  const url = new URL(base);
  url.username = url.password = url.hash = "";
  url.pathname = `${url.pathname.replace(/\/+$/, "")}${path}`;
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url.href;
}

/** The conversation stays at the end, where it grows. */
function withExtra(body: Record<string, unknown>, extra: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { messages, input, ...rest } = body;
  return {
    ...rest,
    ...extra,
    ...(messages !== undefined && { messages: extra["messages"] ?? messages }),
    ...(input !== undefined && { input: extra["input"] ?? input }),
  };
}

function baseOf({ baseUrl, auth, key, name }: ModelOptions): string {
  const url = URL.parse(baseUrl);
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new BuddyError("config", `api_base_url of profile "${name}" is not an http(s) URL`, {
      hint: 'Expected something like "https://api.openai.com/v1".',
    });
  }
  return auth === "login" && !key && url.host === "api.openai.com" ? LOGIN_BASE_URL : baseUrl;
}

function notSignedIn(profile: string): ModelError {
  return new ModelError("auth", `not signed in for profile "${profile}"`, {
    hint: `Sign in with \`buddy login ${profile}\`.`,
  });
}

/** The same failure, with the reason why nobody waits any longer. */
function tooLong(error: ModelError, waitMs: number): ModelError {
  return new ModelError(error.reason, `${error.message}; the next try would be in ${formatDuration(waitMs)}`, {
    hint: "Try again later, or choose another profile with --model.",
    status: error.status,
    providerCode: error.providerCode,
    retryAfterMs: error.retryAfterMs,
  });
}

function sendable(key: string, source: string | undefined): string {
  if (/^[\u0021-\u007e]+$/.test(key)) return key;
  throw new ModelError(
    "auth",
    `the key from ${source ?? "the configuration"} has spaces, line breaks or other characters no key has`,
    {
      hint: "Check that it holds the key and nothing else.",
    },
  );
}

/** Half of a surrogate pair, left by a cut inside a character, is an escape here, and an error for many servers. */
function wellFormed(json: string): string {
  return json.includes("\\ud") ? json.replace(/(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g, "$1\ufffd") : json;
}
