/** What is known of models by name, what they cost, and how full the window is. */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "smol-toml";
import { type CatalogRule, infoFor } from "../../src/model/catalog.ts";
import type { ModelOptions } from "../../src/model/client.ts";
import { findLocalServers, listModels, modelsIn } from "../../src/model/list-models.ts";
import type { AssistantMessage, Message } from "../../src/model/types.ts";
import { costOf, estimateTokens, usageOf, windowUse, windowWarning } from "../../src/model/usage.ts";
import { modelOptions } from "../support/model.ts";
import { startScripted } from "../support/scripted-model/server.ts";

const catalogText = readFileSync(join(import.meta.dir, "../../templates/models.toml"), "utf8");
const { rules } = parse(catalogText) as unknown as { readonly rules: readonly CatalogRule[] };

describe("catalog", () => {
  test("the quick reader finds what the rules of a TOML parser say", () => {
    expect(rules.length).toBeGreaterThan(600);
    const spellings = Map.groupBy(rules, ({ exact }) => exact?.toLowerCase());
    const names = rules
      // Of two that differ only in their capitals the one that is written so counts; here it is the first.
      .filter(({ exact }, index) => index % 9 === 0 && (!exact || spellings.get(exact.toLowerCase())?.length === 1))
      .flatMap(({ exact, prefix, contains }) => [
        exact ?? `${prefix ?? `x/${contains}`}-y`,
        (exact ?? prefix ?? contains ?? "").toUpperCase(),
        `${exact ?? prefix ?? contains}:free`,
      ]);
    for (const name of [...names, "", "x", 'a"b', "exact"])
      expect({ name, ...infoFor(name) }).toEqual({ name, ...infoFor(name, { rules }) });
  });

  test.each([
    [
      "gpt-5.3-codex",
      { contextLimit: 400_000, maxOutput: 128_000, priceIn: 1.75, priceOut: 14, images: true, reasoning: true },
    ],
    ["GPT-5.3-Codex", { contextLimit: 400_000 }],
    ["gpt-5.3-codex-spark", { contextLimit: 128_000 }],
    ["gpt-5.3-codex-2026-10-01", { contextLimit: 400_000 }],
    ["deepseek/deepseek-v3.2", { contextLimit: 163_840, priceIn: 0.26 }],
    ["deepseek/deepseek-v3.2:nitro", { contextLimit: 163_840, priceIn: 0.26 }],
    ["deepseek/deepseek-v3.2:free", { contextLimit: 163_840, priceIn: 0, priceOut: 0 }],
    ["us.anthropic.claude-sonnet-4-5-v1:0", { contextLimit: 200_000 }],
  ])("%s", (model, expected) => expect(infoFor(model)).toMatchObject({ ...expected, known: true }));

  test.each(["nobody-knows-this", ""])("unknown %j gets 8192", (model) => {
    expect(infoFor(model)).toEqual({ contextLimit: 8192, known: false });
  });

  test.each([
    ["qwen9:0.5b", { contextLimit: 32_768 }],
    ["llama3.2:3b", { contextLimit: 131_072 }],
    ["llama3:8b", { contextLimit: 8_192 }],
    ["mistral:7b-instruct-q4_0", { contextLimit: 32_768 }],
    ["my-gpt-oss:20b", { contextLimit: 131_072 }],
    ["codellama:34b", { contextLimit: 16_384 }],
    ["yi-lightning", { contextLimit: 32_768 }],
    ["tinyllama:1.1b", { contextLimit: 2_048 }],
    ["everythinglm", { contextLimit: 8_192 }],
    ["dolphin3:8b", { contextLimit: 8_192 }],
    ["phi4:14b", { contextLimit: 16_384 }],
    ["claude-next-9", { contextLimit: 200_000, images: true }],
    ["gpt-99", { contextLimit: 200_000, images: true }],
    ["gemma3:4b", { contextLimit: 32_768, images: true }],
    ["qwen2.5vl:7b", { contextLimit: 32_768, images: true }],
  ])("%s goes by its family", (model, expected) => {
    expect(infoFor(model)).toEqual({ ...expected, known: false });
  });

  test("no input price comes without an output price, and no place says otherwise than most", () => {
    const priced = rules.filter(({ price_in: price }) => (price ?? 0) > 0);
    expect(priced.filter(({ price_out: price }) => !price)).toEqual([]);
    const reasons = Map.groupBy(rules, ({ exact, prefix, contains }) =>
      (exact ?? prefix ?? contains ?? "")
        .toLowerCase()
        .replace(/.*\//, "")
        .replace(/:.*/, "")
        .replace(/(\d)[.p](\d)/g, "$1-$2"),
    );
    const divided = [...reasons].filter(([, same]) => new Set(same.map(({ reasoning }) => reasoning)).size > 1);
    expect(divided.map(([name]) => name)).toEqual([]);
  });

  test("cached input costs what the catalog says", () => {
    const info = infoFor("gpt-5.2");
    expect(info.priceCached).toBeLessThan(info.priceIn!);
    expect(costOf({ input: 1_000_000, output: 0, cached: 1_000_000 }, info)).toBe(info.priceCached!);
  });

  test("one's own rules come first, the profile's context_limit before them", () => {
    const rules = [
      { contains: "codex", context_limit: 1 },
      { prefix: "gpt-5", context_limit: 2 },
      { prefix: "gpt-5.3", context_limit: 3 },
      { exact: "gpt-5.3-codex", context_limit: 4, price_in: 1, price_out: 2 },
    ];
    expect(infoFor("gpt-5.3-codex", { rules })).toMatchObject({
      contextLimit: 4,
      priceIn: 1,
      priceOut: 2,
      known: true,
    });
    expect(infoFor("gpt-5.3-other", { rules }).contextLimit).toBe(2);
    expect(infoFor("my-codex", { rules }).contextLimit).toBe(1);
    expect(infoFor("gpt-4o", { rules }).contextLimit).toBe(128_000);
    expect(infoFor("gpt-5.3-codex", { rules, contextLimit: 9 }).contextLimit).toBe(9);
  });

  test("a rule of one's own without a limit changes only what it says", () => {
    expect(infoFor("gpt-5.3-codex", { rules: [{ prefix: "gpt", price_in: 0, price_out: 0 }] })).toMatchObject({
      contextLimit: 400_000,
      priceIn: 0,
    });
  });
});

describe("usage", () => {
  const request = { messages: [{ role: "user", content: "x".repeat(40) }] satisfies Message[], tools: [] };
  const message: AssistantMessage = {
    role: "assistant",
    content: "y".repeat(80),
    toolCalls: [{ id: "1", name: "abcd", arguments: "efgh" }],
  };

  test("as reported, with cost", () => {
    const usage = usageOf({ input: 1000, output: 500, cached: 200, reasoning: 100 }, request, message, {
      priceIn: 2,
      priceOut: 10,
    });
    expect(usage).toEqual({ input: 1000, output: 500, cached: 200, reasoning: 100, estimated: false, costUsd: 0.007 });
  });

  test("a cost the gateway names counts", () =>
    expect(usageOf({ input: 1, output: 1, costUsd: 0.5 }, request, message, { priceIn: 1, priceOut: 1 }).costUsd).toBe(
      0.5,
    ));

  test("estimated when absent, zero, or half there", () => {
    const guess = { input: 14, output: 26, cached: 0, reasoning: 0, estimated: true };
    expect(usageOf(undefined, request, message, {})).toEqual(guess);
    expect(usageOf({ input: 0, output: 0 }, request, message, {})).toEqual(guess);
    expect(usageOf({ input: 7 }, request, message, {})).toEqual({ ...guess, input: 7 });
  });

  test("no price, no cost", () => expect(costOf({ input: 1, output: 1 }, { priceIn: 1 })).toBeUndefined());

  test("hidden fields and tools count, and each message is measured once", () => {
    let reads = 0;
    const counted: Message = {
      role: "tool",
      callId: "1",
      name: "n",
      get content() {
        reads++;
        return "z".repeat(4000);
      },
    };
    const tools = [{ name: "t", description: "d".repeat(400), parameters: {} }];
    for (let round = 0; round < 50; round++) expect(estimateTokens([counted])).toBe(1004);
    expect(reads).toBe(1);
    expect(estimateTokens([], tools)).toBeGreaterThan(100);
    const items = [{ type: "reasoning", encrypted_content: "e".repeat(400) }, { type: "message" }];
    expect(estimateTokens([{ role: "assistant", content: null, toolCalls: [], items }])).toBeGreaterThan(100);
    expect(
      estimateTokens([{ role: "assistant", content: null, toolCalls: [], extra: { r: "e".repeat(400) } }]),
    ).toBeGreaterThan(100);
  });

  test("the window warns at 80 % and asks to be compacted at 90 %", () => {
    expect([79, 80, 89, 90, 120].map((used) => windowUse(used, 100).state)).toEqual([
      "ok",
      "warn",
      "warn",
      "compact",
      "compact",
    ]);
    expect(windowUse(1, 0).state).toBe("compact");
    expect(windowWarning(79, 100)).toBeUndefined();
    expect(windowWarning(81, 100)).toContain("81 %");
  });
});

describe("local servers", () => {
  test("those that answer like one are found with their models", async () => {
    await using good = startScripted({ reply: () => ({}) }, { models: ["llama3.3", "qwen3:8b"] });
    await using silent = startScripted({ reply: () => ({ fault: "silence" }) });
    const other = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: (request) =>
        new URL(request.url).pathname.startsWith("/big") ? new Response("x".repeat(2e6)) : new Response("<html>"),
    });
    const moved = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => Response.redirect(good.url) });
    await using gone = startScripted({ reply: () => ({}) });
    await gone.close();
    const hang = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Promise<Response>(() => {}) });
    const found = await findLocalServers(
      [
        { name: "good", baseUrl: good.url },
        { name: "no list", baseUrl: `${silent.url}/elsewhere` },
        { name: "page", baseUrl: `${other.url}v1` },
        { name: "big", baseUrl: `${other.url}big` },
        { name: "moved", baseUrl: `${moved.url}v1` },
        { name: "gone", baseUrl: gone.url },
        { name: "hangs", baseUrl: `${hang.url}v1` },
      ],
      800,
    );
    expect(found).toEqual([{ name: "good", baseUrl: good.url, models: ["llama3.3", "qwen3:8b"] }]);
    await Promise.all([other.stop(true), moved.stop(true), hang.stop(true)]);
  });

  test("the usual ports are asked without a proxy and without a word", async () => {
    expect(Array.isArray(await findLocalServers())).toBe(true);
  });
});

