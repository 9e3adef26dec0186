/** Makes the client for a profile of the configuration. */
import { profilePath } from "../../config/keys.ts";
import type { LoadedConfig } from "../../config/load.ts";
import { profileHeaders, type ResolvedProfile, resolveProfile } from "../../config/profiles.ts";
import { createModelClient, type ModelOptions } from "../../model/client.ts";
import { BuddyError } from "../../lib/errors.ts";
import { fileError } from "../../lib/files.ts";
import { VERSION } from "../../lib/version.ts";
import type { ModelClient } from "../../model/types.ts";

export interface ProfileClient {
  readonly profile: ResolvedProfile;
  readonly client: ModelClient;
  /** What must never be shown. */
  readonly secrets: readonly string[];
}

export async function modelClient(loaded: LoadedConfig, selector?: string): Promise<ProfileClient> {
  const profile = resolveProfile(loaded, selector);
  if (profile.name === "demo") {
    const { createDemoClient } = await import("../../demo/demo-client.ts");
    return { profile, client: createDemoClient(), secrets: [] };
  }
  const options = await modelOptions(loaded, profile);
  const secrets = [profile.key?.value ?? "", ...Object.values(options.headers ?? {})].filter((one) => one.length >= 8);
  return { profile, client: createModelClient(options), secrets };
}

/** Everything a profile says about its endpoint and the requests to it. */
export async function modelOptions(loaded: LoadedConfig, profile: ResolvedProfile): Promise<ModelOptions> {
  const { agent, network, model_rules: rules } = loaded.config;
  const { settings } = profile;
  const login = profile.auth === "login" && profile.key === undefined ? await signIn() : undefined;
  const command = profile.key === undefined ? settings?.api_key_command : undefined;
  return {
    name: profile.name,
    baseUrl: login === undefined ? profile.baseUrl : login.baseUrl(profile.baseUrl),
    api: profile.api,
    provider: settings?.provider,
    keyHeader: settings?.api_key_header,
    headers: profileHeaders(loaded, profile),
    query: settings?.query,
    extraBody: settings?.extra_body,
    proxy: settings?.proxy,
    ca: settings?.ca_file === undefined ? undefined : await caFile(loaded, profile.name, settings.ca_file),
    images: settings?.images,
    auth: profile.auth,
    model: profile.model,
    stream: profile.stream,
    key: profile.key?.value,
    keySource: profile.key?.source,
    login: login?.tokens ?? (command === undefined ? undefined : await keyCommand(loaded, profile.name, command)),
    headerTimeoutMs: network.api_timeout,
    idleTimeoutMs: network.api_timeout,
    totalTimeoutMs: network.answer_timeout,
    retries: network.retries,
    maxTokens: settings?.max_tokens,
    temperature: settings?.temperature ?? agent.temperature,
    topP: settings?.top_p ?? agent.top_p,
    reasoningEffort: settings?.reasoning_effort ?? agent.reasoning_effort,
    contextLimit: profile.contextLimit,
    rules,
    env: loaded.env,
    userAgent: `buddy/${VERSION}`,
  };
}

async function signIn() {
  const [{ signInParts }, { loginBaseUrl, tokenSource }] = await Promise.all([
    import("./sign-in.ts"),
    import("../../auth/sign-in.ts"),
  ]);
  const { store, device } = await signInParts();
  return { tokens: tokenSource(store, device), baseUrl: loginBaseUrl };
}

/** The profile's api_key_command, run with the first request. */
async function keyCommand(loaded: LoadedConfig, profile: string, command: readonly string[]) {
  const { keyFromCommand } = await import("../../auth/key-command.ts");
  return keyFromCommand(command, { profile, cwd: loaded.cwd, env: loaded.env });
}

async function caFile(loaded: LoadedConfig, profile: string, file: string): Promise<string> {
  const path = profilePath(loaded, `models.${profile}.ca_file`, file);
  const fail = (words: string, cause?: unknown) =>
    new BuddyError("config", `profile ${profile}: ca_file ${file} ${words}`, {
      hint: "Name a PEM file with the certificates of the endpoint; `openssl x509 -inform der -in FILE` converts a DER file",
      cause,
    });
  const text = await Bun.file(path)
    .text()
    .catch((error: unknown) => {
      throw fail(`cannot be read: ${fileError(error)}`, error);
    });
  const certificates = text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g);
  if (certificates === null) throw fail("contains no certificate");
  const { X509Certificate } = await import("node:crypto");
  try {
    for (const one of certificates) void new X509Certificate(one);
  } catch (error) {
    throw fail("contains a certificate that cannot be read", error);
  }
  return certificates.join("\n");
}
