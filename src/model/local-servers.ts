/**
 * Looks for model servers on this machine: Ollama, LM Studio, llama.cpp on their usual ports, and what models they
 * offer.
 */
import { boundedText } from "../lib/network.ts";
import { chatModels, modelsIn } from "./list-models.ts";
import { deadline } from "../lib/waiting.ts";

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
