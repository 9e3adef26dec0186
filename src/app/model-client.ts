/** A profile of the configuration → a client for its endpoint. */
import type { LoadedConfig } from "../config/load.ts";
import { type ResolvedProfile, resolveProfile } from "../config/profiles.ts";
import { createModelClient } from "../model/client.ts";
import { VERSION } from "../lib/version.ts";
import type { ModelClient } from "../model/types.ts";

export interface ProfileClient {
  readonly profile: ResolvedProfile;
  readonly client: ModelClient;
  /** What must never be shown. */
  readonly secrets: readonly string[];
}

export async function modelClient(loaded: LoadedConfig, selector?: string): Promise<ProfileClient> {
  const profile = resolveProfile(loaded, selector);
  if (profile.name === "demo") {
    const { createDemoClient } = await import("../demo/demo-client.ts");
    return { profile, client: createDemoClient(), secrets: [] };
  }
  const { agent, network, model_rules: rules } = loaded.config;
  const login = profile.auth === "login" && profile.key === undefined ? await signIn() : undefined;
  const client = createModelClient({
    name: profile.name,
    baseUrl: login === undefined ? profile.baseUrl : login.baseUrl(profile.baseUrl),
    api: profile.api,
    auth: profile.auth,
    model: profile.model,
    stream: profile.stream,
    key: profile.key?.value,
    keySource: profile.key?.source,
    login: login?.tokens,
    headerTimeoutMs: network.api_timeout,
    idleTimeoutMs: network.api_timeout,
    retries: network.retries,
    temperature: agent.temperature,
    topP: agent.top_p,
    reasoningEffort: agent.reasoning_effort,
    contextLimit: profile.contextLimit,
    rules,
    env: loaded.env,
    userAgent: `buddy/${VERSION}`,
  });
  return { profile, client, secrets: profile.key === undefined ? [] : [profile.key.value] };
}

async function signIn() {
  const [{ signInParts }, { tokenSource }, { loginBaseUrl }] = await Promise.all([
    import("./sign-in.ts"),
    import("../auth/token-source.ts"),
    import("../auth/login-endpoint.ts"),
  ]);
  const { store, device } = await signInParts();
  return { tokens: tokenSource(store, device), baseUrl: loginBaseUrl };
}
