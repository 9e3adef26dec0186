/** Asks an endpoint what models it offers: a cheap way to find out whether address and key are right. */
import { isRecord } from "../lib/is-record.ts";
import type { ModelOptions } from "./client.ts";
import { ProviderError, Malformed } from "./provider-error.ts";
import { cancelled, ModelError } from "./errors.ts";
import { explain, explainProviderError, type Situation } from "./explain.ts";
import { proxyFor } from "../lib/proxy.ts";
import { echoRedactor } from "../lib/redact.ts";

export interface Offer {
  /** As the endpoint lists them. */
  readonly models: readonly string[];
  /** The profile's model is among them. Some servers serve names they do not list. */
  readonly listed: boolean;
}

/** Throws a ModelError with a hint where something is wrong. Signed-in profiles have no such list: do not ask for them. */
export async function probeEndpoint(options: ModelOptions, signal: AbortSignal, timeoutMs = 10_000): Promise<Offer> {
  const base = options.baseUrl.replace(/\/+$/, "");
  const url = new URL(`${base}/models`);
  const situation: Situation = {
    host: url.host,
    profile: options.name,
    model: options.model,
    api: options.api,
    auth: options.auth,
    baseUrl: base,
    hasKey: Boolean(options.key),
    keySource: options.keySource,
    proxy: options.unix === undefined ? proxyFor(url, options.env ?? {}) : undefined,
    redact: echoRedactor([options.key, ...(options.secrets ?? [])]),
  };
  const late = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(url, {
      headers: options.key ? { authorization: `Bearer ${options.key}` } : {},
      signal: AbortSignal.any([signal, late]),
      redirect: "manual",
      proxy: situation.proxy ?? false,
      ...(options.unix !== undefined && { unix: options.unix }),
    } as BunFetchRequestInit);
    const answer: unknown = await response.json().catch(() => undefined);
    if (!response.ok) throw explainProviderError(new ProviderError(answer), response.status, undefined, situation);
    if (!isRecord(answer) || !Array.isArray(answer["data"])) throw new Malformed("this is not a list of models");
    const models = answer["data"].flatMap((entry) =>
      isRecord(entry) && typeof entry["id"] === "string" ? entry["id"] : [],
    );
    return { models, listed: models.includes(options.model) };
  } catch (error) {
    if (signal.aborted) throw cancelled(signal);
    if (late.aborted) {
      throw new ModelError("timeout", `${situation.host} did not answer within ${timeoutMs / 1000} s`, {
        hint: "Check the network, a firewall, or HTTPS_PROXY.",
      });
    }
    throw explain(error, situation);
  }
}
