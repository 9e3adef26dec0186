/** What a trace says about one request: what is new in it, when the answer came, what it was. */
import { trace } from "../lib/trace.ts";
import { mapTexts } from "../lib/values.ts";
import type { ModelError } from "./errors.ts";
import type { Exchange } from "./http/exchange.ts";
import type { Reply } from "./protocols/protocol.ts";

let count = 0;
/** The parts of the last request, as text: they are not written again. */
let before: ReadonlySet<string> = new Set();

interface TracedExchange extends Required<Pick<Exchange, "first">> {
  end(reply: Reply): void;
  failed(error: ModelError): void;
}

export function traceExchange(ask: Exchange & { readonly sent: Record<string, unknown> }, attempt: number) {
  const request = ++count;
  const started = performance.now();
  let firstMs: number | undefined;
  const since = () => Math.round(performance.now() - started);
  const { redact } = ask.situation;
  const url = new URL(ask.url);
  trace("request", () => ({
    request,
    attempt,
    // A query may carry a key.
    url: `${url.origin}${url.pathname}`,
    query: [...url.searchParams.keys()],
    profile: ask.situation.profile,
    model: ask.situation.model,
    proxy: ask.situation.proxy !== undefined,
    headers: Object.fromEntries(
      Object.entries(ask.headers).map(([name, value]) => [name, PLAIN_HEADERS.has(name) ? value : "[redacted]"]),
    ),
    bytes: "send" in ask.body ? ask.body.bytes : ask.body.length,
    body: mapTexts(newIn(ask.sent), redact),
  }));
  return {
    first: () => (firstMs ??= since()),
    end: ({ message, usage, finish, writtenCall }) =>
      trace("response", () => ({
        request,
        first_ms: firstMs ?? since(),
        whole_ms: since(),
        finish,
        usage,
        message: mapTexts(message, redact),
        ...(writtenCall === true && { writtenCall }),
      })),
    failed: ({ reason, status, message, retryable, providerCode }) =>
      trace("failure", () => ({ request, whole_ms: since(), reason, status, code: providerCode, retryable, message })),
  } satisfies TracedExchange;
}

const PLAIN_HEADERS = new Set(["accept", "anthropic-version", "content-type", "originator", "user-agent"]);

/** The body; of its lists only what the request before it did not have, and how many entries it repeats. */
function newIn(body: Record<string, unknown>): Record<string, unknown> {
  const now = new Set<string>();
  const short = Object.entries(body).flatMap(([key, value]) => {
    if (!Array.isArray(value)) return [[key, value] as const];
    const fresh = value.filter((entry) => {
      const text = JSON.stringify(entry) ?? "";
      now.add(text);
      return !before.has(text);
    });
    const repeated = value.length - fresh.length;
    return [[key, fresh] as const, ...(repeated > 0 ? [[`${key}_repeated`, repeated] as const] : [])];
  });
  before = now;
  return Object.fromEntries(short);
}
