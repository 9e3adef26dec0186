import { describe, expect, test } from "bun:test";
import { type ApprovalAnswer, type ApprovalRequest, Approvals, describePrefix } from "../../src/policy/approvals.ts";
import { prefixesOf } from "../../src/policy/shell/allow-deny-lists.ts";
import { isBelow, outsideRoots } from "../../src/policy/shell/shell-roots.ts";
import { judged } from "../support/agent.ts";

const WEB1 = { machine: "web1", user: "op", shell: "bash" };
const never = new AbortController().signal;
const request = (part: Partial<ApprovalRequest> = {}): ApprovalRequest => ({
  id: "1",
  call: "c",
  tool: "run_shell",
  where: "op@web1",
  subject: WEB1,
  action: "make install",
  risk: "medium",
  mutation: true,
  privesc: false,
  why: "",
  policy: "",
  understated: false,
  editable: true,
  ...part,
});
const answers = (...list: ApprovalAnswer[]) => ({
  asked: [] as string[],
  ask: async function (this: { asked: string[] }, r: ApprovalRequest) {
    this.asked.push(r.action);
    return list.shift() ?? ({ kind: "no-terminal" } as const);
  },
});

describe("modes", () => {
  test.each([
    [{ kind: "all" }, { kind: "approved", by: "mode" }],
    [{ kind: "none" }, { kind: "denied", by: "mode" }],
    [
      { kind: "until", at: 1000 },
      { kind: "approved", by: "mode" },
    ],
    [
      { kind: "until", at: 10 },
      { kind: "denied", by: "no-terminal" },
    ],
    [{ kind: "ask" }, { kind: "denied", by: "no-terminal" }],
  ] as const)("%j", async (mode, decision) => {
    const approvals = new Approvals({ mode, now: () => 500 });
    expect(await approvals.decide(request(), never)).toEqual(decision);
  });

  test.each([{ kind: "all" }, { kind: "until", at: 1000 }, { kind: "ask" }] as const)(
    "%j does not answer what only a person answers",
    async (mode) => {
      for (const answer of ["in-person", "typed"] as const) {
        const approvals = new Approvals({ mode, now: () => 500 });
        expect(await approvals.decide(request({ answer }), never)).toEqual({
          kind: "denied",
          by: "no-terminal",
          onlyByPerson: true,
        });
      }
    },
  );

  test("an answer without the name, with another one, or always does not approve what needs the name", async () => {
    const prefixes = [{ words: ["make"], open: true }];
    const needs = request({ answer: "typed", typed: "web1", prefixes });
    for (const answer of [
      { kind: "yes" },
      { kind: "yes", typed: "web2" },
      { kind: "yes", typed: "WEB1" },
      { kind: "always" },
    ] as const) {
      const approvals = new Approvals({ asker: answers(answer) });
      expect((await approvals.decide(needs, never)).kind).toBe("denied");
      expect(approvals.remembered(WEB1)).toEqual([]);
    }
    const approvals = new Approvals({ asker: answers({ kind: "yes", typed: "web1" }) });
    expect(await approvals.decide(needs, never)).toEqual({ kind: "approved", by: "operator" });
  });

  test("what was remembered does not answer what only a person answers", async () => {
    const prefixes = [{ words: ["make"], open: true }];
    const approvals = new Approvals({ asker: answers({ kind: "always" }) });
    await approvals.decide(request({ prefixes }), never);
    expect(approvals.settled(request({ prefixes }))).toEqual({ kind: "approved", by: "prefix" });
    expect(approvals.settled(request({ prefixes, answer: "in-person" }))).toBeUndefined();
  });

  test("a duration falls back to ask for good", async () => {
    let now = 0;
    const approvals = new Approvals({ mode: { kind: "until", at: 100 }, now: () => now });
    expect(approvals.mode.kind).toBe("until");
    now = 100;
    expect(approvals.mode.kind).toBe("ask");
    now = 50;
    expect(approvals.mode.kind).toBe("ask");
    approvals.setMode({ kind: "all" });
    expect(approvals.mode.kind).toBe("all");
  });

  test("a clock that is set back does not prolong a duration, and one that is set forward ends it", () => {
    const [HOUR, MINUTE] = [3_600_000, 60_000];
    let [now, steady] = [10 * HOUR, 0];
    const approvals = new Approvals({
      mode: { kind: "duration", ms: 10 * MINUTE },
      now: () => now,
      steady: () => steady,
    });
    [now, steady] = [9 * HOUR + 4 * MINUTE, 4 * MINUTE];
    expect(approvals.mode).toEqual({ kind: "until", at: 9 * HOUR + 10 * MINUTE });
    expect(approvals.modeWithin(3 * MINUTE)).toEqual({ kind: "ask" });
    [now, steady] = [8 * HOUR, 10 * MINUTE];
    expect(approvals.mode.kind).toBe("ask");
    approvals.setMode({ kind: "duration", ms: 10 * MINUTE });
    now += HOUR;
    expect(approvals.mode.kind).toBe("ask");
  });
});

