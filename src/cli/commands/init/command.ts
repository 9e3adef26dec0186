/** `buddy init`: writes the configuration file, with a few questions on a terminal. */
import { existsSync, readFileSync, rmSync, statSync } from "node:fs";
import { firstModels, withProfile } from "../../../app/model/first-model.ts";
import { backUp, CONFIG_TEMPLATE, createConfigFile } from "../../../config/create.ts";
import { providerKeyFile } from "../../../config/keys.ts";
import { type Env, requirePaths, shownPath } from "../../../config/paths.ts";
import { currentDirectory } from "../../../lib/byte-names.ts";
import { BuddyError, EXIT } from "../../../lib/errors.ts";
import { writeFileAtomic } from "../../../lib/files.ts";
import { isTerminal } from "../../../lib/terminal.ts";
import type { Api } from "../../../model/types.ts";
import { defineCommand } from "../../command.ts";
import type { InitAnswers } from "./init-questions.ts";

export const command = defineCommand({
  name: "init",
  args: {
    force: { type: "boolean", description: "replace an existing file; the old one is kept as buddy.toml.SECONDS.bak" },
  },
  examples: [
    ["buddy init", "asks a few questions in a terminal"],
    ["buddy init --force < /dev/null", "no questions: a key that is set, or the defaults"],
  ],
  notes: "The file is ~/.config/buddy/buddy.toml, or the one that --config names.",
  async run({ args, globals }) {
    const { env } = process;
    const { lines } = await initConfig({
      path: globals.config,
      force: args.force === true,
      env,
      cwd: currentDirectory(),
    });
    for (const line of lines) console.log(line);
    return EXIT.ok;
  },
});

// ── What `buddy init` does: asks on a terminal, and writes the template with the answers.

interface InitOptions {
  readonly path?: string | undefined;
  readonly force: boolean;
  readonly env: Env;
  readonly cwd: string;
  /** By default: questions when stdin and stdout are a terminal. */
  readonly ask?: (() => Promise<InitAnswers>) | undefined;
}

/** Returns what to print. */
export async function initConfig(options: InitOptions): Promise<{ path: string; lines: string[] }> {
  const { env, cwd, force } = options;
  const path = options.path ?? requirePaths(env, "~/.config/buddy/buddy.toml").config;
  const shown = shownPath(path, options);
  const present = statSync(path, { throwIfNoEntry: false });
  if (present !== undefined && !present.isFile()) {
    throw new BuddyError("config", `${shown} is not a regular file`, { hint: "Name another one with --config PATH" });
  }
  const ask = options.ask ?? (isTerminal(0) && isTerminal(1) ? await questions() : undefined);
  const found = ask === undefined ? (await firstModels(env))[0] : undefined;
  // The file that a first start wrote may be replaced: its message sends the user to `buddy init`.
  const old = present === undefined ? undefined : contents(path);
  const replaceable = (ask ?? found) !== undefined && old !== undefined && (await hasDefaults(old));
  if (present !== undefined && !replaceable && !force) {
    throw new BuddyError("config", `${shown} exists already`, {
      hint: "Edit it, or replace it with: buddy init --force (the old one is kept)",
    });
  }
  const answers = await ask?.();
  const keyFile = answers?.key === undefined ? undefined : keepKey(answers.profile, answers.key, env);
  const aside = existsSync(path) && (force || old !== CONFIG_TEMPLATE) ? backUp(path, { env, cwd }) : undefined;
  try {
    const defaults = found === undefined ? CONFIG_TEMPLATE : withProfile(CONFIG_TEMPLATE, found);
    createConfigFile(path, answers === undefined ? defaults : fillTemplate(answers, keyFile));
  } catch (error) {
    if (aside !== undefined) rmSync(aside, { force: true });
    throw error;
  }
  return {
    path,
    lines: [
      ...(aside === undefined ? [] : [`kept the old file as ${shownPath(aside, { env, cwd })}`]),
      `wrote ${shown}`,
      ...(keyFile === undefined ? [] : [`the key is in ${shownPath(keyFile, { env, cwd })}`]),
      ...(found === undefined ? [] : [`the model is ${found.text}`]),
      answers?.local === undefined && answers?.lines === undefined && keyFile === undefined && found === undefined
        ? nextStep(answers?.profile ?? "gpt-codex", env)
        : "next: buddy",
    ],
  };
}

