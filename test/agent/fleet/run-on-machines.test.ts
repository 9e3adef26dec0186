/** One call on several machines: one question, who runs when, and that no machine holds up another. */
import { describe, expect, test } from "bun:test";
import type { AgentEventBody } from "../../../src/agent/events.ts";
import { type FleetMachine, type FleetParts, joinedResult } from "../../../src/agent/fleet/fleet-parts.ts";
import { type Attempt, runOnMachines, type FleetCall } from "../../../src/agent/fleet/run-on-machines.ts";
import { type ApprovalAnswer, type ApprovalRequest, Approvals } from "../../../src/policy/approvals.ts";
import type { Target } from "../../../src/targets/target.ts";
import { noted } from "../../../src/tools/notes.ts";
import type { ToolResult } from "../../../src/tools/tool.ts";
import { until } from "../../support/until.ts";

const NAMES = ["web01", "web02", "web03", "web04"];
const TARGET = { shell: {} } as unknown as Target;
const done = (text = "done", more: Partial<ToolResult> = {}): ToolResult => ({
  ok: true,
  outcome: "exited",
  exitCode: 0,
  result: text,
  printed: text,
  ...more,
});
const write = (path: string, creates = false) => ({ write: { path, creates, added: 0, removed: 0 } });
const FAILED = done("no", { ok: false, exitCode: 1 });

interface Rig {
  readonly fleet?: Partial<FleetParts>;
  readonly answers?: readonly ApprovalAnswer[];
  readonly mode?: "ask" | "all" | "none";
  /** Machines that need no question; the others ask. */
  readonly allowed?: readonly string[];
  readonly reads?: boolean;
  readonly request?: (name: string) => Partial<ApprovalRequest>;
  /** What an edited command is asked about with. */
  readonly edited?: (name: string) => Promise<Partial<ApprovalRequest>> | Partial<ApprovalRequest>;
  readonly target?: (name: string) => Promise<Target>;
  readonly run?: (
    name: string,
    signal: AbortSignal,
    asked: Parameters<FleetCall["begin"]>[1]["asked"],
  ) => Promise<ToolResult> | ToolResult;
  readonly signal?: AbortSignal;
  readonly opened?: readonly string[];
  /** Its turn to be opened has not come. */
  readonly queued?: string;
}

/** Everything real but the machines: what they do is the test's choice. */
function rig(options: Rig) {
  const asked: ApprovalRequest[] = [];
  const events: AgentEventBody[] = [];
  const ran: string[] = [];
  const left: string[] = [];
  const answers = [...(options.answers ?? [])];
  const approvals = new Approvals({
    mode: { kind: options.mode ?? "ask" },
    asker: {
      ask: (request) => {
        asked.push(request);
        return Promise.resolve(answers.shift() ?? { kind: "no-terminal" });
      },
    },
  });
  const machines = NAMES.map((name): FleetMachine => ({
    name,
    names: [name],
    permit: { target: () => options.target?.(name) ?? Promise.resolve(TARGET) },
    opened: options.opened?.includes(name) === true ? TARGET : undefined,
    openingSince: name === options.queued ? undefined : performance.now(),
    openingMs: undefined,
  }));
  const fleet: FleetParts = { machines, approvals, parallel: 32, shells: new Map(), gone: new Set(), ...options.fleet };
  const begin: FleetCall["begin"] = async ({ name }, how): Promise<Attempt> => {
    const { approvals: broker, signal, atLeastAsk, asked: whileAsked } = how;
    const free = options.reads === true || (options.allowed?.includes(name) === true && atLeastAsk === undefined);
    if (!free) {
      const request: ApprovalRequest = {
        id: name,
        call: "1",
        tool: "run_shell",
        where: `deploy@${name}`,
        subject: { machine: `id-${name}`, user: "deploy", shell: "bash" },
        action: "reload",
        risk: "medium",
        mutation: true,
        privesc: false,
        why: "",
        policy: "it changes something",
        understated: false,
        editable: true,
        ...options.request?.(name),
      };
      let decision = await broker.decide(request, signal);
      if (decision.kind === "edited" && options.edited !== undefined)
        decision = await broker.decide(
          { ...request, action: decision.command, ...(await options.edited(name)) },
          signal,
        );
      if (decision.kind === "denied")
        return { kind: "result", result: { ok: false, outcome: "denied", result: `denied by ${decision.by}` } };
    }
    return {
      kind: "run",
      reads: options.reads === true,
      run: async () => {
        ran.push(name);
        return (await options.run?.(name, signal, whileAsked)) ?? done(name);
      },
      leave: async ({ outcome }) => void left.push(`${name} ${outcome}`),
    };
  };
  const call: FleetCall = {
    call: "1",
    machines,
    signal: options.signal ?? new AbortController().signal,
    patient: false,
    begin,
    publish: (body) => void events.push(body),
  };
  const results = runOnMachines(fleet, call);
  return { results, asked, ran, left, events };
}

