/** The questions of `buddy init` on a terminal. */
import * as clack from "@clack/prompts";
import { BuddyError } from "../../../lib/errors.ts";
import { printable } from "../../../lib/printable.ts";
import { findLocalServers, type LocalServer } from "../../../model/local-servers.ts";

export interface InitAnswers {
  readonly profile: string;
  readonly autoApprove: "none" | "read-only" | "developer";
  readonly name: string;
  /** Of a model server on this machine. */
  readonly local?: { readonly baseUrl: string; readonly model: string };
}

export async function askInitQuestions(): Promise<InitAnswers> {
  const servers = (await findLocalServers()).filter(({ models }) => models.length > 0);
  clack.intro("buddy: a few questions, then the file is yours to edit");
  const profile = await answer(
    clack.select({
      message: "Which model should it use?",
      options: [
        { value: "gpt-codex", label: "OpenAI, signed in with ChatGPT", hint: "buddy login" },
        { value: "openai", label: "OpenAI, with an API key", hint: "OPENAI_API_KEY" },
        { value: "deepseek", label: "DeepSeek at OpenRouter", hint: "OPENROUTER_API_KEY" },
        { value: "glm", label: "GLM at OpenRouter", hint: "OPENROUTER_API_KEY" },
        ...servers.map((server) => ({
          value: profileFor(server),
          label: `${server.name} on this machine`,
          hint: `it answers: ${printable(server.models.slice(0, 3).join(", "))}`,
        })),
        ...(servers.some((server) => profileFor(server) === "ollama")
          ? []
          : [{ value: "ollama", label: "Ollama on this machine", hint: "no key" }]),
        { value: "demo", label: "The built-in demo", hint: "no key, no network" },
      ],
    }),
  );
  const server = servers.find((one) => profileFor(one) === profile);
  const local = server === undefined ? undefined : { baseUrl: server.baseUrl, model: await modelOf(server) };
  const autoApprove = await answer(
    clack.select<InitAnswers["autoApprove"]>({
      message: "Which commands may run without a question?",
      options: [
        { value: "read-only", label: "Those that provably only read", hint: "recommended" },
        { value: "developer", label: "Also everyday build and git commands" },
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
  return { profile, autoApprove, name, ...(local === undefined ? {} : { local }) };
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
