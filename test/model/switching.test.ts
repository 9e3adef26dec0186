/** A conversation that one model wrote goes on with another: each provider gets what its rules allow. */
import { describe, expect, test } from "bun:test";
import type { Message } from "../../src/model/types.ts";
import type { ModelOptions } from "../../src/model/client.ts";
import type { ScriptedRequest } from "../support/scripted-model/read-request.ts";
import type { ScriptedReply, Turn } from "../support/scripted-model/playbook.ts";
import { ask, done, startModel } from "../support/model.ts";

interface Kind {
  readonly options: Partial<ModelOptions>;
  /** What its answers carry. */
  readonly reply: ScriptedReply;
  /** What it refuses, in the words of the real server; undefined: the request is fine. */
  refuses?(request: ScriptedRequest): string | undefined;
}

const CALL = { name: "look", args: { at: "x" } };
const raw = (request: ScriptedRequest) =>
  (request.body["messages"] ?? request.body["input"]) as Record<string, unknown>[];
const assistants = (request: ScriptedRequest) => raw(request).filter((message) => message["role"] === "assistant");
const unknownField = (request: ScriptedRequest) => {
  const known = new Set(["role", "content", "tool_calls", "name", "refusal"]);
  for (const [at, message] of assistants(request).entries()) {
    const extra = Object.keys(message).find((key) => !known.has(key));
    if (extra !== undefined) return `'messages.${at}' : property '${extra}' is unsupported`;
  }
  return undefined;
};

const KINDS: Readonly<Record<string, Kind>> = {
  plain: { options: { model: "gpt-4o" }, reply: {} },
  strict: {
    options: { model: "llama-3.3-70b" },
    reply: { quirks: { reasoningField: "reasoning" } },
    refuses: unknownField,
  },
  mistral: {
    options: { model: "mistral-large-latest" },
    reply: { toolCalls: [{ ...CALL, id: "a1B2c3D4e" }] },
    refuses: (request) => {
      for (const { calls, callId } of request.messages) {
        const wrong = [...calls.map(({ id }) => id), ...(callId === undefined ? [] : [callId])].find(
          (id) => !/^[A-Za-z0-9]{9}$/.test(id),
        );
        if (wrong !== undefined) return `Tool call id was ${wrong} but must be a-z, A-Z, 0-9, with a length of 9.`;
      }
      const roles = request.messages.map(({ role }) => role);
      const at = roles.findIndex((role, index) => role === "user" && roles[index - 1] === "tool");
      return at < 0 ? unknownField(request) : "Unexpected role 'user' after role 'tool'";
    },
  },
  "mistral elsewhere": {
    options: { model: "large" },
    reply: { toolCalls: [{ ...CALL, id: "a1B2c3D4e" }] },
    refuses: (request) => KINDS["mistral"]?.refuses?.(request),
  },
  deepseek: {
    options: { model: "deepseek-reasoner", provider: "deepseek" },
    reply: { reasoning: "deep" },
    refuses: (request) =>
      assistants(request).every((message) => typeof message["reasoning_content"] === "string")
        ? undefined
        : "The `reasoning_content` in the thinking mode must be passed back to the API.",
  },
  "kimi elsewhere": {
    options: { model: "k2" },
    reply: { reasoning: "deep", toolCalls: [{ ...CALL, id: "functions.look:0" }] },
    refuses: (request) =>
      assistants(request).every((message) => !message["tool_calls"] || typeof message["reasoning_content"] === "string")
        ? undefined
        : "thinking is enabled but reasoning_content is missing in assistant tool call message at index 1",
  },
  openrouter: {
    options: { model: "x/y", provider: "openrouter" },
    reply: { extra: { reasoning_details: [{ type: "reasoning.encrypted", data: "enc", index: 0 }] } },
  },
  gemini: {
    options: { model: "gemini-3-pro", provider: "google" },
    reply: { toolCalls: [{ ...CALL, id: "g1", extra: { extra_content: { google: { thought_signature: "sig" } } } }] },
    refuses: (request) => {
      for (const message of assistants(request)) {
        const [first] = (message["tool_calls"] ?? []) as {
          extra_content?: { google?: { thought_signature?: string } };
        }[];
        if (first && !first.extra_content?.google?.thought_signature)
          return "Function call is missing a thought_signature in functionCall parts.";
      }
      return assistants(request).some((message) => "reasoning_content" in message)
        ? "Invalid JSON payload received. Unknown name \"reasoning_content\" at 'messages[1]': Cannot find field."
        : undefined;
    },
  },
  responses: {
    options: { api: "responses", model: "gpt-5" },
    reply: { reasoning: "r", encrypted: "gAAA" },
    refuses: (request) =>
      raw(request).some((item) => item["type"] === "reasoning" && !item["encrypted_content"])
        ? "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false."
        : undefined,
  },
  "responses without encryption": {
    options: { api: "responses", model: "other" },
    reply: { reasoning: "r" },
    refuses: (request) => KINDS["responses"]?.refuses?.(request),
  },
  anthropic: {
    options: { api: "anthropic", model: "claude-sonnet-4-5", reasoningEffort: "low" },
    reply: { reasoning: "r", encrypted: "sig", toolCalls: [{ ...CALL, id: "toolu_1" }] },
    refuses: (request) => {
      const blocks = raw(request).flatMap((message) => message["content"] as Record<string, unknown>[]);
      if (blocks.some((block) => block["type"] === "thinking" && block["signature"] !== "sig"))
        return "messages.1.content.0: Invalid `signature` in `thinking` block";
      const ids = request.messages.flatMap(({ calls }) => calls.map(({ id }) => id));
      return ids.every((id) => /^[a-zA-Z0-9_-]+$/.test(id))
        ? undefined
        : "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'";
    },
  },
  "strict roles": {
    options: { model: "gemma" },
    reply: {},
    refuses: (request) => {
      const roles = request.messages.map(({ role }) => role).filter((role) => role !== "system");
      return roles.some((role, at) => role === "user" && roles[at - 1] === "user")
        ? "Conversation roles must alternate user/assistant/user/assistant/..."
        : undefined;
    },
  },
  "no system prompt": {
    options: { model: "o1-mini" },
    reply: {},
    refuses: (request) =>
      request.messages.some(({ role }) => role === "system")
        ? "Unsupported value: 'messages[0].role' does not support 'system' with this model."
        : undefined,
  },
};

