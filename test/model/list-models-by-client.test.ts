/** The list of models by the client of the openai package: what leaves, and what comes of a refusal. */
import { afterEach, describe, expect, test } from "bun:test";
import { listModelsByClient } from "../../src/model/list-models.ts";
import { modelOptions } from "../support/model.ts";

const OPENAI = {
  OPENAI_API_KEY: "sk-of-the-environment",
  OPENAI_BASE_URL: "http://127.0.0.1:9/elsewhere",
  OPENAI_ORG_ID: "org-of-the-environment",
  OPENAI_PROJECT_ID: "proj-of-the-environment",
  OPENAI_CUSTOM_HEADERS: "X-Of-The-Environment: yes",
};
afterEach(() => {
  for (const name of Object.keys(OPENAI)) delete process.env[name];
});

function server(answer: () => Response) {
  const seen: { path: string; headers: Record<string, string> }[] = [];
  const serving = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      const { pathname, search } = new URL(request.url);
      seen.push({ path: pathname + search, headers: Object.fromEntries(request.headers) });
      return answer();
    },
  });
  return { url: `http://127.0.0.1:${serving.port}/v1`, seen, [Symbol.dispose]: () => void serving.stop(true) };
}

const never = new AbortController().signal;

describe("listModelsByClient", () => {
  test("sends what the profile says, nothing of OPENAI_* and no headers of the package", async () => {
    using endpoint = server(() => Response.json({ data: [{ id: "one", context_length: 4096 }, { id: "two" }] }));
    Object.assign(process.env, OPENAI);
    const options = modelOptions(endpoint.url, { key: "k-1", headers: { "x-team": "ops" }, query: { v: "2" } });
    expect(await listModelsByClient(options, never)).toEqual([{ id: "one", contextLimit: 4096 }, { id: "two" }]);
    const [{ path = "", headers = {} } = {}] = endpoint.seen;
    expect(path).toBe("/v1/models?v=2");
    expect(headers).toMatchObject({ authorization: "Bearer k-1", "x-team": "ops", "user-agent": "buddy" });
    const text = JSON.stringify(headers).toLowerCase();
    for (const word of ["environment", "stainless", "openai"]) expect(text).not.toContain(word);
  });

  test.each([401, 429, 503])("asks once, and says what the server answered: %d", async (status) => {
    using endpoint = server(() => Response.json({ error: { message: "not now" } }, { status }));
    const asked = listModelsByClient(modelOptions(endpoint.url, { key: "k-1" }), never);
    await expect(asked).rejects.toMatchObject({ status, message: expect.stringContaining("not now") });
    expect(endpoint.seen).toHaveLength(1);
  });

  test("reads the lists of servers that are not OpenAI's", async () => {
    using endpoint = server(() => Response.json({ models: [{ name: "qwen3:8b" }] }));
    expect(await listModelsByClient(modelOptions(endpoint.url), never)).toEqual([{ id: "qwen3:8b" }]);
  });

  test("no connection, a page instead of a list, an answer that does not come, a cancelled call", async () => {
    await expect(listModelsByClient(modelOptions("http://127.0.0.1:1/v1"), never)).rejects.toThrow("refused");
    using page = server(() => new Response("<html>hello</html>", { headers: { "content-type": "text/html" } }));
    await expect(listModelsByClient(modelOptions(page.url), never)).rejects.toMatchObject({ reason: "protocol" });
    using silent = server(() => new Response(new ReadableStream({ pull: () => new Promise(() => {}) })));
    await expect(listModelsByClient(modelOptions(silent.url), never, 50)).rejects.toMatchObject({ reason: "timeout" });
    const stop = AbortSignal.abort();
    await expect(listModelsByClient(modelOptions(silent.url), stop)).rejects.toMatchObject({ reason: "cancelled" });
  });
});
