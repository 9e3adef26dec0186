/** Answers in shapes that servers of the field really send: every one must come out as the answer it means. */
import { describe, expect, test } from "bun:test";
import type { ModelFailure } from "../../src/model/errors.ts";
import type { ModelEvent } from "../../src/model/types.ts";
import { ask, collect, done, startModel } from "../support/model.ts";

const delta = (fields: unknown, more: object = {}) => ({ choices: [{ index: 0, delta: fields, ...more }] });
const said = (text: string) => delta({ content: text });
const finish = (reason: string) => delta({}, { finish_reason: reason });
const stream = (...events: readonly unknown[]) =>
  `${events.map((event) => `data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`).join("")}`;
const whole = (...events: readonly unknown[]) => stream(...events, finish("stop"), "[DONE]");

async function answer(body: string) {
  await using model = startModel([{ raw: { body } }], { retries: 0 });
  return await done(model.client);
}
const shown = (events: readonly ModelEvent[], type: "text" | "reasoning") =>
  events
    .slice(events.findLastIndex((event) => event.type === "discard") + 1)
    .flatMap((event) => (event.type === type ? event.delta : []))
    .join("");

describe("reasoning inside the text", () => {
  test.each([
    ["think", "<think>", "</think>"],
    ["thinking", "<thinking>", "</thinking>"],
    ["a namespace", "<seed:think>", "</seed:think>"],
    ["Magistral", "[THINK]", "[/THINK]"],
    ["capitals", "<Think>", "</Think>"],
    ["attributes", '<think effort="high" id="1">', "</think>"],
    ["Gemma", "<|channel>thought\n", "<channel|>"],
  ])("%s", async (_name, open, close) => {
    const { message } = await answer(whole(said(`${open}why `), said(`not${close}\n\nyes`)));
    expect(message).toMatchObject({ reasoning: "why not", content: expect.stringMatching(/^\s*yes$/) });
  });

  test.each(["", ' effort="high"'])("tags that come letter by letter %s", async (attributes) => {
    const pieces = [...`\n<think${attributes}>a < b</think>done <b>`].map(said);
    const { message } = await answer(whole(...pieces));
    expect(message).toMatchObject({ reasoning: "a < b", content: "done <b>" });
  });

  test("an opening tag that was part of the prompt", async () => {
    const body = whole(said("first I look\n"), said("</think>\n\nit is"), said(" fine"));
    await using model = startModel([{ raw: { body }, chunkBytes: 40 }], { retries: 0 });
    const events = await collect(model.client);
    expect(events.at(-1)).toMatchObject({ message: { reasoning: "first I look\n", content: "it is fine" } });
    expect(shown(events, "text").trim()).toBe("it is fine");
  });

  test("reasoning that never ends is not an answer", async () => {
    const { message } = await answer(whole(said("<think>on and on")));
    expect(message).toMatchObject({ reasoning: "on and on", content: "" });
  });

  test.each([
    "The tag <think> opens it, </think> closes it.",
    "```html\n<tool_call>\n```",
    "Use `</think>`:\n\n```\n</think>\n```\n",
    "a < b, and [TOOL_CALLS] is Mistral's mark",
    "<think about it",
    "<thinker>is no tag</thinker>",
  ])("an answer about tags stays as it is: %s", async (text) => {
    const { message } = await answer(whole(...[...text].map(said)));
    expect(message.content).toBe(text);
    expect(message.reasoning).toBeUndefined();
  });

  test("the channels of gpt-oss", async () => {
    const text =
      "<|channel|>analysis<|message|>The user greets.<|end|><|start|>assistant<|channel|>final<|message|>Hello!<|return|>";
    for (const pieces of [[text], [...text]]) {
      const { message } = await answer(whole(...pieces.map(said)));
      expect(message).toMatchObject({ reasoning: "The user greets.", content: "Hello!" });
    }
  });

  test("a channel that is a tool call is not run and not shown", async () => {
    const text = '<|channel|>commentary to=functions.run_shell <|constrain|>json<|message|>{"command":"rm x"}<|call|>';
    const { message, writtenCall } = await answer(whole(said(text)));
    expect(message.toolCalls).toEqual([]);
    expect(message.content ?? "").toBe("");
    expect(writtenCall).toBe(true);
  });
});

