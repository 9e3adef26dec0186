/** Keys and tokens: sent where they belong, never in any words, asked for again when refused. */
import { describe, expect, test } from "bun:test";
import { createModelClient, type TokenSource } from "../../src/model/client.ts";
import { echoRedactor } from "../../src/lib/secrets/redact.ts";
import { collect, done, modelOptions, startModel } from "../support/model.ts";

const KEY = "sk-proj-AbCdEfGh+1234/5678=ijklMNOP";

describe("redaction", () => {
  const redact = echoRedactor([KEY]);
  test.each([
    KEY,
    `Bearer ${KEY}`,
    encodeURIComponent(KEY),
    encodeURIComponent(KEY).toLowerCase(),
    JSON.stringify(`{"k":"${KEY}"}`),
    Buffer.from(KEY).toString("base64"),
    "sk-proj-AbCdEfGh",
    "AbCdEfGh+1234",
    "sk-proj-********************MNOP",
    "sk-…MNOP",
    "sk-...MNOP",
    "sk-p••••MNOP",
  ])("%s", (echo) => {
    const clean = redact(`Incorrect API key provided: ${echo}. Try again.`);
    expect(clean).toContain("[redacted]");
    expect(clean).not.toContain("MNOP");
    expect(clean).not.toMatch(/AbCdEfGh/i);
    expect(clean.startsWith("Incorrect API key provided: ")).toBe(true);
    expect(clean.endsWith(". Try again.")).toBe(true);
  });

  test("other words stay", () => {
    const words = "The model `gpt-5` does not exist; skip it ... or ask.";
    expect(redact(words)).toBe(words);
    expect(echoRedactor([undefined, "", "abc"])("abc")).toBe("abc");
  });
});

describe("the key", () => {
  test.each([
    { fault: { status: 401, body: { error: { message: `Incorrect API key provided: ${KEY}` } } } },
    { fault: { status: 400, body: `bad header authorization: Bearer ${KEY}` } },
    { fault: { status: 500, body: { detail: { echoed: KEY } } } },
    { raw: { body: `data: {"error":{"message":"key ${KEY} is bad"}}\n\n` } },
    { raw: { body: `data: ${KEY}\n\n` } },
    { raw: { body: `Hello ${KEY}`, type: "text/plain" } },
    { fault: { status: 302, headers: { location: `/login/${encodeURIComponent(KEY)}` } } },
  ])("is sent, and in no message, hint or event when echoed: %#", async (reply) => {
    await using model = startModel({ reply: () => reply }, { key: KEY, keySource: "BUDDY_API_KEY", retries: 1 });
    const seen: unknown[] = [];
    const error: unknown = await (async () => {
      for await (const event of model.client.stream(
        { messages: [{ role: "user", content: "x" }], tools: [] },
        new AbortController().signal,
      ))
        seen.push(event);
    })().catch((caught: unknown) => caught);
    expect(model.requests[0]?.headers["authorization"]).toBe(`Bearer ${KEY}`);
    expect(error).toBeInstanceOf(Error);
    const everything = Bun.inspect([
      seen,
      error,
      { ...(error as object) },
      (error as Error).message,
      (error as Error).cause,
      (error as Error).stack,
    ]);
    for (const part of [KEY, "AbCdEfGh", "ijklMNOP"]) expect(everything).not.toContain(part);
  });

  test("401 names its source", async () => {
    await using model = startModel([{ fault: { status: 401 } }], { key: KEY, keySource: "api_key_file ~/k" });
    await expect(collect(model.client)).rejects.toMatchObject({
      code: "auth",
      hint: expect.stringContaining("api_key_file ~/k"),
    });
  });

  test.each(["sk-abc\ndef", "sk abc", "schlüssel-1234"])("%j is not sent at all", async (key) => {
    await using model = startModel([], { key, keySource: "api_key_file ~/k" });
    const error: unknown = await collect(model.client).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: "auth", message: expect.stringContaining("api_key_file ~/k") });
    expect(String(error)).not.toContain(key);
    expect(model.requests).toHaveLength(0);
  });

  test("user and password in a base URL are not shown", () => {
    const client = createModelClient(modelOptions("https://user:secret@example.org/v1/?version=2"));
    expect(client.profile.baseUrl).toBe("https://example.org/v1");
  });
});

