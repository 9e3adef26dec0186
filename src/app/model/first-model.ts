/** For a user without a usable model: offers one that this machine already has, or lists how to get one. */
import { readFileSync } from "node:fs";
import { createConfigFile } from "../../config/create.ts";
import type { LoadedConfig } from "../../config/load.ts";
import { buddyPaths, type Env } from "../../config/paths.ts";
import { resolveProfile } from "../../config/profiles.ts";
import { BuddyError, messageOf } from "../../lib/errors.ts";
import type { Candidate } from "../../model/list-models.ts";

interface FirstModel {
  /** Name of the profile. */
  readonly profile: string;
  /** Ends the question "Use …?". */
  readonly text: string;
  /** The profile, where the configuration does not have it. */
  readonly lines: readonly string[];
}

const GOOGLE = [
  "Google",
  "gemini",
  "https://generativelanguage.googleapis.com/v1beta/openai",
  "completions",
  "gemini-pro-latest",
] as const;

/** Keys that people have in their environment, and a model that each gives. */
const KEYS = [
  ["OPENAI_API_KEY", "OpenAI", "openai", "https://api.openai.com/v1", "responses", "gpt-6.1-sol"],
  ["ANTHROPIC_API_KEY", "Anthropic", "claude", "https://api.anthropic.com/v1", "anthropic", "claude-sonnet-5-5"],
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

/** The models that can be used, the likeliest first; `failed` gets the reason why a key cannot be offered. */
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
  const here = local.flatMap(({ name, baseUrl, models: [model] }) => {
    if (model === undefined) return [];
    const profile = name.toLowerCase().replace(/[^a-z0-9]+/g, "-");
    const lines = profileLines(`${profile}-here`, { api_base_url: baseUrl, api: "completions", model });
    return [{ profile: `${profile}-here`, text: `${name} on this machine with ${model}`, lines }];
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
    const lines = profileLines(profile, { api_base_url: url, api: usual, model, api_key_env: variable });
    return [{ profile, text: `${name} with ${model} (${variable} is set)`, lines }];
  }
  const api = usual === "anthropic" ? usual : "completions";
  const baseUrl = api === "anthropic" && !/\/v\d+$/.test(other) ? `${other}/v1` : other;
  const { listModels, chatModels } = await import("../../model/list-models.ts");
  const options = { name: profile, baseUrl, api, auth: "api-key", model: "", key: env[variable]!.trim(), env } as const;
  // If the gateway lists no models, there is nothing to offer: `buddy init` asks for one.
  const offered = await listModels(options, new AbortController().signal, GATEWAY_MS).catch((error: unknown) => {
    failed(`${variable} is set, but ${messageOf(error)}`);
    return [];
  });
  return chatModels(offered)
    .slice(0, 1)
    .map((first) => ({
      profile: `${profile}-gateway`,
      text: `${URL.parse(baseUrl)?.host} with ${first} (${variable} is set)`,
      lines: profileLines(`${profile}-gateway`, { api_base_url: baseUrl, api, model: first, api_key_env: variable }),
    }));
}

/** Short: the user is waiting for the start. */
const GATEWAY_MS = 3_000;

export function profileLines(profile: string, keys: Readonly<Record<string, string>>): string[] {
  return [`[models.${profile}]`, ...Object.entries(keys).map(([key, value]) => `${key} = ${JSON.stringify(value)}`)];
}

/** Asks one question and writes the answer; false: nothing to offer, no terminal to ask on, or the answer was no. */
export async function offerFirstModel(
  loaded: LoadedConfig,
  ask: (question: string) => Promise<boolean | undefined>,
  servers?: readonly Candidate[],
): Promise<boolean> {
  const file = buddyPaths(loaded.env)?.config;
  if (file === undefined || loaded.files[0] !== file || !(await needsModel(loaded))) return false;
  const [first] = await firstModels(loaded.env, servers);
  if (first === undefined) return false;
  const question = `There is no sign-in and no key for profile ${loaded.config.agent.model}.\nUse ${first.text}?`;
  if ((await ask(question)) !== true) return false;
  createConfigFile(file, withProfile(readFileSync(file, "utf8"), first));
  return true;
}

/** The active profile was not chosen on the command line or in the environment, and cannot be used. */
async function needsModel(loaded: LoadedConfig): Promise<boolean> {
  const origin = loaded.origins.get("agent.model");
  if (origin?.kind === "flag" || origin?.kind === "env" || loaded.key !== undefined || loaded.endpoint !== undefined)
    return false;
  try {
    const { auth, key } = resolveProfile(loaded);
    if (auth !== "login" || key !== undefined) return false;
  } catch (error) {
    return error instanceof BuddyError && error.code === "auth";
  }
  const { PROVIDER, signInParts } = await import("./sign-in.ts");
  return (await signInParts()).store.read(PROVIDER) === undefined;
}

/** The text of a configuration file with this profile active; comments and everything else stay. */
export function withProfile(text: string, { profile, lines }: FirstModel): string {
  const all = text.split("\n");
  const agent = all.findIndex((line) => /^\s*\[agent\]/.test(line));
  const next = all.findIndex((line, at) => at > agent && /^\s*\[/.test(line));
  const model = all.findIndex(
    (line, at) => at > agent && (next < 0 || at < next) && agent >= 0 && /^\s*model\s*=/.test(line),
  );
  const chosen = `model = ${JSON.stringify(profile)}`;
  if (model >= 0) all[model] = chosen;
  else if (agent >= 0) all.splice(agent + 1, 0, chosen);
  else all.unshift("[agent]", chosen, "");
  const known = all.some((line) => line.trim().startsWith(lines[0]!));
  return known ? all.join("\n") : `${all.join("\n").trimEnd()}\n\n${lines.join("\n")}\n`;
}

// How to get one: sign in, give a key, use a local server, or try the demo.

/** An error of code "auth" gets all of these in its hint; others are returned unchanged. */
export async function withNoModelHint(
  error: unknown,
  servers?: readonly Candidate[],
  waitMs?: number,
): Promise<unknown> {
  if (!(error instanceof BuddyError) || error.code !== "auth") return error;
  const { findLocalServers } = await import("../../model/list-models.ts");
  const failed: string[] = [];
  const keys = (await firstModels(process.env, [], (words) => failed.push(words))).map(({ text }) => text);
  const lines = [
    ...(error.hint === undefined ? [] : [error.hint, ""]),
    ...(failed.length === 0 ? [] : [...failed, ""]),
    "To connect a model:",
    ...keys.map((text) => `  buddy                               offers ${text}`),
    ...(keys.length > 0 ? ["  buddy init < /dev/null              uses it without a question, for scripts"] : []),
    '  buddy login                         sign in (profiles with auth = "login")',
    "  buddy init                          choose a model and paste a key",
    "  export BUDDY_API_KEY=…              a key for the active profile",
    "  buddy --model demo                  the built-in demo: no key, no network",
    ...(await findLocalServers(servers, waitMs)).map(
      ({ name, baseUrl, models }) =>
        `  buddy --base-url ${baseUrl} -m ${models[0] ?? "MODEL"}   ${name} answers on this machine`,
    ),
  ];
  return new BuddyError("auth", error.message, { hint: lines.join("\n"), cause: error.cause });
}
