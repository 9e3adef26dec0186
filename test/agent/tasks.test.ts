import { describe, expect, test } from "bun:test";
import type { AgentEvent, AgentEventBody, DoneEvent } from "../../src/agent/events.ts";
import { type Task, Tasks, type TaskWork } from "../../src/agent/tasks.ts";

const stamp = { v: 1, ts: "", session: "", target: "" } as const;

function event(body: AgentEventBody): AgentEvent {
  return { ...stamp, ...body };
}

function done(status: DoneEvent["status"] = "answered"): AgentEvent {
  return event({ type: "done", turn: 1, status, text: "", iterations: 1, ms: 1 });
}

/** Ends when the test says so, or when it is cancelled; says which. */
function work(gate: Promise<void>): TaskWork {
  return async function* (signal) {
    const { promise, resolve } = Promise.withResolvers<void>();
    signal.addEventListener("abort", () => resolve());
    await Promise.race([gate, promise]);
    const timedOut = signal.aborted && (signal.reason as Error).name === "TimeoutError";
    yield done(signal.aborted ? (timedOut ? "timeout" : "cancelled") : "answered");
  };
}

class Rig {
  readonly log: string[] = [];
  readonly failures: unknown[] = [];
  readonly tasks = new Tasks({
    event: (task, { type }) => void this.log.push(`${task.id} ${type}`),
    changed: () => {},
    ended: (task, failure) => {
      this.log.push(`${task.id} ${task.state.kind === "over" ? task.state.status : "?"}`);
      if (failure !== undefined) this.failures.push(failure);
    },
  });
  readonly gate = Promise.withResolvers<void>();

  submit(title: string): Task {
    return this.tasks.submit(title, work(this.gate.promise));
  }
}

describe("tasks", () => {
  test("run one at a time in the order they came, with ids that are never used again", async () => {
    const rig = new Rig();
    for (const title of ["a", "b", "c"]) rig.submit(title);
    expect(rig.tasks.running?.id).toBe(1);
    expect(rig.tasks.queued.map(({ id }) => id)).toEqual([2, 3]);
    rig.gate.resolve();
    await rig.tasks.whenIdle();
    expect(rig.log).toEqual(["1 done", "1 answered", "2 done", "2 answered", "3 done", "3 answered"]);
    expect(rig.submit("d").id).toBe(4);
    expect(rig.tasks.list.map(({ id }) => id)).toEqual([4, 3, 2, 1]);
    await rig.tasks.whenIdle();
  });

  test("a queued one is taken out at once, a running one ends when its work does, an ended one cannot be cancelled", async () => {
    const rig = new Rig();
    const [first, second] = [rig.submit("a"), rig.submit("b")];
    expect(rig.tasks.cancel(second.id)).toBe(true);
    expect(second.state).toMatchObject({ kind: "over", status: "cancelled", startedAt: undefined });
    expect(rig.tasks.cancel(first.id)).toBe(true);
    expect(first.state.kind).toBe("stopping");
    expect(rig.tasks.cancel(first.id)).toBe(true);
    await rig.tasks.whenIdle();
    expect(first.state).toMatchObject({ kind: "over", status: "cancelled" });
    expect(rig.tasks.cancel(first.id)).toBe(false);
    expect(rig.tasks.cancel(99)).toBe(false);
  });

  test("a limit ends a running task, and counts from the start of a queued one", async () => {
    const rig = new Rig();
    const [first, second] = [rig.submit("a"), rig.submit("b")];
    expect(rig.tasks.limit(second.id, 5)).toBe(true);
    expect(second.deadline).toBeUndefined();
    expect(rig.tasks.limit(first.id, 5)).toBe(true);
    expect(first.deadline).toBeGreaterThan(0);
    await rig.tasks.whenIdle();
    expect([first, second].map(({ state }) => state.kind === "over" && state.status)).toEqual(["timeout", "timeout"]);
    expect(rig.tasks.limit(first.id, 5)).toBe(false);
  });

  test("what the work throws ends the task, not the queue", async () => {
    const rig = new Rig();
    rig.gate.resolve();
    // oxlint-disable-next-line require-yield
    rig.tasks.submit("bad", async function* () {
      throw new Error("boom");
    });
    // oxlint-disable-next-line require-yield
    const late = rig.tasks.submit("late", async function* (signal) {
      const { promise, reject } = Promise.withResolvers<never>();
      signal.addEventListener("abort", () => reject(signal.reason));
      await promise;
    });
    rig.tasks.limit(late.id, 1);
    rig.submit("good");
    await rig.tasks.whenIdle();
    expect(rig.log).toEqual(["1 failed", "2 timeout", "3 done", "3 answered"]);
    expect(rig.failures.map(String)).toEqual(["Error: boom", "TimeoutError: the task ran out of time"]);
  });

  test("nothing starts while it is held; the queue can be emptied; old ones are forgotten", async () => {
    const rig = new Rig();
    rig.tasks.hold();
    for (let i = 0; i < 3; i++) rig.submit("x");
    expect(rig.tasks.running).toBeUndefined();
    expect(rig.tasks.dropQueued()).toBe(3);
    await rig.tasks.whenIdle();
    rig.tasks.release();
    rig.gate.resolve();
    for (let i = 0; i < 20; i++) {
      rig.submit("x");
      await rig.tasks.whenIdle();
    }
    expect(rig.tasks.list.length).toBeLessThanOrEqual(11);
    expect(rig.tasks.get(1)).toBeUndefined();
  });

  test("a flood of events leaves room for timers and keys", async () => {
    let ticks = 0;
    const timer = setInterval(() => ticks++, 1);
    const rig = new Rig();
    rig.tasks.submit("flood", async function* () {
      const until = performance.now() + 4000;
      const ticked = () => ticks > 1 || performance.now() > until;
      while (!ticked()) yield event({ type: "text", delta: "x" });
      yield done();
    });
    await rig.tasks.whenIdle();
    clearInterval(timer);
    expect(ticks).toBeGreaterThan(1);
  });
});
