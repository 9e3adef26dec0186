import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type AgentEventBody } from "../../../src/agent/events.ts";
import { permit } from "../../../src/agent/permit/permit.ts";
import type { PermitParts } from "../../../src/agent/permit/permission.ts";
import { type ApprovalAnswer, type ApprovalRequest, Approvals } from "../../../src/policy/approvals.ts";
import { NO_RULES } from "../../../src/policy/machine-rules.ts";
import { Privacy } from "../../../src/policy/privacy/privacy.ts";
import type { ShellJudgement, Verdict } from "../../../src/policy/verdict.ts";
import { backgroundShells } from "../../../src/targets/background/background.ts";
import { openTarget } from "../../../src/targets/open.ts";
import type { Target } from "../../../src/targets/target.ts";
import type { Declared, Intent, Tool, ToolContext } from "../../../src/tools/tool.ts";
import { judged, readTool } from "../../support/agent.ts";
import { targetOptions } from "../../support/target-options.ts";
import { RESULT } from "../../support/wording.ts";

const declared: Declared = { risk: "low", mutation: false, privesc: false, why: "because" };
const context: ToolContext = {
  signal: new AbortController().signal,
  target: () => Promise.reject(new Error("not needed")),
  emit: () => undefined,
  budget: 1000,
  mask: (text) => text,
};

/** A real shell in a directory of its own, with a file `old` in it. */
const directory = realpathSync(mkdtempSync(join(tmpdir(), "buddy-permit-")));
let machine: Target;

beforeAll(async () => {
  writeFileSync(join(directory, "old"), "");
  process.env["XDG_STATE_HOME"] = join(directory, "state");
  machine = await openTarget(
    targetOptions({
      cwd: directory,
      secondLock: "off",
    }),
  );
});

afterAll(async () => {
  await machine[Symbol.asyncDispose]();
  delete process.env["XDG_STATE_HOME"];
  rmSync(directory, { recursive: true });
});

interface Case {
  readonly intent: Intent;
  readonly judgement?: Partial<ShellJudgement>;
  readonly write?: Verdict;
  readonly answers?: ApprovalAnswer[];
  readonly parts?: Partial<PermitParts>;
  readonly tool?: Partial<Tool>;
}

async function decide({
  intent,
  judgement = {},
  write = { kind: "allow", why: "fine" },
  answers = [],
  parts = {},
  tool = {},
}: Case) {
  const asked: ApprovalRequest[] = [];
  const events: AgentEventBody[] = [];
  const approvals = new Approvals({
    asker: { ask: (request) => (asked.push(request), Promise.resolve(answers.shift() ?? { kind: "no-terminal" })) },
  });
  const permission = await permit(
    {
      approvals,
      target: () => Promise.resolve(machine),
      rules: () => Promise.resolve(NO_RULES),
      judgeShell: (command) => Promise.resolve(judged(command, judgement)),
      judgeWrite: () => Promise.resolve(write),
      confirm: { shell: true, fetch: "never" },
      privacy: new Privacy({ mask: true, own: () => [] }),
      maskOutput: [],
      urlRules: { allow: [], deny: [] },
      prompts: [],
      shellRoots: [],
      secondLock: "auto",
      dryRun: false,
      ...parts,
    },
    {
      tool: { ...readTool("run_shell", () => ({ ok: true, outcome: "done", result: "" })), editable: true, ...tool },
      input: { command: "make it" },
      intent,
      call: "c1",
      context,
      secrets: [],
      reveal: (input) => input,
      expect: () => undefined,
      publish: (event) => events.push(event),
    },
  );
  return { permission, asked, events };
}

const command = (part: Partial<Declared> = {}): Intent => ({
  kind: "shell",
  title: "make it",
  command: "make it",
  declared: { ...declared, ...part },
});
const readOnly = {
  readOnly: true,
  verdict: { kind: "allow", why: "read-only" },
  risk: "low",
  mutation: false,
} as const;

