/**
 * What each provider refuses in a request, as far as its documentation and its errors say: every fault of a body, in
 * words.
 */

type Json = Readonly<Record<string, unknown>>;

export interface ProviderRules {
  readonly protocol: "completions" | "responses" | "anthropic";
  /** Fields of the body beyond those of every server. */
  readonly fields?: readonly string[];
  /** Fields of an assistant message beyond those of every server. */
  readonly assistant?: readonly string[];
  readonly ids?: RegExp;
  readonly sees?: boolean;
  /** Further faults of a conversation in chat completions. */
  also?(messages: readonly Json[]): readonly string[];
}

const thinks = (messages: readonly Json[]) =>
  messages
    .filter(({ role }) => role === "assistant")
    .flatMap((message) => (typeof message["reasoning_content"] === "string" ? [] : ["no reasoning_content"]));

export const PROVIDER_RULES: Readonly<Record<string, ProviderRules>> = {
  openai: {
    protocol: "completions",
    fields: ["stream_options", "max_completion_tokens", "prompt_cache_key", "parallel_tool_calls", "reasoning_effort"],
    sees: true,
  },
  responses: { protocol: "responses", fields: ["max_output_tokens", "temperature"], sees: true },
  login: { protocol: "responses", sees: true },
  anthropic: { protocol: "anthropic", ids: /^[a-zA-Z0-9_-]+$/, sees: true },
  mistral: {
    protocol: "completions",
    fields: ["max_tokens", "parallel_tool_calls", "reasoning_effort"],
    ids: /^[a-zA-Z0-9]{9}$/,
    sees: true,
    also: (messages) =>
      messages.flatMap(({ role }, at) =>
        role === "user" && messages[at - 1]?.["role"] === "tool" ? ["user after tool"] : [],
      ),
  },
  deepseek: {
    protocol: "completions",
    fields: ["stream_options", "max_tokens", "reasoning_effort"],
    assistant: ["reasoning_content"],
    also: thinks,
  },
  moonshot: {
    protocol: "completions",
    fields: ["stream_options", "max_tokens", "prompt_cache_key", "reasoning_effort"],
    assistant: ["reasoning_content"],
    sees: true,
    also: thinks,
  },
  google: {
    protocol: "completions",
    fields: ["stream_options", "max_tokens", "reasoning_effort"],
    sees: true,
    also: (messages) =>
      messages.flatMap((message) => {
        const [first] = list(message["tool_calls"]);
        const content = record(record(first?.["extra_content"])["google"]);
        return first === undefined || content["thought_signature"] ? [] : ["no thought_signature"];
      }),
  },
  groq: {
    protocol: "completions",
    fields: ["stream_options", "max_tokens", "parallel_tool_calls", "reasoning_effort"],
  },
  cerebras: { protocol: "completions", fields: ["stream_options", "max_tokens", "reasoning_effort"] },
  openrouter: {
    protocol: "completions",
    fields: ["stream_options", "max_tokens", "parallel_tool_calls", "reasoning_effort"],
    assistant: ["reasoning_details", "reasoning"],
    sees: true,
  },
  ollama: { protocol: "completions", fields: ["stream_options", "max_tokens", "reasoning_effort"], sees: true },
};

/** Every fault of a request body; an empty list is a request that is answered. */
export function faultsOf(provider: string, body: Json): readonly string[] {
  const rules = PROVIDER_RULES[provider]!;
  const faults = unknownIn("body", body, [...COMMON[rules.protocol], ...(rules.fields ?? [])]);
  if (!rules.sees && /"type":"(image_url|input_image|image)"/.test(JSON.stringify(body))) faults.push("an image");
  switch (rules.protocol) {
    case "completions":
      return [...faults, ...inCompletions(list(body["messages"]), rules)];
    case "responses":
      return [...faults, ...(body["store"] === false ? [] : ["stored"]), ...inResponses(list(body["input"]))];
    case "anthropic":
      return [...faults, ...inAnthropic(body, list(body["messages"]), rules)];
  }
}

const COMMON = {
  completions: ["model", "stream", "messages", "tools", "temperature", "top_p"],
  responses: [
    "model",
    "store",
    "instructions",
    "stream",
    "reasoning",
    "include",
    "prompt_cache_key",
    "parallel_tool_calls",
    "tools",
    "input",
  ],
  anthropic: ["model", "max_tokens", "stream", "thinking", "output_config", "tools", "system", "messages"],
} as const;

