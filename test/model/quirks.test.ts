/** What real servers do differently, and what must survive the round trip. */
import { describe, expect, test } from "bun:test";
import type { ModelRequest } from "../../src/model/types.ts";
import { ask, collect, done, startModel } from "../support/model.ts";

const CALLS = [
  { name: "look", args: { at: "one" }, id: "a" },
  { name: "look", args: { at: "two" }, id: "b" },
];
const args = ['{"at":"one"}', '{"at":"two"}'];

describe.each(["completions", "responses"] as const)("%s", (api) => {
  test.each([
    ["no index", { noIndex: true }],
    ["index 0 for every call", { indexZero: true }],
    ["no id", { noId: true }],
    ["neither index nor id", { noId: true, noIndex: true }],
    ["no end marker", { noDone: true }],
    ["the role with every delta", { repeatRole: true }],
    ["plain JSON for a stream", { plainJson: true }],
    ["comments in between", { pings: true }],
    ["CRLF", { newline: "\r\n" }],
    ["CR", { newline: "\r" }],
    ["no items in the closing event", { emptyOutput: true }],
  ] as const)("%s", async (_name, quirks) => {
    await using model = startModel(
      [
        { text: "t", toolCalls: CALLS, quirks, pieceChars: 3 },
        { text: "fine", quirks },
      ],
      { api },
    );
    const { message, finish } = await done(model.client);
    expect(finish).toBe("tool-calls");
    expect(message.content).toBe("t");
    expect(message.toolCalls.map((call) => call.arguments)).toEqual(args);
    expect(new Set(message.toolCalls.map((call) => call.id)).size).toBe(2);
    expect(message.toolCalls.every((call) => call.id !== "")).toBe(true);
    expect((await done(model.client)).message.content).toBe("fine");
  });

  test("usage that is missing is estimated", async () => {
    await using model = startModel([{ text: "x".repeat(400), usage: false }], { api });
    const { usage } = await done(model.client, ask("y".repeat(4000)));
    expect(usage).toMatchObject({ input: 1004, output: 104, estimated: true });
  });

  test("the answer stands when the connection stays open or breaks after the closing event", async () => {
    const end =
      api === "completions"
        ? 'data: {"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}\n\n'
        : 'data: {"type":"response.completed","response":{"output":[{"type":"message","content":[{"type":"output_text","text":"ok"}]}]}}\n\n';
    await using model = startModel(
      [
        { raw: { body: `${end}${": x\n\n".repeat(200)}` }, fault: "stall" },
        { raw: { body: `${end}${": x\n\n".repeat(200)}` }, fault: "reset-midway" },
      ],
      { api, retries: 0 },
    );
    expect((await done(model.client)).message.content).toBe("ok");
    expect((await done(model.client)).message.content).toBe("ok");
  });

  test("empty assistant turns are not sent back", async () => {
    await using model = startModel([{ text: "fine" }], { api });
    const request: ModelRequest = {
      messages: [
        { role: "user", content: "a" },
        {
          role: "assistant",
          content: null,
          toolCalls: [],
          reasoning: "r",
          extra: { reasoning: "r" },
          items: [{ type: "reasoning" }],
        },
        { role: "assistant", content: "", toolCalls: [] },
        { role: "user", content: "b" },
      ],
      tools: [],
    };
    await done(model.client, request);
    expect(model.requests[0]?.messages.map((message) => message.content)).toEqual(["a", "b"]);
  });

  test("a history of the other protocol is understood", async () => {
    const other = api === "completions" ? "responses" : "completions";
    await using before = startModel([{ text: "t", reasoning: "r", encrypted: "secret", toolCalls: CALLS }], {
      api: other,
    });
    const { message } = await done(before.client);
    await using model = startModel([{ text: "fine" }], { api });
    await done(model.client, { messages: [{ role: "user", content: "q" }, message], tools: [] });
    const seen = model.requests[0]?.messages[1];
    expect(seen?.content).toBe("t");
    expect(seen?.calls.map((call) => call.arguments)).toEqual(args);
  });

  test("a tool name no server would take back is changed on the way, empty arguments too", async () => {
    const calls = [
      { name: "rm -rf /; ü", arguments: "", id: "a" },
      { name: "", arguments: "{}", id: "b" },
    ];
    await using model = startModel([{ toolCalls: calls }, { text: "fine" }], { api });
    const { message } = await done(model.client);
    expect(message.toolCalls.map((call) => call.name)).toEqual(["rm -rf /; ü", ""]);
    await done(model.client, { messages: [{ role: "user", content: "q" }, message], tools: [] });
    expect(model.requests[1]?.messages[1]?.calls).toMatchObject([
      { name: "rm_-rf_____", arguments: "{}" },
      { name: "unnamed", arguments: "{}" },
    ]);
  });

  test("half a surrogate pair leaves as a replacement character, an escape in the text as it is", async () => {
    await using model = startModel([{ text: "fine" }], { api });
    await done(model.client, ask("a\ud83db \\ud83d 🦊"));
    expect(model.requests[0]?.messages[0]?.content).toBe("a\ufffdb \\ud83d 🦊");
  });

  test("an output schema is asked for", async () => {
    await using model = startModel([{ text: "{}" }], { api });
    await done(model.client, { ...ask("x"), outputSchema: { type: "object" } });
    expect(model.requests[0]?.schema).toEqual({ type: "object" });
  });
});

