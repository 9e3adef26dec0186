/** Anthropic Messages: what is sent, what comes back, and what must survive the round trip. */
import { describe, expect, test } from "bun:test";
import type { Message, ModelRequest } from "../../src/model/types.ts";
import { ask, collect, done, startModel } from "../support/model.ts";

const CALLS = [
  { name: "look", args: { at: "one" }, id: "toolu_1" },
  { name: "look", args: { at: "two" }, id: "toolu_2" },
];
const TOOLS = [{ name: "look", description: "Looks.", parameters: { type: "object", properties: {} } }];
const CLAUDE = { api: "anthropic", model: "claude-sonnet-4-5", key: "sk-ant-1" } as const;

const result = (callId: string, content: string): Message => ({ role: "tool", callId, name: "look", content });

describe("the request", () => {
  test("key, version, system, tools and a limit", async () => {
    await using model = startModel([{ text: "hi" }], CLAUDE);
    const request: ModelRequest = {
      messages: [{ role: "system", content: "be brief" }, ...ask("hello").messages],
      tools: TOOLS,
    };
    await done(model.client, request);
    const [{ path, headers, body }] = model.requests as unknown as [(typeof model.requests)[number]];
    expect(path).toEndWith("/v1/messages");
    expect(headers).toMatchObject({ "x-api-key": "sk-ant-1", "anthropic-version": "2023-06-01" });
    expect(headers["authorization"]).toBeUndefined();
    expect(body).toMatchObject({
      model: "claude-sonnet-4-5",
      max_tokens: 32_000,
      stream: true,
      system: [{ type: "text", text: "be brief", cache_control: { type: "ephemeral" } }],
      tools: [{ name: "look", input_schema: { type: "object" } }],
      messages: [{ role: "user", content: [{ type: "text", text: "hello", cache_control: { type: "ephemeral" } }] }],
    });
  });

  test("an address without a version gets one, a proxy's path stays", async () => {
    await using model = startModel([{ text: "a" }], { ...CLAUDE }, { token: "anthropic" });
    const { createModelClient } = await import("../../src/model/client.ts");
    const client = createModelClient({
      ...CLAUDE,
      name: "test",
      auth: "api-key",
      baseUrl: model.url.replace(/\/v1$/, "/"),
      env: {},
    });
    expect((await done(client)).message.content).toBe("a");
    expect(model.requests[0]?.path).toBe("/anthropic/v1/messages");
  });

  test("results of one turn and the prompt after them are one message of the user", async () => {
    await using model = startModel([{ text: "look", toolCalls: CALLS }, { text: "done" }], CLAUDE);
    const { message } = await done(model.client, ask("go", TOOLS));
    await done(model.client, {
      messages: [
        { role: "user", content: "go" },
        message,
        result("toolu_1", "1"),
        result("toolu_2", "2"),
        { role: "user", content: "and now?" },
      ],
      tools: TOOLS,
    });
    const sent = model.requests[1]!.body["messages"] as { role: string; content: { type: string }[] }[];
    expect(sent.map(({ role, content }) => [role, ...content.map(({ type }) => type)])).toEqual([
      ["user", "text"],
      ["assistant", "text", "tool_use", "tool_use"],
      ["user", "tool_result", "tool_result", "text"],
    ]);
  });

  test("signed thinking goes back verbatim, and only while thinking is asked for", async () => {
    const reply = { reasoning: "hm", encrypted: "sig==", toolCalls: CALLS.slice(0, 1) };
    const thinking = { ...CLAUDE, reasoningEffort: "low", temperature: 0.2 };
    await using model = startModel([reply, { text: "done" }], thinking);
    const { message } = await done(model.client);
    expect(message.reasoning).toBe("hm");
    await done(model.client, { messages: [...ask("q").messages, message, result("toolu_1", "1")], tools: TOOLS });
    const [first, second] = model.requests.map(({ body }) => body);
    expect(first).toMatchObject({ thinking: { type: "enabled", budget_tokens: 2048 } });
    expect(first).not.toHaveProperty("temperature");
    expect((second!["messages"] as { content: unknown[] }[])[1]?.content[0]).toEqual({
      type: "thinking",
      thinking: "hm",
      signature: "sig==",
    });
    const plain = startModel([{ text: "ok" }], CLAUDE);
    await done(plain.client, {
      messages: [...ask("q").messages, { ...message, from: "" }, result("toolu_1", "1")],
      tools: [],
    });
    expect(plain.requests[0]?.text).not.toContain("sig==");
    await plain.server.close();
  });

  test("no thinking with a budget while the results of another model's calls are sent", async () => {
    const reply = { reasoning: "hm", encrypted: "sig==", toolCalls: CALLS.slice(0, 1) };
    await using model = startModel([reply, { text: "a" }, { text: "b" }], { ...CLAUDE, reasoningEffort: "low" });
    const { message } = await done(model.client);
    const own = [...ask("q").messages, message, result("toolu_1", "1")];
    const calls = [{ id: "toolu_9", name: "look", arguments: "{}" }];
    const other: Message = { role: "assistant", content: null, toolCalls: calls, from: "completions elsewhere m" };
    const blank: Message = { role: "assistant", content: " ", toolCalls: [], from: "completions elsewhere m" };
    for (const end of [[], [blank, ...ask("and?").messages]]) {
      await done(model.client, { messages: [...own, other, result("toolu_9", "2"), ...end], tools: TOOLS });
    }
    expect(model.requests.map(({ body }) => "thinking" in body)).toEqual([true, false, false]);
  });

  test("thinking that its server can no longer verify is left out", async () => {
    const words = "messages.1.content.0: Invalid `signature` in `thinking` block";
    const fault = { status: 400, body: { type: "error", error: { type: "invalid_request_error", message: words } } };
    const reply = { reasoning: "hm", encrypted: "old", text: "t" };
    await using model = startModel([reply, { fault }, { text: "fine" }], { ...CLAUDE, reasoningEffort: "high" });
    const { message } = await done(model.client);
    const { message: last } = await done(model.client, {
      messages: [...ask("q").messages, message, ...ask("r").messages],
      tools: [],
    });
    expect(last.content).toBe("fine");
    expect(model.requests.map(({ text }) => text.includes('"old"'))).toEqual([false, true, false]);
  });

  test("images are blocks, in prompts and in results", async () => {
    await using model = startModel([{ text: "a cat" }], CLAUDE);
    const images = [{ type: "image/png", data: "iVBORw0=" }];
    await done(model.client, { messages: [{ role: "user", content: "what is it?", images }], tools: [] });
    expect((model.requests[0]!.body["messages"] as { content: unknown[] }[])[0]?.content[1]).toMatchObject({
      type: "image",
      source: { type: "base64", media_type: "image/png", data: "iVBORw0=" },
    });
  });
});