async function outcomes(work: Promise<readonly { machine: string; result: ToolResult }[]>) {
  return Object.fromEntries((await work).map(({ machine, result }) => [machine, result.outcome]));
}

const hang = () => new Promise<never>(() => {});

describe("the question", () => {
  test("is one for all, with the machines folded into a range and their number", async () => {
    const { results, asked, ran } = rig({ answers: [{ kind: "yes" }] });
    await results;
    expect(asked.map(({ where }) => where)).toEqual(["deploy@web[01-04] (4)"]);
    expect(ran.toSorted()).toEqual(NAMES);
  });

  test("covers machines that would not need one, because another does", async () => {
    const { results, asked } = rig({ allowed: ["web02", "web03"], answers: [{ kind: "yes" }] });
    await results;
    expect(asked[0]?.machines?.map(({ name }) => name)).toEqual(NAMES);
  });

  test("takes the strictest of all, says which machine is why, and how it would be undone", async () => {
    const { results, asked } = rig({
      answers: [{ kind: "yes" }],
      request: (name) =>
        name === "web03" ? { risk: "high", privesc: true, policy: "as root", reverse: "nft -f old" } : {},
    });
    await results;
    expect(asked[0]).toMatchObject({ risk: "high", privesc: true, reverse: "nft -f old (web03)" });
    expect(asked[0]?.policy).toContain("as root (web03)");
  });

  test.each<[string, Partial<ApprovalRequest>, Partial<ApprovalRequest>, Partial<ApprovalRequest>]>([
    ["user", { where: "deploy@web" }, { where: "root@web02" }, { where: "deploy@web[01,03-04],root@web02 (4)" }],
    ["directory", { cwd: "/srv" }, { cwd: "/root" }, { cwd: "/srv (web[01,03-04]); /root (web02)" }],
    ["unknown directory", { cwd: "/srv" }, {}, { cwd: "/srv (web[01,03-04]); an unknown directory (web02)" }],
    ["pane", {}, { pane: "p2" }, { pane: "p2 (web02)" }],
    ["label", {}, { label: "PROD" }, { label: "PROD (web02)" }],
    ["revert", {}, { reverse: "undo it" }, { reverse: "undo it (web02)" }],
    ["file", write("/a"), write("/b"), { write: { ...write("/a").write, path: "/a (web[01,03-04]), /b (web02)" } }],
    ["a new file", write("/a"), write("/a", true), write("/a")],
  ])("what differs on one machine is said of it: %s", async (_what, all, web02, joined) => {
    const request = (name: string) => (name === "web02" ? { ...all, cwd: undefined, ...web02 } : all);
    const { results, asked } = rig({ answers: [{ kind: "no" }], request: (name) => request(name) as typeof all });
    await results;
    expect(asked[0]).toMatchObject(joined);
  });

  test.each([
    ["db", "exited"],
    ["web[01-04]", "denied"],
  ])(
    "the name of the guarded machine that a command reaches is typed, not those it runs on: %s",
    async (typed, then) => {
      const request = () => ({ answer: "typed" as const, typed: "db", reaches: true as const });
      const { results, asked } = rig({ answers: [{ kind: "yes", typed }], request });
      expect(new Set(Object.values(await outcomes(results)))).toEqual(new Set([then]));
      expect(asked.map((one) => one.typed)).toEqual(["db"]);
    },
  );

  test("no runs nowhere", async () => {
    const { results, ran } = rig({ answers: [{ kind: "no" }] });
    expect(new Set(Object.values(await outcomes(results)))).toEqual(new Set(["denied"]));
    expect(ran).toEqual([]);
  });

  test("s runs on the chosen machines only, and names the others", async () => {
    const { results, ran } = rig({ answers: [{ kind: "choose", only: ["web02", "web04"] }] });
    expect(await outcomes(results)).toEqual({
      web01: "left-out",
      web02: "exited",
      web03: "left-out",
      web04: "exited",
    });
    expect(ran.toSorted()).toEqual(["web02", "web04"]);
  });

  test("c runs on one machine, shows its result, then asks for the others", async () => {
    const { results, asked, ran, events } = rig({ answers: [{ kind: "canary" }, { kind: "no" }] });
    expect(await outcomes(results)).toMatchObject({ web01: "exited", web02: "denied", web04: "denied" });
    expect(ran).toEqual(["web01"]);
    expect(asked.map(({ machines }) => machines?.length)).toEqual([4, 3]);
    expect(asked[1]?.policy).toContain("canary web01: exit code 0");
    expect(events).toContainEqual(expect.objectContaining({ type: "tool_output", stream: "info", machine: "web01" }));
  });

  test("a name that has to be typed for one machine has to be typed for the set", async () => {
    // The name that the question shows, not the one that the machine reports.
    const typed = (name: string) => (name === "web03" ? { answer: "typed" as const, typed: "reported" } : {});
    const without = rig({ answers: [{ kind: "yes" }], request: typed });
    expect(Object.values(await outcomes(without.results))).not.toContain("exited");
    const canary = rig({ answers: [{ kind: "canary" }], request: typed });
    expect(Object.values(await outcomes(canary.results))).not.toContain("exited");
    const right = rig({ answers: [{ kind: "yes", typed: "web03" }], request: typed });
    expect(new Set(Object.values(await outcomes(right.results)))).toEqual(new Set(["exited"]));
  });

  test("an edited command that needs their names is one question for them again", async () => {
    const others = Promise.withResolvers<void>();
    let judged = 0;
    const { results, asked, ran } = rig({
      answers: [
        { kind: "edit", command: "restart" },
        { kind: "yes", typed: "web[01-04]" },
      ],
      edited: async (name) => {
        if (name === "web02") await others.promise;
        else if (++judged === NAMES.length - 1) others.resolve();
        return { answer: "typed", typed: name };
      },
    });
    await results;
    expect(asked.map(({ action, where, typed }) => [action, where, typed])).toEqual([
      ["reload", "deploy@web[01-04] (4)", undefined],
      ["restart", "deploy@web[01-04] (4)", "web[01-04]"],
    ]);
    expect(ran.toSorted()).toEqual(NAMES);
  });

  test("a machine that falls silent after the answer is named, and does not hold up the others", async () => {
    const { results, ran } = rig({
      answers: [{ kind: "edit", command: "restart" }, { kind: "yes" }],
      edited: (name) => (name === "web02" ? hang() : {}),
      fleet: { patience: { connect: 50, run: 50 } },
    });
    expect(await outcomes(results)).toMatchObject({ web01: "exited", web02: "unreachable", web04: "exited" });
    expect(ran.toSorted()).toEqual(["web01", "web03", "web04"]);
  });

  test("choosing machines does not get around a name that has to be typed", async () => {
    const typed = (name: string) => ({ answer: "typed" as const, typed: name });
    const { results, asked, ran } = rig({
      answers: [{ kind: "choose", only: ["web02"] }, { kind: "yes" }],
      request: typed,
    });
    await results;
    expect(asked).toHaveLength(2);
    expect(ran).toEqual([]);
  });

  test("--approve all does not cover the machine that only a person approves, and it holds up no other", async () => {
    const { results, ran } = rig({
      mode: "all",
      request: (name) => (name === "web03" ? { answer: "typed" as const, typed: "web03" } : {}),
    });
    expect(await outcomes(results)).toMatchObject({ web01: "exited", web03: "denied" });
    expect(ran.toSorted()).toEqual(["web01", "web02", "web04"]);
  });

  test("about one of the machines calls it by its name among them, and that is typed", async () => {
    const request = (name: string) =>
      name === "web03" ? { answer: "typed" as const, typed: "reported", where: "deploy@reported" } : {};
    const { results, asked, ran } = rig({ mode: "all", answers: [{ kind: "yes", typed: "web03" }], request });
    await results;
    expect(asked).toMatchObject([{ where: "deploy@web03", typed: "web03", subject: { machine: "id-web03" } }]);
    expect(ran.toSorted()).toEqual(NAMES);
  });

  test("a machine that cannot be reached is left out of it by name", async () => {
    const { results, asked } = rig({
      answers: [{ kind: "yes" }],
      target: (name) => (name === "web02" ? Promise.reject(new Error("refused")) : Promise.resolve(TARGET)),
    });
    expect(await outcomes(results)).toMatchObject({ web02: "unreachable", web01: "exited" });
    expect(asked[0]?.where).toBe("deploy@web[01,03-04] (3)");
    expect(asked[0]?.policy).toContain("left out: web02");
  });

  test.each([true, false])(
    "a machine whose turn to be opened has not come is not left out (reads: %p)",
    async (reads) => {
      const { promise, resolve } = Promise.withResolvers<Target>();
      const late = rig({
        fleet: { patience: { connect: 5, run: 5 } },
        answers: [{ kind: "yes" }],
        reads,
        queued: "web03",
        target: (name) => (name === "web02" ? hang() : name === "web03" ? promise : Promise.resolve(TARGET)),
      });
      const begun = performance.now();
      await until(() => performance.now() > begun + 5 * 5, "more time than any other machine gets");
      resolve(TARGET);
      expect(await outcomes(late.results)).toMatchObject({ web01: "exited", web02: "unreachable", web03: "exited" });
    },
  );

  test("does not wait for ever for a machine that is still connecting", async () => {
    const { results, asked } = rig({
      answers: [{ kind: "yes" }],
      fleet: { patience: { connect: 20, run: 20 } },
      target: (name) => (name === "web02" ? hang() : Promise.resolve(TARGET)),
    });
    expect(await outcomes(results)).toMatchObject({ web02: "unreachable", web01: "exited" });
    expect(asked).toHaveLength(1);
  });
});

