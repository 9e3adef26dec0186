/** Which model buddy should use: a list, one request that shows whether it answers, and corrections in place. */
import { existsSync, readFileSync } from "node:fs";
import { type FirstModel, firstModels, KEYS, type ProfileTable, withProfile } from "../../../app/model/first-model.ts";
import { isSignedIn, PROVIDER, signInParts, signInScreen } from "../../../app/model/sign-in.ts";
import { CONFIG_TEMPLATE, createConfigFile } from "../../../config/create.ts";
import { providerKeyFile } from "../../../config/keys.ts";
import { type Env, requirePaths } from "../../../config/paths.ts";
import { BuddyError, messageOf } from "../../../lib/errors.ts";
import { writeFileAtomic } from "../../../lib/files.ts";
import { printable } from "../../../lib/text.ts";
import { createModelClient, type ModelOptions } from "../../../model/client.ts";
import { chatModels, listModelsByClient } from "../../../model/list-models.ts";
import type { Api } from "../../../model/types.ts";
import { interrupted, type SetupChoice, type SetupQuestions } from "../../../ui/questions/setup-questions.ts";
import { seconds } from "../../../ui/words.ts";

export interface ConnectedModel {
  readonly model: FirstModel;
  /** A pasted key, to be kept in its own file. */
  readonly key?: string | undefined;
  /** What the request showed. */
  readonly answered: string;
}

interface Key {
  readonly value: string;
  /** The variable it came from; undefined if it was pasted. */
  readonly variable?: string;
}

/** Undefined if the user left the list. */
export async function connectModel(
  env: Env,
  questions: SetupQuestions,
  { listsModels = false, escape = "leave, nothing is written" } = {},
): Promise<ConnectedModel | undefined> {
  const failed: string[] = [];
  const [found, signedIn] = await Promise.all([
    firstModels(env, undefined, (words) => failed.push(words)),
    isSignedIn().catch(() => false),
  ]);
  const attempt = new Attempt(env, questions, listsModels);
  const choices = choicesFor(attempt, found, signedIn);
  const { style } = questions;
  questions.say(
    `${style.bold("buddy")} works in a terminal with you. It needs a language model.`,
    ...failed.map((words) => `${style.error("✗")} ${printable(words)}`),
    ...(found.length === 0 && !signedIn ? ["No key, sign-in or local Ollama was found."] : []),
    "",
  );
  for (;;) {
    const connect = await questions.choose("Which model should buddy use?", choices, escape);
    if (connect === undefined) return undefined;
    const connected = await connect();
    if (connected !== undefined) return connected;
    questions.say("");
  }
}

/** Writes the profile into the file and makes it the active one. */
export function saveModel(path: string, connected: ConnectedModel, env: Env): void {
  const exists = existsSync(path);
  const text = withModel(exists ? readFileSync(path, "utf8") : CONFIG_TEMPLATE, connected, env);
  if (exists) writeFileAtomic(path, text);
  else createConfigFile(path, text);
}

/** The text with the profile active; a pasted key gets a file that its owner alone can read. */
export function withModel(text: string, { model, key }: ConnectedModel, env: Env): string {
  if (key === undefined) return withProfile(text, model).text;
  const { dir } = requirePaths(env, "the key");
  const keyFile = (profile: string) => providerKeyFile(dir, profile);
  const changed = withProfile(text, model, keyFile);
  writeFileAtomic(keyFile(changed.profile), `${key}\n`);
  return changed.text;
}

type Connect = () => Promise<ConnectedModel | undefined>;

function choicesFor(attempt: Attempt, found: readonly FirstModel[], signedIn: boolean): SetupChoice<Connect>[] {
  const variables = new Set(found.map(({ table }) => table?.api_key_env));
  const pasted = KEYS.slice(0, 3).filter(([variable]) => !variables.has(variable));
  const login: SetupChoice<Connect> = {
    label: signedIn ? "ChatGPT, signed in" : "Sign in with ChatGPT",
    found: signedIn ? "found" : undefined,
    value: () => attempt.signIn(signedIn),
  };
  return [
    ...found.map((model) => ({
      label: model.label,
      found: model.others === undefined ? "found" : "found, prompts stay on this machine",
      value: () => attempt.found(model),
    })),
    ...(signedIn ? [login] : []),
    ...pasted.map(([variable, name, profile, url, api, model]) => ({
      label: `${name}, with an API key`,
      value: () =>
        attempt.withKey(
          { profile, label: name, table: { api_base_url: url, api, model, api_key_env: variable } },
          `Paste the key for ${name}:`,
        ),
    })),
    ...(signedIn ? [] : [login]),
    { label: "Another endpoint, by its address", value: () => attempt.otherEndpoint() },
    {
      label: "The demo: no key, no network",
      value: async () => ({ model: { profile: "demo", label: "the demo" }, answered: "" }),
    },
  ];
}

