/** The questions of `buddy init` on a terminal. */
import * as clack from "@clack/prompts";
import { firstModels, profileLines } from "../../../app/model/first-model.ts";
import { CONFIG_TEMPLATE } from "../../../config/create.ts";
import { BuddyError, messageOf } from "../../../lib/errors.ts";
import { printable } from "../../../lib/text.ts";
import type { ModelOptions } from "../../../model/client.ts";
import {
  findLocalServers,
  listModelsByClient,
  type LocalServer,
  type OfferedModel,
} from "../../../model/list-models.ts";
import type { Api } from "../../../model/types.ts";
import { KEYED_PROFILES } from "./command.ts";

export interface InitAnswers {
  readonly profile: string;
  readonly autoApprove: "none" | "read-only" | "operator" | "developer";
  readonly name: string;
  /** Of a model server on this machine. */
  readonly local?: { readonly baseUrl: string; readonly model: string };
  /** A pasted key, to be kept in its own file. */
  readonly key?: string;
  /** In place of the template's model. */
  readonly model?: string;
  /** Of a profile that the template does not have. */
  readonly lines?: readonly string[];
}

export async function askInitQuestions(): Promise<InitAnswers> {
  const servers = (await findLocalServers()).filter(({ models }) => models.length > 0);
  // OpenRouter is on the list with two of its models.
  const found = (await firstModels(process.env, [])).filter(
    ({ profile: name }) => !(name in KEYED_PROFILES || name === "openrouter"),
  );
  clack.intro("buddy: a few questions, then the file is yours to edit");
  const profile = await answer(
    clack.select({
      message: "Which model should it use?",
      options: [
        { value: "gpt-codex", label: "OpenAI, signed in with ChatGPT", hint: "buddy login" },
        { value: "openai", label: "OpenAI, with an API key", hint: keyHint("openai") },
        { value: "claude", label: "Claude, with an API key", hint: keyHint("claude") },
        { value: "deepseek", label: "DeepSeek at OpenRouter", hint: keyHint("deepseek") },
        { value: "glm", label: "GLM at OpenRouter", hint: keyHint("glm") },
        ...servers.map((server) => ({
          value: profileFor(server),
          label: `${server.name} on this machine`,
          hint: `it answers: ${printable(server.models.slice(0, 3).join(", "))}`,
        })),
        ...(servers.some((server) => profileFor(server) === "ollama")
          ? []
          : [{ value: "ollama", label: "Ollama on this machine", hint: "no key" }]),
        { value: "demo", label: "The built-in demo", hint: "no key, no network" },
        ...found.map(({ profile: value, text }) => ({ value, label: text })),
        { value: OTHER, label: "Another endpoint, by its address" },
      ],
    }),
  );
  const server = servers.find((one) => profileFor(one) === profile);
  const local = server === undefined ? undefined : { baseUrl: server.baseUrl, model: await modelOf(server) };
  const lines = found.find((one) => one.profile === profile)?.lines;
  const keyed =
    profile === OTHER ? await otherEndpoint() : lines === undefined ? await keyAndModel(profile) : { lines };
  const autoApprove = await answer(
    clack.select<InitAnswers["autoApprove"]>({
      message: "Which commands may run without a question?",
      options: [
        { value: "read-only", label: "Those that provably only read", hint: "recommended" },
        { value: "developer", label: "Also everyday build and git commands" },
        {
          value: "operator",
          label: "Also reads with your credentials",
          hint: "kubectl get, aws describe-…, ssh HOST '…'",
        },
        { value: "none", label: "None: ask every time" },
      ],
    }),
  );
  const name = await answer(
    clack.text({
      message: "A name for its tmux session? (buddy-<name>; empty: one name per target)",
      defaultValue: "",
      validate: (text) =>
        /^[A-Za-z0-9_-]{0,32}$/.test(text ?? "") ? undefined : "letters, digits, - and _, at most 32",
    }),
  );
  clack.outro("thank you");
  return { profile, autoApprove, name, ...keyed, ...(local === undefined ? {} : { local }) };
}

/** The profile of another endpoint, as in docs/connect.md. */
const OTHER = "mine";

/** Asks for an address, its protocol, a key if it needs one and a model, and tries one request. */
async function otherEndpoint(): Promise<Pick<InitAnswers, "key" | "lines">> {
  const baseUrl = await answer(
    clack.text({
      message: "Its address?",
      placeholder: "https://llm.example.org/v1",
      validate: (text) =>
        isAddress(text?.trim() ?? "") ? undefined : "an http or https address without user or password",
    }),
  );
  const api = await answer(
    clack.select<Api>({
      message: "Which protocol does it speak?",
      options: [
        { value: "completions", label: "Chat completions", hint: "most servers and gateways" },
        { value: "responses", label: "Responses", hint: "OpenAI" },
        { value: "anthropic", label: "Anthropic Messages" },
      ],
    }),
  );
  const options = { name: OTHER, baseUrl: baseUrl.trim(), api, auth: "api-key", model: "" } as const;
  for (let message = "Paste its key (empty: no key needed)"; ;) {
    const key = (await answer(clack.password({ message, mask: "•" }))).trim();
    const keyed = key === "" ? {} : { key };
    message = "The endpoint refused this key. Paste another one (empty: no key needed)";
    const offered = await offeredModels({ ...options, ...keyed });
    if (isRefusal(offered)) continue;
    const ids = offered instanceof Error ? [] : offered.map(({ id }) => id);
    const model = ids.length === 0 ? await namedModel() : await chosenModel(ids, []);
    if (isRefusal(await tryOut({ ...options, ...keyed, model }))) continue;
    return { ...keyed, lines: profileLines(OTHER, { api_base_url: options.baseUrl, api, model }) };
  }
}

