/** What a provider reports as an error, in whatever shape, and answers that are not valid in any protocol. */
import { isRecord, once } from "../lib/values.ts";
import { shorten, words } from "../lib/text.ts";

export class ProviderError extends Error {
  /** The provider's name for it: "context_length_exceeded", "1113", "RESOURCE_EXHAUSTED". */
  readonly code: string | undefined;
  /** The parameters the provider names as culprits. */
  readonly params: readonly string[];
  /** A status it put into the body of a 200 answer or into a stream event. */
  readonly status: number | undefined;
  /** Everything that names the error: codes, types, reasons and the message. */
  readonly text: string;
  /** A wait that the body asks for, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(raw: unknown) {
    super(wordsOf(raw));
    const facts = collect(raw);
    this.name = "ProviderError";
    this.code = facts.code;
    this.params = [...facts.params].slice(0, MAX_PARTS).map((param) => excerpt(param).slice(0, MAX_PARAM));
    this.status = facts.status;
    this.retryAfterMs = facts.retryAfterMs;
    // No sentence twice: patterns would match across the two.
    const words = [...new Set([...facts.words.slice(0, MAX_PARTS), this.message])];
    this.text = [[...facts.names].slice(0, MAX_PARTS).join(" "), ...words].join(" \n").replaceAll("’", "'");
  }
}

/** What came back is not what the protocol says. */
export class Malformed extends Error {
  constructor(
    words: string,
    /** The same request may bring a whole answer next time. */
    readonly retryable = false,
  ) {
    super(words);
    this.name = "Malformed";
  }
}

/**
 * An error inside an answer with status 200, or undefined: `{error}`, `{errors: [..]}` (Cloudflare), `{base_resp}`
 * (MiniMax), `{Response: {Error}}` and `{ErrorMsg}` (Hunyuan), `{error_code}` (Qianfan), `{type: "error"}`,
 * `{code, message}` and `{object: "error"}` instead of an answer.
 */
export function errorIn(answer: Readonly<Record<string, unknown>>): ProviderError | undefined {
  const { error, errors, base_resp: base, Response: wrapped } = answer;
  if (isRecord(wrapped) && wrapped["Error"]) return new ProviderError(wrapped);
  if (isRecord(answer["ErrorMsg"]) || answer["error_code"]) return new ProviderError(answer);
  if (typeof error === "object" ? Object.values(error ?? {}).some(Boolean) : error) return new ProviderError(answer);
  if (Array.isArray(errors) && errors.length > 0) return new ProviderError(answer);
  if (isRecord(base) && typeof base["status_code"] === "number" && base["status_code"] !== 0)
    return new ProviderError(answer);
  if (answer["type"] === "error" || answer["object"] === "error") return new ProviderError(answer);
  if ("choices" in answer || "output" in answer || "content" in answer) return undefined;
  const says = ["message", "Message", "msg", "detail", "error_msg", "title"].map((key) => answer[key]).find(Boolean);
  if (says === undefined) return undefined;
  // Events have a type, and some an object in `message`; an error says more in words, or names its code.
  const named = ["code", "param", "status"].some((key) => key in answer);
  const isError = typeof says === "string" ? named || !("type" in answer) : !("type" in answer) && !("id" in answer);
  return isError ? new ProviderError(answer) : undefined;
}

/** The longest excerpt of a server's words that is shown. */
const MAX_WORDS = 600;
/** What is searched for words: a hostile body must not take long. */
const MAX_PARTS = 10;
const MAX_PARAM = 200;

function wordsOf(raw: unknown): string {
  return excerpt(findWords(raw, 0) ?? (isEmpty(raw) ? "" : JSON.stringify(raw)));
}

function isEmpty(raw: unknown): boolean {
  return raw === undefined || raw === null || raw === "" || (typeof raw === "object" && Object.keys(raw).length === 0);
}

const wordKeys = once(() =>
  words(`error Error errors ErrorMsg fault faultstring base_resp message Message detail details msg Msg
    status_msg error_msg title description`),
);

/**
 * `{error: {message}}`, `{message}`, `{detail}` (FastAPI, Codex), `{error: "…"}`, `[{…}]` (Google), and OpenRouter's
 * nested `metadata.raw`.
 */
function findWords(raw: unknown, depth: number): string | undefined {
  if (depth > 5) return typeof raw === "string" ? raw : undefined;
  if (typeof raw === "string") return raw.trim() === "" ? undefined : (findWords(documentIn(raw), depth + 1) ?? raw);
  if (Array.isArray(raw)) return raw.map((one) => findWords(one, depth + 1)).find((words) => words !== undefined);
  if (!isRecord(raw)) return undefined;
  let name: string | undefined;
  for (const key of wordKeys()) {
    const words = raw[key] === undefined ? undefined : findWords(raw[key], depth + 1);
    if (words === undefined) continue;
    if (STATUS_NAME.test(words)) {
      name ??= words;
      continue;
    }
    const upstream = rawWords(raw["metadata"]);
    return upstream !== undefined && upstream !== words ? `${words}: ${upstream}` : words;
  }
  return name;
}

/** Says what the status says; another field may have more to say (`{error: "Bad Request", message: "…"}`). */
const STATUS_NAME =
  /^(bad request|unauthorized|forbidden|not found|unprocessable entity|(internal )?server error|error)$/i;

/** What the server behind a gateway said, as text that is often JSON itself. */
function rawWords(metadata: unknown): string | undefined {
  const upstream = isRecord(metadata) ? metadata["raw"] : undefined;
  return findWords(upstream, 1);
}

/** The JSON that a text is, or undefined. */
function documentIn(text: string): unknown {
  if (!/^\s*[{[]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

interface Facts {
  code: string | undefined;
  readonly params: Set<string>;
  status: number | undefined;
  retryAfterMs: number | undefined;
  /** Codes, types, reasons. */
  readonly names: Set<string>;
  /** Sentences in addition to the one that is shown. */
  readonly words: string[];
}

const nameKeys = once(
  () => new Set(words("code Code type __type reason status error_code error_type errorCode status_code quotaId")),
);
const STATUS_KEYS = ["status", "status_code", "statusCode", "http_code", "code"];
/** Walks the body once; a hostile one ends at its depth and its number of fields. */
function collect(raw: unknown): Facts {
  const facts: Facts = {
    code: undefined,
    params: new Set(),
    status: undefined,
    retryAfterMs: undefined,
    names: new Set(),
    words: [],
  };
  const queue: { value: unknown; depth: number }[] = [{ value: raw, depth: 0 }];
  for (let at = 0; at < queue.length && at < 200; at++) {
    const { value, depth } = queue[at]!;
    if (Array.isArray(value)) {
      if (depth < 6) for (const one of value.slice(0, 20)) queue.push({ value: one, depth: depth + 1 });
    } else if (isRecord(value)) visit(value, facts, queue, depth);
  }
  return facts;
}

function visit(
  node: Readonly<Record<string, unknown>>,
  facts: Facts,
  queue: { value: unknown; depth: number }[],
  depth: number,
): void {
  const code = node["code"] ?? node["Code"] ?? node["type"];
  if (typeof code === "string" && code !== "" && code !== "error") facts.code ??= code;
  else if (typeof code === "number") facts.code ??= String(code);
  for (const param of [node["param"], locationOf(node)]) if (typeof param === "string") facts.params.add(param);
  for (const key of STATUS_KEYS) facts.status ??= statusOf(node[key]);
  for (const [key, value] of Object.entries(node).slice(0, 50)) {
    facts.retryAfterMs ??= waitOf(key, value);
    if (nameKeys().has(key) && (typeof value === "string" || typeof value === "number"))
      facts.names.add(excerpt(String(value)).slice(0, MAX_PARAM));
    else if (typeof value === "string" && /^(raw|error|faultstring)$|message|msg|detail|title|description/i.test(key)) {
      facts.words.push(excerpt(value));
      queueJson(value, queue, depth);
    } else if (typeof value === "object" && depth < 6) queue.push({ value, depth: depth + 1 });
  }
}

function queueJson(text: string, queue: { value: unknown; depth: number }[], depth: number): void {
  const value = depth < 6 ? documentIn(text) : undefined;
  if (value !== undefined) queue.push({ value, depth: depth + 1 });
}

/** FastAPI servers (Mistral, vLLM) name the culprit as `{detail: [{loc: ["body", "stream_options"]}]}`. */
function locationOf(node: Readonly<Record<string, unknown>>): string | undefined {
  const path = Array.isArray(node["loc"]) ? node["loc"] : [];
  return path.filter((part) => part !== "body").join(".") || undefined;
}

function statusOf(value: unknown): number | undefined {
  const status = typeof value === "string" && /^\d{3}$/.test(value) ? Number(value) : value;
  return typeof status === "number" && status >= 400 && status < 600 ? status : undefined;
}

/** `retry_after`, `retryAfterMs`, `RetryInfo`'s `retryDelay`, `resets_in_seconds`, `X-RateLimit-Reset` and the like. */
function waitOf(key: string, value: unknown): number | undefined {
  const name = key.toLowerCase().replace(/[^a-z]/g, "");
  if (/^(retry|resets?|cooldown|wait|backoff)(after|in|delay)?(ms|millis(econds)?)$/.test(name))
    return Number(value) >= 0 ? Number(value) : undefined;
  if (/^(retry|resets?|cooldown|wait|backoff)(after|in|delay|seconds?|secs?)+s?$|^estimatedtime$/.test(name))
    return secondsOf(isRecord(value) ? value["seconds"] : value);
  return /^(xratelimit)?resets?(at|time|date|timestamp)?$/.test(name) ? untilMoment(value) : undefined;
}

/** 12, "12", "12s", "12.5s". */
function secondsOf(value: unknown): number | undefined {
  const text = typeof value === "number" ? String(value) : value;
  const [, amount] = (typeof text === "string" && /^\s*(\d+(?:\.\d+)?)\s*s?\s*$/.exec(text)) || [];
  return amount === undefined ? undefined : Number(amount) * 1000;
}

/** Unix seconds (OpenAI's sign-in), milliseconds (OpenRouter), or a date. */
function untilMoment(value: unknown): number | undefined {
  const date = typeof value === "string" && /^\d{4}-\d\d-\d\dT/.test(value) ? Date.parse(value) : Number(value);
  return date > 1e9 ? waitUntil(date > 1e11 ? date : date * 1000, Date.now()) : undefined;
}

/** A moment that is long past says nothing: clocks differ, or a server repeats an old value. */
export function waitUntil(moment: number, now: number): number | undefined {
  return moment - now > -60_000 ? Math.max(0, moment - now) : undefined;
}

/** One line without control characters, cut to a readable length. */
export function excerpt(text: string): string {
  // oxlint-disable-next-line no-control-regex -- taking control characters out is the point
  const line = text
    .slice(0, MAX_WORDS * 4)
    .replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, " ")
    .replace(/ {2,}/g, " ")
    .trim();
  return shorten(line, MAX_WORDS);
}