describe("a command", () => {
  test("that is proven read-only runs", async () => {
    const { permission, asked } = await decide({ intent: command(), judgement: readOnly });
    expect(permission).toMatchObject({ kind: "run", unasked: { inNamespace: true } });
    expect(asked).toHaveLength(0);
  });

  test("that is proven read-only is asked about where the read-only namespace is required and missing", async () => {
    const { asked } = await decide({ intent: command(), judgement: readOnly, parts: { secondLock: "required" } });
    expect(asked).toHaveLength(1);
  });

  test("that the operator approved runs in the shell itself", async () => {
    const { permission } = await decide({ intent: command(), answers: [{ kind: "yes" }] });
    expect(permission).not.toHaveProperty("unasked");
    expect(permission).toMatchObject({ kind: "run", input: { command: "make it" }, onlyIn: directory });
  });

  test("that the operator changed is asked about again where the model's own revert would run", async () => {
    const lockouts = [{ kind: "ssh", program: "apt", words: ["apt"] }] as unknown as ShellJudgement["lockouts"];
    const own = "curl elsewhere | sh";
    const plan = { says: "reverted", own, save: "", back: own, seconds: 60, asRoot: true };
    const { asked, permission } = await decide({
      intent: command(),
      judgement: { lockouts },
      answers: [{ kind: "edit", command: "make that" }, { kind: "no" }],
      parts: { planRevert: () => Promise.resolve(plan) },
    });
    expect(asked).toMatchObject([{ reverse: own }, { action: "make that", reverse: own }]);
    expect(permission.kind).toBe("result");
  });

  test("that the operator changed runs in the directory it was asked about, too", async () => {
    const { permission } = await decide({ intent: command(), answers: [{ kind: "edit", command: "make that" }] });
    expect(permission).toMatchObject({ kind: "run", input: { command: "make that" }, onlyIn: directory });
  });

  test.each([[{ mutation: true }], [{ privesc: true }], [{ risk: "high" as const }]])(
    "read-only, but declared %j, is asked about",
    async (part) => {
      const { asked, permission } = await decide({ intent: command(part), judgement: readOnly });
      expect(asked).toHaveLength(1);
      expect(permission).toMatchObject({ kind: "result", unapproved: "make it" });
    },
  );

  test("allowed by the configuration runs whatever the model declares", async () => {
    const { permission } = await decide({
      intent: command({ mutation: true, risk: "high" }),
      judgement: { verdict: { kind: "allow", why: "shell_allow" } },
    });
    expect(permission.kind).toBe("run");
  });

  test("denied is a result with why and what instead", async () => {
    const { permission } = await decide({
      intent: command(),
      judgement: { verdict: { kind: "deny", why: "it is dangerous", instead: "Do it slowly." } },
    });
    expect(permission).toMatchObject({
      result: { outcome: "denied", result: "Not allowed: it is dangerous. Do it slowly." },
    });
  });

  test("denied: dots of a path in the reason stay", async () => {
    const { permission } = await decide({
      intent: command(),
      judgement: { verdict: { kind: "deny", why: "it removes ../.. and a...b." } },
    });
    expect(permission).toMatchObject({ result: { result: "Not allowed: it removes ../.. and a...b." } });
  });

  test("the stricter of declared and derived is shown, and understating is flagged", async () => {
    const { asked, events } = await decide({ intent: command(), judgement: { risk: "high", privesc: true } });
    expect(asked[0]).toMatchObject({
      risk: "high",
      mutation: true,
      privesc: true,
      understated: true,
      where: `${machine.identity.user}@${machine.identity.host}`,
      cwd: directory,
      why: "because",
      editable: true,
    });
    expect(events.map((event) => event.type)).toEqual(["approval_asked", "approval_answered"]);
    const honest = await decide({ intent: command({ risk: "high", mutation: true, privesc: true }) });
    expect(honest.asked[0]).toMatchObject({ risk: "high", privesc: true, understated: false });
  });

  test.each([
    [{ kind: "yes" }, "run"],
    [{ kind: "always" }, "run"],
    [{ kind: "no" }, `${RESULT.refused}. `],
    [{ kind: "no", reason: "too early" }, `${RESULT.refused}: too early`],
    [{ kind: "cancelled" }, RESULT.cancelled],
    [{ kind: "no-terminal" }, "Refused: "],
  ] as const)("answered %j", async (answer, outcome) => {
    const { permission } = await decide({ intent: command(), answers: [answer] });
    if (outcome === "run") expect(permission.kind).toBe("run");
    else expect(permission).toMatchObject({ result: { result: expect.stringContaining(outcome) } });
  });

  test("edited runs as edited, with a note", async () => {
    const { permission, events } = await decide({
      intent: command(),
      answers: [{ kind: "edit", command: "make less" }],
    });
    expect(permission).toMatchObject({
      kind: "run",
      input: { command: "make less" },
      note: expect.stringContaining("make less"),
    });
    expect(events.at(-1)).toMatchObject({ edited: "make less", decision: "approved" });
  });

  test("shell_confirm = false asks nothing, and a dry run runs nothing", async () => {
    expect(
      (await decide({ intent: command(), parts: { confirm: { shell: false, fetch: "never" } } })).permission.kind,
    ).toBe("run");
    const dry = await decide({ intent: command(), parts: { dryRun: true } });
    expect(dry.permission).toMatchObject({
      result: { ok: true, result: `${RESULT.dryRun}run: make it\npolicy: ask (unknown command)` },
    });
    expect((await decide({ intent: command(), judgement: readOnly, parts: { dryRun: true } })).permission.kind).toBe(
      "run",
    );
    const detached = { ...command(), detached: true } as Intent;
    expect((await decide({ intent: detached, judgement: readOnly, parts: { dryRun: true } })).permission.kind).toBe(
      "result",
    );
  });

  test("outside shell_roots is refused", async () => {
    const { permission } = await decide({ intent: command(), judgement: readOnly, parts: { shellRoots: ["/data"] } });
    expect(permission).toMatchObject({ result: { result: expect.stringContaining("outside shell_roots") } });
  });
});

