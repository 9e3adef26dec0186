/** The model: profile, key or sign-in, whether its endpoint answers, whether the catalog knows it. */
import { BuddyError } from "../../lib/errors.ts";
import type { LoadedConfig } from "../../config/load.ts";
import type { ResolvedProfile } from "../../config/profiles.ts";
import { broken } from "./configuration.ts";
import type { Finding } from "./finding.ts";

export async function checkModel(loaded: LoadedConfig): Promise<Finding[]> {
  const { resolveProfile } = await import("../../config/profiles.ts");
  let profile: ResolvedProfile;
  try {
    profile = resolveProfile(loaded);
  } catch (error) {
    if (!(error instanceof BuddyError)) throw error;
    const { withWaysOut } = await import("../ways-out.ts");
    return [broken("profile", (await withWaysOut(error)) as BuddyError)];
  }
  const { name, model, api, baseUrl } = profile;
  if (baseUrl === "")
    return [
      { check: "profile", status: "ok", text: `${name}: a script built into buddy, no key and no network needed` },
    ];
  const access = await checkAccess(profile);
  const known = await checkCatalog(loaded, profile);
  return [
    { check: "profile", status: "ok", text: `${name}: ${model} at ${baseUrl} (${api})` },
    access.finding,
    await checkEndpoint(profile, access.token),
    known,
  ];
}

async function checkAccess(profile: ResolvedProfile): Promise<{ finding: Finding; token?: string }> {
  if (profile.key !== undefined)
    return { finding: { check: "key", status: "ok", text: `from ${profile.key.source}` }, token: profile.key.value };
  if (profile.auth !== "login")
    return { finding: { check: "key", status: "ok", text: "none needed for a local server" } };
  const { signInParts } = await import("../sign-in.ts");
  const { describeSignIn } = await import("../../auth/sign-in.ts");
  const { tokenSource } = await import("../../auth/token-source.ts");
  const notes: string[] = [];
  try {
    const { store, device } = await signInParts((message) => notes.push(message));
    if (store.read("openai") !== undefined) await tokenSource(store, device).token();
    const { signedIn, text } = describeSignIn(store.read("openai"));
    const finding = { check: "sign-in", text: [text, ...notes].join("; ") };
    return {
      finding: signedIn
        ? { ...finding, status: "ok" }
        : {
            ...finding,
            status: "broken",
            remedy: "buddy login, or use another profile: buddy --model demo needs none",
          },
    };
  } catch (error) {
    if (!(error instanceof BuddyError)) throw error;
    return { finding: broken("sign-in", error) };
  }
}

/** Any answer shows that the endpoint is there; a refused key is told apart. */
async function checkEndpoint({ baseUrl, auth, key }: ResolvedProfile, token: string | undefined): Promise<Finding> {
  const { loginBaseUrl } = await import("../../auth/login-endpoint.ts");
  const { redactor } = await import("../../policy/redact.ts");
  const base = auth === "login" && key === undefined ? loginBaseUrl(baseUrl) : baseUrl;
  const { host } = new URL(base);
  const started = performance.now();
  try {
    const response = await fetch(`${base}/models`, {
      signal: AbortSignal.timeout(TIMEOUT_MS),
      redirect: "manual",
      ...(token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } }),
    });
    await response.body?.cancel();
    const ms = Math.round(performance.now() - started);
    if (token !== undefined && (response.status === 401 || response.status === 403))
      return {
        check: "endpoint",
        status: "broken",
        text: `${host} refuses the key (HTTP ${response.status})`,
        remedy: `check the key from ${key?.source ?? "the sign-in"}: is it for ${host}, complete and not revoked?`,
      };
    if (response.status >= 500)
      return {
        check: "endpoint",
        status: "warning",
        text: `${host} answers HTTP ${response.status}`,
        remedy: "the service has trouble; try again later",
      };
    return { check: "endpoint", status: "ok", text: `${host} answers in ${ms} ms` };
  } catch (error) {
    return {
      check: "endpoint",
      status: "broken",
      text: `${host} cannot be reached: ${redactor(token === undefined ? [] : [token])((error as Error).message)}`,
      remedy: "check the address, the network and HTTPS_PROXY; buddy --model demo works without any",
    };
  }
}

const TIMEOUT_MS = 5_000;

async function checkCatalog(loaded: LoadedConfig, { model, contextLimit, name }: ResolvedProfile): Promise<Finding> {
  const { infoFor } = await import("../../model/catalog.ts");
  const info = infoFor(model, { rules: loaded.config.model_rules, contextLimit });
  if (info.known || contextLimit !== undefined)
    return { check: "catalog", status: "ok", text: `${model}: ${info.contextLimit} tokens of context` };
  return {
    check: "catalog",
    status: "warning",
    text: `${model} is not in the catalog; ${info.contextLimit} tokens of context are assumed`,
    remedy: `set context_limit in [models.${name}]`,
  };
}
