/** How long to wait, how often, and what the user is told. */
import { ProviderError } from "../../../src/model/provider-error.ts";
import { describe, expect, test } from "bun:test";
import { backoffMs, retryAfterMs, waitInWords } from "../../../src/model/http/retry.ts";
import type { ModelEvent } from "../../../src/model/types.ts";
import { ask, collect, startModel } from "../../support/model.ts";

const NOW = Date.parse("2026-11-16T03:00:00Z");
const after = (value: string, name = "retry-after") => retryAfterMs(new Headers({ [name]: value }), NOW);

describe("Retry-After", () => {
  test.each([
    ["3", 3000],
    ["0", 0],
    ["0.5", 500],
    [" 7 ", 7000],
    ["Mon, 16 Nov 2026 03:00:05 GMT", 5000],
    ["2026-11-16T03:00:09Z", 9000],
    ["Mon, 16 Nov 2026 02:00:00 GMT", 0],
    ["soon", undefined],
    ["-5", undefined],
    ["12,5", undefined],
    ["60, 60", 60_000],
    ["", undefined],
    ["NaN", undefined],
    ["1e9", undefined],
    ["Infinity", undefined],
  ])("%j is %p ms", (value, expected) => expect(after(value)).toBe(expected));

  test("retry-after-ms is finer", () => expect(after("250", "retry-after-ms")).toBe(250));
  test("none", () => expect(retryAfterMs(new Headers(), NOW)).toBeUndefined());

  test.each([
    [{ "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "6m0s" }, 360_000],
    [{ "x-ratelimit-remaining-requests": "3", "x-ratelimit-reset-requests": "6m0s" }, undefined],
    [{ "ratelimit-remaining": "0", "ratelimit-reset": "8" }, 8_000],
    [{ "x-ratelimit-remaining": "0", "x-ratelimit-reset": String(NOW / 1000 + 9) }, 9_000],
    [{ "x-ratelimit-remaining": "0", "x-ratelimit-reset": String(NOW + 9_000) }, 9_000],
    [
      {
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "1s",
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": "3s",
      },
      3_000,
    ],
    [
      {
        "anthropic-ratelimit-input-tokens-remaining": "0",
        "anthropic-ratelimit-input-tokens-reset": new Date(NOW + 7_000).toISOString(),
      },
      7_000,
    ],
    [{ "x-ratelimit-remaining-tokens-minute": "0", "x-ratelimit-reset-tokens-minute": "11.5" }, 11_500],
    [{ "x-ratelimit-remaining": "0", "x-ratelimit-reset-after": "3" }, 3_000],
    [{ "x-codex-primary-used-percent": "100", "x-codex-primary-reset-after-seconds": "3600" }, 3_600_000],
    [{ "x-codex-secondary-used-percent": "100.0", "x-codex-secondary-reset-at": String(NOW / 1000 + 90) }, 90_000],
    [{ "x-codex-primary-used-percent": "99", "x-codex-primary-reset-after-seconds": "3600" }, undefined],
    [{ ratelimit: '"default";r=0;t=25' }, 25_000],
    [{ ratelimit: '"default";r=4;t=25' }, undefined],
    [{ "x-ms-retry-after-ms": "800", "retry-after": "1" }, 800],
    [{ "retry-after": "2", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "50" }, 2_000],
  ])("a limit of which nothing remains: %j is %p ms", (headers, expected) =>
    expect(retryAfterMs(new Headers(headers as Record<string, string>), NOW)).toBe(expected),
  );
});

describe("a wait in words", () => {
  test.each([
    ["Please try again in 7m12s.", 432_000],
    ["Please try your request again in 10 seconds", 10_000],
    ["The limit will be lifted in 20 minutes", 1_200_000],
    ["Quota exceeded. Try again in 04:12:30.", 15_150_000],
    ["Your rate limit resets in ~30s.", 30_000],
    ["Too many requests. Retry-After: 20", 20_000],
    ["Expected available in 1 second.", 1_000],
    ["请求过于频繁，请在 10 秒后重试", 10_000],
    ["请 5 分钟后再试", 300_000],
    ["Quota will be replenished in 06:12:33.", 22_353_000],
    ["Next request allowed in 9 seconds", 9_000],
    ["cooldown: 12s", 12_000],
    ["Your limit will reset at 2020-01-01 00:00:00 UTC", undefined],
    ["Your limit will reset at 2100-01-01 00:00:00", undefined],
    ["a timeout of 60 seconds", undefined],
    ["Please try again later", undefined],
  ])("%s", (words, expected) => expect(waitInWords(words)).toBe(expected));

  test.each([
    ["resets at 2100-01-01T00:00:00Z (2056)", "2100-01-01T00:00Z"],
    ["You will regain access on 2100-12-01 at 00:00 UTC.", "2100-12-01T00:00Z"],
    ["It will reset at 2100-04-14 16:27:21 +0800 CST.", "2100-04-14T08:27:21Z"],
    ["Wait until 2100-01-01T00:00:00+01:00.", "2099-12-31T23:00Z"],
  ])("%s", (words, until) => {
    expect(Math.abs(waitInWords(words)! - (Date.parse(until) - Date.now()))).toBeLessThan(60_000);
  });
});

test.each([
  [{ error: { message: "x", retry_after_ms: 1200 } }, 1_200],
  [{ error: { details: [{ retryDelay: { seconds: 7 } }] } }, 7_000],
  [{ error: { cooldown_seconds: 33 } }, 33_000],
  [{ error: { retry_in: 15 } }, 15_000],
  [{ error: { wait_ms: 300 } }, 300],
  [{ error: { metadata: { headers: { "Retry-After": "11" } } } }, 11_000],
  [{ error: { message: "x", reset_at: new Date(Date.now() - 1).toISOString() } }, 0],
  [{ error: { message: "x", resets_at: 1_700_000_000, resets_in_seconds: 90 } }, 90_000],
  [{ error: { message: "x", estimated_tokens: 12 } }, undefined],
])("a wait in the body: %j", (body, expected) => expect(new ProviderError(body).retryAfterMs).toBe(expected));

test("the wait doubles, is capped, and is spread", () => {
  expect([1, 2, 3, 4].map((attempt) => backoffMs(attempt, 500, () => 0))).toEqual([500, 1000, 2000, 4000]);
  expect(backoffMs(30, 500, () => 0)).toBe(60_000);
  expect(backoffMs(1, 1000, () => 1)).toBe(750);
});

/** The turn runs until its first retry event, then is left. */
async function firstRetry(headers: Record<string, string>): Promise<Extract<ModelEvent, { type: "retry" }>> {
  await using model = startModel([{ fault: { status: 429, headers, body: { error: { message: "slow down" } } } }]);
  for await (const event of model.client.stream(ask("x"), new AbortController().signal))
    if (event.type === "retry") return event;
  throw new Error("no retry");
}

describe("on the wire", () => {
  test("the wait the server asks for is kept and reported with host and reason", async () => {
    const event = await firstRetry({ "retry-after": "20" });
    expect(event.waitMs).toBeGreaterThanOrEqual(20_000);
    expect(event.waitMs).toBeLessThan(21_000);
    expect(event.host).toMatch(/^127\.0\.0\.1:\d+$/);
    expect(event.reason).toContain("429");
    expect(event.reason).toContain("slow down");
  });

  test("a date is kept too", async () => {
    const event = await firstRetry({ "retry-after": new Date(Date.now() + 30_000).toUTCString() });
    expect(event.waitMs).toBeGreaterThan(25_000);
    expect(event.waitMs).toBeLessThan(32_000);
  });

  test.each([
    ["Rate limit reached. Please try again in 11.5s.", 11_500],
    ["Rate limit reached. Please try again in 5400ms.", 5_400],
  ])("inside a stream, the provider's words are kept: %s", async (message, ms) => {
    const body = `data: ${JSON.stringify({ error: { code: "rate_limit_exceeded", message } })}\n\n`;
    await using model = startModel([{ raw: { body, type: "text/event-stream" } }]);
    for await (const event of model.client.stream(ask("x"), new AbortController().signal)) {
      expect(event).toMatchObject({ type: "retry" });
      if (event.type !== "retry") continue;
      expect(event.waitMs).toBeGreaterThanOrEqual(ms);
      expect(event.waitMs).toBeLessThan(ms + 1000);
      break;
    }
  });

  test("garbage is not", async () => expect((await firstRetry({ "retry-after": "whenever" })).waitMs).toBeLessThan(10));

  test("no one waits an hour", async () => {
    await using model = startModel([{ fault: { status: 429, headers: { "retry-after": "3600" } } }, { text: "fine" }]);
    await expect(collect(model.client)).rejects.toMatchObject({
      reason: "rate-limit",
      message: expect.stringContaining("1h"),
    });
    expect((await collect(model.client)).at(-1)?.type).toBe("done");
  });

  test("all waits together are limited", async () => {
    const fault = { status: 503, headers: { "retry-after-ms": "40" } };
    await using model = startModel({ reply: () => ({ fault }) }, { maxRetryMs: 200, retries: 9 });
    await expect(collect(model.client)).rejects.toMatchObject({ reason: "overloaded" });
    expect(model.requests.length).toBeLessThan(9);
  });

  test("the number of retries is the configured one", async () => {
    await using model = startModel({ reply: () => ({ fault: { status: 500 } }) }, { retries: 2 });
    await expect(collect(model.client)).rejects.toMatchObject({ reason: "overloaded", status: 500 });
    expect(model.requests).toHaveLength(3);
  });

  test.each(["insufficient_quota", "usage_limit_reached"])(
    "a quota that is used up (%s) is not retried",
    async (code) => {
      await using model = startModel([{ fault: { status: 429, body: { error: { code, message: "no more" } } } }]);
      await expect(collect(model.client)).rejects.toMatchObject({
        reason: "quota",
        retryable: false,
      });
      expect(model.requests).toHaveLength(1);
    },
  );
});

describe("the conversation is too long", () => {
  test.each([
    [
      400,
      { error: { code: "context_length_exceeded", message: "This model's maximum context length is 8192 tokens." } },
    ],
    [400, { error: { message: "prompt is too long: 210000 tokens > 200000 maximum" } }],
    [400, { error: { type: "exceed_context_size_error", message: "the request exceeds the available context size" } }],
    [422, { detail: "Input is too long for requested model." }],
    [500, { error: "input exceeds the context window" }],
    [413, "<html>413</html>"],
  ])("%d %j", async (status, body) => {
    await using model = startModel([{ fault: { status, body } }]);
    await expect(collect(model.client)).rejects.toMatchObject({
      reason: "context-limit",
      hint: expect.stringContaining("/compact"),
    });
  });

  test("also inside a stream", async () => {
    const body =
      'event: response.failed\ndata: {"response":{"error":{"code":"context_length_exceeded","message":"Your input exceeds the context window"}}}\n\n';
    await using model = startModel([{ raw: { body } }], { api: "responses" });
    await expect(collect(model.client)).rejects.toMatchObject({ reason: "context-limit" });
  });
});