describe("completions: unknown fields", () => {
  test.each([true, false])("come back verbatim, stream: %p", async (stream) => {
    const extra = {
      reasoning_details: [{ type: "reasoning.encrypted", data: "abc", index: 0 }],
      refusal_score: 0.1,
      flag: null,
      "x-note": { a: [1] },
    };
    const calls = [{ ...CALLS[0]!, extra: { extra_content: { google: { thought_signature: "sig" } } } }];
    await using model = startModel([{ reasoning: "think", extra, toolCalls: calls }, { text: "fine" }], { stream });
    const { message } = await done(model.client);
    expect(message.reasoning).toBe("think");
    await done(model.client, { messages: [{ role: "user", content: "q" }, message], tools: [] });
    const wire = (model.requests[1]!.body["messages"] as Record<string, unknown>[])[1];
    expect(wire).toMatchObject({ ...extra, reasoning_content: "think", role: "assistant", content: null });
    expect(wire?.["tool_calls"]).toMatchObject([
      { id: "a", type: "function", extra_content: { google: { thought_signature: "sig" } } },
    ]);
  });

  test("grow together when they arrive in deltas", async () => {
    const extra = [
      { note: "one ", reasoning_details: [{ type: "reasoning.text", index: 0, text: "a", id: "r" }] },
      {
        note: "two",
        reasoning_details: [
          { type: "reasoning.text", index: 0, text: "b", id: "r" },
          { type: "reasoning.text", index: 1, text: "c" },
        ],
      },
      { deep: { list: [1], text: "x" } },
      { deep: { list: [2], text: "y", more: true } },
    ];
    await using model = startModel([{ text: "t", extra }]);
    expect((await done(model.client)).message.extra).toEqual({
      note: "one two",
      reasoning_details: [
        { type: "reasoning.text", index: 0, text: "ab", id: "r" },
        { type: "reasoning.text", index: 1, text: "c" },
      ],
      deep: { list: [1, 2], text: "xy", more: true },
    });
  });

  test.each(["reasoning", "reasoning_content", "thinking"] as const)(
    "%s is shown and goes back",
    async (reasoningField) => {
      await using model = startModel([
        { text: "t", reasoning: "some thoughts on this and that", quirks: { reasoningField } },
      ]);
      const events = await collect(model.client);
      expect(events.flatMap((event) => (event.type === "reasoning" ? event.delta : [])).join("")).toBe(
        "some thoughts on this and that",
      );
      expect(events.at(-1)).toMatchObject({
        message: {
          reasoning: "some thoughts on this and that",
          extra: { [reasoningField]: "some thoughts on this and that" },
        },
      });
    },
  );

  test("reasoning inside the content is shown as such", async () => {
    const content = [
      { type: "thinking", thinking: [{ type: "text", text: "hm" }] },
      { type: "text", text: "answer" },
    ];
    const body = `data: ${JSON.stringify({ choices: [{ delta: { content }, finish_reason: "stop" }] })}\n\n`;
    await using model = startModel([{ raw: { body } }]);
    expect((await done(model.client)).message).toMatchObject({ content: "answer", reasoning: "hm" });
  });

  test("rubbish after the closing event is ignored", async () => {
    const body =
      'data: {"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}\n\ndata: {oops\n\ndata: [DONE]\n\n';
    await using model = startModel([{ raw: { body } }], { retries: 0 });
    expect((await done(model.client)).message.content).toBe("ok");
  });

  test("a field named __proto__ stays data", async () => {
    await using model = startModel([
      {
        raw: {
          body: 'data: {"choices":[{"delta":{"content":"x","__proto__":{"polluted":1}},"finish_reason":"stop"}]}\n\n',
        },
      },
    ]);
    await done(model.client);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });
});

