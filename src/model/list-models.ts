/** Asks an endpoint what models it offers, with their windows and prices where it reports them. */
import { boundedText, fetchVia } from "../lib/network.ts";
import { words } from "../lib/text.ts";
import { isRecord } from "../lib/values.ts";
import { deadline } from "../lib/waiting.ts";
import type { ModelOptions } from "./client.ts";
import { Endpoint } from "./endpoint.ts";
import { cancelled, ModelError } from "./errors.ts";
import { explain, explainProviderError } from "./explain.ts";
import { jsonOr, pageWords } from "./http/answer.ts";
import { errorIn, Malformed, ProviderError } from "./provider-error.ts";

export interface OfferedModel {
  readonly id: string;
  /** Tokens it holds, as the server runs it. */
  readonly contextLimit?: number;
  /** USD per million tokens. */
  readonly priceIn?: number;
  readonly priceOut?: number;
}

/** A list of a thousand models with their descriptions is about 1 MB. */
const MOST_BYTES = 8 * 1024 * 1024;

/** How the request is sent: by `fetchVia` during an answer, otherwise by the openai package. */
type Send = (url: string, init: BunFetchRequestInit) => Promise<Response>;

/** Throws a ModelError with a hint where something is wrong. */
export async function listModels(
  options: ModelOptions,
  signal: AbortSignal,
  timeoutMs = 10_000,
  send: Send = fetchVia,
): Promise<readonly OfferedModel[]> {
  const endpoint = new Endpoint(options);
  const { headers, situation } = await endpoint.request({}, signal);
  using late = deadline(timeoutMs);
  try {
    const response = await send(endpoint.url("/models", queryOf(options, endpoint.usesLogin)), {
      headers: { accept: "application/json", ...headers },
      signal: AbortSignal.any([signal, late.signal]),
      redirect: "manual",
      proxy: situation.proxy ?? false,

      ...(options.ca !== undefined && { tls: { ca: options.ca } }),
    } as BunFetchRequestInit);
    const { text, whole } = await boundedText(response, MOST_BYTES);
    if (late.signal.aborted) throw new Error("late");
    if (!response.ok) {
      const error = new ProviderError(jsonOr(text, () => pageWords(text)));
      throw explainProviderError(error, response.status, undefined, situation);
    }
    const answer = whole ? jsonOr(text, () => undefined) : undefined;
    const offered = modelsIn(answer);
    if (offered === undefined)
      throw (isRecord(answer) && errorIn(answer)) || new Malformed("the answer is not a list of models");
    return offered;
  } catch (error) {
    if (signal.aborted) throw cancelled(signal);
    if (late.signal.aborted) {
      throw new ModelError("timeout", `${situation.host} did not answer within ${timeoutMs / 1000} s`, {
        hint: "Check the network, a firewall, or HTTPS_PROXY.",
      });
    }
    throw explain(error, situation);
  }
}

function queryOf({ api }: ModelOptions, usesLogin: boolean): Record<string, string> {
  if (usesLogin) return { client_version: "1.0.0" };
  return api === "anthropic" ? { limit: "1000" } : {};
}

/**
 * `{data: [{id}]}`, `{models: [{slug}]}` (OpenAI's sign-in), `{models: [{name}]}` (Ollama), or the bare list
 * (Together), also of names alone. Google writes "models/" before its names, and takes them without.
 */
