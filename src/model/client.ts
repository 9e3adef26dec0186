/** createModelClient: one interface over both wire protocols, with retries that the user can see. */
import { formatDuration } from "../lib/durations.ts";
import { BuddyError } from "../lib/errors.ts";
import { pause } from "../lib/pause.ts";
import { infoFor, type CatalogRule } from "./catalog.ts";
import { droppableFor } from "./unsupported-parameters.ts";
import { cancelled, ModelError } from "./errors.ts";
import { exchange, type Exchange, type ExchangeLimits } from "./http/exchange.ts";
import { explain, type Situation } from "./explain.ts";
import { completions } from "./protocols/completions.ts";
import type { Droppable, Protocol, Reply } from "./protocols/protocol.ts";
import { responses } from "./protocols/responses.ts";
import { proxyFor, type Environment } from "../lib/proxy.ts";
import { echoRedactor } from "../lib/redact.ts";
import { FIRST_WAIT_MS, MAX_TOTAL_WAIT_MS, MAX_WAIT_MS, waitBefore } from "./http/retry.ts";
import type { ModelClient, ModelEvent, ModelInfo, ModelProfile, ModelRequest } from "./types.ts";
import { usageOf } from "./usage.ts";

export function createModelClient(options: ModelOptions): ModelClient {
  return new HttpModelClient(options);
}

export interface ModelOptions {
  /** Name of the profile, for words and hints. */
  readonly name: string;
  readonly baseUrl: string;
  readonly api: "completions" | "responses";
  readonly auth: "api-key" | "login";
  readonly model: string;
  readonly stream?: boolean;
  readonly key?: string | undefined;
  /** Where the key came from, e.g. "BUDDY_API_KEY" or "api_key_file ~/k". */
  readonly keySource?: string | undefined;
  /** Where tokens of `auth = "login"` come from. */
  readonly login?: TokenSource | undefined;
  readonly headerTimeoutMs?: number;
  readonly idleTimeoutMs?: number;
  /** One whole answer, however lively the stream is. */
  readonly totalTimeoutMs?: number;
  readonly retries?: number;
  /** The first wait; doubled with each retry. */
  readonly backoffMs?: number;
  /** All waits of one turn together. */
  readonly maxRetryMs?: number;
  readonly temperature?: number | undefined;
  readonly topP?: number | undefined;
  readonly reasoningEffort?: string | undefined;
  readonly contextLimit?: number | undefined;
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
  /** What this server has refused once is not sent again. */
  readonly #without = new Set<Droppable>();
  #info: ModelInfo | undefined;

  constructor(options: ModelOptions) {
    this.#options = options;
    this.#protocol = (options.api === "responses" ? responses : completions) as Protocol;
    const base = new URL(baseOf(options));
    base.username = base.password = base.hash = "";
    this.profile = {
      name: options.name,
      model: options.model,
      api: options.api,
      auth: options.auth,
      baseUrl: `${base.origin}${base.pathname}`.replace(/\/+$/, ""),
    };
    this.#url = `${this.profile.baseUrl}${this.#protocol.path}${base.search}`;
    this.#host = base.host;
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
      const drop = droppableFor(error, this.#without);
      forceRefresh = error.status === 401 && this.#usesLogin && !refreshed;
      if (drop) this.#without.add(drop);
      if (forceRefresh) refreshed = true;
      if (drop || forceRefresh) {
        if (shown) yield { type: "discard" };
        continue;
      }
      if (!error.retryable || attempt > retries) throw error;
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

  #done(request: ModelRequest, { message, usage, finish }: Reply): ModelEvent {
    // Who is signed in pays by subscription: a price per token would be invented.
    const info = this.#usesLogin ? { ...this.info, priceIn: undefined, priceOut: undefined } : this.info;
    return { type: "done", message, usage: usageOf(usage, request, message, info), finish };
  }

  get #usesLogin(): boolean {
    return this.#options.auth === "login" && !this.#options.key;
  }

  async #prepare(request: ModelRequest, forceRefresh: boolean, signal: AbortSignal): Promise<Exchange> {
    const { key, keySource, env = {}, unix, secrets = [], login } = this.#options;
    const headers: Record<string, string> = {
      "content-type": "application/json",
      accept: "text/event-stream, application/json",
      "user-agent": this.#options.userAgent ?? "buddy",
    };
    const hidden: string[] = key ? [key, ...secrets] : [...secrets];
    if (key) headers["authorization"] = `Bearer ${sendable(key, keySource)}`;
    else if (this.#usesLogin) {
      if (!login) throw notSignedIn(this.profile.name);
      const { accessToken, accountId } = await login.token({ forceRefresh }, signal).catch((error: unknown) => {
        throw signal.aborted ? cancelled(signal) : error;
      });
      hidden.push(accessToken);
      headers["authorization"] = `Bearer ${accessToken}`;
      headers["originator"] = "buddy";
      if (accountId) headers["chatgpt-account-id"] = accountId;
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
      proxy: unix === undefined ? proxyFor(new URL(this.#url), env) : undefined,
      redact: echoRedactor(hidden),
    };
    const body = wellFormed(JSON.stringify(this.#body(request)));
    return { url: this.#url, headers, body, protocol: this.#protocol, limits: this.#limits, situation, unix };
  }

  #body(request: ModelRequest): object {
    const { model, stream = true, temperature, topP, reasoningEffort } = this.#options;
    const login = this.#usesLogin;
    return this.#protocol.body(request, {
      model,
      // The login endpoint only streams, and takes no sampling parameters.
      stream: login || (stream && !this.#without.has("stream")),
      temperature: login ? undefined : temperature,
      topP: login ? undefined : topP,
      reasoningEffort,
      reasoning: this.info.reasoning,
      without: this.#without,
    });
  }
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
