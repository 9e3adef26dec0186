/** One HTTP exchange: the request goes out, events come back in batches, and every way to hang has a limit. */
import { collectRequest } from "../../lib/large-texts.ts";
import { boundedText, fetchVia } from "../../lib/network.ts";
import { trace } from "../../lib/trace.ts";
import type { Answer } from "./answer.ts";
import { ProviderError, Malformed } from "../provider-error.ts";
import { cancelled, ModelError } from "../errors.ts";
import type { Situation } from "../explain.ts";
import type { Protocol, Reply } from "../protocols/protocol.ts";
import type { StreamedBody } from "../request-text.ts";
import type { ModelEvent } from "../types.ts";

export interface Exchange {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | StreamedBody;
  readonly protocol: Protocol;
  readonly limits: ExchangeLimits;
  readonly situation: Situation;
  /** PEM certificates to trust. */
  readonly ca?: string | undefined;
  /** The first piece of the answer has come. */
  first?(): void;
}

export interface ExchangeLimits {
  /** Until the status line and headers have come. */
  readonly headerMs: number;
  /** Between two bytes; comments and pings count. */
  readonly idleMs: number;
  /** The whole answer. */
  readonly totalMs: number;
  readonly answerBytes: number;
  /** After the server said it is finished, for a last usage event. */
  readonly lingerMs: number;
}

export async function* exchange(
  ask: Exchange,
  signal: AbortSignal,
): AsyncGenerator<readonly ModelEvent[], Reply, void> {
  const { situation, limits, protocol } = ask;
  const watchdog = new Watchdog(signal);
  let answer: Answer | undefined;
  let rest: BodyReader | undefined;
  try {
    watchdog.endBy(limits.totalMs, `the answer did not end within ${seconds(limits.totalMs)}`);
    watchdog.expect(limits.headerMs, `no answer within ${seconds(limits.headerMs)}`);
    const { body } = ask;
    const responding = fetchVia(ask.url, {
      method: "POST",
      headers: "send" in body ? { ...ask.headers, "content-length": String(body.bytes) } : ask.headers,
      body: "send" in body ? body.send() : body,
      signal: watchdog.signal,
      redirect: "manual",
      // Bun's own limit of five minutes would end long answers; the limits are above.
      timeout: false,
      proxy: situation.proxy ?? false,

      ...(ask.ca !== undefined && { tls: { ca: ask.ca } }),
    } as BunFetchRequestInit);
    collectRequest();
    const [response, { Answer }] = await Promise.all([responding, import("./answer.ts")]);
    trace("headers", () => ({ status: response.status, request_id: requestId(response.headers) }));
    watchdog.expect(limits.idleMs, `silent for ${seconds(limits.idleMs)} in the middle of the answer`);
    if (!response.ok) {
      watchdog.endBy(ERROR_BODY_MS, "");
      throw await refusal(response, situation);
    }

    answer = new Answer(protocol);
    let bytes = 0;
    let unshown = 0;
    const reader = response.body?.getReader() as BodyReader | undefined;
    for (;;) {
      // All that is there: a wait for each of many small pieces costs more than reading them.
      let read;
      try {
        read = await reader?.readMany();
      } catch (error) {
        // What breaks after the closing event does the answer no harm.
        if (answer.finished && !signal.aborted) break;
        throw error;
      }
      if (!read) break;
      watchdog.alive();
      const pieces = read.value;
      // Taken out one by one: a slow reader of the answer must not keep what was read already.
      for (let piece = pieces.shift(); piece; piece = pieces.shift()) {
        if (bytes === 0) ask.first?.();
        bytes += piece.byteLength;
        unshown += piece.byteLength;
        if (bytes > limits.answerBytes)
          throw new Malformed(`the answer is too long (more than ${limits.answerBytes >> 20} MB)`);
        if (!answer.complete) answer.push(piece);
        if (answer.batch.length === 0 || (pieces.length > 0 && unshown < MOST_UNSHOWN)) continue;
        unshown = 0;
        watchdog.hold();
        yield answer.takeBatch();
        watchdog.alive();
      }
      if (read.done) break;
      if (answer.complete) {
        rest = reader;
        break;
      }
      if (answer.finished) watchdog.endBy(limits.lingerMs, "");
    }
    const reply = answer.end();
    if (answer.batch.length > 0) yield answer.takeBatch();
    return reply;
  } catch (error) {
    if (signal.aborted) throw cancelled(signal, answer?.text);
    if (!watchdog.expired || error instanceof ModelError) throw error;
    const { words, retryable } = watchdog.expired;
    throw new ModelError("timeout", `${situation.host}: ${words}`, {
      brief: words,
      retryable,
      hint: `A slow model may need a larger ${retryable ? "api_timeout" : "answer_timeout"} in [network].`,
    });
  } finally {
    if (rest) void drain(rest, watchdog);
    else watchdog.release();
  }
}

const RELEASED = "the exchange is over";

/** The id under which the provider finds this request in its logs. */
function requestId(headers: Headers): string | undefined {
  return headers.get("x-request-id") ?? headers.get("request-id") ?? undefined;
}

