/** createModelClient: one interface over the wire protocols, with retries that the user can see. */
import { formatDuration } from "../lib/durations.ts";
import { tracing } from "../lib/trace.ts";
import { pause } from "../lib/waiting.ts";
import { infoFor, type CatalogRule } from "./catalog.ts";
import type { Adjustment } from "./adjustments.ts";
import { Endpoint } from "./endpoint.ts";
import { cancelled, ModelError } from "./errors.ts";
import { exchange, type Exchange, type ExchangeLimits } from "./http/exchange.ts";
import type { Protocol, Reply } from "./protocols/protocol.ts";
import type { Environment } from "../lib/values.ts";
import { RequestText, StreamedBody } from "./request-text.ts";
import { HistoryShaper } from "./shape-history.ts";
import type { Api, ModelClient, ModelEvent, ModelInfo, ModelProfile, ModelRequest } from "./types.ts";
import { usageOf } from "./usage.ts";

export function createModelClient(options: ModelOptions): ModelClient {
  return new HttpModelClient(options);
}

export interface ModelOptions extends ModelProfile {
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
  /** Added to the body of every request; replaces what buddy sends. */
  readonly extraBody?: Readonly<Record<string, unknown>> | undefined;
  /** For this endpoint, in place of the environment's. */
  readonly proxy?: string | undefined;
  /** PEM certificates to trust. */
  readonly ca?: string | undefined;
  readonly headerTimeoutMs?: number;
  readonly idleTimeoutMs?: number;
  /** For one whole answer, even if it keeps coming. */
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
  /** In addition to the key: what must never appear in a message. */
  readonly secrets?: readonly string[];
  readonly userAgent?: string;
}

/** Where the token of a signed-in user comes from; `refused` is one that the server did not take. */
export interface TokenSource {
  token(
    options: { refused?: string | undefined },
    signal: AbortSignal,
  ): Promise<{ accessToken: string; accountId?: string | undefined }>;
}

const DEFAULTS = { headerMs: 120_000, idleMs: 120_000, totalMs: 3_600_000, retries: 4 };
const MAX_ANSWER_BYTES = 256 * 1024 * 1024;
const LINGER_MS = 2_000;
/** For the list of models of a server that runs one. */
const WINDOW_MS = 3_000;
/** A quicker answer needs no list; no model is that fast. */
const WINDOW_AFTER_MS = 25;

class HttpModelClient implements ModelClient {
  readonly profile: ModelProfile;
  readonly #options: ModelOptions;
  readonly #protocol: Promise<Protocol>;
  readonly #endpoint: Endpoint;
  readonly #limits: ExchangeLimits;
  /** What this server has refused once is not sent again. */
  readonly #adjusted = new Set<Adjustment>();
  readonly #shaper = new HistoryShaper();
  readonly #text = new RequestText();
  #bareTools: ((tools: ModelRequest["tools"]) => ModelRequest["tools"]) | undefined;
  #info: ModelInfo | undefined;
  /** The server was asked for its window. */
  #asked = false;
  /** Instead of the profile's model, where the sign-in does not offer that. */
  #fallback: string | undefined;