describe("keys and panes", () => {
  const control: Intent = { kind: "control", title: "type C-c", declared };
  test("ask, except where nothing is asked", async () => {
    expect((await decide({ intent: control, answers: [{ kind: "yes" }] })).permission.kind).toBe("run");
    expect((await decide({ intent: control })).permission).toMatchObject({ unapproved: "type C-c" });
    expect(
      (await decide({ intent: control, parts: { confirm: { shell: false, fetch: "never" } } })).permission.kind,
    ).toBe("run");
    expect((await decide({ intent: control, parts: { dryRun: true } })).permission).toMatchObject({
      result: { outcome: "dry-run" },
    });
  });
});

describe("files", () => {
  const write = (path = "new"): Intent => ({ kind: "write", title: path, path });
  const tool = {
    name: "write_file",
    prepare: () => Promise.resolve({ kind: "ready", path: {} as never, diff: "+x" } as const),
  };

  test("are asked about with a diff", async () => {
    const { asked } = await decide({ intent: write(), tool });
    expect(asked[0]).toMatchObject({
      action: `write ${directory}/new`,
      write: { creates: true, added: 1, removed: 0 },
      diff: "+x",
      risk: "medium",
      editable: false,
    });
    expect((await decide({ intent: write("old"), tool })).asked[0]?.write?.creates).toBe(false);
    expect((await decide({ intent: write("old"), tool: { ...tool, name: "edit_file" } })).asked[0]?.action).toBe(
      `write ${directory}/old`,
    );
  });

  test("denied paths, failed edits, dry runs", async () => {
    expect(
      (await decide({ intent: write(), tool, write: { kind: "deny", why: "it is a system directory" } })).permission,
    ).toMatchObject({ result: { result: "Not allowed: it is a system directory." } });
    const hint = { kind: "deny", why: "it is outside", instead: "write below /srv" } as const;
    expect((await decide({ intent: write(), tool, write: hint })).permission).toMatchObject({
      result: { result: "Not allowed: it is outside. Write below /srv." },
    });
    const failed = { ok: false, outcome: "failed", result: "absent" };
    expect(
      (
        await decide({
          intent: write(),
          tool: { ...tool, prepare: () => Promise.resolve({ kind: "failed", result: failed } as const) },
        })
      ).permission,
    ).toEqual({ kind: "result", result: failed });
    expect((await decide({ intent: write(), tool, parts: { dryRun: true } })).permission).toMatchObject({
      result: { result: `${RESULT.dryRun}write: ${directory}/new\npolicy: ask (a write needs approval)\n+x` },
    });
  });

  test("shell_confirm = false does not cover what the path policy asks about", async () => {
    const parts = { confirm: { shell: false, fetch: "never" } } as const;
    expect((await decide({ intent: write(), tool, parts })).permission.kind).toBe("run");
    const asking = await decide({ intent: write(), tool, parts, write: { kind: "ask", why: "it is below .git" } });
    expect(asking.asked[0]).toMatchObject({ risk: "high", policy: "it is below .git" });
  });
});

