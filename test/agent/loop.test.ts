import { describe, expect, test } from "bun:test";
import type { Playbook, Turn } from "../support/scripted-model/playbook.ts";
import type { ModelOptions } from "../../src/model/client.ts";
import { openTarget } from "../../src/targets/open.ts";
import type { Tool } from "../../src/tools/tool.ts";
import { agentOn, drain, isValidHistory, ofType, ownTool, readTool, type RigOptions } from "../support/agent.ts";
import { buddyError } from "../support/errors.ts";
import { startModel } from "../support/model.ts";
import { targetOptions } from "../support/target-options.ts";
import { until } from "../support/until.ts";
import { RESULT } from "../support/wording.ts";

const never = () => new AbortController().signal;
const call = (name: string, args: unknown = {}, id?: string) => ({ name, args, ...(id === undefined ? {} : { id }) });
const ok = readTool("ok", () => ({ ok: true, outcome: "done", result: "fine" }));
const bad = readTool("bad", () => ({ ok: false, outcome: "failed", result: "it broke" }));

async function turnOf(turns: readonly Turn[], options: RigOptions = {}, model: Partial<ModelOptions> = {}) {
  const running = startModel(turns, model);
  const { agent } = agentOn(running.client, { tools: [ok, bad], ...options });
  const events = await drain(agent.runTurn("do it", never()));
  await running.server.close();
  return { agent, events, requests: running.requests, done: ofType(events, "done")[0]! };
}