function isAddress(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "";
}

async function namedModel(): Promise<string> {
  const name = await answer(
    clack.text({ message: "Which model?", validate: (text) => (text?.trim() ? undefined : "the name of a model") }),
  );
  return name.trim();
}

function keyHint(profile: string): string {
  const { variable = "" } = KEYED_PROFILES[profile] ?? {};
  return process.env[variable] ? `${variable} is set` : variable;
}

/** Asks for the key if the environment has none, offers the models it gives access to, and tries one request. */
async function keyAndModel(profile: string): Promise<Pick<InitAnswers, "key" | "model">> {
  const endpoint = KEYED_PROFILES[profile];
  if (endpoint === undefined) return {};
  const known = process.env[endpoint.variable]?.trim();
  const options = { name: profile, baseUrl: endpoint.url, api: endpoint.api, auth: "api-key", model: "" } as const;
  for (let message = `Paste the key (empty: set ${endpoint.variable} later)`; ;) {
    const key = known || (await answer(clack.password({ message, mask: "•" }))).trim();
    if (!key) return {};
    // A pasted key that is refused is asked for again; one from the environment is left as it is.
    message = `This key is refused. Paste another one (empty: set ${endpoint.variable} later)`;
    const offered = await offeredModels({ ...options, key });
    if (!known && isRefusal(offered)) continue;
    const kept = known ? {} : { key };
    if (offered instanceof Error || offered.length === 0) return kept;
    const model = await chosenModel(
      offered.map(({ id }) => id),
      [{ value: "", label: "the template's choice" }],
    );
    const failure = await tryOut({ ...options, key, model: model || templateModel(profile) });
    if (!known && isRefusal(failure)) continue;
    return { ...kept, ...(model !== "" && { model }) };
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof BuddyError && error.code === "auth";
}

function templateModel(profile: string): string {
  const { models } = Bun.TOML.parse(CONFIG_TEMPLATE) as {
    models: Readonly<Record<string, { readonly model: string }>>;
  };
  return models[profile]?.model ?? "";
}

async function offeredModels(options: Omit<ModelOptions, "env">): Promise<readonly OfferedModel[] | Error> {
  const waiting = clack.spinner();
  waiting.start("asking what it offers");
  const offered = await listModelsByClient({ ...options, env: process.env }, new AbortController().signal).catch(
    (error: unknown) => error as Error,
  );
  waiting.stop(offered instanceof Error ? `no list: ${printable(offered.message)}` : `${offered.length} models`);
  return offered;
}

async function chosenModel(
  ids: readonly string[],
  others: readonly { readonly value: string; readonly label: string }[],
): Promise<string> {
  return String(
    await answer(
      clack.autocomplete({
        message: "Which model? (type to search)",
        options: [...others, ...ids.map((id) => ({ value: id, label: printable(id) }))],
        maxItems: 10,
      }),
    ),
  );
}

/** One small request shows now whether the key works. */
async function tryOut(options: Omit<ModelOptions, "env">): Promise<unknown> {
  const { createModelClient } = await import("../../../model/client.ts");
  const waiting = clack.spinner();
  waiting.start("sending one request");
  try {
    const client = createModelClient({ ...options, retries: 0, env: process.env });
    const request = { messages: [{ role: "user", content: "Answer with the word ready." }] as const, tools: [] };
    for await (const event of client.stream(request, new AbortController().signal))
      if (event.type === "done") waiting.stop(`it answers: ${printable(event.message.content ?? "").slice(0, 60)}`);
    return undefined;
  } catch (error) {
    waiting.stop(`it does not answer: ${printable(messageOf(error))}`);
    return error;
  }
}

/** "LM Studio" → "lm-studio". */
function profileFor({ name }: LocalServer): string {
  return name.toLowerCase().replace(/[^a-z0-9]+/g, "-");
}

async function modelOf({ name, models }: LocalServer): Promise<string> {
  if (models.length === 1) return models[0] ?? "";
  return answer(
    clack.select({
      message: `Which model of ${name}?`,
      options: models.map((value) => ({ value, label: printable(value) })),
      maxItems: 10,
    }),
  );
}

/** Ctrl-C and Esc leave everything as it was. */
async function answer<T>(question: Promise<T>): Promise<Exclude<T, symbol>> {
  const given = await question;
  if (!clack.isCancel(given)) return given as Exclude<T, symbol>;
  throw new BuddyError("interrupted", "cancelled; nothing was written");
}