describe("who runs when", () => {
  test("machines that take longer to connect than one takes to refuse are waited for", async () => {
    const connected = Promise.withResolvers<Target>();
    const { results, events } = rig({
      reads: true,
      fleet: { patience: { connect: 5, run: 5 } },
      target: (name) => (name === "web01" ? Promise.reject(new Error("refused")) : connected.promise),
    });
    await until(() => events.some(({ type }) => type === "machine_finished"), "the refusal of web01");
    const refused = performance.now();
    await until(() => performance.now() > refused + 3 * 5, "more time than a machine gets when others are done");
    connected.resolve(TARGET);
    expect(Object.values(await outcomes(results))).toEqual(["unreachable", "exited", "exited", "exited"]);
  });

  test("--canary runs on the first, and nowhere else after a failure", async () => {
    const { results, ran, left } = rig({ mode: "all", fleet: { canary: 1 }, run: () => FAILED });
    expect(await outcomes(results)).toEqual({ web01: "exited", web02: "not-run", web03: "not-run", web04: "not-run" });
    expect(ran).toEqual(["web01"]);
    // What was approved, and did not run, is recorded as that.
    expect(left).toEqual(["web02 not-run", "web03 not-run", "web04 not-run"]);
  });

  test("a machine that was open and is gone is remembered until it answers again", async () => {
    const gone = new Set(["web02"]);
    const target = (name: string) => (name < "web03" ? Promise.resolve(TARGET) : Promise.reject(new Error("gone")));
    await rig({ reads: true, fleet: { gone }, opened: NAMES.slice(0, 3), target }).results;
    // web04 was never open: that is known elsewhere.
    expect([...gone]).toEqual(["web03"]);
  });

  test("--canary that was stopped has not failed", async () => {
    const stop = new AbortController();
    const run = async () => {
      stop.abort();
      return FAILED;
    };
    const { results, ran } = rig({ mode: "all", fleet: { canary: 1 }, signal: stop.signal, run });
    const all = await results;
    expect(ran).toEqual(["web01"]);
    expect(all.slice(1).map(({ result }) => result.outcome)).toEqual(["not-run", "not-run", "not-run"]);
    expect(all.map(({ result }) => result.result).join()).not.toContain("canary failed");
  });

  test("--canary continues where it went well, and does not hold up what only reads", async () => {
    const well = rig({ mode: "all", fleet: { canary: 2 } });
    expect(new Set(Object.values(await outcomes(well.results)))).toEqual(new Set(["exited"]));
    const reading = rig({ reads: true, fleet: { canary: 1 }, run: () => FAILED });
    await reading.results;
    expect(reading.ran.toSorted()).toEqual(NAMES);
  });

  test("--max-fail begins on no further machine", async () => {
    const { results, ran } = rig({ mode: "all", fleet: { parallel: 1, maxFail: 2 }, run: () => FAILED });
    expect(Object.values(await outcomes(results)).filter((one) => one === "not-run")).toHaveLength(2);
    expect(ran).toHaveLength(2);
  });

  test("--parallel bounds how many work at the same time", async () => {
    let now = 0;
    let most = 0;
    const { results } = rig({
      mode: "all",
      fleet: { parallel: 2 },
      run: async () => {
        most = Math.max(most, ++now);
        await Promise.resolve();
        now--;
        return done();
      },
    });
    await results;
    expect(most).toBe(2);
  });
});

