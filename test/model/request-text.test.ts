import { expect, test } from "bun:test";
import { createServer, type Socket } from "node:net";
import { createModelClient } from "../../src/model/client.ts";
import { ModelError } from "../../src/model/errors.ts";
import { RequestText } from "../../src/model/request-text.ts";
import { ask, collect, done, modelOptions } from "../support/model.ts";

const read = (written: Uint8Array | undefined) => new TextDecoder("utf-8", { fatal: true }).decode(written);
const same = (body: object) => JSON.parse(JSON.stringify(body)) as unknown;

test("a request is written as JSON, however its lists have changed since the last one", () => {
  const text = new RequestText();
  const message = (content: unknown) => ({ role: "user", content });
  const first = [message("a"), message("“b”"), message({ deep: [1, undefined, null] })];
  const bodies: Record<string, unknown>[] = [
    { model: "m", messages: first },
    { model: "m", tools: [message("t")], messages: [...first, message("c"), 1, "two", null] },
    { model: "m", temperature: undefined, messages: [...first.slice(0, 2), message("other")] },
    { messages: first.slice(0, 1), input: [], stream: true },
    { messages: first },
    {},
  ];
  for (const body of bodies) expect(JSON.parse(read(text.of(body)))).toEqual(same(body));
});

test("the conversation is last, so that a request begins as the one before it", () => {
  const text = new RequestText();
  const messages = [{ role: "user", content: "é".repeat(50_000) }];
  const first = read(text.of({ model: "m", messages, tools: [{ name: "t" }], stream: true }));
  messages.push({ role: "assistant", content: "b" });
  const second = read(text.of({ model: "m", messages, tools: [{ name: "t" }], stream: true }));
  expect(second.startsWith(first.slice(0, -"]}".length))).toBe(true);
});

test("a conversation that grows, with a mark on its newest message, is written as JSON", () => {
  const text = new RequestText();
  const messages: { content: string; mark?: boolean }[] = [];
  for (let turn = 0; turn < 30; turn++) {
    messages.push({ content: `“${turn}”` }, { content: "result" });
    if (turn % 10 === 9) messages.splice(turn % 4, 3, { content: "summary" });
    const sent = messages.map((message, at) => (at < messages.length - 1 ? message : { ...message, mark: true }));
    const body = { tools: messages.slice(0, 1), messages: sent };
    expect(JSON.parse(read(text.of(body)))).toEqual(same(body));
  }
});

test("one of megabytes is not written as one text, and the next is written from the beginning", () => {
  const text = new RequestText();
  const messages = ["a", "b"];
  text.of({ messages });
  expect(text.of({ messages: [...messages, "x".repeat(8_400_000)] })).toBeUndefined();
  expect(read(text.of({ messages }))).toBe('{"messages":["a","b"]}');
});

test("half of a surrogate pair becomes a replacement character, in a list and beside it", () => {
  const text = new RequestText();
  expect(read(text.of({ model: "a\ud83d", messages: ["b\udc00", "\\ud83d"] }))).toBe(
    '{"model":"a\ufffd","messages":["b\ufffd","\\\\ud83d"]}',
  );
});

test("what was made of a message is kept until the server wants something else", () => {
  const text = new RequestText();
  const message = { content: "a" };
  const made = text.once(message, () => ({ wire: 1 }));
  expect(text.once(message, () => ({ wire: 2 }))).toBe(made);
  text.forget();
  expect(text.once(message, () => ({ wire: 3 }))).toEqual({ wire: 3 });
});

const long = `${'ab"\\\n世🙂'.repeat(1 << 20)}\ud83d end`;

/** What `answer` does with a connection whose request has begun. */
async function listening(answer: (socket: Socket) => void) {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => answer(socket));
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  const { port } = server.address() as { port: number };
  return { url: `http://127.0.0.1:${port}/v1`, [Symbol.dispose]: () => void server.close() };
}

const failed = (work: Promise<unknown>) => work.then(() => undefined).catch((error: unknown) => error as ModelError);

test("it arrives whole, with its length", async () => {
  const seen: { length: string | null; body: { messages: { content: string }[] } }[] = [];
  const server = Bun.serve({
    port: 0,
    async fetch(request) {
      seen.push({ length: request.headers.get("content-length"), body: (await request.json()) as never });
      return Response.json({ choices: [{ index: 0, message: { content: "fine" }, finish_reason: "stop" }] });
    },
  });
  const client = createModelClient(modelOptions(`http://127.0.0.1:${server.port}/v1`, { contextLimit: 1e8 }));
  expect((await done(client, ask(long))).message.content).toBe("fine");
  await server.stop(true);
  const [{ length, body }] = seen as [(typeof seen)[0]];
  expect(body.messages.at(-1)?.content === long.toWellFormed()).toBe(true);
  expect(Number(length)).toBe(Buffer.byteLength(JSON.stringify(body)));
});

test("a server that refuses it before it has read it is understood", async () => {
  const body = JSON.stringify({ error: { message: "maximum context length is 8192 tokens" } });
  using server = await listening((socket) => {
    socket.end(`HTTP/1.1 413 Too Large\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`);
    socket.resume();
  });
  const error = await failed(collect(createModelClient(modelOptions(server.url)), ask(long)));
  expect(error?.reason).toBe("context-limit");
});

test("a server that does not read it is left when the turn is cancelled", async () => {
  const turn = new AbortController();
  using server = await listening((socket) => {
    socket.pause();
    turn.abort();
  });
  const error = await failed(collect(createModelClient(modelOptions(server.url)), ask(long), turn.signal));
  expect(error?.reason).toBe("cancelled");
});
