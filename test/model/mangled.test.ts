/**
 * The fold over stream events on recorded, cut and damaged streams: a whole answer, or a clear refusal; never half a
 * tool call.
 */
import { describe, expect, test, setDefaultTimeout } from "bun:test";
import { Answer, SseParser } from "../../src/model/http/answer.ts";
import { ProviderError, excerpt, Malformed } from "../../src/model/provider-error.ts";
import { completions } from "../../src/model/protocols/completions.ts";
import type { Protocol, Reply } from "../../src/model/protocols/protocol.ts";
import { responses } from "../../src/model/protocols/responses.ts";
import { bodyOf } from "../support/scripted-model/faults.ts";
import type { ScriptedReply } from "../support/scripted-model/playbook.ts";
import { readRequest } from "../support/scripted-model/read-request.ts";
import { renderCompletions } from "../support/scripted-model/wire-completions.ts";
import { renderResponses } from "../support/scripted-model/wire-responses.ts";
import type { ModelEvent } from "../../src/model/types.ts";
import { cases, Seeded } from "../support/seeded.ts";

// For a busy machine; nothing here waits for a time.
setDefaultTimeout(60_000);

const PROTOCOLS = { completions: completions as Protocol, responses: responses as Protocol };
type Api = keyof typeof PROTOCOLS;

function streamOf(api: Api, reply: ScriptedReply): Buffer {
  const path = api === "responses" ? "/v1/responses" : "/v1/chat/completions";
  const request = readRequest(path, {}, '{"stream":true}');
  const rendered = api === "responses" ? renderResponses(reply, request) : renderCompletions(reply, request);
  return Buffer.concat([...(bodyOf(reply, rendered, true).body as Iterable<Uint8Array>)]);
}

function fold(api: Api, pieces: Iterable<Uint8Array>): { reply: Reply; events: ModelEvent[] } {
  const answer = new Answer(PROTOCOLS[api]);
  const events: ModelEvent[] = [];
  for (const piece of pieces) {
    answer.push(piece);
    events.push(...answer.takeBatch());
    if (answer.complete) break;
  }
  const reply = answer.end();
  return { reply, events: [...events, ...answer.takeBatch()] };
}

const WORDS = ["a", "word ", '"', "\\", "\n", "ä", "🦊", "\u0000", "{", "}", "data: ", "\u2028", "content", "[DONE]"];

describe.each(["completions", "responses"] as const)("%s", (api) => {
  test("an answer that breaks off is refused, wherever it does", () => {
    const reply: ScriptedReply = {
      text: "some text",
      toolCalls: [{ name: "rm", id: "x", args: { path: "/tmp/a", deep: "b" } }],
      pieceChars: 2,
    };
    const whole = streamOf(api, reply);
    const closing = api === "completions" ? '"finish_reason":"tool_calls"' : '"type":"response.output_item.done"';
    const safe = whole.lastIndexOf(closing);
    for (let end = 0; end < safe; end += 3) {
      expect(() => fold(api, [whole.subarray(0, end)])).toThrow(Malformed);
    }
  });

  test("events of megabytes are the same however they are cut, repeated or not", () => {
    const random = new Seeded(5);
    for (const newline of ["\n", "\r\n", "\r"] as const) {
      const text = random.text(WORDS, 60).concat("é [a](b) <i> ").repeat(6000);
      const args = { text: random.text(WORDS, 30).repeat(4000) };
      const pieceChars = random.of([9000, 500_000, text.length]);
      const toolCalls = [{ name: "write", id: "x", args }];
      const whole = streamOf(api, { text, reasoning: text.slice(9), toolCalls, pieceChars, quirks: { newline } });
      const pieces: Uint8Array[] = [];
      for (let at = 0; at < whole.length;) pieces.push(whole.subarray(at, (at += 1 + random.below(300_000))));
      for (const given of [[whole], pieces]) {
        const { reply, events } = fold(api, given);
        expect(reply.message.content === text).toBe(true);
        expect(reply.message.reasoning === text.slice(9)).toBe(true);
        expect(JSON.parse(reply.message.toolCalls[0]!.arguments)).toEqual(args);
        expect(events.flatMap((event) => (event.type === "text" ? event.delta : [])).join("") === text).toBe(true);
      }
    }
  });

  test("a document of megabytes is read, and one that is no JSON is refused", () => {
    const text = 'a "word" \\ \n é 🦊 '.repeat(60_000);
    const message = { role: "assistant", content: text };
    const output = [{ type: "message", role: "assistant", content: [{ type: "output_text", text }] }];
    const document =
      api === "completions" ? { choices: [{ message, finish_reason: "stop" }] } : { status: "completed", output };
    const whole = Buffer.from(`\ufeff ${JSON.stringify(document, undefined, 1)}\n`);
    const cut = (size: number) =>
      Array.from({ length: Math.ceil(whole.length / size) }, (_, at) => whole.subarray(at * size, (at + 1) * size));
    for (const size of [whole.length, 65_537, 1001]) expect(fold(api, cut(size)).reply.message.content).toBe(text);
    expect(() => fold(api, [whole.subarray(0, -9)])).toThrow("cut off");
    whole[whole.length >> 1] = 0;
    expect(() => fold(api, cut(65_537))).toThrow(Malformed);
  });

  test("events of every wrong shape are borne", () => {
    const values = [null, 0, "x", [], {}, [null], { index: -1 }, { index: 1e9 }, true];
    const keys =
      api === "completions"
        ? ["choices", "usage", "delta", "message", "tool_calls", "content", "finish_reason", "function", "id"]
        : ["item", "response", "delta", "output_index", "item_id", "arguments", "output", "usage"];
    const types = [
      "response.output_item.added",
      "response.output_item.done",
      "response.output_text.delta",
      "response.function_call_arguments.delta",
      "response.reasoning_text.delta",
      "response.completed",
      "response.unheard.of",
    ];
    const random = new Seeded(3);
    const shape = (depth: number): unknown =>
      depth === 0 || random.below(3) === 0
        ? random.of(values)
        : random.below(4) === 0
          ? [shape(depth - 1)]
          : Object.fromEntries(Array.from({ length: 3 }, () => [random.of(keys), shape(depth - 1)]));
    for (let round = 0; round < cases(2000); round++) {
      const { begin, step, whole, reply } = PROTOCOLS[api];
      const state = begin(() => {});
      try {
        for (let at = 0; at < 4; at++)
          step(
            state,
            api === "completions" ? { choices: [shape(4)] } : { ...(shape(4) as object), type: random.of(types) },
            "",
            () => {},
          );
        if (random.below(5) === 0)
          whole(
            begin(() => {}),
            shape(4),
            () => {},
          );
        reply(state);
      } catch (error) {
        expect(error instanceof Malformed || error instanceof ProviderError).toBe(true);
      }
    }
  });
});

