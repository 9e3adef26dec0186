import { expect, test } from "bun:test";
import { RequestText } from "../../src/model/request-text.ts";

test("a request is written as JSON.stringify writes it, however its lists have changed since the last one", () => {
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
  for (const body of bodies) expect(text.of(body)).toBe(JSON.stringify(body));
});

test("a conversation that grows, with a mark on its newest message, is written as JSON.stringify writes it", () => {
  const text = new RequestText();
  const messages: { content: string; mark?: boolean }[] = [];
  for (let turn = 0; turn < 30; turn++) {
    messages.push({ content: `“${turn}”` }, { content: "result" });
    if (turn % 10 === 9) messages.splice(turn % 4, 3, { content: "summary" });
    const sent = messages.map((message, at) => (at < messages.length - 1 ? message : { ...message, mark: true }));
    const body = { tools: messages.slice(0, 1), messages: sent };
    expect(text.of(body)).toBe(JSON.stringify(body));
  }
});

test("one of megabytes is not written as one text, and the next is written from the beginning", () => {
  const text = new RequestText();
  const messages = ["a", "b"];
  text.of({ messages });
  expect(text.of({ messages: [...messages, "x".repeat(8_400_000)] })).toBeUndefined();
  expect(text.of({ messages })).toBe('{"messages":["a","b"]}');
});

test("half of a surrogate pair becomes a replacement character, in a list and beside it", () => {
  const text = new RequestText();
  expect(text.of({ model: "a\ud83d", messages: ["b\udc00", "\\ud83d"] })).toBe(
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