/** Each way to a model; undefined leads back to the list. */
class Attempt {
  constructor(
    readonly env: Env,
    readonly questions: SetupQuestions,
    readonly listsModels: boolean,
  ) {}

  async found(model: FirstModel): Promise<ConnectedModel | undefined> {
    const { api_key_env: variable } = model.table ?? {};
    const value = variable === undefined ? undefined : this.env[variable]?.trim();
    if (value !== undefined && variable !== undefined) return this.#proven(model, { value, variable });
    const { others = [], table } = model;
    if (table === undefined || others.length === 0) return this.#proven(model, undefined);
    const name = await this.questions.search("Which of its models?", [table.model, ...others], table.model);
    return name === undefined ? undefined : this.#proven({ ...model, table: { ...table, model: name } }, undefined);
  }

  async withKey(model: FirstModel, message: string): Promise<ConnectedModel | undefined> {
    const value = await this.questions.secret(message);
    return value ? this.#proven(model, { value }) : undefined;
  }

  async signIn(signedIn: boolean): Promise<ConnectedModel | undefined> {
    const model = { profile: "gpt-codex", label: "ChatGPT", table: GPT_CODEX };
    if (signedIn) return { model, answered: "signed in" };
    const { questions } = this;
    try {
      const { store, device } = await signInParts();
      const { signIn } = await import("../../../auth/sign-in.ts");
      const screen = await signInScreen();
      await untilInterrupted((signal) => signIn({ store, device, provider: PROVIDER }, screen, signal));
      return { model, answered: "signed in" };
    } catch (error) {
      if (error instanceof BuddyError && error.code === "interrupted") throw error;
      questions.say(...failure(questions, `You are not signed in: ${messageOf(error)}`, error));
      return undefined;
    }
  }

  async otherEndpoint(): Promise<ConnectedModel | undefined> {
    const { questions } = this;
    const address = await questions.line("Its address, for example https://llm.example.org/v1:", (text) =>
      isAddress(text) ? undefined : "This is not an http or https address without user and password.",
    );
    if (address === undefined) return undefined;
    const api = await questions.choose<Api>("Which protocol does it speak?", PROTOCOLS, "back");
    if (api === undefined) return undefined;
    const key = await questions.secret("Paste its key, or only Enter if it needs none:");
    if (key === undefined) return undefined;
    const model = { profile: "mine", label: URL.parse(address)?.host ?? address };
    const table = { api_base_url: address, api, model: "" };
    return this.#proven({ ...model, table }, key === "" ? undefined : { value: key });
  }

