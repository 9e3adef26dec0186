/** The configuration in effect (files, what they set, what is doubtful) and the model it chooses. */
import { statSync } from "node:fs";
import type { LoadedConfig } from "../../../config/load.ts";
import type { ResolvedProfile } from "../../../config/profiles.ts";
import { currentDirectory } from "../../../lib/byte-names.ts";
import { BuddyError } from "../../../lib/errors.ts";
import { isLoopback } from "../../../lib/network.ts";
import type { Candidate } from "../../../model/list-models.ts";
import type { GlobalOptions } from "../../args/options.ts";
import { broken, type Finding, finding } from "./machine.ts";
import { quote } from "../../../lib/quote.ts";

export async function checkConfiguration(
  globals: GlobalOptions,
): Promise<{ findings: Finding[]; loaded: LoadedConfig | undefined }> {
  const { loadConfig, explainSetting } = await import("../../../config/load.ts");
  const { SETTINGS } = await import("../../../config/schema.ts");
  let loaded: LoadedConfig;
  try {
    loaded = await loadConfig({ flags: globals, env: process.env, cwd: currentDirectory(), create: false });
  } catch (error) {
    if (!(error instanceof BuddyError)) throw error;
    return { findings: [broken("config", error)], loaded: undefined };
  }
  const { shownPath } = await import("../../../config/paths.ts");
  const findings: Finding[] = [];
  if (loaded.files.length === 0) {
    const text = "no configuration file; the defaults are used";
    findings.push(finding("config", "info", text, "buddy init writes one"));
  }
  for (const [i, file] of loaded.files.entries()) {
    const merged = i === 0 ? "" : `, merged over ${shownPath(loaded.files[0] ?? "", loaded)}`;
    findings.push(finding("config", "ok", `read ${shownPath(file, loaded)}${merged}`));
  }
  for (const key of loaded.origins.keys()) {
    const [section = "", name = ""] = key.split(".");
    const known = Object.hasOwn(SETTINGS, section) && Object.hasOwn(SETTINGS[section as keyof typeof SETTINGS], name);
    if (known) findings.push(finding("config", "info", explainSetting(loaded, key)));
  }
  // The others say themselves what to do: trust the file, chmod it, create the directory.
  for (const text of loaded.warnings)
    findings.push(finding("config", "warning", text, /\bunknown keys?\b/.test(text) ? "change the file" : undefined));
  findings.push(...(await permissions(loaded)));
  return { findings, loaded };
}

/** Files with secrets must be the owner's alone. */
async function permissions(loaded: LoadedConfig): Promise<Finding[]> {
  const { buddyPaths } = await import("../../../config/paths.ts");
  const paths = buddyPaths(loaded.env);
  if (paths === undefined) {
    const home = loaded.env.HOME;
    const why = home ? `the home directory ${home} does not exist` : "HOME is not set";
    return [finding("permissions", "warning", `${why}: nothing can be remembered`, home ? "create it" : "set HOME")];
  }
  return [paths.auth, paths.history, paths.trust].flatMap((path): Finding[] => {
    const mode = statSync(path, { throwIfNoEntry: false })?.mode;
    if (mode === undefined || (mode & 0o077) === 0) return [];
    return [finding("permissions", "warning", `${path} can be read by other users`, `chmod 600 ${quote(path)}`)];
  });
}

// ── The model: profile, key or sign-in, whether its endpoint answers, whether the catalog knows it.

export async function checkModel(loaded: LoadedConfig): Promise<Finding[]> {
  const { resolveProfile } = await import("../../../config/profiles.ts");
  let profile: ResolvedProfile;
  try {
    profile = resolveProfile(loaded);
  } catch (error) {
    if (!(error instanceof BuddyError)) throw error;
    const { withNoModelHint } = await import("../../../app/model/first-model.ts");
    return [broken("profile", (await withNoModelHint(error)) as BuddyError)];
  }
  const { name, model, api, baseUrl } = profile;
  if (baseUrl === "")
    return [finding("profile", "ok", `${name}: a script built into buddy, no key and no network needed`)];
  const { describeOrigin } = await import("../../../config/paths.ts");
  const given = loaded.endpoint === undefined ? "" : `, the address ${describeOrigin(loaded.endpoint.origin, loaded)}`;
  const access = await checkAccess(profile);
  const endpoint =
    access.finding.status === "broken"
      ? { finding: finding("endpoint", "info", "not checked: it needs a sign-in") }
      : await checkEndpoint(loaded, profile, access.token);
  return [
    finding("profile", "ok", `${name}: ${model} at ${baseUrl} (${api})${given}`),
    access.finding,
    endpoint.finding,
    await checkCatalog(loaded, profile, "window" in endpoint ? endpoint.window : undefined),
    ...(await localServers(baseUrl)),
  ];
}

/** Model servers of this machine that are not in use. */
export async function localServers(inUse: string, candidates?: readonly Candidate[]): Promise<Finding[]> {
  const { findLocalServers } = await import("../../../model/list-models.ts");
  const found = (await findLocalServers(candidates, PATIENCE_MS)).filter(({ baseUrl }) => baseUrl !== inUse);
  return found.map(({ name, baseUrl, models }) =>
    finding(
      "local",
      "info",
      `${name} answers at ${baseUrl}${models.length === 0 ? ", but has no models yet" : `: ${someOf(models)}`}`,
      `buddy --base-url ${baseUrl} -m ${models[0] ?? "MODEL"} uses it`,
    ),
  );
}

