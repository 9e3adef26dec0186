/** What the prompt and the live line say while the connection is down. */
import { expect, test } from "bun:test";
import type { AgentEvent } from "../../../src/agent/events.ts";
import type { ReplFacts } from "../../../src/ui/repl/host.ts";
import { Activity, promptText } from "../../../src/ui/repl/status-line.ts";

const notice = (kind: string) => ({ type: "notice", kind, message: "m" }) as AgentEvent;
const started = { type: "tool_started", call: "c", tool: "run_shell", title: "t", args: {} } as unknown as AgentEvent;

test.each([
  [["reconnecting"], true],
  [["reconnecting", "operator"], true],
  [["reconnecting", "reconnected"], false],
  [["reconnecting", "warning"], false],
])("a running call after %j: reconnecting %p", (kinds, isDown) => {
  const activity = new Activity();
  for (const event of [started, ...kinds.map(notice)]) activity.event(event);
  expect(activity.state(Date.now()).startsWith("reconnecting")).toBe(isDown);
});

test("the prompt", () => {
  const target = { kind: "ssh", name: "root@h1", cwd: "/", state: "open" } as const;
  const facts = { contextUsed: 0, contextLimit: 0, target } as unknown as ReplFacts;
  expect(promptText(facts, 80)).toBe("(ssh root@h1)> ");
  expect(promptText({ ...facts, target: { ...target, lostAt: 1 } }, 80)).toBe("(reconnecting ssh root@h1)> ");
});