  /** Asks until the model answers, the user takes it as it is, or goes back. */
  async #proven(wanted: FirstModel, given: Key | undefined): Promise<ConnectedModel | undefined> {
    const { questions } = this;
    let [model, key] = [wanted, given];
    let lists = this.listsModels && wanted.others === undefined;
    for (;;) {
      const result = await this.#tried(model, key, lists);
      if (result.kind === "back") return undefined;
      model = result.model;
      const pasted = key?.variable === undefined ? key?.value : undefined;
      if (result.kind === "answered") return { model, key: pasted, answered: result.words };
      const { error } = result;
      lists = lists && isRefusal(error);
      if (isRefusal(error) && model.table?.auth === undefined) {
        questions.say(...refusal(questions, model, key, error));
        const next = await questions.secret(key === undefined ? "Paste a key:" : "Paste another key:");
        if (!next) return undefined;
        key = { value: next };
        continue;
      }
      questions.say(...failure(questions, `${nameOf(model)} did not answer: ${messageOf(error)}`, error), "");
      const next = await questions.choose<"again" | "other" | "keep">(
        "What should buddy do?",
        [
          { value: "again", label: "Try again" },
          { value: "other", label: "Choose another of its models" },
          { value: "keep", label: "Use it anyway" },
        ],
        "back to the list",
      );
      if (next === undefined) return undefined;
      if (next === "keep") return { model, key: pasted, answered: "" };
      lists = next === "other";
    }
  }

  async #tried(model: FirstModel, key: Key | undefined, lists: boolean): Promise<Tried> {
    const { table } = model;
    if (table === undefined) return { kind: "answered", model, words: "" };
    const options = this.#options(model.profile, table, key);
    let chosen = table.model;
    if (lists || chosen === "") {
      const offered = await this.#waiting("asking which models it has", (signal) =>
        listModelsByClient(options, signal, 15_000),
      );
      if (offered instanceof Error && isRefusal(offered)) return { kind: "failed", model, error: offered };
      const names = offered instanceof Error ? [] : chatModels(offered);
      const name =
        names.length === 0
          ? await this.questions.line("The name of its model:", (text) =>
              text === "" ? "It needs a name." : undefined,
            )
          : await this.questions.search("Which of its models?", names, chosen);
      if (name === undefined) return { kind: "back" };
      chosen = name;
    }
    const now = { ...model, table: { ...table, model: chosen } };
    const before = performance.now();
    const error = await this.#waiting(`asking ${printable(chosen)}`, async (signal) => {
      const client = createModelClient({ ...options, model: chosen, retries: 0 });
      const request = { messages: [{ role: "user", content: "Answer with the word ready." }] as const, tools: [] };
      for await (const { type } of client.stream(request, signal)) if (type === "done") return undefined;
      return undefined;
    });
    if (error instanceof Error) return { kind: "failed", model: now, error };
    const words = `${printable(chosen)} answered in ${seconds(performance.now() - before)}`;
    return { kind: "answered", model: now, words };
  }

  #options(name: string, table: ProfileTable, key: Key | undefined): ModelOptions {
    const { env } = this;
    const { api_base_url: baseUrl, api, model } = table;
    return { name, baseUrl, api, model, auth: "api-key", env, ...(key !== undefined && { key: key.value }) };
  }

  /** Errors are results; Ctrl-C ends everything. */
  async #waiting<T>(words: string, work: (signal: AbortSignal) => Promise<T>): Promise<T | Error> {
    const screen = await signInScreen();
    screen.progress(words);
    try {
      return await untilInterrupted(work);
    } catch (error) {
      if (error instanceof BuddyError && error.code === "interrupted") throw interrupted();
      return error as Error;
    } finally {
      screen.progress(undefined);
    }
  }
}

type Tried =
  | { readonly kind: "answered"; readonly model: FirstModel; readonly words: string }
  | { readonly kind: "failed"; readonly model: FirstModel; readonly error: Error }
  | { readonly kind: "back" };

const GPT_CODEX: ProfileTable = {
  api_base_url: "https://api.openai.com/v1",
  api: "responses",
  auth: "login",
  model: "gpt-5.3-codex",
};

const PROTOCOLS: readonly SetupChoice<Api>[] = [
  { value: "completions", label: "Chat completions: most servers and gateways" },
  { value: "responses", label: "Responses: OpenAI" },
  { value: "anthropic", label: "Messages: Anthropic" },
];

function isAddress(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "";
}

function isRefusal(error: unknown): boolean {
  return error instanceof BuddyError && error.code === "auth";
}

/** "OpenAI, with the key in OPENAI_API_KEY" → "OpenAI" */
const nameOf = ({ label }: FirstModel): string => label.replace(/,.*/, "");

function refusal({ style }: SetupQuestions, model: FirstModel, key: Key | undefined, error: Error): string[] {
  const name = nameOf(model);
  if (key === undefined) return [`${style.error(`✗ ${name} needs a key:`)} ${printable(messageOf(error))}`];
  const end = key.value.length < 16 ? "" : ` It ends in ${style.bold(printable(key.value.slice(-4)))}`;
  const from = key.variable === undefined ? "" : `${end === "" ? " It" : " and"} came from ${key.variable}`;
  return [`${style.error(`✗ ${name} does not accept this key.`)}${end}${from}${end + from === "" ? "" : "."}`];
}

function failure({ style }: SetupQuestions, words: string, error: unknown): string[] {
  const hint = error instanceof BuddyError && error.hint !== undefined ? error.hint.split("\n") : [];
  return [`${style.error("✗")} ${printable(words)}`, ...hint.map((line) => `  ${printable(line)}`)];
}

async function untilInterrupted<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const abort = new AbortController();
  const stop = () => abort.abort(interrupted());
  process.once("SIGINT", stop);
  try {
    return await work(abort.signal);
  } catch (error) {
    abort.signal.throwIfAborted();
    throw error;
  } finally {
    process.removeListener("SIGINT", stop);
  }
}