describe("a tool call written as text is neither run nor shown", () => {
  test.each([
    '<tool_call>\n{"name": "run_shell", "arguments": {"command": "id"}}\n</tool_call>',
    "<function=run_shell>\n<parameter=command>id</parameter>\n</function>",
    '[TOOL_CALLS] [{"name": "run_shell", "arguments": {}}]',
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁calls▁end｜>",
    '<minimax:tool_call><invoke name="run_shell"></invoke></minimax:tool_call>',
  ])("%s", async (text) => {
    for (const pieces of [[text], [...text]]) {
      const { message, writtenCall } = await answer(whole(said("I look.\n"), ...pieces.map(said)));
      expect({ writtenCall, calls: message.toolCalls, content: message.content }).toEqual({
        writtenCall: true,
        calls: [],
        content: expect.stringMatching(/^I look\.\n?$/),
      });
    }
  });
});

describe("why it ended", () => {
  test.each(["length", "max_tokens", "MAX_TOKENS", "model_length", "max_output_tokens"])("%s: cut", async (reason) => {
    expect((await answer(stream(said("a"), finish(reason), "[DONE]"))).finish).toBe("length");
  });

  test.each(["content_filter", "sensitive", "SAFETY", "content_filter: PROHIBITED_CONTENT", "refusal", "RECITATION"])(
    "%s: filtered",
    async (reason) => {
      expect((await answer(stream(said("a"), finish(reason), "[DONE]"))).finish).toBe("content-filter");
    },
  );

  test.each(["stop", "STOP", "end_turn", "eos", "eos_token", "stop_sequence", "COMPLETE"])(
    "%s: done",
    async (reason) => {
      expect((await answer(stream(said("a"), finish(reason), "[DONE]"))).finish).toBe("stop");
    },
  );

  test.each<readonly [string, ModelFailure, boolean]>([
    ["insufficient_system_resource", "overloaded", true],
    ["network_error", "overloaded", true],
    ["error", "overloaded", true],
    ["abort", "overloaded", true],
    ["model_context_window_exceeded", "context-limit", false],
    ["MALFORMED_FUNCTION_CALL", "bad-tool-call", true],
    ["function_call_filter: MALFORMED_FUNCTION_CALL", "bad-tool-call", true],
  ])("%s: an error", async (reason, kind, retryable) => {
    await expect(answer(stream(said("a"), finish(reason), "[DONE]"))).rejects.toMatchObject({
      reason: kind,
      retryable,
    });
  });
});

describe("token counts", () => {
  const counts = async (...events: readonly unknown[]) =>
    (await answer(stream(said("a"), finish("stop"), ...events, "[DONE]"))).usage;

  test.each([
    ["Mistral", { prompt_tokens: 10, completion_tokens: 2, num_cached_tokens: 4 }],
    ["DeepSeek", { prompt_tokens: 10, completion_tokens: 2, prompt_cache_hit_tokens: 4 }],
    ["Moonshot", { prompt_tokens: 10, completion_tokens: 2, cached_tokens: 4 }],
    ["OpenAI", { prompt_tokens: 10, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 4 } }],
    ["Anthropic", { input_tokens: 6, output_tokens: 2, cache_read_input_tokens: 4 }],
    ["the Responses protocol", { input_tokens: 10, output_tokens: 2, input_tokens_details: { cached_tokens: 4 } }],
    ["numbers as text", { prompt_tokens: "10", completion_tokens: "2", cached_tokens: "4" }],
  ])("as %s spells them", async (_name, usage) => {
    expect(await counts({ choices: [], usage })).toMatchObject({ input: 10, output: 2, cached: 4, estimated: false });
  });

  test("in Groq's own place", async () => {
    expect(await counts({ choices: [], x_groq: { usage: { prompt_tokens: 10, completion_tokens: 2 } } })).toMatchObject(
      {
        input: 10,
        output: 2,
      },
    );
  });

  test("as the timings of llama.cpp", async () => {
    expect(await counts({ choices: [], timings: { prompt_n: 6, cache_n: 4, predicted_n: 2 } })).toMatchObject({
      input: 10,
      output: 2,
      cached: 4,
    });
  });

  test("zeros at the end do not take the place of what was counted", async () => {
    const usage = { prompt_tokens: 10, completion_tokens: 2 };
    const zeros = { prompt_tokens: 0, completion_tokens: 0 };
    expect(await counts({ choices: [], usage }, { choices: [], usage: zeros })).toMatchObject({ input: 10, output: 2 });
  });
});

