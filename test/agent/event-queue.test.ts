import { expect, test } from "bun:test";
import { EventQueue } from "../../src/agent/event-queue.ts";
import type { AgentEvent } from "../../src/agent/events.ts";
import { drain } from "../support/agent.ts";

const stamp = { v: 1, ts: "2026-01-01T00:00:00.000Z", session: "aaaa-bbbb-cccc-dddd", target: "local" } as const;
const output = (text: string, call = "c", stream: "stdout" | "stderr" = "stdout"): AgentEvent => ({
  ...stamp,
  type: "tool_output",
  call,
  stream,
  text,
});

test("pieces no one has read yet are joined; calls and streams stay apart", async () => {
  const queue = new EventQueue();
  for (const event of [output("a"), output("b"), output("c", "c", "stderr"), output("d", "e")]) queue.push(event);
  queue.end();
  expect(
    (await drain(queue)).map((event) => event.type === "tool_output" && [event.call, event.stream, event.text]),
  ).toEqual([
    ["c", "stdout", "ab"],
    ["c", "stderr", "c"],
    ["e", "stdout", "d"],
  ]);
});

test("a flood no one reads is bounded and what is missing is counted", async () => {
  const queue = new EventQueue();
  const piece = "x".repeat(50_000);
  for (let n = 0; n < 100; n++) queue.push(output(piece));
  queue.push({ ...stamp, type: "warning", message: "still here" });
  queue.end();
  const events = await drain(queue);
  const kept = events.reduce((total, event) => total + (event.type === "tool_output" ? event.text.length : 0), 0);
  expect(kept).toBeLessThan(1_100_000);
  expect(events.filter((event) => event.type === "tool_output").at(-1)).toMatchObject({
    text: expect.stringContaining("characters not shown live]"),
  });
  expect(events.at(-1)).toMatchObject({ type: "warning" });
});

test("a reader that waits is woken by each event and by the end", async () => {
  const queue = new EventQueue();
  const all = drain(queue);
  queue.push({ ...stamp, type: "discard" });
  await Promise.resolve();
  queue.push({ ...stamp, type: "discard" });
  queue.end();
  expect(await all).toHaveLength(2);
});

test("the words of a model wait until a slow reader has taken what there is, or the turn is cancelled", async () => {
  const queue = new EventQueue();
  const turn = new AbortController();
  const words = (delta: string): AgentEvent => ({ ...stamp, type: "text", delta });
  expect(queue.room(turn.signal)).toBeUndefined();
  for (let n = 0; n < 8; n++) queue.push(words("x".repeat(200_000)));
  const waiting = queue.room(turn.signal);
  expect(waiting).toBeDefined();
  const reader = queue[Symbol.asyncIterator]();
  for (let n = 0; n < 8; n++) await reader.next();
  await waiting;
  expect(queue.room(turn.signal)).toBeUndefined();
  queue.push(words("x".repeat(2_000_000)));
  const cancelled = queue.room(turn.signal);
  turn.abort();
  await cancelled;
});