describe("answers", () => {
  test.each([
    [{ kind: "yes" }, { kind: "approved", by: "operator" }],
    [{ kind: "no" }, { kind: "denied", by: "operator" }],
    [
      { kind: "no", reason: "not now" },
      { kind: "denied", by: "operator", reason: "not now" },
    ],
    [
      { kind: "edit", command: "make -n" },
      { kind: "edited", command: "make -n" },
    ],
    [{ kind: "cancelled" }, { kind: "denied", by: "cancelled" }],
    [{ kind: "no-terminal" }, { kind: "denied", by: "no-terminal" }],
  ] as const)("%j", async (answer, decision) => {
    const approvals = new Approvals({ asker: answers(answer) });
    let asked = 0;
    expect(await approvals.decide(request(), never, () => asked++)).toEqual(decision);
    expect(asked).toBe(1);
  });

  test("always is remembered for the same prefix to the same user in the same shell of the machine only", async () => {
    const asker = answers({ kind: "always" });
    const approvals = new Approvals({ asker });
    const prefixes = [{ words: ["make"], open: true }];
    expect(await approvals.decide(request({ prefixes }), never)).toMatchObject({ kind: "approved", by: "operator" });
    expect(await approvals.decide(request({ prefixes }), never)).toEqual({ kind: "approved", by: "prefix" });
    for (const other of [{ machine: "web2" }, { user: "root" }, { shell: "bash in p2" }]) {
      const subject = { ...WEB1, ...other };
      expect(await approvals.decide(request({ prefixes, subject }), never)).toMatchObject({ kind: "denied" });
      const seen = async () => ({ where: "root@web1", subject });
      expect(await approvals.decide(request({ prefixes }), never, undefined, seen)).toMatchObject({ kind: "denied" });
    }
    expect(
      await approvals.decide(request({ prefixes: [...prefixes, { words: ["rm", "x"], open: false }] }), never),
    ).toMatchObject({ kind: "denied" });
    expect(await approvals.decide(request(), never)).toMatchObject({ kind: "denied" });
    expect(approvals.remembered(WEB1).map(describePrefix)).toEqual(["make …"]);
  });

  test("one question at a time; an always answers those that wait behind it", async () => {
    const asker = answers({ kind: "always" });
    const approvals = new Approvals({ asker });
    const prefixes = [{ words: ["make"], open: true }];
    const both = await Promise.all([
      approvals.decide(request({ prefixes }), never),
      approvals.decide(request({ prefixes }), never),
    ]);
    expect(both.map((decision) => decision.kind)).toEqual(["approved", "approved"]);
    expect(asker.asked).toHaveLength(1);
  });

  test("a cancelled run is not asked, and a time-out is distinguished", async () => {
    const approvals = new Approvals({ asker: answers({ kind: "yes" }) });
    const stop = new AbortController();
    stop.abort();
    expect(await approvals.decide(request(), stop.signal)).toEqual({ kind: "denied", by: "cancelled" });
    stop.abort();
    const late = AbortSignal.abort(new DOMException("late", "TimeoutError"));
    expect(await approvals.decide(request(), late)).toEqual({ kind: "denied", by: "timeout" });
  });

  test("no stays the operator's where it stops the task with it", async () => {
    const stop = new AbortController();
    const ask = async (): Promise<ApprovalAnswer> => {
      stop.abort();
      return { kind: "no", stop: true };
    };
    const approvals = new Approvals({ asker: { ask } });
    const both = await Promise.all([request(), request()].map((one) => approvals.decide(one, stop.signal)));
    expect(both).toEqual([
      { kind: "denied", by: "operator" },
      { kind: "denied", by: "cancelled" },
    ]);
  });

  test("an asker that throws does not block the next question", async () => {
    const fails: (() => Promise<ApprovalAnswer>)[] = [() => Promise.reject(new Error("terminal on fire"))];
    const ask = () => fails.shift()?.() ?? Promise.resolve<ApprovalAnswer>({ kind: "yes" });
    const approvals = new Approvals({ asker: { ask } });
    expect(approvals.decide(request(), never)).rejects.toThrow("on fire");
    expect(await approvals.decide(request(), never)).toEqual({ kind: "approved", by: "operator" });
  });
});

