/**
 * The first request to each provider is right by its rules, whoever wrote the conversation before and however it broke
 * off.
 */
import { describe, expect, test } from "bun:test";
import type { ScriptedReply } from "../support/scripted-model/playbook.ts";
import type { ModelOptions } from "../../src/model/client.ts";
import type { Message } from "../../src/model/types.ts";
import { faultsOf } from "../support/provider-rules.ts";
import { done, startModel } from "../support/model.ts";

const LOOK = { name: "look", args: { at: "x" } };
const calls = (...ids: readonly string[]) => ids.map((id) => ({ ...LOOK, id }));
const signature = { extra_content: { google: { thought_signature: "s" } } };

/** Who it is, and what its answers carry. */
const PROVIDERS: Readonly<Record<string, readonly [Partial<ModelOptions>, ScriptedReply]>> = {
  openai: [{ provider: "openai", model: "gpt-4.1", maxTokens: 500 }, { toolCalls: calls("call_1", "call_2") }],
  responses: [
    { provider: "openai", api: "responses", model: "gpt-5", images: true, reasoningEffort: "high" },
    { reasoning: "r", encrypted: "gAAA", toolCalls: calls("call_a", "call_b") },
  ],
  login: [
    {
      api: "responses",
      auth: "login",
      model: "gpt-5-codex",
      images: true,
      login: { token: async () => ({ accessToken: "t" }) },
    },
    { reasoning: "r", encrypted: "gBBB", toolCalls: calls("call_l", "call_m") },
  ],
  anthropic: [
    { api: "anthropic", provider: "anthropic", model: "claude-sonnet-4-5", images: true, reasoningEffort: "low" },
    { reasoning: "r", encrypted: "sig", toolCalls: calls("toolu_1", "toolu_2") },
  ],
  mistral: [
    { provider: "mistral", model: "m", images: true, maxTokens: 9 },
    { toolCalls: calls("a1B2c3D4e", "f1B2c3D4e") },
  ],
  deepseek: [
    { provider: "deepseek", model: "deepseek-reasoner" },
    { reasoning: "deep", quirks: { reasoningField: "reasoning_content" }, toolCalls: calls("call_00_x", "call_01_y") },
  ],
  moonshot: [
    { provider: "kimi", model: "k", images: true },
    { reasoning: "deep", toolCalls: calls("functions.look:0", "functions.look:1") },
  ],
  google: [
    { provider: "gemini", model: "gemini-3-pro", images: true },
    {
      toolCalls: [
        { ...LOOK, id: "function-call-1", extra: signature },
        { ...LOOK, id: "function-call-2" },
      ],
    },
  ],
  groq: [
    { provider: "groq", model: "g" },
    { reasoning: "r", quirks: { reasoningField: "reasoning" }, toolCalls: calls("fc_1", "fc_2") },
  ],
  cerebras: [
    { provider: "cerebras", model: "c" },
    { reasoning: "r", toolCalls: calls("0123abcde", "1123abcde") },
  ],
  openrouter: [
    { provider: "openrouter", model: "x/y", images: true },
    {
      extra: { reasoning_details: [{ type: "reasoning.encrypted", data: "e", index: 0 }] },
      toolCalls: calls(`tool_0_${"x".repeat(70)}`, "tool_1"),
    },
  ],
  ollama: [
    { model: "qwen3:8b", images: true },
    { reasoning: "r", toolCalls: calls("call_o", "call_p") },
  ],
};

const IMAGE = { type: "image/png", data: "iVBORw0KGgo=" } as const;
const TOOLS = [{ name: "look", description: "looks", parameters: { type: "object", properties: {} } }];
const start = (name: string, reply: ScriptedReply) => startModel([reply], { retries: 0, ...PROVIDERS[name]![0] });

/**
 * A turn with two calls, one of them cut short, a picture in a result and in a prompt, and a turn without an answer.
 */
async function written(by: string): Promise<Message[]> {
  await using model = start(by, PROVIDERS[by]![1]);
  const opening: Message[] = [
    { role: "system", content: "be brief" },
    { role: "user", content: "look" },
  ];
  const { message } = await done(model.client, { messages: opening, tools: TOOLS, session: "s" });
  const [first] = message.toolCalls;
  return [
    ...opening,
    message,
    { role: "tool", callId: first!.id, name: "look", content: "seen", images: [IMAGE] },
    { role: "assistant", content: null, toolCalls: [] },
    { role: "user", content: "and this?", images: [IMAGE] },
  ];
}

const NAMES = Object.keys(PROVIDERS);
const CONVERSATIONS = new Map(NAMES.map((name) => [name, written(name)]));

describe.each(NAMES)("a conversation of %s continues", (from) => {
  test.each(NAMES)("with %s", async (to) => {
    const whole = await CONVERSATIONS.get(from)!;
    const before = await CONVERSATIONS.get(NAMES.at(NAMES.indexOf(from) - 1)!)!;
    const answered: Message = { role: "assistant", content: "yes", toolCalls: [] };
    for (const messages of [whole, whole.slice(0, 4), [...before, answered, ...whole.slice(1)]]) {
      await using model = start(to, { text: "fine" });
      await done(model.client, { messages, tools: TOOLS, session: "s" });
      expect(model.requests.map(({ body }) => faultsOf(to, body))).toEqual([[]]);
    }
  });
});