describe("responses: items", () => {
  test.each([true, false])("encrypted reasoning comes back verbatim and in order, stream: %p", async (stream) => {
    await using model = startModel(
      [{ reasoning: "think", encrypted: "gAAAA==", text: "t", toolCalls: CALLS }, { text: "fine" }],
      { api: "responses", stream },
    );
    const { message } = await done(model.client);
    await done(model.client, {
      messages: [{ role: "system", content: "s" }, { role: "user", content: "q" }, message],
      tools: [],
    });
    const { body } = model.requests[1]!;
    expect(body).toMatchObject({ instructions: "s", store: false, include: ["reasoning.encrypted_content"] });
    const input = body["input"] as Record<string, unknown>[];
    expect(input.map((item) => item["type"])).toEqual([
      "message",
      "reasoning",
      "message",
      "function_call",
      "function_call",
      "function_call_output",
      "function_call_output",
    ]);
    expect(input[1]).toMatchObject({
      encrypted_content: "gAAAA==",
      summary: [{ type: "summary_text", text: "think" }],
    });
  });

  test("reasoning of another account is left out after the server refused it", async () => {
    const fault = {
      status: 400,
      body: { error: { code: "invalid_encrypted_content", message: "The encrypted content could not be verified." } },
    };
    await using model = startModel([{ encrypted: "foreign", text: "t" }, { fault }, { text: "fine" }], {
      api: "responses",
    });
    const { message } = await done(model.client);
    await done(model.client, { messages: [{ role: "user", content: "q" }, message], tools: [] });
    expect(JSON.stringify(model.requests[1]?.body)).toContain("foreign");
    expect(JSON.stringify(model.requests[2]?.body)).not.toContain("foreign");
  });
});

