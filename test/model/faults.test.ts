/**
 * Every fault ends well: in the right words or after a retry, and the same process completes a normal turn afterwards.
 */
import { afterAll, beforeAll, describe, expect, test, setDefaultTimeout } from "bun:test";
import { createModelClient, type ModelOptions } from "../../src/model/client.ts";
import { ModelError, type ModelFailure } from "../../src/model/errors.ts";
import { buddyError } from "../support/errors.ts";
import type { Fault, ScriptedReply } from "../support/scripted-model/playbook.ts";
import { startScripted, type ScriptedServer } from "../support/scripted-model/server.ts";
import type { ModelClient, ModelEvent } from "../../src/model/types.ts";
import { ask, collect, done, modelOptions, startModel, type TestModel } from "../support/model.ts";
import { until } from "../support/until.ts";

// For a busy machine; nothing here waits for a time.
setDefaultTimeout(60_000);

const APIS = ["completions", "responses", "anthropic"] as const;
const TEXT = "A text long enough to be cut somewhere in its middle, äöü 世界 🦊, and then some more of it.";
const CALL = { name: "look", args: { at: TEXT }, id: "c1" };

/** The turn fails; returns how. */
async function failure(client: ModelClient, signal?: AbortSignal): Promise<ModelError> {
  try {
    await collect(client, ask("go"), signal);
  } catch (error) {
    if (error instanceof ModelError) return error;
    throw error;
  }
  throw new Error("the turn did not fail");
}

async function thenNormal(model: TestModel): Promise<void> {
  expect((await done(model.client)).message.content).toBe("fine");
}

/** Short where running out of it is the point, long enough for a busy machine elsewhere. */
const patience = (reason: ModelFailure) => {
  const ms = reason === "timeout" ? 400 : 20_000;
  return { headerTimeoutMs: ms, idleTimeoutMs: ms };
};

const NUL_EVENTS = {
  completions: {
    event: '{"choices":[{"delta":{"content":"a\\u0000b@@c"},"finish_reason":"stop"}]}',
    end: "data: [DONE]\n\n",
  },
  responses: {
    event: '{"type":"response.output_text.delta","output_index":0,"delta":"a\\u0000b@@c"}',
    end: 'data: {"type":"response.completed","response":{"output":[]}}\n\n',
  },
  anthropic: {
    event: '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\\u0000b@@c"}}',
    end: 'data: {"type":"message_stop"}\n\n',
  },
} as const;

const retries = (events: readonly ModelEvent[]) => events.filter((event) => event.type === "retry");