function inCompletions(messages: readonly Json[], rules: ProviderRules): string[] {
  const faults: string[] = [...(rules.also?.(messages) ?? [])];
  const open = new Set<unknown>();
  const seen = new Set<unknown>();
  for (const [at, message] of messages.entries()) {
    const { role, content } = message;
    if (role !== "tool" && open.size > 0) faults.push(`${at}: calls without a result`);
    if (role === "tool") {
      faults.push(...unknownIn(`${at}`, message, ["role", "tool_call_id", "content"]));
      if (!open.delete(message["tool_call_id"])) faults.push(`${at}: a result of no call`);
      if (typeof content !== "string" || content === "") faults.push(`${at}: a result that is not text`);
    } else if (role === "assistant") {
      const calls = list(message["tool_calls"]);
      faults.push(...unknownIn(`${at}`, message, ["role", "content", "tool_calls", ...(rules.assistant ?? [])]));
      if (!content && calls.length === 0) faults.push(`${at}: an empty turn`);
      for (const call of calls) {
        faults.push(...callFaults(at, call, rules, seen));
        open.add(call["id"]);
      }
    } else {
      faults.push(...unknownIn(`${at}`, message, ["role", "content"]));
      if (content === "") faults.push(`${at}: an empty message`);
    }
  }
  return messages.at(-1)?.["role"] === "assistant" ? [...faults, "ends with an assistant"] : faults;
}

function callFaults(
  at: number,
  call: Json,
  { ids = /^[\w.:-]{1,64}$/, also }: ProviderRules,
  seen: Set<unknown>,
): string[] {
  const fn = record(call["function"]);
  const signed = also !== undefined && also === PROVIDER_RULES["google"]?.also ? ["extra_content"] : [];
  const faults = unknownIn(`${at}: a call`, call, ["id", "type", "function", ...signed]);
  faults.push(...unknownIn(`${at}: a function`, fn, ["name", "arguments"]));
  if (!ids.test(String(call["id"]))) faults.push(`${at}: the id ${String(call["id"])}`);
  if (seen.has(call["id"])) faults.push(`${at}: the id ${String(call["id"])} again`);
  seen.add(call["id"]);
  if (!/^[\w-]{1,64}$/.test(String(fn["name"]))) faults.push(`${at}: the name ${String(fn["name"])}`);
  if (!isObject(fn["arguments"])) faults.push(`${at}: arguments that are not an object`);
  return faults;
}

function inResponses(items: readonly Json[]): string[] {
  const faults: string[] = [];
  const calls = items.filter(({ type }) => type === "function_call").map((item) => item["call_id"]);
  const results = items.filter(({ type }) => type === "function_call_output").map((item) => item["call_id"]);
  if (new Set(calls).size !== calls.length) faults.push("a call_id twice");
  if (JSON.stringify(calls.toSorted()) !== JSON.stringify(results.toSorted())) faults.push("calls and results differ");
  for (const [at, item] of items.entries()) {
    const { type } = item;
    if (type === "reasoning") {
      if (typeof item["encrypted_content"] !== "string") faults.push(`${at}: reasoning that nobody stored`);
      if (!["message", "function_call", "reasoning"].includes(String(items[at + 1]?.["type"])))
        faults.push(`${at}: reasoning at the end`);
    } else if (type === "function_call") {
      if (String(item["call_id"]).length > 64) faults.push(`${at}: a long call_id`);
      if (!isObject(item["arguments"])) faults.push(`${at}: arguments that are not an object`);
    } else if (type === "message") {
      if (list(item["content"]).length === 0) faults.push(`${at}: an empty message`);
    } else if (type !== "function_call_output") faults.push(`${at}: an item of type ${String(type)}`);
  }
  return faults;
}

function inAnthropic(body: Json, messages: readonly Json[], { ids = /./ }: ProviderRules): string[] {
  const faults: string[] = [];
  const seen = new Set<unknown>();
  for (const [at, { role, content }] of messages.entries()) {
    if (role !== (at % 2 === 0 ? "user" : "assistant")) faults.push(`${at}: ${String(role)} out of turn`);
    const blocks = list(content);
    if (blocks.length === 0) faults.push(`${at}: no content`);
    if (blocks.some(({ type, text }) => type === "text" && String(text).trim() === ""))
      faults.push(`${at}: empty text`);
    const uses = list(messages[at - 1]?.["content"])
      .filter(({ type }) => type === "tool_use")
      .map(({ id }) => id);
    const results = blocks.slice(0, uses.length).map((block) => block["tool_use_id"]);
    if (role === "user" && JSON.stringify(uses) !== JSON.stringify(results))
      faults.push(`${at}: results do not follow`);
    for (const { type, id, signature } of blocks) {
      if (type === "thinking" && !signature) faults.push(`${at}: unsigned thinking`);
      if (type !== "tool_use") continue;
      if (!ids.test(String(id)) || seen.has(id)) faults.push(`${at}: the id ${String(id)}`);
      seen.add(id);
    }
  }
  const turn = list(messages.findLast(({ role }) => role === "assistant")?.["content"]);
  const budget = record(body["thinking"])["type"] === "enabled";
  if (budget && turn.some(({ type }) => type === "tool_use") && turn[0]?.["type"] !== "thinking")
    faults.push("no thinking");
  return faults;
}

function unknownIn(where: string, value: Json, known: readonly string[]): string[] {
  return Object.keys(value)
    .filter((key) => !known.includes(key))
    .map((key) => `${where}: the field ${key}`);
}

function list(value: unknown): Json[] {
  return Array.isArray(value) ? (value as Json[]) : [];
}

function record(value: unknown): Json {
  return typeof value === "object" && value !== null ? (value as Json) : {};
}

function isObject(text: unknown): boolean {
  try {
    const value: unknown = JSON.parse(String(text));
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
