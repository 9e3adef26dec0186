/** A normal turn on both protocols, streaming and not. */
import { describe, expect, test } from "bun:test";
import type { ModelRequest } from "../../src/model/types.ts";
import { createModelClient } from "../../src/model/client.ts";
import { ask, collect, done, modelOptions, startModel } from "../support/model.ts";
import { until } from "../support/until.ts";

const APIS = ["completions", "responses"] as const;
const TOOL = {
  name: "look",
  description: "Looks.",
  parameters: { type: "object", properties: { at: { type: "string" } } },
};

describe.each(APIS)("%s", (api) => {
  describe.each([true, false])("stream: %p", (stream) => {
    test("text arrives, usage is counted", async () => {
      await using model = startModel(
        [{ text: "Grüße, 世界! 🦊", usage: { input: 10, output: 5, cached: 4, reasoning: 2 } }],
        { api, stream },
      );
      const events = await collect(model.client);
      const text = events.flatMap((event) => (event.type === "text" ? event.delta : [])).join("");
      expect(text).toBe("Grüße, 世界! 🦊");
      const last = events.at(-1);
      expect(last).toMatchObject({
        type: "done",
        finish: "stop",
        message: { role: "assistant", content: "Grüße, 世界! 🦊", toolCalls: [] },
        usage: { input: 10, output: 5, cached: 4, reasoning: 2, estimated: false },
      });
      expect(model.requests[0]?.stream).toBe(stream);
    });

    test("several tool calls come in order, with null content, and go back with their results", async () => {
      const calls = [
        { name: "look", args: { at: "ä" }, id: "a" },
        { name: "look", args: { at: "b" }, id: "b" },
        { name: "look", arguments: "not json", id: "c" },
      ];
      await using model = startModel([{ reasoning: "hm", toolCalls: calls }, { text: "seen" }], { api, stream });
      const first = await done(model.client, ask("go", [TOOL]));
      expect(first.finish).toBe("tool-calls");
      expect(first.message.content).toBeNull();
      expect(first.message.reasoning).toBe("hm");
      expect(first.message.toolCalls.map(({ id, name, arguments: text }) => ({ id, name, text }))).toEqual([
        { id: "a", name: "look", text: '{"at":"ä"}' },
        { id: "b", name: "look", text: '{"at":"b"}' },
        { id: "c", name: "look", text: "not json" },
      ]);
      const request: ModelRequest = {
        messages: [
          { role: "system", content: "be brief" },
          { role: "user", content: "go" },
          first.message,
          ...["a", "b", "c"].map((callId) => ({ role: "tool" as const, callId, name: "look", content: `r${callId}` })),
        ],
        tools: [TOOL],
      };
      expect((await done(model.client, request)).message.content).toBe("seen");
      const seen = model.requests[1];
      expect(seen?.messages.map((message) => message.role)).toEqual([
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "tool",
      ]);
      expect(seen?.messages[2]?.calls.map((call) => call.arguments)).toEqual(['{"at":"ä"}', '{"at":"b"}', "not json"]);
      expect(seen?.messages.slice(3).map((message) => [message.callId, message.content])).toEqual([
        ["a", "ra"],
        ["b", "rb"],
        ["c", "rc"],
      ]);
      expect(seen?.tools).toEqual([TOOL]);
    });
  });

  test("any cut of the bytes gives the same answer", async () => {
    const reply = {
      text: "Grüße 🦊 世界",
      reasoning: "ö",
      toolCalls: [{ name: "look", args: { at: "🦊ä" }, id: "x" }],
      pieceChars: 3,
    };
    await using model = startModel(
      [reply, ...[1, 2, 3, 5, 7].map((chunkBytes) => Object.assign({ chunkBytes }, reply))],
      {
        api,
      },
    );
    const whole = await done(model.client);
    for (let round = 0; round < 5; round++) expect(await done(model.client)).toEqual(whole);
  });
});

describe("the window that a server runs with", () => {
  test("beats the catalog", async () => {
    const web = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: async ({ method }) => {
        if (method === "GET") return Response.json({ data: [{ id: "gpt-4o", max_model_len: 16_384 }] });
        // The model takes its time; meanwhile the list is read.
        await until(() => client.info.contextLimit === 16_384, "the window is known");
        return Response.json({ choices: [{ message: { content: "hi" } }] });
      },
    });
    const client = createModelClient(modelOptions(`${web.url}v1`, { model: "gpt-4o" }));
    expect(client.info.contextLimit).toBe(128_000);
    await done(client);
    expect(client.info.contextLimit).toBe(16_384);
    await web.stop(true);
  });

  test("does not beat the profile", async () => {
    await using model = startModel([{ text: "hi" }], { contextLimit: 5_000 }, { models: ["scripted-model"] });
    await done(model.client);
    expect(model.client.info.contextLimit).toBe(5_000);
  });
});