describe.each(APIS)("%s", (api) => {
  /** Faults that a second try cures. */
  const passing: readonly (readonly [string, ScriptedReply, ModelFailure])[] = [
    ["silence after accepting", { fault: "silence" }, "timeout"],
    ["headers that come too late", { text: TEXT, fault: "slow-headers", delayMs: 60_000 }, "timeout"],
    ["a reset before the headers", { text: TEXT, fault: "reset-before-headers" }, "network"],
    ["a reset after the headers", { text: TEXT, fault: "reset-after-headers" }, "network"],
    ["a reset in the text", { text: TEXT, pieceChars: 4, fault: "reset-midway" }, "network"],
    ["a reset in a tool call", { toolCalls: [CALL], pieceChars: 4, fault: "reset-midway" }, "network"],
    ["a truncated chunked body", { text: TEXT, pieceChars: 4, fault: "truncated" }, "network"],
    ["a stream that falls silent", { text: TEXT, pieceChars: 4, fault: "stall" }, "timeout"],
    ["a malformed event", { text: TEXT, fault: "malformed-event" }, "protocol"],
    ["an error object with status 200", { fault: "error-object" }, "overloaded"],
    ["an error event", { text: TEXT, fault: "error-event" }, "overloaded"],
    ["a failed response", { text: TEXT, fault: "failed" }, "overloaded"],
    ["an empty answer", { raw: { body: "" } }, "protocol"],
    ["a stream without its end", { raw: { body: 'data: {"choices":[{"delta":{"content":"a"}}]}\n\n' } }, "protocol"],
    ["a cut JSON document", { raw: { body: '{"choices":[{"mess', type: "application/json" } }, "protocol"],
    ...[408, 409, 429, 500, 502, 503, 504, 529].map((status) => {
      const reason = status === 408 ? "timeout" : status === 429 ? "rate-limit" : "overloaded";
      return [`status ${status}`, { fault: { status } }, reason] as const;
    }),
  ];

  test.each(passing)("%s is retried, and nothing of it is acted on", async (_name, reply, reason) => {
    await using model = startModel([reply, { text: "fine" }, { text: "fine" }], {
      api,
      ...patience(reason),
    });
    const events = await collect(model.client);
    expect(retries(events)).toHaveLength(1);
    const { host } = new URL(model.url);
    expect(retries(events)[0]).toMatchObject({ attempt: 1, of: 4, host, reason: expect.not.stringContaining(host) });
    const afterRetry = events.slice(events.findIndex((event) => event.type === "retry"));
    expect(afterRetry.flatMap((event) => (event.type === "text" ? event.delta : [])).join("")).toBe("fine");
    const shownBefore = events.slice(0, events.indexOf(afterRetry[0]!)).some((event) => event.type === "text");
    expect(events.some((event) => event.type === "discard")).toBe(shownBefore);
    expect(events.at(-1)).toMatchObject({ type: "done", message: { content: "fine", toolCalls: [] } });
    await thenNormal(model);
  });

  test.each(passing)("%s that does not pass ends in words", async (_name, reply, reason) => {
    await using model = startModel([reply, reply, { text: "fine" }], {
      api,
      ...patience(reason),
      retries: 1,
    });
    const error = await failure(model.client);
    expect(error.reason).toBe(reason);
    expect(error.message).toContain(new URL(model.url).host);
    await thenNormal(model);
  });

  test.each<readonly [number, ModelFailure, RegExp]>([
    [400, "refused", /settings of profile "test"/],
    [401, "auth", /No key was sent/],
    [402, "quota", /credit/],
    [403, "refused", /permissions/],
    [404, "not-found", /other protocol: set api = /],
    [405, "not-found", /other protocol/],
    [413, "context-limit", /compact/],
    [422, "refused", /settings of profile/],
  ])("status %d fails at once with the provider's words and a hint", async (status, reason, hint) => {
    const fault = { status, body: { error: { message: "said by the provider" } } };
    await using model = startModel([{ fault }, { text: "fine" }], { api });
    const error = await failure(model.client);
    expect(error).toMatchObject({ reason, status, retryable: false, hint: expect.stringMatching(hint) });
    expect(error.message).toContain("said by the provider");
    expect(error.message).toContain(String(status));
    expect(model.requests).toHaveLength(1);
    await thenNormal(model);
  });

  test("a redirect is not followed with the key", async () => {
    await using model = startModel(
      [{ fault: { status: 307, headers: { location: "https://elsewhere.example/v1?key=x" } } }, { text: "fine" }],
      { api },
    );
    const error = await failure(model.client);
    expect(error).toEqual(buddyError("model", "https://elsewhere.example/v1", "307"));
    expect(error.message).not.toContain("key=x");
    await thenNormal(model);
  });

  test("a redirect to nowhere is not said to lead back to the same address", async () => {
    await using model = startModel([{ fault: { status: 302 } }, { text: "fine" }], { api });
    const error = await failure(model.client);
    expect(error).toEqual(buddyError("model", "302"));
    expect(error.message).not.toContain(model.url);
    await thenNormal(model);
  });

  test("a body that is not compressed as its header says", async () => {
    await using model = startModel([{ fault: { status: 200, headers: { "content-encoding": "gzip" } } }], {
      api,
      retries: 0,
    });
    expect((await failure(model.client)).message).toContain("decompressed");
  });

  test("a web page with status 200 is called one", async () => {
    await using model = startModel([{ fault: "html" }, { text: "fine" }], { api });
    const error = await failure(model.client);
    expect(error.message).toContain("Welcome to nginx!");
    expect(error.hint).toContain("api_base_url");
    await thenNormal(model);
  });

  test("JSON of another protocol is called that", async () => {
    await using model = startModel([{ raw: { body: '{"models":[]}', type: "application/json" } }, { text: "fine" }], {
      api,
    });
    expect((await failure(model.client)).reason).toBe("protocol");
    await thenNormal(model);
  });

  test("an HTML error page is reported by its title", async () => {
    const body = "<html><head><title>502 Bad Gateway</title></head></html>";
    await using model = startModel([{ fault: { status: 502, body } }, { text: "fine" }], { api, retries: 0 });
    expect((await failure(model.client)).message).toContain("502 Bad Gateway");
    await thenNormal(model);
  });

  test.each(["length", "content_filter"] as const)(
    "finish %s drops a tool call that was cut, keeps the text",
    async (finish) => {
      const cut = { name: "look", arguments: '{"at": "half' };
      await using model = startModel([{ text: "some", toolCalls: [CALL, cut], finish }, { text: "fine" }], { api });
      const last = await done(model.client);
      expect(last.finish).toBe(finish === "length" ? "length" : "content-filter");
      expect(last.message.content).toBe("some");
      expect(last.message.toolCalls.map((call) => call.id)).toEqual(["c1"]);
      await thenNormal(model);
    },
  );

  test("a refusal by the content filter is named", async () => {
    const fault = { status: 400, body: { error: { code: "content_filter", message: "The response was filtered" } } };
    await using model = startModel([{ fault }, { text: "fine" }], { api });
    expect((await failure(model.client)).reason).toBe("content-filter");
    await thenNormal(model);
  });

  test("a 2 MB single event arrives whole", async () => {
    const big = "0123456789äöü🦊".repeat(140_000);
    await using model = startModel([{ text: big, pieceChars: 1e9 }, { text: "fine" }], { api });
    expect((await done(model.client)).message.content === big).toBe(true);
    await thenNormal(model);
  });

  test("200 000 tiny events arrive whole", async () => {
    const many = "ab".repeat(100_000);
    await using model = startModel([{ text: many, pieceChars: 1 }, { text: "fine" }], { api });
    expect((await done(model.client)).message.content === many).toBe(true);
    await thenNormal(model);
  });

  test("an answer of more tool calls than anyone wants is refused, not run", async () => {
    const toolCalls = Array.from({ length: 4_100 }, (_, at) => ({ name: "look", args: { at }, id: `c${at}` }));
    await using model = startModel([{ toolCalls }, { text: "fine" }], { api });
    const error = await failure(model.client);
    expect(error).toEqual(buddyError("model", "4096"));
    await thenNormal(model);
  });

  test("a page without end is not read to its end", async () => {
    let sent = 0;
    await using server = Bun.serve({
      port: 0,
      fetch: () =>
        new Response(
          new ReadableStream({
            pull(controller) {
              controller.enqueue(Buffer.from(sent === 0 ? "<title>Sign in</title>" : "<p>word</p>".repeat(5_000)));
              sent++;
            },
          }),
        ),
    });
    const client = createModelClient(modelOptions(`http://127.0.0.1:${server.port}/v1`, { api, retries: 0 }));
    const error = await failure(client);
    expect(error.message).toContain('the response is not from a model but a web page: "Sign in"');
    expect(sent).toBeLessThan(1_000);
  });

  test("headers without end are named, and not asked for again", async () => {
    let asked = 0;
    using server: Disposable & { readonly port: number } = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        open(socket) {
          asked++;
          socket.write(`HTTP/1.1 200 OK\r\nx-long: ${"v".repeat(1 << 20)}`);
        },
        data() {},
      },
    });
    const client = createModelClient(modelOptions(`http://127.0.0.1:${server.port}/v1`, { api, contextLimit: 8_192 }));
    const error = await failure(client);
    expect(error).toEqual(buddyError("model", `127.0.0.1:${server.port}`, "headers"));
    expect(asked).toBe(1);
  });

  test("NUL is kept, invalid UTF-8 becomes replacement characters", async () => {
    const { event, end } = NUL_EVENTS[api];
    const body = Buffer.from(`data: ${event}\n\n${end}`);
    for (let at = body.indexOf("@"); at >= 0; at = body.indexOf("@")) body[at] = 0xff;
    await using model = startModel(
      [
        { raw: { body } },
        { raw: { body: Buffer.concat([body.subarray(0, 6), Buffer.from([0]), body.subarray(6)]) } },
        { text: "fine" },
      ],
      { api, retries: 0 },
    );
    expect((await done(model.client)).message.content).toBe("a\u0000b\ufffd\ufffdc");
    // A raw NUL in the JSON makes that event malformed.
    expect((await failure(model.client)).reason).toBe("protocol");
    await thenNormal(model);
  });

  test("duplicated ids become different ones, also in what goes back", async () => {
    const twins = [
      { name: "look", args: { at: "1" }, id: "same" },
      { name: "look", args: { at: "2" }, id: "same" },
    ];
    await using model = startModel([{ toolCalls: twins }, { text: "fine" }], { api });
    const { message } = await done(model.client);
    expect(message.toolCalls.map((call) => [call.id, call.arguments])).toEqual([
      ["same", '{"at":"1"}'],
      ["same-2", '{"at":"2"}'],
    ]);
    const results = message.toolCalls.map((call) => ({
      role: "tool" as const,
      callId: call.id,
      name: call.name,
      content: call.id,
    }));
    await done(model.client, { messages: [{ role: "user", content: "go" }, message, ...results], tools: [] });
    expect(model.requests[1]?.messages[1]?.calls.map((call) => call.id)).toEqual(["same", "same-2"]);
  });

  test("arguments that are not JSON and tools that do not exist are passed on whole", async () => {
    await using model = startModel(
      [{ toolCalls: [{ name: "no-such-tool", arguments: "{broken" }] }, { text: "fine" }],
      { api },
    );
    const { message, finish } = await done(model.client);
    expect(finish).toBe("tool-calls");
    expect(message.toolCalls).toMatchObject([{ name: "no-such-tool", arguments: "{broken" }]);
    await thenNormal(model);
  });

  test("usage sent twice counts once", async () => {
    await using model = startModel(
      [{ text: "x", usage: { input: 7, output: 3 }, quirks: { usageTwice: true } }, { text: "fine" }],
      { api },
    );
    expect((await done(model.client)).usage).toMatchObject({ input: 7, output: 3, estimated: false });
    await thenNormal(model);
  });

  test.each<Fault>(["never-ends", "pings-forever"])(
    "%s: limited in all, and left at once when the caller leaves",
    async (fault) => {
      await using model = startModel([{ text: TEXT, fault }, { text: TEXT, fault }, { text: "fine" }], {
        api,
        idleTimeoutMs: 5_000,
        totalTimeoutMs: 400,
      });
      const error = await failure(model.client);
      expect(error.reason).toBe("timeout");
      expect(error.hint).toContain("answer_timeout");
      await until(() => model.requests[0]?.abandoned, "the server sees the connection close");
      const patient = createModelClient(modelOptions(model.url, { api }));
      const cancel = new AbortController();
      for await (const event of patient.stream(ask("go"), cancel.signal)) if (event.type === "text") break;
      await until(() => model.requests[1]?.abandoned, "the server sees the connection close");
      await thenNormal(model);
    },
  );

  test("a server that never begins is limited in all, too", async () => {
    await using model = startModel([{ fault: "silence" }, { text: "fine" }], { api, totalTimeoutMs: 1500 });
    const error = await failure(model.client);
    expect(error.reason).toBe("timeout");
    expect(error.hint).toContain("answer_timeout");
    await thenNormal(model);
  });

  test("cancelling reaches the socket: while waiting for headers, while streaming, while waiting to retry", async () => {
    const replies: ScriptedReply[] = [
      { fault: "silence" },
      { text: TEXT, fault: "stall" },
      { fault: { status: 503, headers: { "retry-after": "30" } } },
      { text: "fine" },
    ];
    await using model = startModel(replies, { api });
    for (const [at, trigger] of (["request", "text", "retry"] as const).entries()) {
      const cancel = new AbortController();
      const turn = (async () => {
        for await (const event of model.client.stream(ask("go"), cancel.signal))
          if (event.type === trigger) cancel.abort();
      })();
      if (trigger === "request") {
        await until(() => model.requests.length === 1, "the request");
        cancel.abort();
      }
      await expect(turn).rejects.toMatchObject({ reason: "cancelled", code: "interrupted" });
      if (trigger !== "retry") await until(() => model.requests[at]?.abandoned, "the server sees the connection close");
    }
    await thenNormal(model);
  });

  test("a signal that has already fired sends nothing", async () => {
    await using model = startModel([{ text: "fine" }], { api });
    expect((await failure(model.client, AbortSignal.abort())).reason).toBe("cancelled");
    expect(model.requests).toHaveLength(0);
    await thenNormal(model);
  });

  test("a slow reader is not taken for a silent server", async () => {
    const reply = { text: TEXT, pieceChars: 4, delayMs: 5 };
    await using model = startModel([reply, { text: "fine" }], { api, idleTimeoutMs: 500, retries: 0 });
    let text = "";
    for await (const event of model.client.stream(ask("go"), new AbortController().signal)) {
      if (event.type !== "text") continue;
      const since = performance.now();
      if (text === "") await until(() => performance.now() - since > 1000, "longer than the server may be silent");
      text += event.delta;
    }
    expect(text).toBe(TEXT);
    await thenNormal(model);
  });

  test("comments and pings count as life", async () => {
    // Longer than the limit as a whole, and each pause much shorter, also on a busy machine.
    const slow = { text: "slow but alive", pieceChars: 1, delayMs: 160, quirks: { pings: true } };
    await using model = startModel([slow, { text: "fine" }], { api, idleTimeoutMs: 2_000, retries: 0 });
    expect((await done(model.client)).message.content).toBe("slow but alive");
    await thenNormal(model);
  });
});