describe("the answer", () => {
  test.each([true, false])("text, thinking, calls and usage, stream: %p", async (stream) => {
    const reply = {
      reasoning: "think",
      text: "t",
      toolCalls: CALLS,
      usage: { input: 100, output: 7, cached: 60 },
      pieceChars: 2,
    };
    await using model = startModel([reply], { ...CLAUDE, stream });
    const { message, finish, usage } = await done(model.client);
    expect(finish).toBe("tool-calls");
    expect(message).toMatchObject({ content: "t", reasoning: "think" });
    expect(message.toolCalls).toEqual([
      { id: "toolu_1", name: "look", arguments: '{"at":"one"}' },
      { id: "toolu_2", name: "look", arguments: '{"at":"two"}' },
    ]);
    expect(usage).toMatchObject({ input: 100, output: 7, cached: 60, estimated: false });
  });

  test.each([
    ["length", "length"],
    ["content_filter", "content-filter"],
    ["stop", "stop"],
  ] as const)("stop reason for %s", async (finish, expected) => {
    await using model = startModel([{ text: "t", finish }], CLAUDE);
    expect((await done(model.client)).finish).toBe(expected);
  });

  test("the end of the context window is an error that compaction answers", async () => {
    const events = [
      { type: "message_start", message: { usage: { input_tokens: 1, output_tokens: 1 } } },
      { type: "message_delta", delta: { stop_reason: "model_context_window_exceeded" } },
    ];
    const body = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
    await using model = startModel([{ raw: { body } }], CLAUDE);
    await expect(done(model.client)).rejects.toMatchObject({ reason: "context-limit" });
  });

  test("an overloaded event in the middle is retried, and nothing of it is kept", async () => {
    const events = [
      { type: "message_start", message: {} },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "half" } },
      { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
    ];
    const body = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
    await using model = startModel([{ raw: { body } }, { text: "whole" }], CLAUDE);
    const seen = await collect(model.client);
    expect(seen.filter(({ type }) => type === "retry")).toHaveLength(1);
    expect(seen.at(-1)).toMatchObject({ type: "done", message: { content: "whole" } });
  });

  test("what comes after message_stop does not count", async () => {
    const stop = `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\ndata: {"type":"message_stop"}\n\n`;
    const late = `data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"x","name":"look","input":{}}}\n\n`;
    const text = `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"ok"}}\n\n`;
    await using model = startModel([{ raw: { body: text + stop + late } }], CLAUDE);
    const { message } = await done(model.client);
    expect(message).toMatchObject({ content: "ok", toolCalls: [] });
  });
});
