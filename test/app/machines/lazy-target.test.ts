import { describe, expect, spyOn, test } from "bun:test";
import { LazyTarget } from "../../../src/app/machines/lazy-target.ts";
import type { Target, TargetOptions } from "../../../src/targets/target.ts";
import { labelOfPath, LOCAL, placeOf } from "../../../src/targets/place.ts";

const options: Omit<TargetOptions, "signal" | "onNotice"> = {
  place: LOCAL,
  tmux: "auto",
  agentName: "",
  tmuxSocket: "x",
  maxSessions: 1,
  maxPanes: 1,
  backgroundTimeoutMs: 1,
};

/** A target is opened by the function given; here only what is known of it matters. */
function lazy(open: () => Promise<Target>, more: Partial<typeof options> = {}): LazyTarget {
  return new LazyTarget({ open, target: { ...options, ...more }, onNotice: () => undefined, onOpen: () => undefined });
}

const machine = {
  identity: { label: "ssh op@web1", user: "op", host: "web1", os: "Linux", shellName: "bash", cwd: "/srv" },
  shell: { cwd: "/srv/now" },
  transport: { answers: () => Promise.resolve(true) },
  [Symbol.asyncDispose]: () => Promise.resolve(),
} as unknown as Target;

describe("a target that is opened when needed", () => {
  test("is opened once, however often it is asked", async () => {
    let opened = 0;
    await using target = lazy(() => (opened++, Promise.resolve(machine)));
    target.start();
    await Promise.all([target.get(), target.get()]);
    target.start();
    expect(opened).toBe(1);
    expect(target.facts()).toEqual({
      label: "ssh op@web1",
      who: "op@web1",
      system: "Linux, bash",
      cwd: "/srv/now",
      tmux: false,
    });
  });

  test("fails for whoever asks, is tried again by the next, and the failure is known until then", async () => {
    let tries = 0;
    await using target = lazy(() => (++tries < 2 ? Promise.reject(new Error("no route")) : Promise.resolve(machine)));
    expect(target.get()).rejects.toThrow("no route");
    await target.get().catch(() => undefined);
    expect(target.error).toBeUndefined();
    expect(target.opened).toBe(machine);
  });

  test("a failure that took long is not waited for again by each call, and is not final", async () => {
    using clock = spyOn(performance, "now");
    let seconds = 0;
    clock.mockImplementation(() => seconds * 1000);
    let tries = 0;
    await using target = lazy(() => {
      seconds += 30;
      return Promise.reject(new Error(`no answer ${++tries}`));
    });
    const asked = () => target.get().catch((error: Error) => error.message);
    expect([await asked(), await asked()]).toEqual(["no answer 1", "no answer 1"]);
    seconds = 60;
    expect(await asked()).toBe("no answer 2");
  });

  test("a failure no one asked about is not an error, and looking again in the background does not hide one", async () => {
    await using unasked = lazy(() => Promise.reject(new Error("no route")));
    unasked.start();
    await Promise.resolve();
    expect(unasked.error).toBeUndefined();
    await using asked = lazy(() => Promise.reject(new Error("no route")));
    await asked.get().catch(() => undefined);
    asked.start();
    expect(asked.error).toMatchObject({ message: "no route" });
  });

  test.each([true, false])(
    "when the run is to end, it is given up only if it is silent (answers: %p)",
    async (answers) => {
      const done: string[] = [];
      const transport = {
        answers: () => Promise.resolve(answers),
        abandon: () => Promise.resolve(void done.push("abandoned")),
      };
      const dispose = () => Promise.resolve(void done.push("closed"));
      const opened = { ...machine, transport, [Symbol.asyncDispose]: dispose } as unknown as Target;
      const target = lazy(() => Promise.resolve(opened));
      await target.get();
      await target.leaveIfSilent();
      expect(done).toEqual(answers ? [] : ["closed", "abandoned"]);
      await target[Symbol.asyncDispose]();
      expect(done).toContain("closed");
    },
  );

  test("one that never opens does not hold the exit", async () => {
    let aborted = false;
    const target = new LazyTarget({
      open: ({ signal }) => new Promise(() => signal?.addEventListener("abort", () => (aborted = true))),
      target: options,
      onNotice: () => undefined,
      onOpen: () => undefined,
    });
    target.start();
    await target[Symbol.asyncDispose]();
    expect(aborted).toBe(true);
  });

  test.each([
    [{}, "local"],
    [{ ssh: "web1" }, "ssh web1"],
    [{ container: "api" }, "container api"],
    [{ container: "api", ssh: "web1" }, "container api on ssh web1"],
  ])("%j is called %s", (where, label) => expect(labelOfPath(placeOf(where).path)).toBe(label));

  test("what is known before it is open", () => {
    const never = () => new Promise<Target>(() => undefined);
    expect(lazy(never, { place: placeOf({ ssh: "web1" }) }).facts()).toEqual({ label: "ssh web1", tmux: undefined });
    expect(lazy(never, { place: placeOf({ ssh: "web1" }), tmux: "required", cwd: "/srv" }).facts()).toEqual({
      label: "ssh web1",
      tmux: true,
      cwd: "/srv",
    });
    expect(lazy(never, { tmux: "never", cwd: "/srv" }).facts()).toMatchObject({
      label: "local",
      cwd: "/srv",
      tmux: false,
      system: expect.stringMatching(/^(Linux|macOS) \w+$/),
    });
    expect(lazy(never).facts().tmux).toBe(Bun.which("tmux") !== null);
  });
});