describe("signed in", () => {
  const source = (tokens: string[], asked: (string | undefined)[] = []): TokenSource => ({
    token: async ({ refused }) => {
      asked.push(refused);
      return { accessToken: tokens.shift() ?? "none", accountId: "acc-1" };
    },
  });

  test("requests are as the login endpoint wants them", async () => {
    await using model = startModel([{ text: "hi", usage: { input: 1e6, output: 1e6 } }], {
      api: "responses",
      auth: "login",
      login: source(["token-1"]),
      stream: false,
      temperature: 0.2,
      model: "gpt-5.3-codex",
    });
    const { usage } = await done(model.client, {
      messages: [
        { role: "system", content: "be brief" },
        { role: "user", content: "x" },
      ],
      tools: [],
    });
    const [request] = model.requests;
    expect(request?.headers).toMatchObject({
      authorization: "Bearer token-1",
      "chatgpt-account-id": "acc-1",
      originator: "buddy",
    });
    expect(request?.body).toMatchObject({
      store: false,
      stream: true,
      instructions: "be brief",
      include: ["reasoning.encrypted_content"],
    });
    expect(request?.body).not.toHaveProperty("temperature");
    expect(usage.costUsd).toBeUndefined();
  });

  test("a refused token is refreshed once", async () => {
    const asked: (string | undefined)[] = [];
    await using model = startModel([{ fault: { status: 401 } }, { text: "hi" }], {
      api: "responses",
      auth: "login",
      login: source(["old", "new"], asked),
    });
    const events = await collect(model.client);
    expect(events.some((event) => event.type === "retry")).toBe(false);
    expect(asked).toEqual([undefined, "old"]);
    expect(model.requests.map((request) => request.headers["authorization"])).toEqual(["Bearer old", "Bearer new"]);
  });

  test("refused again means signing in again", async () => {
    await using model = startModel(
      { reply: () => ({ fault: { status: 401, body: { detail: "token secret-token-value expired" } } }) },
      { api: "responses", auth: "login", login: source(["secret-token-value", "secret-token-value"]) },
    );
    const error: unknown = await collect(model.client).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: "auth", hint: "Sign in again with `buddy login test`." });
    expect(String(error)).not.toContain("secret-token-value");
    expect(model.requests).toHaveLength(2);
  });

  test("cancelled while the token is fetched", async () => {
    const cancel = new AbortController();
    const login: TokenSource = {
      token: () => {
        cancel.abort();
        return Promise.reject(new Error("stopped"));
      },
    };
    await using model = startModel([], { api: "responses", auth: "login", login });
    await expect(collect(model.client, undefined, cancel.signal)).rejects.toMatchObject({ reason: "cancelled" });
  });

  test("what the sign-in says is passed on", async () => {
    const login: TokenSource = { token: () => Promise.reject(new Error("the sign-in has ended")) };
    await using model = startModel([], { api: "responses", auth: "login", login });
    await expect(collect(model.client)).rejects.toThrow("the sign-in has ended");
  });

  test("not signed in", async () => {
    await using model = startModel([], { api: "responses", auth: "login" });
    await expect(collect(model.client)).rejects.toMatchObject({
      code: "auth",
      hint: expect.stringContaining("buddy login test"),
    });
  });
});

test("a model that the sign-in no longer offers is replaced, and buddy says so", async () => {
  const web = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      if (request.method === "GET") return Response.json({ models: [{ slug: "gpt-new" }, { slug: "gpt-new-codex" }] });
      const { model } = (await request.json()) as { model: string };
      if (model === "gpt-old")
        return Response.json(
          { detail: "The 'gpt-old' model is not supported when using Codex with a ChatGPT account." },
          { status: 400 },
        );
      const output = [{ type: "message", content: [{ type: "output_text", text: model }] }];
      return new Response(`data: ${JSON.stringify({ type: "response.completed", response: { output } })}\n\n`);
    },
  });
  const client = createModelClient(
    modelOptions(`${web.url}codex`, {
      api: "responses",
      auth: "login",
      model: "gpt-old",
      login: { token: async () => ({ accessToken: "t" }) },
    }),
  );
  const events = await collect(client);
  expect(events.find((event) => event.type === "notice")).toMatchObject({
    message: expect.stringContaining("using gpt-new-codex"),
  });
  expect(events.at(-1)).toMatchObject({ type: "done", message: { content: "gpt-new-codex" } });
  await web.stop(true);
});