describe("a turn", () => {
  test("without tools: session, turn, text, message, usage, done", async () => {
    const { events, done, agent } = await turnOf([{ text: "hello there", usage: { input: 10, output: 3 } }]);
    expect(events.map((event) => event.type).filter((type, i, all) => type !== all[i - 1])).toEqual([
      "session",
      "turn",
      "text",
      "message",
      "usage",
      "done",
    ]);
    expect(done).toMatchObject({ status: "answered", text: "hello there", iterations: 1, turn: 1 });
    expect(
      events.every((event) => event.v === 1 && event.session === "aaaa-bbbb-cccc-dddd" && event.target === "local"),
    ).toBe(true);
    expect(agent.totals).toEqual({ input: 10, output: 3 });
  });

  test("runs tools and gives their results back in the envelope", async () => {
    const { requests, done, events } = await turnOf([{ toolCalls: [call("ok", { a: 1 })] }, { text: "done" }]);
    expect(done).toMatchObject({ status: "answered", iterations: 2 });
    const result = JSON.parse(requests[1]!.messages.at(-1)!.content) as Record<string, unknown>;
    expect(result).toEqual({
      harness_timestamp: { source: "harness", unix_millis: expect.any(Number) },
      result: "fine",
    });
    expect(ofType(events, "tool_started")[0]).toMatchObject({ tool: "ok", title: "ok", args: { a: 1 } });
    expect(ofType(events, "tool_finished")[0]).toMatchObject({ tool: "ok", ok: true, outcome: "done" });
  });

  test("results within a minute do not repeat the time", async () => {
    const calls = Array.from({ length: 3 }, (_, at) => ({ toolCalls: [call("ok", { at })] }));
    const { requests } = await turnOf([...calls, { text: "done" }]);
    const results = requests.at(-1)!.messages.filter(({ role }) => role === "tool");
    expect(results.map(({ content }) => "harness_timestamp" in (JSON.parse(content!) as object))).toEqual([
      true,
      false,
      false,
    ]);
    expect(results[2]!.content).toBe('{"result":"fine"}');
  });

  test("read-only calls of one turn run side by side; results are in call order", async () => {
    let inside = 0;
    let most = 0;
    let release: () => void = () => undefined;
    const all = new Promise<void>((resolve) => (release = resolve));
    const slow = readTool("slow", async (args) => {
      most = Math.max(most, ++inside);
      if (inside === 3) release();
      await all;
      return { ok: true, outcome: "done", result: args["n"] };
    });
    const { requests, agent } = await turnOf(
      [{ toolCalls: [1, 2, 3].map((n) => call("slow", { n })) }, { text: "done" }],
      { tools: [slow] },
    );
    expect(most).toBe(3);
    const results = requests[1]!.messages.filter((message) => message.role === "tool");
    expect(results.map((message) => (JSON.parse(message.content) as { result: number }).result)).toEqual([1, 2, 3]);
    expect(isValidHistory(agent)).toBe(true);
  });

  test("stops after max_iterations", async () => {
    const { done, events, agent } = await turnOf(
      [1, 2, 3].map((n) => ({ toolCalls: [call("ok", { n })] })),
      { agent: { maxIterations: 3 } },
    );
    expect(done).toMatchObject({ status: "max_iterations", iterations: 3 });
    expect(ofType(events, "error")[0]?.message).toMatch(/\b3\b/);
    expect(isValidHistory(agent)).toBe(true);
  });

  test("a failing model is an error event, not an exception", async () => {
    const { done, events } = await turnOf([{ fault: { status: 401, body: { error: { message: "bad key" } } } }]);
    expect(done.status).toBe("failed");
    expect(ofType(events, "error")[0]).toMatchObject({ code: "auth" });
  });

  test("an answer cut at the output limit is an answer with a warning", async () => {
    const { done, events } = await turnOf([{ text: "half", finish: "length" }]);
    expect(done.status).toBe("answered");
    expect(ofType(events, "warning")).toHaveLength(1);
  });

  test("counters continue over turns and a second turn is distinguished", async () => {
    await using model = startModel([{ text: "a" }, { text: "b" }]);
    const { agent } = agentOn(model.client);
    await drain(agent.runTurn("one", never()));
    const second = await drain(agent.runTurn("two", never()));
    expect(ofType(second, "session")).toHaveLength(0);
    expect(ofType(second, "done")[0]).toMatchObject({ turn: 2, text: "b" });
    expect(model.requests[1]!.messages.map((message) => message.role)).toEqual(["system", "user", "assistant", "user"]);
  });

  test("only one turn at a time", async () => {
    await using model = startModel([{ text: "a" }]);
    const { agent } = agentOn(model.client);
    const first = agent.runTurn("one", never());
    await first.next();
    expect(drain(agent.runTurn("two", never()))).rejects.toThrow(buddyError("internal"));
    await drain(first);
  });
});