describe("tool calls", () => {
  const call = async (...events: readonly unknown[]) =>
    (await answer(stream(...events, finish("tool_calls"), "[DONE]"))).message.toolCalls.map(
      ({ name, arguments: text }) => [name, text],
    );

  test.each([
    ["the older function_call", delta({ function_call: { name: "look", arguments: '{"a":1}' } })],
    [
      "one call that is not in a list",
      delta({ tool_calls: { id: "x", function: { name: "look", arguments: '{"a":1}' } } }),
    ],
    [
      "arguments that are an object",
      delta({ tool_calls: [{ id: "x", function: { name: "look", arguments: { a: 1 } } }] }),
    ],
    [
      "a whole message in place of a delta",
      {
        choices: [
          { index: 0, message: { tool_calls: [{ id: "x", function: { name: "look", arguments: '{"a":1}' } }] } },
        ],
      },
    ],
    [
      "an index that is text",
      delta({ tool_calls: [{ index: "0", id: "x", function: { name: "look", arguments: '{"a":1}' } }] }),
    ],
    [
      "no wrapper around name and arguments",
      delta({ tool_calls: [{ index: 0, id: "x", name: "look", arguments: '{"a":1}' }] }),
    ],
  ])("%s", async (_name, event) => {
    expect(await call(event)).toEqual([["look", '{"a":1}']]);
  });

  const piece = (id: string | undefined, name: string, text: string) =>
    delta({ tool_calls: [{ index: 0, id, function: { name, arguments: text } }] });

  test.each([
    ["ids of their own", piece("x", "look", '{"a":1}'), piece("y", "see", '{"b":2}')],
    ["empty ids", piece("", "look", '{"a":1}'), piece("", "see", '{"b":2}')],
    ["no ids", piece(undefined, "look", '{"a":1}'), piece(undefined, "see", '{"b":2}')],
    [
      "one id",
      piece("x", "look", '{"a":1}'),
      {
        choices: [
          { index: 0, delta: { tool_calls: [{ index: 1, id: "x", function: { name: "see", arguments: '{"b":2}' } }] } },
        ],
      },
    ],
  ])("two calls that share an index or an id: %s", async (_name, ...events) => {
    const { message } = await answer(stream(...events, finish("tool_calls"), "[DONE]"));
    expect(message.toolCalls.map(({ name, arguments: text }) => name + text)).toEqual(['look{"a":1}', 'see{"b":2}']);
    expect(new Set(message.toolCalls.map(({ id }) => id)).size).toBe(2);
  });

  test.each([
    ["a new id with each piece", piece("x", "look", '{"a"'), piece("y", "look", ":1}")],
    ["the whole call again", piece("x", "look", '{"a":1}'), piece("x", "look", '{"a":1}')],
    [
      "the whole call again in a closing message",
      piece("x", "look", '{"a":1}'),
      {
        choices: [
          {
            index: 0,
            message: { tool_calls: [{ id: "x", function: { name: "look", arguments: '{"a":1}' } }] },
            finish_reason: "stop",
          },
        ],
      },
    ],
  ])("one call in several events: %s", async (_name, ...events) => {
    expect(await call(...events)).toEqual([["look", '{"a":1}']]);
  });

  test.each(['"{\\"a\\":1}"', '{}{"a":1}'])("arguments in a wrapping: %s", async (text) => {
    const event = delta({ tool_calls: [{ index: 0, id: "x", function: { name: "look", arguments: text } }] });
    expect(await call(event)).toEqual([["look", '{"a":1}']]);
  });

  test.each(["functions.look", "look<|channel|>commentary", "default_api:look"])(
    "what a template writes around a name: %s",
    async (name) => {
      expect(await call(piece("x", name, '{"a":1}'))).toEqual([["look", '{"a":1}']]);
    },
  );

  test("no arguments at all", async () => {
    expect(
      await call(delta({ tool_calls: [{ index: 0, id: "x", function: { name: "look", arguments: null } }] })),
    ).toEqual([["look", ""]]);
  });
});

