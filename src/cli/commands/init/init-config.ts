/** What `buddy init` does: asks where it can, and writes the template with the answers. */
import { existsSync, rmSync, statSync } from "node:fs";
import { CONFIG_TEMPLATE, createConfigFile, setAside } from "../../../config/create.ts";
import { shownPath } from "../../../config/origin.ts";
import { type Env, requirePaths } from "../../../config/paths.ts";
import { BuddyError } from "../../../lib/errors.ts";
import { isTerminal } from "../../../lib/is-terminal.ts";
import type { InitAnswers } from "./init-questions.ts";

export interface InitOptions {
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
    throw new BuddyError("config", `${shown} is not a regular file`, { hint: "name another one with --config PATH" });
  }
  if (present !== undefined && !force) {
    throw new BuddyError("config", `${shown} exists already`, {
      hint: "edit it, or replace it with: buddy init --force (the old one is kept beside it)",
    });
  }
  const ask = options.ask ?? (isTerminal(0) && isTerminal(1) ? await questions() : undefined);
  const answers = await ask?.();
  const aside = existsSync(path) ? setAside(path, { env, cwd }) : undefined;
  try {
    createConfigFile(path, answers === undefined ? CONFIG_TEMPLATE : fillTemplate(answers));
  } catch (error) {
    if (aside !== undefined) rmSync(aside, { force: true });
    throw error;
  }
  return {
    path,
    lines: [
      ...(aside === undefined ? [] : [`kept the old file as ${shownPath(aside, { env, cwd })}`]),
      `wrote ${shown}`,
      answers?.local === undefined ? nextStep(answers?.profile ?? "gpt-codex") : "next: buddy",
    ],
  };
}

/** The template with the answers in the places of its defaults. */
export function fillTemplate(answers: InitAnswers): string {
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
  if (answers.local !== undefined) setLocal(lines, answers.profile, answers.local);
  return lines.join("\n");
}

/** The server's own profile in the template, or one more behind the last. */
function setLocal(lines: string[], profile: string, { baseUrl, model }: NonNullable<InitAnswers["local"]>): void {
  const header = `[models.${profile}]`;
  const keys = [`api_base_url = ${JSON.stringify(baseUrl)}`, 'api = "completions"', `model = ${JSON.stringify(model)}`];
  const there = lines.findIndex((line) => line.startsWith(header));
  if (there !== -1) {
    lines.splice(there + 1, keys.length, ...keys);
    return;
  }
  const last = lines.findLastIndex((line) => line.startsWith("[models."));
  const end = lines.indexOf("", last);
  lines.splice(end, 0, "", header, ...keys);
}

async function questions(): Promise<() => Promise<InitAnswers>> {
  return (await import("./init-questions.ts")).askInitQuestions;
}

function nextStep(profile: string): string {
  const steps: Readonly<Record<string, string>> = {
    "gpt-codex": "next: buddy login",
    "gpt-spark": "next: buddy login gpt-spark",
    openai: "next: export OPENAI_API_KEY=…",
    deepseek: "next: export OPENROUTER_API_KEY=…",
    glm: "next: export OPENROUTER_API_KEY=…",
    ollama: "next: ollama pull qwen3:8b",
  };
  return steps[profile] ?? "next: buddy";
}