describe("what models get wrong", () => {
  test.each([
    ["an unknown tool", call("rm_everything"), 'there is no tool "rm_everything". Available: ok, bad.'],
    ["arguments that are no JSON", { name: "ok", arguments: '{"a": ' }, "not valid JSON"],
    ["arguments that are no object", { name: "ok", arguments: "[1]" }, "invalid arguments"],
  ])("%s is a result that says what to do", async (_, bad, words) => {
    const { requests, done, agent } = await turnOf([{ toolCalls: [bad] }, { text: "sorry" }]);
    expect(requests[1]!.messages.at(-1)!.content).toContain(JSON.stringify(words).slice(1, -1));
    expect(done.status).toBe("answered");
    expect(isValidHistory(agent)).toBe(true);
  });

  test.each(["completions", "responses"] as const)(
    "repeated and empty ids get their own result each (%s)",
    async (api) => {
      const { agent, done } = await turnOf(
        [
          { toolCalls: [call("ok", { n: 1 }, "same"), call("ok", { n: 2 }, "same"), call("ok", { n: 3 }, "")] },
          { toolCalls: [call("ok", { n: 4 }, "same"), { name: "ok", arguments: "{broken", id: "same" }] },
          { text: "done" },
        ],
        {},
        { api },
      );
      expect(done.status).toBe("answered");
      expect(isValidHistory(agent)).toBe(true);
    },
  );

  test("an empty answer is asked for again once, then an error", async () => {
    const again = await turnOf([{ text: "" }, { text: "here" }]);
    expect(again.done).toMatchObject({ status: "answered", text: "here" });
    expect(again.requests[1]!.messages.at(-1)!.content).toContain("empty");
    expect(again.agent.history.messages.map((message) => message.role)).toEqual(["user", "assistant"]);
    const twice = await turnOf([{ text: " \n" }, { text: "" }]);
    expect(twice.done.status).toBe("failed");
    expect(ofType(twice.events, "error")[0]?.message).toContain("empty");
  });

  test("the same failing call three times in a row: the model is asked to change its approach", async () => {
    const { requests } = await turnOf([
      { toolCalls: [call("bad", { x: 1 })] },
      { toolCalls: [call("bad", { x: 1 })] },
      { toolCalls: [call("bad", { x: 1 })] },
      { toolCalls: [call("bad", { x: 2 })] },
      { text: "I give up" },
    ]);
    const results = requests[4]!.messages
      .filter((message) => message.role === "tool")
      .map((message) => message.content);
    expect(results.map((text) => text.includes(RESULT.again))).toEqual([false, false, true, false]);
  });

  test("a tool that throws is a result, with the time it took", async () => {
    const boom = readTool("boom", async () => {
      const began = performance.now();
      await until(() => performance.now() > began + 2, "two milliseconds have passed");
      throw new Error("disk on fire");
    });
    const { requests, events } = await turnOf([{ toolCalls: [call("boom")] }, { text: "oh" }], { tools: [boom] });
    expect(requests[1]!.messages.at(-1)!.content).toContain("disk on fire");
    expect(ofType(events, "tool_finished")[0]?.ms).toBeGreaterThan(0);
  });

  test("a throw while a call was planned left the calls beside it without results", async () => {
    const odd: Tool = {
      ...ok,
      name: "odd",
      intent: () => {
        throw new Error("no intent");
      },
    };
    const { agent, events, done } = await turnOf([{ toolCalls: [call("odd"), call("ok")] }, { text: "done" }], {
      tools: [ok, odd],
    });
    expect(done.status).toBe("answered");
    expect(isValidHistory(agent)).toBe(true);
    expect(ofType(events, "tool_finished").map(({ ok: fine }) => fine)).toEqual([false, true]);
  });

  test("a result over its budget is cut, whatever the tool did", async () => {
    const flood = readTool("flood", () => ({ ok: true, outcome: "done", result: "é".repeat(100_000) }));
    const { requests } = await turnOf([{ toolCalls: [call("flood")] }, { text: "oh" }], { tools: [flood] });
    const { result } = JSON.parse(requests[1]!.messages.at(-1)!.content) as { result: string };
    expect(result.length).toBeLessThan(8_200);
    expect(result).toContain(`[${2 * (100_000 - 8_000)} ${RESULT.leftOut}`);
  });
});

