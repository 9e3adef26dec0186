/** A conversation of megabytes leaves buddy in pieces; the server must not notice. */
import { expect, test } from "bun:test";
import { createServer, type Socket } from "node:net";
import { createModelClient } from "../../src/model/client.ts";
import { ModelError } from "../../src/model/errors.ts";
import { ask, collect, done, modelOptions } from "../support/model.ts";

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