describe("what a server refuses is left out, once and for all", () => {
  test.each([
    ["completions", "temperature", "Unsupported value: 'temperature' does not support 0.2 with this model."],
    ["completions", "top_p", "Unsupported parameter: 'top_p' is not supported with this model."],
    ["completions", "stream_options", "Unrecognized request argument supplied: stream_options"],
    ["completions", "response_format", "response_format is not supported by this model"],
    ["completions", "reasoning_effort", "Unknown parameter: 'reasoning_effort'."],
    ["completions", "stream", "Streaming is not supported for this model."],
    ["responses", "include", "Encrypted content is not supported with this model."],
    ["responses", "include", "Unrecognized request argument supplied: include"],
    ["anthropic", "output_config", "output_config: Extra inputs are not permitted"],
    ["completions", "stream_options", "stream_options can only be set when stream is true"],
    ["anthropic", "thinking", "adaptive thinking is not supported on this model"],
    ["responses", "reasoning", "Unsupported parameter: 'reasoning.effort' is not supported with this model."],
    ["responses", "text", "Invalid parameter: text.format json_schema is not supported"],
    ["responses", "text", "Unsupported parameter: 'text' is not supported with this model."],
    ["responses", "text", "Unrecognized request argument supplied: text"],
    ["responses", "text", "text: Extra inputs are not permitted"],
  ] as const)("%s: %s", async (api, parameter, message) => {
    await using model = startModel(
      [{ fault: { status: 400, body: { error: { message } } } }, { text: "fine" }, { text: "fine" }],
      { api, temperature: 0.2, topP: 0.9, reasoningEffort: "low" },
    );
    const request = { ...ask("x"), outputSchema: { type: "object" } };
    const events = await collect(model.client, request);
    expect(events.some((event) => event.type === "retry")).toBe(false);
    await done(model.client, request);
    expect(model.requests.map((seen) => parameter in seen.body)).toEqual([true, false, false]);
  });

  test.each([
    "tools.function.parameters is not a valid moonshot flavored json schema, details: <At path 'properties.at': type is not defined>",
    "Invalid JSON payload received. Unknown name \"additionalProperties\" at 'tools[0].function_declarations[0].parameters': Cannot find field.",
    "Invalid schema for function 'look': In context=('properties', 'at'), 'minLength' is not permitted.",
    "[unsupported_tool_schema] The tool schema is not supported",
  ])("schemas of tools are sent barely: %s", async (message) => {
    const fault = { status: 400, body: { error: { message } } };
    await using model = startModel([{ fault }, { text: "fine" }]);
    const at = { anyOf: [{ type: "string", minLength: 1 }, { type: "null" }], description: "where" };
    const many = { type: "array", items: { type: ["string", "null"] }, maxItems: 3 };
    const parameters = { type: "object", properties: { at, many }, required: ["at"], additionalProperties: false };
    await done(model.client, { ...ask("x"), tools: [{ name: "look", description: "d", parameters }] });
    const sent = model.requests.map(
      ({ body }) => (body["tools"] as { function: { parameters: object } }[])[0]?.function,
    );
    expect(sent.map((tool) => tool?.parameters)).toEqual([
      parameters,
      {
        type: "object",
        properties: {
          at: { type: "string", description: "where" },
          many: { type: "array", items: { type: "string" } },
        },
        required: ["at"],
      },
    ]);
  });

  test("a picture that a server cannot read does not end the conversation: it is left out, and buddy says so", async () => {
    const message = "You uploaded an unsupported image. Please make sure your image is valid.";
    await using model = startModel([{ fault: { status: 400, body: { error: { message } } } }, { text: "fine" }], {
      images: true,
    });
    const images = [{ type: "image/png", data: "iVBORw0=" }];
    const events = await collect(model.client, { messages: [{ role: "user", content: "look", images }], tools: [] });
    expect(events.find((event) => event.type === "notice")?.message).toContain("unsupported image");
    const [first, second] = model.requests.map(({ text }) => text);
    expect(first).toContain("image_url");
    expect(second).not.toContain("image_url");
    expect(second).toContain("left out: the server does not accept it");
  });

  test("a server that only streams gets a stream, whatever the profile says", async () => {
    const message = "This model only support stream mode, please enable the stream parameter to access the model.";
    await using model = startModel(
      [{ fault: { status: 400, body: { error: { message } } } }, { text: "fine" }, { text: "fine" }],
      { stream: false },
    );
    await done(model.client);
    await done(model.client);
    expect(model.requests.map(({ body }) => body["stream"] ?? false)).toEqual([false, true, true]);
  });

  test("Anthropic's protocol requires a limit: a refused one becomes smaller", async () => {
    const message = "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for m";
    await using model = startModel([{ fault: { status: 400, body: { error: { message } } } }, { text: "fine" }], {
      api: "anthropic",
      maxTokens: 32_000,
    });
    await done(model.client);
    expect(model.requests.map((seen) => seen.body["max_tokens"])).toEqual([32_000, 8_192]);
  });

  test("also when it is named the FastAPI way", async () => {
    const detail = [
      { type: "extra_forbidden", loc: ["body", "stream_options"], msg: "Extra inputs are not permitted" },
    ];
    await using model = startModel([{ fault: { status: 422, body: { detail } } }, { text: "fine" }]);
    await done(model.client);
    expect(model.requests.map((seen) => "stream_options" in seen.body)).toEqual([true, false]);
  });

  test.each(["completions", "responses"] as const)("%s: arguments in the history that are not JSON", async (api) => {
    const calls = [{ name: "look", arguments: "{broken", id: "a" }, ...CALLS.slice(1)];
    const fault = { status: 400, body: { error: { message: "Invalid tool call arguments: not valid JSON" } } };
    await using model = startModel([{ toolCalls: calls }, { fault }, { text: "fine" }], { api });
    const { message } = await done(model.client);
    await done(model.client, { messages: [{ role: "user", content: "q" }, message], tools: [] });
    const sent = model.requests.slice(1).map((seen) => seen.messages[1]?.calls.map((call) => call.arguments));
    expect(sent).toEqual([
      ["{broken", '{"at":"two"}'],
      ["{}", '{"at":"two"}'],
    ]);
  });

  test.each([
    "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property 'note' is unsupported)]",
    "Please remove the reasoning_content from your message",
  ])("fields of a session that does not say who wrote them: %s", async (message) => {
    await using before = startModel([{ reasoning: "r", extra: { note: "n" }, toolCalls: CALLS }]);
    const { from: _, ...written } = (await done(before.client)).message;
    const history = [{ role: "user" as const, content: "q" }, written];
    await using model = startModel([{ fault: { status: 400, body: { error: { message } } } }, { text: "fine" }]);
    await done(model.client, { messages: history, tools: [] });
    expect(model.requests.map((seen) => seen.text.includes("reasoning_content"))).toEqual([true, false]);
    expect(model.requests[1]?.messages[1]?.calls).toHaveLength(2);
  });

  test("but not what it merely mentions", async () => {
    await using model = startModel([{ fault: { status: 400, body: { error: { message: "The upstream failed." } } } }]);
    await expect(done(model.client)).rejects.toMatchObject({ reason: "refused" });
    expect(model.requests).toHaveLength(1);
  });
});
