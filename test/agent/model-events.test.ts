/** What a turn tells of a model that thinks, stumbles, is retried or is cut off. */
import { expect, test } from "bun:test";
import type { Turn } from "../support/scripted-model/playbook.ts";
import { agentOn, drain, ofType } from "../support/agent.ts";
import { startModel } from "../support/model.ts";

async function turnOf(turns: readonly Turn[]) {
  await using model = startModel(turns);
  const { agent } = agentOn(model.client);
  const events = await drain(agent.runTurn("do it", new AbortController().signal));
  return { agent, events, done: ofType(events, "done")[0]!, requests: model.requests.length };
}

test("reasoning is an event of its own and not part of the answer", async () => {
  const { events, done } = await turnOf([{ reasoning: "first I think", text: "then I answer" }]);
  expect(
    ofType(events, "reasoning")
      .map(({ delta }) => delta)
      .join(""),
  ).toBe("first I think");
  expect(done.text).toBe("then I answer");
});

test("a server that stumbles is asked again: who, why, how long, which attempt", async () => {
  const { events, done, requests } = await turnOf([{ fault: { status: 503 } }, { text: "here" }]);
  expect(ofType(events, "retry")).toEqual([
    expect.objectContaining({ attempt: 1, host: expect.stringContaining("127.0.0.1"), wait_ms: expect.any(Number) }),
  ]);
  expect(ofType(events, "retry")[0]?.reason).toContain("503");
  expect({ status: done.status, text: done.text, requests }).toEqual({ status: "answered", text: "here", requests: 2 });
});

test("text of a stream that died is withdrawn and does not count", async () => {
  const { events, done, agent } = await turnOf([
    // Not a reset: on a busy machine that overtakes what was sent before it.
    { text: "a beginning that is cut off ".repeat(50), pieceChars: 8, fault: "truncated" },
    { text: "whole" },
  ]);
  expect(done).toMatchObject({ status: "answered", text: "whole" });
  expect(agent.history.messages.map(({ content }) => content)).toEqual(["do it", "whole"]);
  const seen = events.map(({ type }) => type);
  expect(seen.indexOf("text")).toBeLessThan(seen.indexOf("discard"));
  expect(ofType(events, "discard")).toHaveLength(1);
});

test("a content filter is a warning, an output limit without an answer an error with a way out", async () => {
  const filtered = await turnOf([{ text: "partly", finish: "content_filter" }]);
  expect(ofType(filtered.events, "warning")[0]?.message).toContain("content filter");
  expect(filtered.done.status).toBe("answered");
  const nothing = await turnOf([{ text: "", finish: "content_filter" }]);
  expect(nothing.done.status).toBe("failed");
  expect(ofType(nothing.events, "error")[0]?.message).toContain("content filter");
  const empty = await turnOf([
    { text: "", finish: "length" },
    { text: "", finish: "length" },
  ]);
  expect(empty.done.status).toBe("failed");
  expect(ofType(empty.events, "error")[0]).toMatchObject({
    message: "the model used its whole output limit without an answer",
    hint: expect.stringContaining("reasoning_effort"),
  });
});