describe("probing an endpoint", () => {
  const never = new AbortController().signal;
  const options = (baseUrl: string, more: Partial<ModelOptions> = {}) =>
    modelOptions(baseUrl, { model: "m1", ...more });

  test("lists what it offers", async () => {
    await using server = startScripted({ reply: () => ({}) }, { models: ["m1", "m2"] });
    expect(await listModels(options(server.url), never)).toEqual([{ id: "m1" }, { id: "m2" }]);
    expect(await listModels(options(`${server.url}/?a=b`), never)).toHaveLength(2);
  });

  test.each([
    ["vLLM", { data: [{ id: "m", max_model_len: 32768 }] }],
    ["llama.cpp", { data: [{ id: "m", meta: { n_ctx_train: 131072, n_ctx: 32768 } }] }],
    ["OpenRouter", { data: [{ id: "m", context_length: 32768 }] }],
    ["Groq", { data: [{ id: "m", context_window: 32768 }] }],
    ["LM Studio", { data: [{ id: "m", max_context_length: 131072, loaded_context_length: 32768 }] }],
    ["Together", [{ id: "m", context_length: 32768 }]],
    ["the sign-in", { models: [{ slug: "m", context_window: 32768 }] }],
    ["Copilot", { data: [{ id: "m", capabilities: { limits: { max_context_window_tokens: 32768 } } }] }],
    [
      "Copilot for prompts",
      { data: [{ id: "m", capabilities: { limits: { max_context_window_tokens: 65536, max_prompt_tokens: 32768 } } }] },
    ],
    ["Google", { models: [{ name: "models/m", inputTokenLimit: 32768 }] }],
    ["a server that repeats itself", { data: [{ id: "m", context_length: 32768 }, { id: "m" }] }],
    [
      "a server with models that are gone",
      {
        data: [
          { id: "x", active: false },
          { id: "m", context_length: 32768 },
        ],
      },
    ],
  ])("windows as %s tells them", (_name, answer) => {
    expect(modelsIn(answer)).toEqual([{ id: "m", contextLimit: 32_768 }]);
  });

  test("names alone, and Google's with its own prefix", () => {
    expect(modelsIn(["a", "b", 5, null])).toEqual([{ id: "a" }, { id: "b" }]);
    expect(modelsIn({ data: [{ id: "models/gemini-9", owned_by: "google" }] })).toEqual([{ id: "gemini-9" }]);
    expect(modelsIn({ data: [{ id: "models/own.gguf", owned_by: "llamacpp" }] })).toEqual([{ id: "models/own.gguf" }]);
    expect(infoFor("models/gemini-2.5-pro")).toEqual(infoFor("gemini-2.5-pro"));
  });

  test("prices as OpenRouter reports them", () => {
    const pricing = { prompt: "0.0000025", completion: "0.00001" };
    expect(modelsIn({ data: [{ id: "m", pricing }] })).toEqual([{ id: "m", priceIn: 2.5, priceOut: 10 }]);
    const ofMillion = { input: 0.9, output: 1.1 };
    expect(modelsIn([{ id: "m", pricing: ofMillion }])).toEqual([{ id: "m", priceIn: 0.9, priceOut: 1.1 }]);
  });

  test("a list without end is not read to its end", async () => {
    const web = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: () => new Response(new ReadableStream({ pull: (to) => to.enqueue(new Uint8Array(1 << 20).fill(0x20)) })),
    });
    await expect(listModels(options(`${web.url}v1`), never)).rejects.toMatchObject({ reason: "protocol" });
    await web.stop(true);
  });

  test("says what is wrong", async () => {
    const key = "sk-very-secret-key";
    const web = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: ({ url }) => {
        const path = new URL(url).pathname;
        if (path.startsWith("/says")) return Response.json({ error: { message: "no list here" } });
        if (path.startsWith("/hang")) return new Promise<Response>(() => {});
        return path.startsWith("/key")
          ? Response.json({ error: { message: `bad key ${key}` } }, { status: 401 })
          : new Response("<html>");
      },
    });
    const failure = (path: string, signal = never, limitMs?: number) =>
      listModels(options(`${web.url}${path}`, { key, keySource: "BUDDY_API_KEY" }), signal, limitMs).catch(
        (error: unknown) => error,
      );
    expect(await failure("key")).toMatchObject({ reason: "auth", hint: expect.stringContaining("BUDDY_API_KEY") });
    expect(String(await failure("key"))).not.toContain(key);
    expect(await failure("page")).toMatchObject({ reason: "protocol" });
    expect(await failure("says")).toMatchObject({ message: expect.stringContaining("no list here") });
    expect(await failure("hang", never, 200)).toMatchObject({ reason: "timeout" });
    expect(await failure("hang", AbortSignal.abort())).toMatchObject({ reason: "cancelled" });
    await web.stop(true);
    expect(await failure("gone")).toMatchObject({ reason: "network" });
  });
});