test("an error whose words never end is reported by its status", async () => {
  const web = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () =>
      new Response(new ReadableStream({ start: (to) => to.enqueue(Buffer.from("no such ")) }), { status: 403 }),
  });
  const error = await failure(createModelClient(modelOptions(`${web.url}v1`)));
  expect(error).toMatchObject({ reason: "refused", status: 403, message: expect.stringContaining("no such") });
  await web.stop(true);
});

describe("no one there", () => {
  let server: ScriptedServer;
  beforeAll(() => {
    server = startScripted({ reply: () => ({ text: "fine" }) });
  });
  afterAll(() => server.close());

  const normal = async () =>
    expect((await done(createModelClient(modelOptions(server.url)))).message.content).toBe("fine");

  test("refused", async () => {
    await using gone = startModel([]);
    await gone.server.close();
    const client = createModelClient(modelOptions(gone.url, { retries: 2 }));
    const events: ModelEvent[] = [];
    const error = await (async () => {
      for await (const event of client.stream(ask("go"), new AbortController().signal)) events.push(event);
    })().catch((caught: unknown) => caught);
    expect(error).toMatchObject({
      reason: "network",
      message: expect.stringContaining("connection refused"),
      hint: expect.stringContaining("ollama serve"),
    });
    expect(retries(events).map((event) => event.attempt)).toEqual([1, 2]);
    await normal();
  });

  test("a name that does not resolve", async () => {
    const options: Partial<ModelOptions> = { retries: 0 };
    const error = await failure(createModelClient(modelOptions("http://no-such-host.invalid/v1", options)));
    expect(error).toMatchObject({ reason: "network", message: expect.stringContaining("no-such-host.invalid") });
    await normal();
  });

  test("https to a server that does not speak it", async () => {
    const error = await failure(createModelClient(modelOptions(server.url.replace("http:", "https:"), { retries: 0 })));
    expect(error).toMatchObject({ reason: "network", retryable: false, hint: expect.stringContaining("http://") });
    await normal();
  });

  test("a base URL that is none", () => {
    expect(() => createModelClient(modelOptions("ftp://example.org"))).toThrow(buddyError("config", "api_base_url"));
  });
});
