/** `buddy init`: writes the configuration file, with a few questions on a terminal. */
import { existsSync, readFileSync, rmSync, statSync } from "node:fs";
import type { FirstModel } from "../../../app/model/first-model.ts";
import { backUp, CONFIG_TEMPLATE, createConfigFile } from "../../../config/create.ts";
import { type Env, requirePaths, shownPath } from "../../../config/paths.ts";
import { currentDirectory } from "../../../lib/byte-names.ts";
import { BuddyError, EXIT } from "../../../lib/errors.ts";
import { isTerminal } from "../../../lib/terminal.ts";
import { defineCommand } from "../../command.ts";
import type { ConnectedModel } from "./connect-model.ts";

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

export interface InitAnswers extends ConnectedModel {
  readonly autoApprove: "none" | "read-only" | "operator" | "developer";
  /** Of the tmux session. */
  readonly name: string;
}

interface InitRequest {
  readonly path?: string | undefined;
  readonly force: boolean;
  readonly env: Env;
  readonly cwd: string;
  /** By default: questions when stdin and stdout are a terminal. */
  readonly ask?: (() => Promise<InitAnswers>) | undefined;
}

/** Returns what to print. */
export async function initConfig(options: InitRequest): Promise<{ path: string; lines: string[] }> {
  const { env, cwd, force } = options;
  const path = options.path ?? requirePaths(env, "~/.config/buddy/buddy.toml").config;
  const shown = shownPath(path, options);
  const present = statSync(path, { throwIfNoEntry: false });
  if (present !== undefined && !present.isFile()) {
    throw new BuddyError("config", `${shown} is not a regular file`, { hint: "Name another one with --config PATH" });
  }
  const ask = options.ask ?? (isTerminal(0) && isTerminal(1) ? await questions() : undefined);
  const { firstModels } = await import("../../../app/model/first-model.ts");
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
  const text = answers === undefined ? await defaults(found) : await fillTemplate(answers, env);
  const aside = existsSync(path) && (force || old !== CONFIG_TEMPLATE) ? backUp(path, { env, cwd }) : undefined;
  try {
    createConfigFile(path, text);
  } catch (error) {
    if (aside !== undefined) rmSync(aside, { force: true });
    throw error;
  }
  return {
    path,
    lines: [
      ...(aside === undefined ? [] : [`kept the old file as ${shownPath(aside, { env, cwd })}`]),
      `wrote ${shown}`,
      ...(found === undefined ? [] : [`the model: ${found.label}`]),
      answers === undefined && found === undefined ? "next: buddy login, or buddy init in a terminal" : "next: buddy",
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

async function defaults(found: FirstModel | undefined): Promise<string> {
  if (found === undefined) return CONFIG_TEMPLATE;
  const { withProfile } = await import("../../../app/model/first-model.ts");
  return withProfile(CONFIG_TEMPLATE, found).text;
}

/** The template with the answers in place of its defaults. */
export async function fillTemplate(answers: InitAnswers, env: Env): Promise<string> {
  const { withModel } = await import("./connect-model.ts");
  const lines = CONFIG_TEMPLATE.split("\n");
  const set = (pattern: RegExp, line: string) => {
    const at = lines.findIndex((text) => pattern.test(text));
    if (at === -1) throw new Error(`templates/buddy.toml has no line ${pattern.source}`);
    lines[at] = line;
  };
  if (answers.name !== "") set(/^# name = /, `name = ${JSON.stringify(answers.name)}`);
  if (answers.autoApprove !== "read-only")
    set(/^# shell_auto_approve = /, `shell_auto_approve = ${JSON.stringify(answers.autoApprove)}`);
  return withModel(lines.join("\n"), answers, env);
}

async function questions(): Promise<() => Promise<InitAnswers>> {
  return (await import("./init-questions.ts")).askInitQuestions;
}