function someOf(models: readonly string[]): string {
  const more = models.length - MOST_MODELS;
  return `${models.slice(0, MOST_MODELS).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

const MOST_MODELS = 5;
/** Long enough for a busy server; a port where nothing listens refuses at once. */
const PATIENCE_MS = 2_000;

/** How a profile without a known key gets access. */
function otherAccess({ settings, baseUrl }: ResolvedProfile): string {
  if (settings?.api_key_command !== undefined) return `from api_key_command ${settings.api_key_command[0]}`;
  return isLoopback(new URL(baseUrl).hostname)
    ? "none needed for a local server"
    : "none; the profile's headers are sent";
}

async function checkAccess(profile: ResolvedProfile): Promise<{ finding: Finding; token?: string }> {
  if (profile.key !== undefined)
    return { finding: finding("key", "ok", `from ${profile.key.source}`), token: profile.key.value };
  if (profile.auth !== "login") return { finding: finding("key", "ok", otherAccess(profile)) };
  const { signInParts } = await import("../../../app/model/sign-in.ts");
  const { describeSignIn, tokenSource } = await import("../../../auth/sign-in.ts");
  const notes: string[] = [];
  try {
    const { store, device } = await signInParts((message) => notes.push(message));
    if (store.read("openai") !== undefined) await tokenSource(store, device).token();
    const { signedIn, text } = describeSignIn(store.read("openai"));
    const words = [text, ...notes].join("; ");
    if (signedIn) return { finding: finding("sign-in", "ok", words) };
    const remedy = "buddy login, or use another profile: buddy --model demo needs none";
    return { finding: finding("sign-in", "broken", words, remedy) };
  } catch (error) {
    if (!(error instanceof BuddyError)) throw error;
    return { finding: broken("sign-in", error) };
  }
}

/** Asks for the list of models: any answer shows that the endpoint exists, a refused key is reported as such. */
async function checkEndpoint(
  loaded: LoadedConfig,
  profile: ResolvedProfile,
  key: string | undefined,
): Promise<{ finding: Finding; window?: number | undefined }> {
  const { modelOptions } = await import("../../../app/model/model-client.ts");
  const { listModelsByClient } = await import("../../../model/list-models.ts");
  const { model } = profile;
  let { host } = new URL(profile.baseUrl);
  const started = performance.now();
  try {
    const options = await modelOptions(loaded, profile);
    ({ host } = new URL(options.baseUrl));
    const models = await listModelsByClient(options, new AbortController().signal, TIMEOUT_MS);
    const listed = models.find(({ id }) => id === model);
    const text = `${host} answers in ${Math.round(performance.now() - started)} ms`;
    const unlisted = models.length > 0 && !listed ? `; ${model} is not among the ${models.length} models it lists` : "";
    const { Endpoint } = await import("../../../model/endpoint.ts");
    const window = new Endpoint(options).reportsWindow ? listed?.contextLimit : undefined;
    return { finding: finding("endpoint", "ok", text + unlisted), window };
  } catch (error) {
    if (!(error instanceof BuddyError)) throw error;
    const ms = Math.round(performance.now() - started);
    return { finding: endpointFinding(error, host, key !== undefined, ms) };
  }
}

function endpointFinding(error: BuddyError, host: string, withKey: boolean, ms: number): Finding {
  const status = "status" in error ? Number(error.status) : 0;
  const remedy = error.hint ?? "check the address, the network and HTTPS_PROXY";
  if (withKey && (status === 401 || status === 403)) {
    return finding("endpoint", "broken", `${host} refuses the key (HTTP ${status})`, remedy);
  }
  if (status >= 500) {
    const text = `${host} answers HTTP ${status}`;
    return finding("endpoint", "warning", text, "the service has a problem; try again later");
  }
  // Not every endpoint lists its models, and some want a key or a sign-in even for that.
  const answered = status > 0 || ("reason" in error && error.reason === "protocol");
  if (answered) return finding("endpoint", "ok", `${host} answers in ${ms} ms`);
  const fix = `${remedy.replace(/\.$/, "")}; buddy --model demo needs no endpoint`;
  return finding("endpoint", "broken", error.message, fix);
}

const TIMEOUT_MS = 5_000;

async function checkCatalog(
  loaded: LoadedConfig,
  { model, contextLimit, name }: ResolvedProfile,
  window: number | undefined,
): Promise<Finding> {
  const { infoFor } = await import("../../../model/catalog.ts");
  const info = infoFor(model, { rules: loaded.config.model_rules, contextLimit: contextLimit ?? window });
  if (info.known || contextLimit !== undefined || window !== undefined)
    return finding("catalog", "ok", `${model}: ${info.contextLimit} tokens of context`);
  return finding(
    "catalog",
    "warning",
    `${model} is not in the catalog; ${info.contextLimit} tokens of context are assumed`,
    `set context_limit in [models.${name}]`,
  );
}