describe("one machine never holds up another", () => {
  test("what only reads runs at once, while another machine is still being connected to", async () => {
    const opened = Promise.withResolvers<Target>();
    const { results, ran, events } = rig({
      reads: true,
      target: (name) => (name === "web02" ? opened.promise : Promise.resolve(TARGET)),
    });
    while (events.filter(({ type }) => type === "machine_finished").length < 3) await Promise.resolve();
    expect(ran.toSorted()).toEqual(["web01", "web03", "web04"]);
    opened.resolve(TARGET);
    expect(await outcomes(results)).toMatchObject({ web02: "exited" });
  });

  test("a command that hangs on one is named as still running, and is left running", async () => {
    let stopped = false;
    const { results } = rig({
      reads: true,
      fleet: { patience: { connect: 20, run: 20 } },
      run: (name, signal) => {
        if (name !== "web03") return done();
        signal.addEventListener("abort", () => (stopped = true));
        return hang();
      },
    });
    expect(await outcomes(results)).toEqual({
      web01: "exited",
      web02: "exited",
      web03: "still-running",
      web04: "exited",
    });
    expect(stopped).toBe(false);
  });

  test("one whose program waits for a password was left out, and the question closed, while the operator typed", async () => {
    const typed = Promise.withResolvers<string>();
    const { results, events } = rig({
      reads: true,
      fleet: { patience: { connect: 1, run: 1 } },
      run: async (name, _signal, asked) => (name === "web03" ? done(await asked(typed.promise)) : done()),
    });
    // Longer than any of the others is waited for.
    await until(() => events.filter(({ type }) => type === "machine_finished").length === 3, "the others are done");
    await Bun.sleep(20);
    typed.resolve("sesame");
    expect(await outcomes(results)).toMatchObject({ web01: "exited", web03: "exited" });
  });

  test("a machine that throws fails alone", async () => {
    const { results } = rig({
      reads: true,
      run: (name) => (name === "web01" ? Promise.reject(new Error("dropped")) : done()),
    });
    expect(await outcomes(results)).toMatchObject({ web01: "failed", web02: "exited", web04: "exited" });
  });

  test("cancelling reaches all of them", async () => {
    const stop = new AbortController();
    const heard: string[] = [];
    const { results, ran } = rig({
      reads: true,
      signal: stop.signal,
      run: (name, signal) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => {
            heard.push(name);
            resolve({ ok: false, outcome: "cancelled", result: "stopped" });
          });
        }),
    });
    while (ran.length < NAMES.length) await Promise.resolve();
    stop.abort();
    expect(new Set(Object.values(await outcomes(results)))).toEqual(new Set(["cancelled"]));
    expect(heard.toSorted()).toEqual(NAMES);
  });

  test("progress counts to the end and names who is waited for", async () => {
    const { results, events } = rig({ reads: true });
    await results;
    const progress = events.flatMap((event) => (event.type === "machine_finished" ? [event] : []));
    expect(progress.map(({ done: count, of }) => [count, of])).toEqual([
      [1, 4],
      [2, 4],
      [3, 4],
      [4, 4],
    ]);
    expect(progress[0]?.waiting.length).toBe(3);
    expect(progress.at(-1)?.waiting).toEqual([]);
  });
});

describe("what the model hears", () => {
  const all = async (notes: Readonly<Record<string, string>>, signal = new AbortController().signal) => {
    const run = (name: string) => noted(done("same"), notes[name] ?? "kept");
    return joinedResult(await rig({ mode: "all", run }).results, 10_000, signal);
  };

  test("what buddy adds on one machine is said of that machine", async () => {
    const { result } = await all({ web02: "the change was reverted" });
    expect(result).toContain("web[01,03-04] (3 machines):\nsame\n\n[kept]");
    expect(result).toContain("web02:\nsame\n\n[the change was reverted]");
  });

  test("after a stop, how far it had come on each", async () => {
    const { outcome, result } = await all({}, AbortSignal.abort());
    expect(outcome).toBe("cancelled");
    expect(result).toContain("4 ok");
  });
});