describe("the form of the stream", () => {
  test.each(["\n", "", " ", "\n[DONE]\n"])("events without `data:`, with %j between them", async (between) => {
    const body = [said('a}{"'), said("b\\"), finish("stop")].map((event) => JSON.stringify(event)).join(between);
    expect((await answer(body)).message.content).toBe('a}{"b\\');
  });

  test.each([
    ["a list of events", JSON.stringify([said("a"), said("b"), finish("stop")])],
    ["no blank lines", whole(said("a"), said("b")).replaceAll("\n\n", "\n")],
    [
      "names and no blank lines",
      whole(said("a"), said("b")).replaceAll("data: ", "event: message\ndata: ").replaceAll("\n\n", "\n"),
    ],
    ["spaces before each line", whole(said("a"), said("b")).replaceAll("data:", "  data:")],
    ["events inside events", whole(said("a"), said("b")).replaceAll("data:", "data: data:")],
    ["words that keep the connection alive", `event: ping\ndata: ping\n\n${whole(said("a"), said("b"))}`],
    [
      "a closing message that repeats it all",
      stream(said("a"), said("b"), { choices: [{ index: 0, message: { content: "ab" }, finish_reason: "stop" }] }),
    ],
  ])("%s", async (_name, body) => {
    expect((await answer(body)).message.content).toBe("ab");
  });

  test("an error behind its data has its name", async () => {
    const body = `${stream(said("a"))}data: {"message":"Overloaded"}\nevent: error\n\n`;
    await expect(answer(body)).rejects.toMatchObject({ reason: "overloaded" });
  });

  test("text and calls after [DONE] are ignored", async () => {
    const late = delta({ tool_calls: [{ index: 0, id: "x", function: { name: "rm", arguments: "{}" } }] });
    const { message } = await answer(stream(said("a"), finish("stop"), "[DONE]", said("b"), late));
    expect(message).toMatchObject({ content: "a", toolCalls: [] });
  });

  test("a second answer beside the first is not mixed in", async () => {
    const other = { choices: [{ index: 1, delta: { content: "other" } }] };
    const both = {
      choices: [
        { index: 1, delta: { content: "B" } },
        { index: 0, delta: { content: "b" } },
      ],
    };
    expect((await answer(whole(said("a"), other, both))).message.content).toBe("ab");
  });

  test.each([
    ["parts", [{ type: "text", text: "a" }]],
    ["texts in a list", ["a"]],
    ["one part", { type: "text", text: "a" }],
  ])("content as %s", async (_name, content) => {
    expect((await answer(whole(delta({ content })))).message.content).toBe("a");
  });

  test("the text of the older protocol", async () => {
    expect((await answer(whole({ choices: [{ index: 0, text: "a" }] }))).message.content).toBe("a");
  });

  test("[DONE] with spaces and without a line end", async () => {
    expect((await answer(`${stream(said("a"))}data:  [DONE] `)).message.content).toBe("a");
  });

  test("empty choices, null deltas and a byte order mark", async () => {
    const body = `\uFEFF${whole({ choices: [] }, { choices: null }, delta(null), said("a"))}`;
    expect((await answer(body)).message.content).toBe("a");
  });

  test("reasoning that only has details", async () => {
    const details = [{ type: "reasoning.text", text: "why", index: 0 }];
    expect((await answer(whole(delta({ reasoning_details: details }), said("a")))).message.reasoning).toBe("why");
  });

  test("names that come again are not joined", async () => {
    const piece = (text: string) => delta({ channel: "analysis", reasoning: text });
    const { message } = await answer(whole(piece("a"), piece("b"), said("c")));
    expect(message.extra).toMatchObject({ channel: "analysis", reasoning: "ab" });
  });

  test("Responses whose text comes only with its closing event is shown", async () => {
    const output = [{ type: "message", role: "assistant", content: [{ type: "output_text", text: "late" }] }];
    const body = stream({ type: "response.completed", response: { output } });
    await using model = startModel([{ raw: { body } }], { api: "responses", retries: 0 });
    expect(shown(await collect(model.client, ask("q")), "text")).toBe("late");
  });

  const look = { type: "function_call", id: "i", call_id: "c", name: "look" };
  const added = { type: "response.output_item.added", output_index: 0, item: { ...look, arguments: "" } };
  const args = { type: "response.function_call_arguments.done", output_index: 0, arguments: '{"a":1}' };
  const completed = { type: "response.completed", response: { status: "completed", output: [] } };
  test.each([
    [
      "without arguments in the closing event",
      stream(added, args, { ...added, type: "response.output_item.done" }, completed),
    ],
    ["with [DONE] for an end", stream(added, args, "[DONE]")],
    [
      "without the event that ends it",
      stream(added, { type: "response.output_item.done", output_index: 0, item: { ...look, arguments: '{"a":1}' } }),
    ],
  ])("a call in Responses %s", async (_name, body) => {
    await using model = startModel([{ raw: { body } }], { api: "responses", retries: 0 });
    expect((await done(model.client)).message.toolCalls).toEqual([{ id: "c", name: "look", arguments: '{"a":1}' }]);
  });

  test("Responses that stop inside an item are cut", async () => {
    const body = stream(added, { type: "response.function_call_arguments.delta", output_index: 0, delta: '{"a"' });
    await using model = startModel([{ raw: { body } }], { api: "responses", retries: 0 });
    await expect(done(model.client)).rejects.toMatchObject({ reason: "protocol", retryable: true });
  });

  test("Responses whose text comes whole", async () => {
    const body = stream({ type: "response.output_text.done", output_index: 0, text: "late" }, completed);
    await using model = startModel([{ raw: { body } }], { api: "responses", retries: 0 });
    expect(shown(await collect(model.client, ask("q")), "text")).toBe("late");
  });
});