describe("what always remembers", () => {
  const prefix = (text: string, part = {}) => prefixesOf(text, judged(text, part))?.map(describePrefix);

  test.each([
    ["git commit -m x", ["git commit -m …"]],
    ["git stash pop", ["git stash pop …"]],
    ["git -C /x push", ["git -C /x push"]],
    ["npm run build", ["npm run build …"]],
    ["systemctl restart nginx", ["systemctl restart …"]],
    ["/usr/bin/make all", ["/usr/bin/make all …"]],
    ["mkdir a", ["mkdir …"]],
    ["rm build.log", ["rm build.log"]],
    ["./deploy.sh prod", ["./deploy.sh prod"]],
    ["git", ["git"]],
  ])("%s", (text, expected) => expect(prefix(text)).toEqual(expected));

  test.each([
    ["make > out"],
    ["make $X"],
    ["make `id`"],
    ["(make)"],
    ["X=1 make"],
    ["a; PATH=. make"],
    ["make <in"],
    ["f() { make; }"],
  ])("is not offered for %s", (text) => expect(prefix(text)).toBeUndefined());

  test("nor for what is dangerous, privileged or uncertain", () => {
    expect(prefix("make", { risk: "high" })).toBeUndefined();
    expect(prefix("make", { privesc: true })).toBeUndefined();
    expect(prefix("make", { uncertain: ["something"] })).toBeUndefined();
    expect(prefix("make", { verdict: { kind: "deny", why: "no" } })).toBeUndefined();
    expect(prefix("make", { commands: [] })).toBeUndefined();
    expect(prefix("make", { commands: [{ words: [], verdict: "ask", why: "", readOnly: false }] })).toBeUndefined();
  });

  test("only the commands that ask count", () => {
    const commands = [
      { words: ["ls"], verdict: "allow" as const, why: "", readOnly: true },
      { words: ["mkdir", "x"], verdict: "ask" as const, why: "", readOnly: false },
    ];
    expect(prefix("ls && mkdir x", { commands })).toEqual(["mkdir …"]);
  });
});

describe("shell_roots", () => {
  const at = (text: string, cwd: string) =>
    outsideRoots(
      judged(text, {
        commands: text
          .split(/ && |; /)
          .map((part) => ({ words: part.split(" "), verdict: "ask", why: "", readOnly: false })),
      }),
      cwd,
      ["/srv/app", "/data"],
    );

  test.each([
    ["ls", "/srv/app"],
    ["ls", "/srv/app/deep/er"],
    ["cd /data && ls", "/srv/app"],
    ["cd ..", "/srv/app/x"],
    ["cd /srv/app && ls", "/tmp"],
    ["cd -P -- sub", "/data"],
  ])("%s in %s is inside", (text, cwd) => expect(at(text, cwd)).toBeUndefined());

  test.each([
    ["ls", "/"],
    ["ls", "/srv/application"],
    ["cd / && ls", "/srv/app"],
    ["cd ..", "/srv/app"],
    ["cd", "/srv/app"],
    ["cd -", "/srv/app"],
    ["cd ~/x", "/srv/app"],
    ["cd $HOME", "/srv/app"],
    ["pushd /etc", "/data"],
    ["ls && cd /srv/app", "/tmp"],
    ["cd sub && cd ../../..", "/srv/app"],
  ])("%s in %s is outside", (text, cwd) => {
    expect(at(text, cwd)).toMatchObject({ kind: "deny", instead: expect.stringContaining("cd /srv/app") });
  });

  test("below", () => {
    expect(isBelow("/a/b/../c", ["/a"])).toBe(true);
    expect(isBelow("/a", ["/"])).toBe(true);
    expect(isBelow("/ab", ["/a/"])).toBe(false);
  });
});