/** A server that checks every request by its provider's rules; a refused one does not use up a turn. */
function start(kind: Kind) {
  const replies: ScriptedReply[] = [{ toolCalls: [CALL], ...kind.reply }, { text: "fine" }];
  const turn = (request: ScriptedRequest): ScriptedReply => {
    const message = kind.refuses?.(request);
    if (message !== undefined)
      return { fault: { status: 400, body: { error: { message, type: "invalid_request_error" } } } };
    return replies.shift() ?? { text: "fine" };
  };
  return startModel(
    Array.from({ length: 12 }, (): Turn => turn),
    kind.options,
  );
}

/** A turn with a call, its result, and an interruption. */
async function conversation(kind: Kind, before: readonly Message[]): Promise<Message[]> {
  await using model = start(kind);
  const history: Message[] = [...before, { role: "user", content: "look" }];
  const { message } = await done(model.client, { messages: history, tools: [] });
  history.push(message);
  for (const call of message.toolCalls)
    history.push({ role: "tool", callId: call.id, name: call.name, content: `saw ${call.id}` });
  return history;
}

const PAIRS = Object.keys(KINDS).flatMap((from) => Object.keys(KINDS).map((to) => [from, to] as const));

describe("a session that changes its model", () => {
  test.each(PAIRS)("from %s to %s", async (from, to) => {
    const system: Message = { role: "system", content: "be brief" };
    const history = await conversation(KINDS[from]!, [system]);
    const back = await conversation(KINDS[to]!, history);
    await using again = start(KINDS[from]!);
    const { message } = await done(again.client, { messages: [...back, ...ask("and now?").messages], tools: [] });
    expect(message.toolCalls.length + (message.content ?? "").length).toBeGreaterThan(0);
    const seen = again.requests.at(-1)!;
    const calls = seen.messages.flatMap((one) => one.calls.map(({ id }) => id));
    const results = seen.messages.flatMap(({ callId }) => (callId === undefined ? [] : [callId]));
    expect(results.toSorted()).toEqual(calls.toSorted());
  });
});

const PICTURE = { type: "image/png", data: "iVBORw0KGgo=" } as const;

/** Three calls at once, of which one result is a picture and one never came; then an answer that broke off. */
async function roughConversation(kind: Kind, before: readonly Message[]): Promise<Message[]> {
  const example: { id?: string; name: string } = { ...CALL, ...kind.reply.toolCalls?.[0] };
  const toolCalls = [0, 1, 2].map((n) =>
    Object.assign({ ...example }, example.id && { id: `${example.id.slice(0, -1)}${before.length > 2 ? n + 3 : n}` }),
  );
  await using model = start({
    ...kind,
    options: { ...kind.options, images: true },
    reply: { ...kind.reply, toolCalls },
  });
  const history: Message[] = [...before, { role: "user", content: "look", images: [PICTURE] }];
  const { message } = await done(model.client, { messages: history, tools: [] });
  expect(message.toolCalls).toHaveLength(3);
  const [first, second] = message.toolCalls;
  return [
    ...history,
    message,
    { role: "tool", callId: first!.id, name: "look", content: "a picture", images: [PICTURE] },
    { role: "tool", callId: second!.id, name: "look", content: "saw it" },
    { role: "user", content: "go on" },
    { role: "assistant", content: "I was about to", toolCalls: [] },
  ];
}

const PROTOCOLS = ["plain", "mistral", "deepseek", "gemini", "responses", "anthropic", "strict roles"];

describe("a session with pictures, calls at once, an aborted turn and a summary", () => {
  test.each(PROTOCOLS.flatMap((from) => PROTOCOLS.map((to) => [from, to] as const)))(
    "from %s to %s",
    async (from, to) => {
      const begun: Message[] = [
        { role: "system", content: "be brief" },
        { role: "user", content: "[summary of the conversation so far]" },
      ];
      const history = await roughConversation(KINDS[to]!, await roughConversation(KINDS[from]!, begun));
      for (const images of [true, false]) {
        const kind = KINDS[from]!;
        await using again = start({ ...kind, options: { ...kind.options, images } });
        await done(again.client, { messages: [...history, { role: "user", content: "and now?" }], tools: [] });
        const seen = again.requests.at(-1)!;
        const calls = seen.messages.flatMap((one) => one.calls.map(({ id }) => id));
        const results = seen.messages.flatMap(({ callId }) => (callId === undefined ? [] : [callId]));
        expect(new Set(calls).size).toBe(6);
        expect(results).toEqual(calls);
        expect(JSON.stringify(seen.body).split(PICTURE.data).length - 1).toBe(images ? 4 : 0);
      }
    },
  );
});
