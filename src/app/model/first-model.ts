/** For a user without a usable model: those this machine already has, and the profile that names one in the file. */
import { CONFIG_TEMPLATE } from "../../config/create.ts";
import type { LoadedConfig } from "../../config/load.ts";
import type { Env } from "../../config/paths.ts";
import { resolveProfile } from "../../config/profiles.ts";
import { parseToml } from "../../config/toml.ts";
import { BuddyError, messageOf } from "../../lib/errors.ts";
import type { Candidate } from "../../model/list-models.ts";
import { ModelError } from "../../model/errors.ts";
import type { Api } from "../../model/types.ts";

/** A profile, by the keys of its table in the configuration file. */
export interface ProfileTable {
  readonly api_base_url: string;
  readonly api: Api;
  readonly model: string;
  readonly auth?: "login";
  readonly api_key_env?: string;
  readonly api_key_file?: string;
}

export interface FirstModel {
  /** Name of the profile. */
  readonly profile: string;
  /** For a list: "OpenAI, with the key in OPENAI_API_KEY". */
  readonly label: string;
  /** Undefined for the built-in demo. */
  readonly table?: ProfileTable | undefined;
  /** Of a server on this machine, if it has several. */
  readonly others?: readonly string[];
}

const GOOGLE = [
  "Google",
  "gemini",
  "https://generativelanguage.googleapis.com/v1beta/openai",
  "completions",
  "gemini-pro-latest",
] as const;

/** Keys that people have in their environment, and a model that each gives. */
export const KEYS = [
  ["OPENAI_API_KEY", "OpenAI", "openai", "https://api.openai.com/v1", "responses", "gpt-6.1-sol"],
  ["ANTHROPIC_API_KEY", "Claude", "claude", "https://api.anthropic.com/v1", "anthropic", "claude-sonnet-5-5"],
  [
    "OPENROUTER_API_KEY",
    "OpenRouter",
    "openrouter",
    "https://openrouter.ai/api/v1",
    "completions",
    "deepseek/deepseek-v3.2",
  ],
  ["GEMINI_API_KEY", ...GOOGLE],
  ["GOOGLE_API_KEY", ...GOOGLE],
  ["MISTRAL_API_KEY", "Mistral", "mistral", "https://api.mistral.ai/v1", "completions", "devstral-latest"],
  ["DEEPSEEK_API_KEY", "DeepSeek", "deepseek-direct", "https://api.deepseek.com", "completions", "deepseek-v4-pro"],
  ["XAI_API_KEY", "xAI", "grok", "https://api.x.ai/v1", "completions", "grok-4.7"],
  ["MOONSHOT_API_KEY", "Moonshot", "kimi", "https://api.moonshot.ai/v1", "completions", "kimi-k3"],
  ["GROQ_API_KEY", "Groq", "groq", "https://api.groq.com/openai/v1", "completions", "openai/gpt-oss-120b"],
] as const;

/** The models that can be used at once, the likeliest first; `failed` gets the reason why a key cannot be offered. */
export async function firstModels(
  env: Env,
  servers?: readonly Candidate[],
  failed: (words: string) => void = () => {},
): Promise<FirstModel[]> {
  const { findLocalServers } = await import("../../model/list-models.ts");
  const [local, ...keys] = await Promise.all([
    findLocalServers(servers),
    ...KEYS.filter(([variable]) => env[variable]?.trim()).map((key) => byKey(key, env, failed)),
  ]);
  const here = local.flatMap(({ name, baseUrl, models }) => {
    const [model, ...others] = models;
    if (model === undefined) return [];
    const profile = name.toLowerCase().replace(/[^a-z0-9]+/g, "-");
    const label = `${name} here, ${others.length === 0 ? model : `${model} and ${others.length} more`}`;
    return [{ profile, label, others, table: { api_base_url: baseUrl, api: "completions", model } } as const];
  });
  return [...keys.flat(), ...here];
}

/** A key is sent only to its provider, or to the gateway that the environment names for it. */
async function byKey(
  [variable, name, profile, url, usual, model]: (typeof KEYS)[number],
  env: Env,
  failed: (words: string) => void,
): Promise<FirstModel[]> {
  const other = env[variable.replace("API_KEY", "BASE_URL")]?.trim().replace(/\/+$/, "");
  if (!other || other.startsWith(new URL(url).origin)) {
    const table = { api_base_url: url, api: usual, model, api_key_env: variable };
    return [{ profile, label: `${name}, with the key in ${variable}`, table }];
  }
  const api = usual === "anthropic" ? usual : "completions";
  const baseUrl = api === "anthropic" && !/\/v\d+$/.test(other) ? `${other}/v1` : other;
  const { listModels, chatModels } = await import("../../model/list-models.ts");
  const options = { name: profile, baseUrl, api, auth: "api-key", model: "", key: env[variable]!.trim(), env } as const;
  // If the gateway lists no models, there is nothing to offer: its address can be given by hand.
  const offered = await listModels(options, new AbortController().signal, GATEWAY_MS).catch((error: unknown) => {
    failed(`${variable} is set, but ${messageOf(error)}`);
    return [];
  });
  return chatModels(offered)
    .slice(0, 1)
    .map((first) => ({
      profile: `${profile}-gateway`,
      label: `${URL.parse(baseUrl)?.host}, ${first}, with the key in ${variable}`,
      table: { api_base_url: baseUrl, api, model: first, api_key_env: variable },
    }));
}

/** Short: the user is waiting for the start. */
const GATEWAY_MS = 3_000;