/** Undefined if it cannot be read; `setAside` then says why. */
function contents(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

/** As a first start writes it, this version or one with other comments. */
async function hasDefaults(text: string): Promise<boolean> {
  if (text === CONFIG_TEMPLATE) return true;
  const { parseToml } = await import("../../../config/toml.ts");
  try {
    return Bun.deepEquals(parseToml(text, ""), parseToml(CONFIG_TEMPLATE, ""));
  } catch {
    return false;
  }
}

/** The template with the answers instead of its defaults. */
export function fillTemplate(answers: InitAnswers, keyFile?: string): string {
  const lines = CONFIG_TEMPLATE.split("\n");
  const set = (pattern: RegExp, line: string) => {
    const at = lines.findIndex((text) => pattern.test(text));
    if (at === -1) throw new Error(`templates/buddy.toml has no line ${pattern.source}`);
    lines[at] = line;
  };
  set(/^model = "gpt-codex"/, `model = ${JSON.stringify(answers.profile)}`);
  if (answers.name !== "") set(/^# name = /, `name = ${JSON.stringify(answers.name)}`);
  if (answers.autoApprove !== "read-only") {
    set(/^# shell_auto_approve = /, `shell_auto_approve = ${JSON.stringify(answers.autoApprove)}`);
  }
  const key = keyFile === undefined ? [] : [`api_key_file = ${JSON.stringify(keyFile)}`];
  if (answers.lines !== undefined)
    return withProfile(lines.join("\n"), { profile: answers.profile, text: "", lines: [...answers.lines, ...key] });
  if (key[0] !== undefined) setIn(lines, answers.profile, "api_key_env", key[0]);
  if (answers.model !== undefined) setIn(lines, answers.profile, "model", `model = ${JSON.stringify(answers.model)}`);
  if (answers.local !== undefined) setLocal(lines, answers.profile, answers.local);
  return lines.join("\n");
}

/** Replaces one line of a profile of the template. */
function setIn(lines: string[], profile: string, key: string, line: string): void {
  const start = lines.findIndex((text) => text.startsWith(`[models.${profile}]`));
  const at = lines.findIndex((text, index) => index > start && text.startsWith(`${key} = `));
  if (start === -1 || at === -1) throw new Error(`templates/buddy.toml has no ${key} in profile ${profile}`);
  lines[at] = line;
}

/** A pasted key goes into a file that its owner alone can read. */
function keepKey(profile: string, key: string, env: Env): string {
  const path = providerKeyFile(requirePaths(env, "the key").dir, profile);
  writeFileAtomic(path, `${key}\n`);
  return path;
}

/** Fills the server's profile of the template, or adds one after the last. */
function setLocal(lines: string[], profile: string, { baseUrl, model }: NonNullable<InitAnswers["local"]>): void {
  const header = `[models.${profile}]`;
  const keys = [`api_base_url = ${JSON.stringify(baseUrl)}`, 'api = "completions"', `model = ${JSON.stringify(model)}`];
  const at = lines.findIndex((line) => line.startsWith(header));
  if (at !== -1) {
    lines.splice(at + 1, keys.length, ...keys);
    return;
  }
  const last = lines.findLastIndex((line) => line.startsWith("[models."));
  const end = lines.indexOf("", last);
  lines.splice(end, 0, "", header, ...keys);
}

async function questions(): Promise<() => Promise<InitAnswers>> {
  return (await import("./init-questions.ts")).askInitQuestions;
}

function nextStep(profile: string, env: Env): string {
  const variable = KEYED_PROFILES[profile]?.variable;
  if (variable !== undefined) return env[variable] ? "next: buddy" : `next: export ${variable}=…`;
  const steps: Readonly<Record<string, string>> = {
    "gpt-codex": "buddy login",
    "gpt-spark": "buddy login gpt-spark",
    ollama: "ollama pull qwen3:8b",
  };
  return `next: ${steps[profile] ?? "buddy"}`;
}

/** Profiles of the template that need a key. */
export const KEYED_PROFILES: Readonly<Record<string, { url: string; api: Api; variable: string }>> = {
  openai: { url: "https://api.openai.com/v1", api: "responses", variable: "OPENAI_API_KEY" },
  claude: { url: "https://api.anthropic.com/v1", api: "anthropic", variable: "ANTHROPIC_API_KEY" },
  deepseek: { url: "https://openrouter.ai/api/v1", api: "completions", variable: "OPENROUTER_API_KEY" },
  glm: { url: "https://openrouter.ai/api/v1", api: "completions", variable: "OPENROUTER_API_KEY" },
};
