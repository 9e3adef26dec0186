/** What a profile adds to its requests. */
import { expect, test } from "bun:test";
import { createModelClient } from "../../src/model/client.ts";
import { ask, collect, done, modelOptions, startModel } from "../support/model.ts";

test("headers, a key header and query parameters", async () => {
  await using model = startModel([{ text: "a" }], {
    key: "k-1",
    keyHeader: "api-key",
    headers: { "x-portkey-provider": "openai" },
    query: { "api-version": "2026-01-01" },
  });
  await done(model.client);
  const { headers, path } = model.requests[0]!;
  expect(headers).toMatchObject({ "api-key": "k-1", "x-portkey-provider": "openai" });
  expect(headers["authorization"]).toBeUndefined();
  expect(path).toEndWith("/chat/completions?api-version=2026-01-01");
});

test.each([
  ["completions", "/v1/chat/completions", "/v1/chat/completions"],
  ["completions", "/v1/chat/completions/?a=b", "/v1/chat/completions?a=b"],
  ["responses", "/v1/responses", "/v1/responses"],
  ["anthropic", "/v1/messages", "/v1/messages"],
  ["anthropic", "/anthropic", "/anthropic/v1/messages"],
  ["completions", "/responses", "/responses/chat/completions"],
] as const)("%s: an address of %s is asked at %s", async (api, given, asked) => {
  const urls: string[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: ({ url }) => {
      urls.push(url.replace(/^http:\/\/[^/]+/, ""));
      return new Response("", { status: 404 });
    },
  });
  const baseUrl = `http://127.0.0.1:${server.port}${given}`;
  const client = createModelClient(modelOptions(baseUrl, { api, retries: 0, contextLimit: 9 }));
  await expect(collect(client)).rejects.toMatchObject({ reason: "not-found" });
  await server.stop(true);
  expect(urls).toEqual([asked]);
});

test("an address without a path that is not known there: the usual path is named", async () => {
  await using model = startModel([{ fault: { status: 404 } }]);
  const client = createModelClient(modelOptions(new URL(model.url).origin, { retries: 0 }));
  await expect(collect(client)).rejects.toMatchObject({
    reason: "not-found",
    hint: expect.stringContaining(`${new URL(model.url).origin}/v1`),
  });
});

test("extra_body is added and replaces, and the conversation stays last", async () => {
  await using model = startModel([{ text: "a" }], { extraBody: { store: true, stream_options: null } });
  await done(model.client);
  expect(model.requests[0]?.body).toMatchObject({ store: true, stream_options: null });
  expect(Object.keys(model.requests[0]!.body).at(-1)).toBe("messages");
});

test.each([
  ["completions", "max_tokens"],
  ["responses", "max_output_tokens"],
  ["anthropic", "max_tokens"],
] as const)("max_tokens in %s", async (api, name) => {
  await using model = startModel([{ text: "a" }], { api, maxTokens: 99 });
  await done(model.client);
  expect(model.requests[0]?.body[name]).toBe(99);
});

test("the other name for max_tokens where the server wants that", async () => {
  const error = {
    message:
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    param: "max_tokens",
    code: "unsupported_parameter",
  };
  await using model = startModel([{ fault: { status: 400, body: { error } } }, { text: "a" }], { maxTokens: 99 });
  await done(model.client);
  expect(model.requests.map(({ body }) => [body["max_tokens"], body["max_completion_tokens"]])).toEqual([
    [99, undefined],
    [undefined, 99],
  ]);
});

test.each([
  ["temperature", "Unsupported value: 'temperature' does not support 0.2 with this model.", "temperature"],
  ["temperature", "invalid temperature: only 1 is allowed for this model", undefined],
  ["top_p", "`temperature` and `top_p` cannot both be specified for this model. Please use only one.", undefined],
  ["reasoning_effort", "Argument not supported on this model: reasoningEffort", undefined],
  ["reasoning_effort", "Thinking is not supported by this model", undefined],
  ["reasoning_effort", '"qwen" does not support thinking', undefined],
  ["max_tokens", "max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens", undefined],
  ["stream_options", "Extra inputs are not permitted", "stream_options"],
  ["stream", "Your organization must be verified to stream this model.", "stream"],
])("%s alone is left out after: %s", async (name, message, param) => {
  await using model = startModel([{ fault: { status: 400, body: { error: { message, param } } } }, { text: "a" }], {
    temperature: 0.2,
    topP: 0.9,
    reasoningEffort: "high",
    maxTokens: 100_000,
  });
  await done(model.client);
  const [before, after] = model.requests.map(({ body }) => Object.keys(body));
  const dropped = before!.filter((key) => !after!.includes(key));
  expect(dropped).toEqual(name === "stream" ? ["stream", "stream_options"] : [name]);
});

test("an organization that is not verified loses the summary, not the effort", async () => {
  const error = {
    message: "Your organization must be verified to generate reasoning summaries.",
    param: "reasoning.summary",
    code: "unsupported_value",
  };
  await using model = startModel([{ fault: { status: 400, body: { error } } }, { text: "a" }], {
    api: "responses",
    model: "gpt-5",
    reasoningEffort: "high",
  });
  await done(model.client);
  expect(model.requests.map(({ body }) => body["reasoning"])).toEqual([
    { effort: "high", summary: "auto" },
    { effort: "high" },
  ]);
});

test("what was refused is remembered for the next turn", async () => {
  const fault = { status: 400, body: { error: { message: "top_p is not supported" } } };
  await using model = startModel([{ fault }, { text: "a" }, { text: "b" }], { topP: 0.9 });
  await done(model.client);
  await done(model.client, ask("more"));
  expect(model.requests.map(({ body }) => "top_p" in body)).toEqual([true, false, false]);
});

test("the session's id is a cache key for OpenAI, and a field that no other server gets", async () => {
  const request = { ...ask("q"), session: "abcd-1234" };
  await using openai = startModel([{ text: "a" }], { provider: "openai" });
  await done(openai.client, request);
  expect(openai.requests[0]?.body["prompt_cache_key"]).toBe("abcd-1234");
  await using other = startModel([{ text: "a" }]);
  await done(other.client, request);
  expect(other.requests[0]?.text).not.toContain("abcd-1234");
});

test("OpenRouter gets the name of the program, and marks for the cache of Claude", async () => {
  await using model = startModel([{ text: "a" }], { provider: "openrouter", model: "anthropic/claude-sonnet-4.5" });
  await done(model.client, { messages: [{ role: "system", content: "s" }, ...ask("q").messages], tools: [] });
  expect(model.requests[0]?.headers).toMatchObject({ "x-title": "buddy" });
  expect(model.requests[0]?.body["messages"]).toMatchObject([
    { role: "system", content: [{ text: "s", cache_control: { type: "ephemeral" } }] },
    { role: "user", content: [{ text: "q", cache_control: { type: "ephemeral" } }] },
  ]);
});
