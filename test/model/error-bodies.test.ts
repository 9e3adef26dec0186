/**
 * What the words of a provider's error mean, one a line in error-bodies.jsonl; provider-errors.test.ts has the way
 * there.
 */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { adjustmentFor, type Adjustment } from "../../src/model/adjustments.ts";
import type { ModelError } from "../../src/model/errors.ts";
import { explainProviderError, type Situation } from "../../src/model/explain.ts";
import { errorIn, ProviderError } from "../../src/model/provider-error.ts";
import { done, startModel } from "../support/model.ts";

interface Row {
  readonly from: string;
  readonly status: number;
  readonly reason: string;
  readonly retry?: "retry" | "once";
  /** What the next request does without, or differently. */
  readonly adjust?: Adjustment;
  readonly body: unknown;
}

/** Whatever a server may refuse. */
const SENT = {
  stream_options: {},
  temperature: 1,
  top_p: 1,
  reasoning_effort: "high",
  reasoning: { effort: "high", summary: "auto" },
  parallel_tool_calls: true,
  prompt_cache_key: "k",
  max_tokens: 1,
  response_format: {},
  messages: [{ role: "user", content: [{ type: "image_url", cache_control: {} }] }],
  tools: [{ parameters: { properties: { lines: { type: "integer", minimum: 1 } } } }],
};

const rows = readFileSync(join(import.meta.dir, "error-bodies.jsonl"), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Row);

const at: Situation = {
  host: "provider.test",
  profile: "test",
  model: "m",
  api: "completions",
  auth: "api-key",
  baseUrl: "https://provider.test/v1",
  hasKey: true,
  keySource: "the test",
  proxy: undefined,
  redact: (text) => text,
};

/** With status 200 it stands in the place of an answer. */
function explained({ status, body }: Row): ModelError | undefined {
  const answer = Array.isArray(body) ? (body[0] as object) : (body as object);
  if (status !== 200) return explainProviderError(new ProviderError(body), status, undefined, at);
  const error = errorIn(answer as Record<string, unknown>);
  return error && explainProviderError(error, error.status, undefined, at);
}

test.each(rows.map((row) => [row.from, row.status, JSON.stringify(row.body).slice(0, 100), row] as const))(
  "%s %d %s",
  (_from, _status, _words, row) => {
    const error = explained(row);
    expect(error).toMatchObject({ reason: row.reason, retryable: row.retry !== undefined });
    expect(error?.retryOnce).toBe(row.retry === "once");
    if (row.adjust) expect(error && adjustmentFor(error, new Set(), SENT)).toBe(row.adjust);
  },
);

describe("the form of an error", () => {
  const failure = async (status: number, body: string, headers: Record<string, string> = {}) => {
    await using model = startModel([{ fault: { status, body, headers } }], { retries: 0 });
    return (await done(model.client).catch((caught: unknown) => caught)) as ModelError;
  };
  const inner = JSON.stringify({ error: { message: "The model `x` does not exist", code: "model_not_found" } });

  test.each([
    ["a stream's event", `event: error\ndata: ${inner}\n\n`],
    ["data and the mark of the end", `data: ${inner}\n\ndata: [DONE]\n\n`],
    ["JSON inside a message", JSON.stringify({ error: { message: inner } })],
    ["JSON in the place of an error", JSON.stringify({ error: inner })],
    ["JSON inside JSON", JSON.stringify(inner)],
    [
      "capital letters",
      JSON.stringify({ Error: { Code: "model_not_found", Message: "The model `x` does not exist" } }),
    ],
  ])("%s", async (_name, body) => {
    const error = await failure(400, body);
    expect(error).toMatchObject({ reason: "unknown-model" });
    expect(error.brief).toBe("400 bad request: The model `x` does not exist");
  });

  test.each([
    ["nothing", "", "400 bad request"],
    ["null", "null", "400 bad request"],
    ["the status", '{"status":400,"error":"Bad Request","path":"/v1"}', "400 bad request: Bad Request"],
    ["and more", '{"status":400,"error":"Bad Request","message":"Not today"}', "400 bad request: Not today"],
    ["a heading", "<html><body><h1>Not today</h1></body></html>", '400 bad request: a web page: "Not today"'],
    ["XML", "<error><code>1</code><message>Not today</message></error>", '400 bad request: a web page: "Not today"'],
  ])("%s", async (_name, body, brief) => {
    expect(await failure(400, body)).toMatchObject({ reason: "refused", brief });
  });

  test.each([
    ["Hunyuan's wrapper", { Response: { RequestId: "1", Error: { Code: "AuthFailure.TokenFailure", Message: "no" } } }],
    ["Qianfan's code", { id: "as-1", error_code: 110, error_msg: "Access token invalid or no longer valid" }],
  ])("%s in the place of an answer", async (_name, body) => {
    await using model = startModel([{ raw: { body: JSON.stringify(body), type: "application/json" } }], { retries: 0 });
    await expect(done(model.client)).rejects.toMatchObject({ reason: "auth", code: "auth" });
  });

  test("of a hostile body only a part is searched for words", () => {
    const long = "messages[".repeat(7_000);
    const errors = Array.from({ length: 19 }, (_, at) => ({ code: at + long, param: at + long, message: at + long }));
    const { text, params } = new ProviderError({ errors });
    expect(text.length).toBeLessThan(10_000);
    expect(params.join("").length).toBeLessThan(10_000);
  });

  test("a line of JSON in a stream breaks it off as an event does", async () => {
    const body = `data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n{"error":{"message":"Overloaded"}}\n`;
    await using model = startModel([{ raw: { body } }], { retries: 0 });
    await expect(done(model.client)).rejects.toMatchObject({ reason: "overloaded", retryable: true });
  });
});
