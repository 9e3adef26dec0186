import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AgentEvent, AgentEventBody } from "../../src/agent/events.ts";
import { SessionRecorder } from "../../src/app/run-sessions.ts";
import { newSessionId } from "../../src/session/outputs.ts";
import { SessionStore } from "../../src/session/store.ts";
import { until } from "../support/until.ts";

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), "buddy-recorder-"));
});
afterEach(() => rmSync(cwd, { recursive: true, force: true }));

const event = (body: AgentEventBody): AgentEvent => ({
  v: 1,
  ts: "2026-01-02T03:04:05.678Z",
  session: "s",
  target: "local",
  ...body,
});

const ANSWER: AgentEventBody = { type: "message", message: { role: "assistant", content: "hi", toolCalls: [] } };

function recorder(before?: Promise<void>) {
  const id = newSessionId();
  const options = { redact: (text: string) => text, problem: (message: string) => expect(message).toBe("") };
  const store = new SessionStore({ cwd, stateDirectory: undefined, ...options });
  const path = join(store.directory, `${id}.jsonl`);
  return {
    one: new SessionRecorder({
      id,
      ...options,
      stateDirectory: undefined,
      directory: async () => (await before, store.directory),
    }),
    types: () => (existsSync(path) ? readFileSync(path, "utf8").match(/(?<="type":")\w+/g) : []),
    held: () => existsSync(join(cwd, ".buddyx/locks", `${id}.holder`)),
  };
}

test("the first moments of a session were kept in memory, and a kill lost them; only the lock waits", async () => {
  const { one, types, held } = recorder();
  one.append(event({ type: "turn", turn: 1, prompt: "hello" }));
  await until(() => types()?.length === 1, "the prompt in the log");
  expect(held()).toBe(false);
  one.append(event({ type: "warning", message: "w" }));
  await new Promise((done) => setImmediate(done));
  expect(types()).toEqual(["turn", "warning"]);
  one.append(event({ type: "tool_started", call: "c", tool: "run_shell", title: "ls", args: {} }));
  await until(held, "the lock, once a tool runs");
  await one.close();
  expect(held()).toBe(false);
});

test("a buddy that was only started left an empty session, which `--last` then found", async () => {
  const { one, types } = recorder();
  one.append(event({ type: "session", buddy: "1", profile: "p", model: "m", api: "responses", cwd: "/" }));
  await one.stored();
  await one.close();
  expect(existsSync(join(cwd, ".buddyx"))).toBe(false);
  const { one: used, types: written } = recorder();
  used.append(event({ type: "session", buddy: "1", profile: "p", model: "m", api: "responses", cwd: "/" }));
  used.append(event({ type: "turn", turn: 1, prompt: "hello" }));
  used.append(event(ANSWER));
  await used.close();
  expect([types(), written()]).toEqual([[], ["session", "turn", "message"]]);
});

test("a run that is over at once is written whole, without a lock", async () => {
  const { one, types, held } = recorder();
  one.append(event({ type: "turn", turn: 1, prompt: "hello" }));
  one.append(event(ANSWER));
  one.append(event({ type: "done", turn: 1, status: "answered", text: "hi", iterations: 1, ms: 1 }));
  await one.close();
  expect(types()).toEqual(["turn", "message", "done"]);
  expect(held()).toBe(false);
  expect(existsSync(join(cwd, ".buddyx/locks"))).toBe(false);
});

test("an event was shown before the log was open, and a kill lost it: stored waits until it is written", async () => {
  const gate = Promise.withResolvers<void>();
  const { one, types } = recorder(gate.promise);
  await one.stored();
  one.append(event({ type: "turn", turn: 1, prompt: "hello" }));
  const seen = one.stored().then(types);
  one.append(event({ type: "warning", message: "w" }));
  expect(types()).toEqual([]);
  gate.resolve();
  expect(await seen).toEqual(["turn", "warning"]);
  await one.close();
});

test("a session that never reached a model is removed when it ends", async () => {
  const { one, types } = recorder();
  one.append(event({ type: "turn", turn: 1, prompt: "hello" }));
  await until(() => types()?.length === 1, "the prompt in the log");
  one.append(event({ type: "error", code: "model", message: "cannot connect" }));
  await one.close();
  expect([types(), one.isKept]).toEqual([[], false]);
});