describe("cancelling", () => {
  test("a running tool: outstanding calls get a result and the history stays valid", async () => {
    const stop = new AbortController();
    const waits = ownTool("waits", async (_, context) => {
      const stopped = new Promise((resolve) => context.signal.addEventListener("abort", resolve, { once: true }));
      stop.abort();
      await stopped;
      return { ok: true, outcome: "done", result: "too late" };
    });
    await using model = startModel([{ toolCalls: [call("waits"), call("ok"), call("nope")] }, { text: "never" }]);
    await using target = await openTarget(targetOptions());
    const { agent } = agentOn(model.client, { tools: [waits, ok], calls: { target: () => Promise.resolve(target) } });
    const events = await drain(agent.runTurn("do it", stop.signal));
    expect(ofType(events, "done")[0]?.status).toBe("cancelled");
    const results = agent.history.messages.filter((message) => message.role === "tool");
    expect(results).toHaveLength(3);
    for (const message of results) expect(message.content).toContain(RESULT.cancelled);
    expect(isValidHistory(agent)).toBe(true);
    expect(model.requests).toHaveLength(1);
    expect(ofType(events, "error")).toHaveLength(0);
  });

  test("a streaming answer: what was read stays, the request is closed", async () => {
    const stop = new AbortController();
    await using model = startModel([{ text: "one two three four", fault: "stall" }]);
    const { agent } = agentOn(model.client);
    const events = [];
    for await (const event of agent.runTurn("go", stop.signal)) {
      events.push(event);
      if (event.type === "text") stop.abort();
    }
    expect(events.at(-1)).toMatchObject({ type: "done", status: "cancelled" });
    expect(agent.history.messages.at(-1)).toMatchObject({ role: "assistant" });
    expect(isValidHistory(agent)).toBe(true);
  });

  test("a time-out says so", async () => {
    await using model = startModel([{ fault: "silence" }]);
    const { agent } = agentOn(model.client);
    const events = await drain(agent.runTurn("go", AbortSignal.timeout(20)));
    expect(events.at(-1)).toMatchObject({ type: "done", status: "timeout" });
  });

  test("leaving the loop early cancels the turn", async () => {
    // The first request need not have arrived when its turn is left.
    const reply: Playbook["reply"] = ({ text }) => (text.includes("second") ? { text: "b" } : { fault: "silence" });
    await using model = startModel({ reply });
    const { agent } = agentOn(model.client);
    for await (const event of agent.runTurn("go", never())) if (event.type === "turn") break;
    expect((await drain(agent.runTurn("second", never()))).at(-1)).toMatchObject({ type: "done" });
  });
});

describe("the window", () => {
  const long = "x".repeat(4_000);
  const model = { contextLimit: 8_192 };
  const big = readTool("big", () => ({ ok: true, outcome: "done", result: long }));

  test("warns once at 80 % and compacts at 90 %, keeping calls with their results", async () => {
    const { events, requests, agent, done } = await turnOf(
      [
        ...Array.from({ length: 8 }, (_, n) => ({ toolCalls: [call("big", { n })], usage: false as const })),
        { text: "SUMMARY: eight looks were taken", usage: false },
        { text: "finished", usage: false },
      ],
      { tools: [big] },
      model,
    );
    expect(done.status).toBe("answered");
    expect(ofType(events, "warning").filter((event) => event.message.includes("% of"))).toHaveLength(1);
    const [compacted] = ofType(events, "compacted");
    expect(compacted?.summary).toContain("SUMMARY: eight looks");
    expect(compacted?.summary).toContain("do it");
    expect(compacted!.after_tokens).toBeLessThan(compacted!.before_tokens);
    expect(requests[8]!.tools).toEqual([]);
    expect(isValidHistory(agent)).toBe(true);
    expect(requests[9]!.messages[1]!.content).toContain("SUMMARY: eight looks");
  });

  test("a summary that grows does not end a turn that still fits", async () => {
    const { events, done, agent } = await turnOf(
      [
        ...Array.from({ length: 8 }, (_, n) => ({ toolCalls: [call("big", { n })], usage: false as const })),
        { text: "far too much ".repeat(4_000), usage: false },
        { text: "finished", usage: false },
      ],
      { tools: [big] },
      model,
    );
    expect(done).toMatchObject({ status: "answered", text: "finished" });
    expect(ofType(events, "compacted")).toEqual([]);
    // Besides the one about how full the window is.
    expect(ofType(events, "warning").filter(({ message }) => !message.includes("% of"))).not.toEqual([]);
    expect(isValidHistory(agent)).toBe(true);
  });

  test("a context-limit error of the provider: compact and one retry", async () => {
    const tooLong = {
      status: 400,
      body: { error: { message: "maximum context length exceeded", code: "context_length_exceeded" } },
    };
    const { requests, done, events } = await turnOf([
      { toolCalls: [call("ok", { n: 1 })] },
      { toolCalls: [call("ok", { n: 2 })] },
      { fault: tooLong },
      { text: "SUMMARY" },
      { text: "went on" },
    ]);
    expect(done).toMatchObject({ status: "answered", text: "went on" });
    expect(ofType(events, "compacted")).toHaveLength(1);
    expect(requests).toHaveLength(5);
    const again = await turnOf([
      { toolCalls: [call("ok", { n: 1 })] },
      { toolCalls: [call("ok", { n: 2 })] },
      { fault: tooLong },
      { text: "SUMMARY" },
      { fault: tooLong },
    ]);
    expect(again.done.status).toBe("failed");
    expect(again.requests).toHaveLength(5);
  });

  test("a prompt that cannot fit is refused with guidance", async () => {
    await using running = startModel([{ text: "no" }], model);
    const { agent } = agentOn(running.client);
    const events = await drain(agent.runTurn("y".repeat(50_000), never()));
    expect(ofType(events, "done")[0]?.status).toBe("failed");
    expect(ofType(events, "error")[0]?.hint).toContain("context");
    expect(running.requests).toHaveLength(0);
  });

  test("by hand: earlier turns are summarised, the last one stays; a single exchange is refused", async () => {
    await using running = startModel([{ text: "a" }, { text: "b" }, { text: "the summary" }, { text: "c" }]);
    const { agent } = agentOn(running.client);
    await drain(agent.runTurn("one", never()));
    const refused = await drain(agent.compact(never()));
    expect(ofType(refused, "error")).toHaveLength(1);
    await drain(agent.runTurn("two", never()));
    const events = await drain(agent.compact(never()));
    expect(ofType(events, "compacted")[0]).toMatchObject({ summary: "the summary", replaced: 2 });
    expect(agent.history.messages.map((message) => message.role)).toEqual(["user", "user", "assistant"]);
    await drain(agent.runTurn("three", never()));
    expect(running.requests[3]!.messages[1]!.content).toContain("the summary");
  });
});

