/**
 * The client of the openai package, for lists of models. Address, headers, proxy and certificates are the profile's;
 * nothing of OPENAI_* and no header of the package's own is sent.
 */
import OpenAI from "openai";
import { fetchVia } from "../lib/network.ts";
import type { ModelOptions } from "./client.ts";
import { listModels, type OfferedModel, type Send } from "./list-models.ts";

export function listModelsByClient(
  options: ModelOptions,
  signal: AbortSignal,
  timeoutMs?: number,
): Promise<readonly OfferedModel[]> {
  return listModels(options, signal, timeoutMs, send);
}

const send: Send = async (url, init) => {
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