test("fetch asks with fetch_confirm; reading and ending what is not there never do", async () => {
  const fetch: Intent = { kind: "fetch", title: "page", url: "https://example.org/" };
  expect((await decide({ intent: fetch })).permission.kind).toBe("run");
  const { asked } = await decide({ intent: fetch, parts: { confirm: { shell: true, fetch: "always" } } });
  expect(asked[0]).toMatchObject({ action: "fetch https://example.org/", where: "this machine" });
  expect((await decide({ intent: ending("sh-1") })).permission.kind).toBe("run");
  expect((await decide({ intent: ending("sh-1"), parts: { dryRun: true } })).permission).toMatchObject({
    result: { result: `${RESULT.dryRun}do: end sh-1` },
  });
  expect((await decide({ intent: { kind: "read", title: "x" } })).permission.kind).toBe("run");
});

const ending = (shell: string): Intent => ({ kind: "end-shell", title: `end ${shell}`, shell });

test("a shell of another session is ended only when the operator agrees to that command; one's own is", async () => {
  const running = (session: string) =>
    backgroundShells(machine.transport, { clean: () => "", cwd: () => "/", timeoutMs: 60_000, session: () => session });
  const mine = running("mine");
  const others = running("another");
  const { id: own } = await mine.start("sleep 300");
  const { id, pid } = await others.start("sleep 301");
  const target = () => Promise.resolve({ ...machine, background: mine });
  expect((await decide({ intent: ending(own), parts: { target } })).permission.kind).toBe("run");
  const refused = await decide({ intent: ending(id), parts: { target }, answers: [{ kind: "no" }] });
  expect(refused.asked).toMatchObject([{ action: `end ${id} (pid ${pid}): sleep 301`, mutation: true }]);
  expect(refused.permission.kind).toBe("result");
  const agreed = await decide({ intent: ending(id), parts: { target }, answers: [{ kind: "yes" }] });
  expect(agreed.permission.kind).toBe("run");
  await Promise.all([mine.kill(own), others.kill(id)]);
  // It has ended: nothing would change.
  expect((await decide({ intent: ending(id), parts: { target } })).permission.kind).toBe("run");
});

test("where nothing may change, what buddy has started is not ended either", async () => {
  const parts = { rules: () => Promise.resolve({ ...NO_RULES, mode: "read-only" as const }) };
  const { permission } = await decide({ intent: ending("sh-1"), parts });
  expect(permission).toMatchObject({ kind: "result", proposed: { command: "# end sh-1" } });
});

describe("rules of the machine", () => {
  const on = (mode: "guarded" | "read-only"): Partial<PermitParts> => ({
    rules: () => Promise.resolve({ ...NO_RULES, mode, label: "PROD" }),
  });
  const control = (risk: Declared["risk"]): Intent => ({
    kind: "control",
    title: "kill pane",
    declared: { ...declared, risk },
  });

  test("read-only: tmux objects and commands become proposals, and no question is asked", async () => {
    for (const intent of [control("low"), command()]) {
      const { permission, asked } = await decide({ intent, parts: on("read-only"), answers: [{ kind: "yes" }] });
      expect(permission).toMatchObject({ kind: "result", proposed: { label: "PROD" } });
      expect(asked).toEqual([]);
    }
  });

  test("guarded: high risk needs the name, also for tmux objects; less does not", async () => {
    for (const intent of [control("high"), command({ risk: "high" })]) {
      const { permission, asked } = await decide({ intent, parts: on("guarded"), answers: [{ kind: "yes" }] });
      expect([permission.kind, asked[0]?.answer, asked[0]?.label]).toEqual(["result", "typed", "PROD"]);
    }
    const { permission, asked } = await decide({
      intent: command(),
      parts: on("guarded"),
      answers: [{ kind: "yes" }],
    });
    expect([permission.kind, asked[0]?.answer]).toEqual(["run", undefined]);
  });

  test("guarded: a command that the operator edited into high risk asks for the name", async () => {
    const { permission, asked } = await decide({
      intent: command(),
      parts: {
        ...on("guarded"),
        judgeShell: (text) => Promise.resolve(judged(text, text === "make install" ? { risk: "high" } : {})),
      },
      answers: [{ kind: "edit", command: "make install" }, { kind: "yes" }],
    });
    expect(asked.map(({ answer }) => answer)).toEqual([undefined, "typed"]);
    expect(permission.kind).toBe("result");
  });
});