type BodyReader = Pick<ReadableStreamDefaultReader<Uint8Array>, "read"> & {
  /** Bun's own. */
  readMany(): Many | Promise<Many>;
};

interface Many {
  readonly done: boolean;
  /** The last ones may come with the end. */
  readonly value: Uint8Array[];
}

/** Bytes after which a part of the answer is handed on, although more of it is there. */
const MOST_UNSHOWN = 64 * 1024;

/**
 * Reads the few bytes after the closing event, so that the connection can be used again; a server that continues is cut
 * off.
 */
async function drain(reader: BodyReader, watchdog: Watchdog): Promise<void> {
  watchdog.endBy(250, "");
  try {
    while (!(await reader.read()).done);
  } catch {
    // The answer is complete: how the connection ends no longer matters.
  }
  watchdog.release();
}

async function refusal(response: Response, at: Situation): Promise<ModelError> {
  const { status, headers } = response;
  if (status >= 300 && status < 400) {
    const location = headers.get("location");
    const to = location ? URL.parse(location, at.baseUrl) : null;
    const where = to ? `redirects to ${to.origin}${to.pathname}` : "redirects without saying where";
    return new ModelError("protocol", at.redact(`${at.host} ${where} (${status})`), {
      status,
      hint: to
        ? `Put the final address into api_base_url of profile "${at.profile}".`
        : `Check api_base_url (${at.baseUrl}) of profile "${at.profile}".`,
    });
  }
  const { text } = await boundedText(response, MAX_ERROR_BYTES);
  const [{ jsonOr, pageWords }, { explainProviderError }, { retryAfterMs }] = await Promise.all([
    import("./answer.ts"),
    import("../explain.ts"),
    import("./retry.ts"),
  ]);
  const complaint = new ProviderError(jsonOr(eventData(text), () => pageWords(text)));
  return explainProviderError(complaint, status, retryAfterMs(headers, Date.now()), at);
}

/** An error that a server sent in the form of a stream. */
function eventData(text: string): string {
  return /^\s*(?:event|data|error):/.test(text) ? (/^(?:data|error): ?(\{.*\})\s*$/m.exec(text)?.[1] ?? text) : text;
}

/** The status says the most; the rest is not waited for any longer. */
const ERROR_BODY_MS = 2_000;

/** Error bodies are short; a longer one is not read to its end. */
const MAX_ERROR_BYTES = 64 * 1024;

function seconds(ms: number): string {
  return ms < 1000 ? `${ms} ms` : `${Math.round(ms / 100) / 10} s`;
}

/**
 * Aborts a request when the caller says so, when nothing happens for too long, or when it has taken too long in all.
 */
export class Watchdog {
  /** Why it gave up, unless the caller did. */
  expired: { words: string; retryable: boolean } | undefined;
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal;
  readonly #onCaller = () => this.#controller.abort(this.#caller.reason);
  #idle: { ms: number; words: string } | undefined;
  #seen = 0;
  #due = 0;
  #held = false;
  #end: number | undefined;
  #idleTimer: ReturnType<typeof setTimeout> | undefined;
  #endTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(caller: AbortSignal) {
    this.#caller = caller;
    if (caller.aborted) this.#onCaller();
    else caller.addEventListener("abort", this.#onCaller, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** From now on something must happen every `ms`. */
  expect(ms: number, words: string): void {
    this.#idle = { ms, words };
    this.alive();
    this.#wake(ms);
  }

  /** Only notes the time: re-arming a timer for each of 200 000 pieces would cost more than reading them. */
  alive(): void {
    this.#seen = performance.now();
    this.#held = false;
  }

  /** The reader is busy with what it got: until `alive` the server may be silent. */
  hold(): void {
    this.#held = true;
  }

  /** From now on it must be over after `ms`, whatever happens; an earlier limit stays. */
  endBy(ms: number, words: string): void {
    const end = performance.now() + ms;
    if (this.#end !== undefined && this.#end <= end) return;
    this.#end = end;
    clearTimeout(this.#endTimer);
    this.#endTimer = setTimeout(() => this.#expire(words, false), ms);
  }

  /** Closes the connection if it is still open. */
  release(): void {
    clearTimeout(this.#idleTimer);
    clearTimeout(this.#endTimer);
    this.#caller.removeEventListener("abort", this.#onCaller);
    // With a reason: without one, an error and its stack trace are made.
    this.#controller.abort(RELEASED);
  }

  #check = (): void => {
    if (!this.#idle) return;
    const now = performance.now();
    // After Ctrl-Z and `fg`, or on an overloaded machine, the timer comes before what was sent in the meantime.
    if (now - this.#due > this.#idle.ms / 4) this.#seen = now;
    const left = this.#held ? this.#idle.ms : this.#idle.ms - (now - this.#seen);
    if (left <= 0) return this.#expire(this.#idle.words, true);
    this.#wake(left);
  };

  #wake(ms: number): void {
    clearTimeout(this.#idleTimer);
    this.#due = performance.now() + ms;
    this.#idleTimer = setTimeout(this.#check, ms);
  }

  #expire(words: string, retryable: boolean): void {
    this.expired ??= { words, retryable };
    this.#controller.abort(new Error(words));
  }
}