test("events equal but for their text are read as a parser would", () => {
  const random = new Seeded(11);
  for (let round = 0; round < cases(200); round++) {
    const texts = Array.from({ length: 30 }, () => random.text(WORDS, 3));
    const events = texts.map(
      (content) => `data: ${JSON.stringify({ id: "a", choices: [{ delta: { content }, x: "word " }] })}\n\n`,
    );
    const { reply } = fold("completions", [Buffer.from(`${events.join("")}data: [DONE]\n\n`)]);
    expect(reply.message.content ?? "").toBe(texts.join(""));
  }
});

describe("event stream", () => {
  const read = (text: string) => {
    const seen: [string, string][] = [];
    const parser = new SseParser((data, name) => seen.push([name, data]));
    for (const byte of Buffer.from(text)) parser.push(Uint8Array.of(byte));
    parser.end();
    return seen;
  };
  test.each<[string, [string, string][]]>([
    ["data: a\n\n", [["", "a"]]],
    ["data:a\ndata: b\n\n", [["", "a\nb"]]],
    [
      "event: e\ndata: a\n\ndata: b\n\n",
      [
        ["e", "a"],
        ["", "b"],
      ],
    ],
    [
      "data: a\r\n\r\ndata: b\r\r",
      [
        ["", "a"],
        ["", "b"],
      ],
    ],
    [": comment\n\nid: 1\nretry: 5\nunknown\ndata: a\n\n", [["", "a"]]],
    ["\ufeffdata: a\n\n", [["", "a"]]],
    ["data: last without blank line", [["", "last without blank line"]]],
    ["data:\n\nevent: only\n\n", []],
  ])("%j", (text, expected) => expect(read(text)).toEqual(expected));
});

describe("complaints in every shape", () => {
  test.each<[unknown, string]>([
    [{ error: { message: "m" } }, "m"],
    [{ message: "m" }, "m"],
    [{ detail: "m" }, "m"],
    [{ detail: [{ msg: "m", loc: ["body"] }] }, "m"],
    [{ error: "m" }, "m"],
    [[{ error: { message: "m" } }], "m"],
    [{ error: { message: "m", metadata: { raw: "upstream" } } }, "m: upstream"],
    ["m", "m"],
    [{ odd: 1 }, '{"odd":1}'],
    [undefined, ""],
    [
      { error: { error: { error: { error: { error: { error: { error: "deep" } } } } } } },
      '{"error":{"error":{"error":{"error":{"error":{"error":{"error":"deep"}}}}}}}',
    ],
  ])("%j says %j", (raw, words) => expect(new ProviderError(raw).message).toBe(words));

  test("control characters go, length is limited", () => {
    expect(excerpt("a\u001b[31mb\r\nc\u009b")).toBe("a [31mb c");
    expect(excerpt("x".repeat(5000)).length).toBeLessThan(700);
  });

  test.each([
    [{ code: 429 }, 429],
    [{ error: { status: "503" } }, 503],
    [{ code: "rate_limit_exceeded" }, undefined],
    [{ code: 7 }, undefined],
  ])("%j has status %p", (raw, status) => expect(new ProviderError(raw).status).toBe(status));
});

describe.each([
  'event: error\ndata: {"message":"the backend exploded"}\n\n',
  'error: {"code":500,"message":"the backend exploded","type":"server_error"}\n\n',
  'data: {"error":{"message":"the backend exploded"}}\n\n',
])("an error inside a stream, written %j", (text) => {
  test.each(["completions", "responses"] as const)("is the provider's complaint (%s)", (api) => {
    expect(() => fold(api, [Buffer.from(text)])).toThrow("the backend exploded");
  });
});