export function modelsIn(answer: unknown): OfferedModel[] | undefined {
  const list = Array.isArray(answer)
    ? answer
    : isRecord(answer)
      ? [answer["data"], answer["models"], answer["result"]].find((one) => Array.isArray(one))
      : undefined;
  if (!Array.isArray(list)) return undefined;
  const offered = new Map<string, OfferedModel>();
  for (const one of list as unknown[]) {
    const entry = typeof one === "string" ? { id: one } : one;
    if (!isRecord(entry) || entry["active"] === false) continue;
    const name = [entry["id"], entry["slug"], entry["name"]].find((text) => typeof text === "string" && text !== "");
    if (typeof name !== "string") continue;
    const google = entry["owned_by"] === "google" || "inputTokenLimit" in entry;
    const id = google ? name.replace(/^models\//, "") : name;
    if (!offered.has(id)) offered.set(id, { id, ...windowOf(entry), ...pricesOf(entry) });
  }
  return [...offered.values()];
}

/** In the order of trust: what the server runs with comes before what the model could hold. */
const WINDOW_KEYS = words(`n_ctx loaded_context_length max_model_len context_length context_window max_context_length
  max_prompt_tokens max_context_window_tokens max_input_tokens inputTokenLimit`);

function windowOf(entry: Record<string, unknown>): { contextLimit?: number } {
  const capabilities = isRecord(entry["capabilities"]) ? entry["capabilities"]["limits"] : undefined;
  const places = [entry, entry["meta"], entry["top_provider"], entry["limits"], entry["model_spec"], capabilities];
  for (const key of WINDOW_KEYS) {
    for (const place of places) {
      const value = isRecord(place) ? Number(place[key]) : Number.NaN;
      if (Number.isInteger(value) && value >= 512) return { contextLimit: value };
    }
  }
  return {};
}

/** In USD: texts are for a token (OpenRouter, Vercel), numbers for a million (Together, Chutes). */
function pricesOf(entry: Record<string, unknown>): { priceIn?: number; priceOut?: number } {
  const pricing = isRecord(entry["pricing"]) ? entry["pricing"] : {};
  const [priceIn, priceOut] = [pricing["prompt"] ?? pricing["input"], pricing["completion"] ?? pricing["output"]].map(
    (price) => {
      if (typeof price === "number" && price >= 0) return price;
      return typeof price === "string" && Number(price) >= 0 ? Math.round(Number(price) * 1e12) / 1e6 : undefined;
    },
  );
  return priceIn === undefined || priceOut === undefined ? {} : { priceIn, priceOut };
}

/** Those that answer in text, judged by their names. */
export function chatModels(offered: readonly OfferedModel[]): string[] {
  return offered
    .map(({ id }) => id)
    .filter((id) => !/embed|rerank|whisper|\btts\b|moderation|dall-e|\bbge\b/i.test(id));
}

// ── The client of the openai package, for lists of models. Address, headers, proxy and certificates are the
// profile's; nothing of OPENAI_* and no header of the package's own is sent.

export function listModelsByClient(
  options: ModelOptions,
  signal: AbortSignal,
  timeoutMs?: number,
): Promise<readonly OfferedModel[]> {
  return listModels(options, signal, timeoutMs, send);
}

const send: Send = async (url, init) => {
  const { default: OpenAI } = await import("openai");
  let refused: Response | undefined;
  const client = new OpenAI({
    baseURL: url.replace(/\/models(\?.*)?$/, ""),
    apiKey: "in the headers of the profile",
    organization: null,
    project: null,
    webhookSecret: null,
    maxRetries: 0,
    logLevel: "off",
    // The client makes the call; what is sent is `init` alone.
    fetch: async () => {
      const response = await fetchVia(url, init);
      if (response.ok) return response;
      refused = response;
      throw new Error("refused");
    },
  });
  try {
    return await client.models.list().asResponse();
  } catch (error) {
    // The caller explains refusals and failed connections.
    if (refused !== undefined) return refused;
    throw (error as Error).cause ?? error;
  }
};

// ── Looks for model servers on this machine: Ollama, LM Studio, llama.cpp on their usual ports, and what models they
// offer.

export interface LocalServer {
  readonly name: string;
  /** For api_base_url. */
  readonly baseUrl: string;
  readonly models: readonly string[];
}

export interface Candidate {
  readonly name: string;
  readonly baseUrl: string;
}

const USUAL: readonly Candidate[] = [
  { name: "Ollama", baseUrl: "http://127.0.0.1:11434/v1" },
  { name: "LM Studio", baseUrl: "http://127.0.0.1:1234/v1" },
  { name: "llama.cpp", baseUrl: "http://127.0.0.1:8080/v1" },
];

/** For all of them together: the user is waiting. */
const BUDGET_MS = 150;
/** A list of models is short; port 8080 may belong to anything. */
const MAX_BYTES = 1024 * 1024;

/** Never throws: what does not answer in time, or not as a model server would, is left out. */
export async function findLocalServers(
  candidates: readonly Candidate[] = USUAL,
  budgetMs = BUDGET_MS,
): Promise<LocalServer[]> {
  using late = deadline(budgetMs);
  const found = await Promise.all(candidates.map((candidate) => probe(candidate, late.signal).catch(() => undefined)));
  return found.filter((server) => server !== undefined);
}

async function probe(candidate: Candidate, signal: AbortSignal): Promise<LocalServer | undefined> {
  const response = await fetch(`${candidate.baseUrl}/models`, {
    signal,
    redirect: "error",
    proxy: false,
  } as BunFetchRequestInit);
  if (!response.ok) return undefined;
  const { text, whole } = await boundedText(response, MAX_BYTES);
  const offered = whole ? modelsIn(JSON.parse(text)) : undefined;
  return offered && { ...candidate, models: chatModels(offered) };
}
