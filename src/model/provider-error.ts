/** What a provider said went wrong, in whatever shape it said it, and answers that have no shape at all. */
import { isRecord } from "../lib/is-record.ts";

export class ProviderError extends Error {
  readonly code: string | undefined;
  /** The parameter the provider names as the culprit. */
  readonly param: string | undefined;
  /** A status it put into the body of a 200 answer or into a stream event. */
  readonly status: number | undefined;

  constructor(raw: unknown) {
    super(wordsOf(raw));
    const source = isRecord(raw) ? (isRecord(raw["error"]) ? raw["error"] : raw) : {};
    const code = source["code"] ?? source["type"];
    this.name = "ProviderError";
    this.code = typeof code === "string" ? code : undefined;
    this.param = typeof source["param"] === "string" ? source["param"] : locationOf(source);
    this.status = statusOf(source["status"]) ?? statusOf(source["status_code"]) ?? statusOf(source["code"]);
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

/** The longest excerpt of a server's words that is shown. */
const MAX_WORDS = 600;

function wordsOf(raw: unknown): string {
  return excerpt(findWords(raw, 0) ?? (raw === undefined ? "" : JSON.stringify(raw)));
}

/** `{error: {message}}`, `{message}`, `{detail}` (FastAPI, Codex), `{error: "…"}`, `[{…}]` (Google), and OpenRouter's nested `metadata.raw`. */
function findWords(raw: unknown, depth: number): string | undefined {
  if (typeof raw === "string") return raw;
  if (depth > 4) return undefined;
  if (Array.isArray(raw)) return findWords(raw[0], depth + 1);
  if (!isRecord(raw)) return undefined;
  for (const key of ["error", "message", "detail", "msg", "title"]) {
    const words = raw[key] === undefined ? undefined : findWords(raw[key], depth + 1);
    if (words === undefined) continue;
    const upstream = isRecord(raw["metadata"]) ? raw["metadata"]["raw"] : undefined;
    return typeof upstream === "string" && upstream !== words ? `${words}: ${upstream}` : words;
  }
  return undefined;
}

/** FastAPI servers (Mistral, vLLM) name the culprit as `{detail: [{loc: ["body", "stream_options"]}]}`. */
function locationOf(source: Readonly<Record<string, unknown>>): string | undefined {
  const details = source["detail"] ?? source["message"];
  const first: unknown = Array.isArray(details) ? details[0] : undefined;
  const path = isRecord(first) && Array.isArray(first["loc"]) ? first["loc"] : [];
  return path.filter((part) => part !== "body").join(".") || undefined;
}

function statusOf(value: unknown): number | undefined {
  const status = typeof value === "string" && /^\d{3}$/.test(value) ? Number(value) : value;
  return typeof status === "number" && status >= 400 && status < 600 ? status : undefined;
}

/** One line without control characters, cut to a readable length. */
export function excerpt(text: string): string {
  // oxlint-disable-next-line no-control-regex -- taking control characters out is the point
  const line = text
    .slice(0, MAX_WORDS * 4)
    .replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, " ")
    .replace(/ {2,}/g, " ")
    .trim();
  return line.length > MAX_WORDS ? `${line.slice(0, MAX_WORDS)}…` : line;
}
