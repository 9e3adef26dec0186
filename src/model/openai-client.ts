/**
 * The client of the openai package for what is not on the way of an answer: the list of models. Address, headers, proxy
 * and certificates are the profile's; nothing of OPENAI_* and no headers of the package's own leave with it.
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
    // The client makes the call; what is sent is ours to the last header.
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
    // What a server says when it refuses, and why a connection failed, is put into words elsewhere.
    if (refused !== undefined) return refused;
    throw (error as Error).cause ?? error;
  }
};