test("a summary longer than what it replaces is not taken", async () => {
  await using running = startModel([{ text: "a" }, { text: "b" }, { text: "far too much ".repeat(200) }]);
  const { agent } = agentOn(running.client);
  await drain(agent.runTurn("one", never()));
  await drain(agent.runTurn("two", never()));
  const before = agent.history.messages;
  const events = await drain(agent.compact(never()));
  expect(ofType(events, "compacted")).toEqual([]);
  expect(ofType(events, "error")).toHaveLength(1);
  expect(agent.history.messages).toEqual(before);
});

test("/compact FOCUS reaches the model that writes the summary", async () => {
  await using running = startModel([{ text: "a" }, { text: "b" }, { text: "sum" }]);
  const { agent } = agentOn(running.client);
  await drain(agent.runTurn("one", never()));
  await drain(agent.runTurn("two", never()));
  await drain(agent.compact(never(), "the nginx part"));
  expect(running.requests[2]!.messages[0]!.content).toContain("the nginx part");
});

test("restore and switchModel: the next turn continues with the new model and says who it is", async () => {
  await using first = startModel([{ text: "a" }]);
  await using second = startModel([{ text: "b" }], { name: "other", model: "m2" });
  const { agent } = agentOn(first.client);
  await drain(agent.runTurn("one", never()));
  const { agent: resumed } = agentOn(first.client);
  resumed.restore({ messages: agent.history.messages, totals: agent.totals, turns: agent.turns });
  resumed.switchModel(second.client);
  const events = await drain(resumed.runTurn("two", never()));
  expect(ofType(events, "session")[0]).toMatchObject({ profile: "other", model: "m2" });
  expect(ofType(events, "turn")[0]?.turn).toBe(2);
  expect(second.requests[0]!.messages.map((message) => message.content)).toEqual([
    "You are under test.",
    "one",
    "a",
    "two",
  ]);
});