/** The active profile was not chosen on the command line or in the environment, and cannot be used. */
export async function needsModel(loaded: LoadedConfig): Promise<boolean> {
  const origin = loaded.origins.get("agent.model");
  if (origin?.kind === "flag" || origin?.kind === "env" || loaded.key !== undefined || loaded.endpoint !== undefined)
    return false;
  try {
    const { auth, key } = resolveProfile(loaded);
    if (auth !== "login" || key !== undefined) return false;
  } catch (error) {
    return error instanceof BuddyError && error.code === "auth";
  }
  const { isSignedIn } = await import("./sign-in.ts");
  return !(await isSignedIn());
}

/**
 * The text of a configuration file with this profile active; all else in it stays. `keyFile` names the file
 * of a pasted key.
 */
export function withProfile(
  text: string,
  { profile: wanted, table }: FirstModel,
  keyFile?: (profile: string) => string,
): { readonly text: string; readonly profile: string } {
  const settings = (name: string): Partial<ProfileTable> => {
    if (keyFile === undefined) return table ?? {};
    const { api_key_env: _variable, ...others } = table ?? {};
    return { ...others, api_key_file: keyFile(name) };
  };
  const [models, template] = [profilesIn(text), profilesIn(CONFIG_TEMPLATE)];
  const header = `[models.${wanted}]`;
  const isTemplates =
    Bun.deepEquals(models[wanted], template[wanted]) && text.split("\n").some((line) => line.startsWith(header));
  // A profile that the user wrote is never changed: the new one gets another name.
  const names = [wanted, ...Array.from({ length: 99 }, (_, n) => `${wanted}-${n + 2}`)];
  const isFree = (name: string) => models[name] === undefined || Bun.deepEquals(models[name], settings(name));
  const profile = isTemplates ? wanted : (names.find(isFree) ?? wanted);
  const lines = activated(text, profile).split("\n");
  const rows = Object.entries(settings(profile)).map(([key, value]) => `${key} = ${JSON.stringify(value)}`);
  if (isTemplates && table !== undefined) {
    const at = lines.findIndex((line) => line.startsWith(header)) + 1;
    const end = lines.findIndex((line, index) => index >= at && !/^[a-z_]+ = /.test(line));
    lines.splice(at, (end < 0 ? lines.length : end) - at, ...rows);
  } else if (models[profile] === undefined && table !== undefined) {
    while (lines.at(-1)?.trim() === "") lines.pop();
    lines.push("", `[models.${profile}]`, ...rows, "");
  }
  const changed = lines.join("\n");
  const { agent } = parseToml(changed, "the configuration file") as { readonly agent?: { readonly model?: string } };
  if (agent?.model === profile) return { text: changed, profile };
  throw new BuddyError("config", `cannot make ${profile} the active profile of the configuration file`, {
    hint: `Add these lines to it:\n${[`agent.model = ${JSON.stringify(profile)}`, `[models.${profile}]`, ...rows].join("\n")}`,
  });
}

/** The text with this profile as agent.model. */
function activated(text: string, profile: string): string {
  const all = text.split("\n");
  const chosen = `model = ${JSON.stringify(profile)}`;
  const tables = all.findIndex((line) => /^\s*\[/.test(line));
  const dotted = all.slice(0, tables < 0 ? undefined : tables).findIndex((line) => /^\s*agent\.model\s*=/.test(line));
  const agent = all.findIndex((line) => /^\s*\[agent\]/.test(line));
  const next = all.findIndex((line, at) => at > agent && /^\s*\[/.test(line));
  const own = all.slice(agent + 1, next < 0 ? undefined : next).findIndex((line) => /^\s*model\s*=/.test(line));
  if (dotted >= 0) all[dotted] = `agent.${chosen}`;
  else if (agent >= 0) all.splice(agent + 1 + Math.max(own, 0), own < 0 ? 0 : 1, chosen);
  else all.unshift(`agent.${chosen}`);
  return all.join("\n");
}

function profilesIn(text: string): Readonly<Record<string, unknown>> {
  const { models = {} } = parseToml(text, "the configuration file") as { models?: Record<string, unknown> };
  return models;
}

// ── Where nobody can be asked: how to get one.

/** An error of code "auth" gets these in its hint, unless a provider refused a key; others are returned unchanged. */
export async function withNoModelHint(
  error: unknown,
  servers?: readonly Candidate[],
  waitMs?: number,
): Promise<unknown> {
  if (!(error instanceof BuddyError) || error.code !== "auth" || error instanceof ModelError) return error;
  const { findLocalServers } = await import("../../model/list-models.ts");
  const failed: string[] = [];
  const [key] = await firstModels(process.env, [], (words) => failed.push(words));
  const lines = [
    ...(error.hint === undefined ? [] : [error.hint]),
    ...failed,
    "To connect a model:",
    ...(key === undefined ? [] : [`  buddy init < /dev/null      ${key.label}`]),
    ...(await findLocalServers(servers, waitMs)).map(
      ({ name, baseUrl, models }) =>
        `  buddy --base-url ${baseUrl} -m ${models[0] ?? "MODEL"}   ${name} on this machine`,
    ),
    "  buddy                       choose a model, in a terminal",
    "  buddy login                 sign in to your model provider",
    "  export BUDDY_API_KEY=…      a key for the active profile",
    "  buddy --model demo          the demo: no key, no network",
  ];
  return new BuddyError("auth", error.message, { hint: lines.join("\n"), cause: error.cause });
}