  constructor(options: ModelOptions) {
    this.#options = options;
    this.#protocol = PROTOCOLS[options.api]();
    this.#endpoint = new Endpoint(options);
    this.profile = {
      name: options.name,
      model: options.model,
      api: options.api,
      auth: options.auth,
      baseUrl: this.#endpoint.baseUrl,
    };
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

  /**
   * What a local server reports about its window beats any catalog. Asked during a request that takes
   * its time, never waited for; the large providers run their models as the catalog says.
   */
  #learnWindow(signal: AbortSignal): void {
    if (this.#asked) return;
    this.#asked = true;
    const work = async () => {
      const { listModels } = await import("./list-models.ts");
      const models = await listModels(this.#options, signal, WINDOW_MS);
      const mine = models.find(({ id }) => id === this.#options.model) ?? (models.length === 1 ? models[0] : undefined);
      if (mine?.contextLimit !== undefined) this.#info = { ...this.info, contextLimit: mine.contextLimit, known: true };
    };
    // Most servers do not report it, and the answer is not needed; a turn that ended first leaves it to the next.
    work().catch(() => (this.#asked = !signal.aborted));
  }

  /** Until the request is over. */
  #watchWindow(signal: AbortSignal): Disposable | undefined {
    if (this.#asked || this.#options.contextLimit !== undefined || !this.#endpoint.reportsWindow) return undefined;
    const over = new AbortController();
    const timer = setTimeout(() => this.#learnWindow(AbortSignal.any([signal, over.signal])), WINDOW_AFTER_MS);
    return {
      [Symbol.dispose]() {
        clearTimeout(timer);
        over.abort();
      },
    };
  }

  async *stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent, void, void> {
    const window = this.#watchWindow(signal);
    const tries: Tries = { attempt: 1, waited: 0, refused: undefined, refreshed: false, shown: false };
    try {
      for (;;) {
        const ask = await this.#prepare(request, tries.refused, signal);
        const traced = tracing() ? (await import("./trace-exchange.ts")).traceExchange(ask, tries.attempt) : undefined;
        const answer = exchange(traced === undefined ? ask : { ...ask, first: traced.first }, signal);
        let error: ModelError;
        tries.shown = false;
        try {
          for (;;) {
            const { done, value } = await answer.next();
            if (done) {
              traced?.end(value);
              yield this.#done(request, value);
              return;
            }
            tries.shown = true;
            for (const event of value) yield event;
          }
        } catch (caught) {
          error = (await import("./explain.ts")).explain(caught, ask.situation);
          traced?.failed(error);
        } finally {
          // Closes the connection when the reader stops early; without effect when the answer has ended.
          await answer.return(undefined as never);
        }
        const { events, wait } = await this.#tryAgain(error, ask, tries, signal);
        for (const event of events) yield event;
        await pause(wait, signal).catch(() => {
          throw cancelled(signal);
        });
      }
    } finally {
      window?.[Symbol.dispose]();
    }
  }

  /** What to report and how long to wait before the next attempt; throws if there is none. */
  async #tryAgain(
    error: ModelError,
    ask: Pick<Sent, "sent" | "token">,
    tries: Tries,
    signal: AbortSignal,
  ): Promise<{ readonly events: readonly ModelEvent[]; readonly wait: number }> {
    if (signal.aborted) throw error;
    const { retries = DEFAULTS.retries, backoffMs, maxRetryMs } = this.#options;
    const { adjustmentFor, bareTools } = await import("./adjustments.ts");
    const adjustment = adjustmentFor(error, this.#adjusted, ask.sent);
    tries.refused = error.status === 401 && this.#endpoint.renews && !tries.refreshed ? ask.token : undefined;
    if (adjustment) {
      this.#adjusted.add(adjustment);
      this.#text.forget();
    }
    if (adjustment === "bare_schemas") this.#bareTools = bareTools;
    if (tries.refused !== undefined) tries.refreshed = true;
    const discard: readonly ModelEvent[] = tries.shown ? [{ type: "discard" }] : [];
    if (adjustment || tries.refused !== undefined) {
      const message = `images are left out, because ${error.message}`;
      return {
        events: [...discard, ...(adjustment === "images" ? [{ type: "notice", message } as const] : [])],
        wait: 0,
      };
    }
    const fallback = await this.#otherModel(error, signal);
    if (fallback !== undefined) {
      const message = `${this.profile.model} is not available with this sign-in; using ${fallback}`;
      return { events: [{ type: "notice", message }], wait: 0 };
    }
    const { attempt } = tries;
    if (!error.retryable || attempt > (error.retryOnce ? Math.min(1, retries) : retries)) throw error;
    const { FIRST_WAIT_MS, MAX_TOTAL_WAIT_MS, MAX_WAIT_MS, waitBefore } = await import("./http/retry.ts");
    const wait = waitBefore(attempt, error.retryAfterMs, backoffMs ?? FIRST_WAIT_MS);
    if (wait > MAX_WAIT_MS || tries.waited + wait > (maxRetryMs ?? MAX_TOTAL_WAIT_MS)) throw tooLong(error, wait);
    tries.waited += wait;
    tries.attempt++;
    const { host } = this.#endpoint;
    return {
      events: [...discard, { type: "retry", attempt, of: retries, host, reason: error.brief, waitMs: wait }],
      wait,
    };
  }

  /** The models of a subscription change: one that is gone is replaced by the first that is offered. */
  async #otherModel(error: ModelError, signal: AbortSignal): Promise<string | undefined> {
    if (error.reason !== "unknown-model" || !this.#endpoint.usesLogin || this.#fallback !== undefined) return undefined;
    const { listModels } = await import("./list-models.ts");
    const offered = await listModels(this.#options, signal).catch(() => []);
    const others = offered.map(({ id }) => id).filter((id) => id !== this.profile.model);
    return (this.#fallback = others.find((id) => /codex/.test(id)) ?? others[0]);
  }

  #done(request: ModelRequest, { message, usage, finish, writtenCall }: Reply): ModelEvent {
    // A sign-in is paid by subscription: there is no price per token.
    const info = this.#endpoint.usesLogin ? { ...this.info, priceIn: undefined, priceOut: undefined } : this.info;
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
    return `${this.profile.api} ${this.#endpoint.host} ${this.profile.model}`;
  }

  async #prepare(request: ModelRequest, refused: string | undefined, signal: AbortSignal): Promise<Sent> {
    const { ca } = this.#options;
    const { session } = request;
    const { headers, situation, token } = await this.#endpoint.request({ refused, session }, signal);
    const protocol = await this.#protocol;
    const sent = this.#body(request, protocol);
    return {
      url: this.#endpoint.url(protocol.path),
      headers: { "content-type": "application/json", accept: "text/event-stream, application/json", ...headers },
      body: this.#text.of(sent) ?? new StreamedBody(sent),
      sent,
      token,
      protocol,
      limits: this.#limits,
      situation,
      ca,
    };
  }

  #body(request: ModelRequest, protocol: Protocol): Record<string, unknown> {
    const { model, stream = true, temperature, topP, reasoningEffort, maxTokens, extraBody } = this.#options;
    const login = this.#endpoint.usesLogin;
    const adjusted = this.#adjusted;
    const place = this.profile.api === "completions" ? "behind-results" : "in-results";
    const messages = this.#shaper.shape(request.messages, {
      to: this.#origin,
      dialect: this.#endpoint.dialect,
      adjusted,
      images: this.info.images === true && !adjusted.has("images") && place,
    });
    const body = protocol.body(
      { ...request, messages, tools: this.#bareTools?.(request.tools) ?? request.tools },
      {
        model: this.#fallback ?? model,
        // The login endpoint only streams, and takes no sampling parameters.
        stream: login || adjusted.has("stream_only") || (stream && !adjusted.has("stream")),
        maxTokens: login ? undefined : maxTokens,
        temperature: login ? undefined : temperature,
        topP: login ? undefined : topP,
        reasoningEffort,
        reasoning: this.info.reasoning,
        maxOutput: this.info.maxOutput,
        dialect: this.#endpoint.dialect,
        adjusted,
        once: this.#text.once,
      },
    ) as Record<string, unknown>;
    return extraBody === undefined ? body : withExtra(body, extraBody);
  }
}

interface Sent extends Exchange {
  readonly sent: Record<string, unknown>;
  readonly token: string | undefined;
}

/** The attempts of one request. */
interface Tries {
  attempt: number;
  /** All waits so far. */
  waited: number;
  /** A token that the server did not take. */
  refused: string | undefined;
  /** Another token was asked for; that happens once. */
  refreshed: boolean;
  /** Something of this attempt was shown. */
  shown: boolean;
}

/** Only the one in use is loaded. */
const PROTOCOLS: Readonly<Record<Api, () => Promise<Protocol>>> = {
  completions: async () => (await import("./protocols/completions.ts")).completions as Protocol,
  responses: async () => (await import("./protocols/responses.ts")).responses as Protocol,
  anthropic: async () => (await import("./protocols/anthropic.ts")).anthropic as Protocol,
};

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

/** The same failure, with the reason why buddy does not wait any longer. */
function tooLong(error: ModelError, waitMs: number): ModelError {
  return new ModelError(error.reason, `${error.message}; the next attempt would be in ${formatDuration(waitMs)}`, {
    hint: "Try again later, or choose another profile with --model.",
    status: error.status,
    providerCode: error.providerCode,
    retryAfterMs: error.retryAfterMs,
  });
}
