import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { operatorCommand } from "../../src/app/repl/operator-commands.ts";
import type { DecisionEntry, EffectEntry, StoredEntry } from "../../src/audit/entry.ts";
import { readRecord, verifyRecord } from "../../src/audit/record-files.ts";
import { drain } from "../support/agent.ts";
import { call, shell } from "../support/calls.ts";
import { Here } from "../support/in-process.ts";
import { until } from "../support/until.ts";
import { quote } from "../../src/lib/quote.ts";

const CHANGE = { risk: "medium", mutation: true };
const state = (here: Here) => join(here.home, ".local/state/buddy");

function recorded(here: Here): StoredEntry[] {
  return [...readRecord(state(here))];
}

const decisions = (here: Here) =>
  recorded(here).filter((entry): entry is StoredEntry & DecisionEntry => entry.kind === "decision");
const effects = (here: Here) =>
  recorded(here).filter((entry): entry is StoredEntry & EffectEntry => entry.kind === "effect");

/** An effect is written a moment after its call. */
async function written(here: Here, count = 1): Promise<ReturnType<typeof effects>> {
  await until(() => effects(here).length >= count, "the effect is recorded");
  return effects(here);
}

describe("the record holds", () => {
  test("who and where, the decision, and the exit code of a command that was approved", async () => {
    await using here = new Here([shell("touch made; (exit 3)", CHANGE), { text: "done" }], {
      answer: () => ({ kind: "yes" }),
    });
    const { run } = await here.turn();
    const [decision] = decisions(here);
    const { identity } = run.target.opened!;
    expect(decision).toMatchObject({
      session: run.sessions.id,
      target: "local",
      target_user: identity.user,
      host: identity.host,
      machine: identity.machine,
      tool: "run_shell",
      action: "touch made; (exit 3)",
      cwd: here.cwd,
      verdict: "ask",
      decision: "approved",
      by: "operator",
    });
    expect(decision?.user).toBe(Bun.spawnSync(["id", "-un"]).stdout.toString().trim());
    expect(await written(here)).toMatchObject([{ action: "touch made; (exit 3)", outcome: "exited", exit_code: 3 }]);
    expect(verifyRecord(state(here)).findings).toEqual([]);
  });

  test("the user whom a slow directory service names, and nothing else waits for it", async () => {
    await using here = new Here([shell("touch a", CHANGE), { text: "done" }], { answer: () => ({ kind: "yes" }) });
    const waits = `cd ${quote(here.dir)}; : >asked; until [ -e answer ]; do sleep 0.01; done`;
    here.programs({ id: `if [ "$2" = -- ]; then ${waits}; fi; echo slow` });
    const turn = here.turn();
    await until(() => existsSync(join(here.dir, "asked")), "the name is asked for");
    here.write("answer", "");
    await turn;
    expect(decisions(here)).toMatchObject([{ user: "slow", decision: "approved" }]);
  });

  test.each([
    ["auto", "pwd", {}, {}, undefined],
    ["mode", "touch a", CHANGE, { approve: "all" }, undefined],
    ["always", "touch a", CHANGE, {}, { kind: "always" }],
  ] as const)("that it was approved by: %s", async (by, command, declared, flags, answer) => {
    await using here = new Here([shell(command, declared), { text: "done" }], answer ? { answer: () => answer } : {});
    await here.turn({ "no-tmux": true, ...flags });
    expect(await written(here)).toMatchObject([{ exit_code: 0 }]);
    expect(decisions(here)).toMatchObject([{ decision: "approved", by }]);
  });

  test("a yes given earlier, and a rule of the configuration", async () => {
    const turns = [shell("touch a", CHANGE), shell("touch b", CHANGE), shell("mkdir c", CHANGE), { text: "done" }];
    const config = '[tools]\nshell_allow = ["mkdir"]';
    await using here = new Here(turns, { answer: () => ({ kind: "always" }), config });
    await here.turn();
    expect(decisions(here).map(({ by }) => by)).toEqual(["always", "prefix", "rule"]);
  });

  test.each([
    ["policy", "block", "rm -rf /", undefined],
    ["operator", "ask", "touch a", { kind: "no", reason: "not now" }],
    ["no-terminal", "ask", "touch a", undefined],
  ] as const)("that it was denied by: %s", async (by, verdict, command, answer) => {
    await using here = new Here([shell(command, CHANGE), { text: "done" }], answer ? { answer: () => answer } : {});
    await here.turn();
    expect(decisions(here)).toMatchObject([{ decision: "denied", by, verdict, action: command }]);
    expect(effects(here)).toEqual([]);
  });

  test("what a dry run would have asked", async () => {
    await using here = new Here([shell("touch a", CHANGE), { text: "done" }]);
    await here.turn({ "no-tmux": true, "dry-run": true });
    expect(decisions(here)).toMatchObject([{ decision: "denied", by: "dry-run" }]);
  });

  test("the command as the operator changed it, and as it was proposed", async () => {
    await using here = new Here([shell("touch a", CHANGE), { text: "done" }], {
      answer: () => ({ kind: "edit", command: "touch b" }),
    });
    await here.turn();
    expect(decisions(here)).toMatchObject([{ action: "touch b", proposed: "touch a", by: "operator" }]);
    expect(await written(here)).toMatchObject([{ action: "touch b" }]);
  });

  test("the path of a write and the digest of its difference", async () => {
    await using here = new Here([call("write_file", { path: "a.txt", content: "one\ntwo\n" }), { text: "done" }], {
      answer: () => ({ kind: "yes" }),
    });
    await here.turn();
    const diff = here.asked[0]?.diff ?? "";
    expect(decisions(here)).toMatchObject([
      {
        action: `write ${here.cwd}/a.txt`,
        diff_sha256: new Bun.CryptoHasher("sha256").update(diff).digest("hex"),
        added: 2,
        removed: 0,
      },
    ]);
  });

  test("the machine of a question that was denied by stopping the task", async () => {
    const stop = new AbortController();
    await using here = new Here([shell("touch made", CHANGE), { text: "done" }], {
      answer: () => {
        stop.abort();
        return { kind: "no", stop: true };
      },
    });
    const run = await here.compose();
    await drain(run.agent.runTurn("do it", stop.signal));
    const { user, host } = run.target.opened!.identity;
    expect(decisions(here)).toMatchObject([{ decision: "denied", target_user: user, host, cwd: here.cwd }]);
  });

  test("a command of the operator's own, as theirs", async () => {
    await using here = new Here();
    const run = await here.compose();
    await drain(operatorCommand(run, (await here.loaded()).config, "exit 4", new AbortController().signal));
    expect(decisions(here)).toMatchObject([{ tool: "you", by: "operator", action: "exit 4" }]);
    expect(await written(here)).toMatchObject([{ tool: "you", exit_code: 4 }]);
  });

  test("each machine of several by its names, and the decision for each", async () => {
    const config =
      '[targets.a]\nvia = ["env", "A=1"]\n[targets.b]\nvia = ["env", "B=1"]\n[targets.both]\ninclude = ["a", "b"]';
    await using here = new Here([shell("touch made", CHANGE), { text: "done" }], {
      answer: () => ({ kind: "yes" }),
      config,
    });
    await here.turn({ "no-tmux": true, on: "both" });
    expect(here.asked).toHaveLength(1);
    const names = (entries: readonly { names?: readonly string[] }[]) => entries.map((one) => one.names?.[0]).sort();
    expect(names(decisions(here))).toEqual(["a", "b"]);
    expect(names(await written(here, 2))).toEqual(["a", "b"]);
    expect(decisions(here).every(({ names = [], by }) => names.includes("both") && by === "operator")).toBe(true);
  });

  test("no secret that a command carries", async () => {
    const key = ["AKIA", "QX7ZLM2TPN4RWB6D"].join("");
    await using here = new Here([shell(`touch made # ${key}`, CHANGE), { text: "done" }], {
      answer: () => ({ kind: "yes" }),
    });
    await here.turn();
    expect(decisions(here)).toHaveLength(1);
    expect(readFileSync(join(state(here), "audit.jsonl"), "utf8")).not.toContain(key);
  });
});

describe("a record that cannot be written", () => {
  const broken = (here: Here) => {
    mkdirSync(state(here), { recursive: true });
    symlinkSync("/dev/null", join(state(here), "audit.jsonl"));
  };

  test("is reported once, and the work continues", async () => {
    await using here = new Here([shell("touch a", CHANGE), shell("touch b", CHANGE), { text: "done" }], {
      answer: () => ({ kind: "yes" }),
    });
    broken(here);
    await here.turn();
    expect(here.read("cwd/b")).toBe("");
    expect(here.problems.filter((problem) => problem.includes("audit.jsonl"))).toHaveLength(1);
  });

  test("stops every change where it is required, and no reading", async () => {
    const turns = [
      shell("touch a", CHANGE),
      call("write_file", { path: "b", content: "x" }),
      shell("echo read"),
      { text: "done" },
    ];
    const config = "[audit]\nrequired = true";
    await using here = new Here(turns, { answer: () => ({ kind: "always" }), config });
    broken(here);
    const { events, results, run } = await here.turn();
    expect(run.approvals.remembered(run.target.opened!.identity)).toEqual([]);
    expect(
      events.flatMap((event) => (event.type === "tool_finished" ? [[event.outcome, event.exit_code]] : [])),
    ).toEqual([
      ["denied", undefined],
      ["denied", undefined],
      ["exited", 0],
    ]);
    expect(results[0]).toContain("required");
    expect(() => here.read("cwd/a")).toThrow();
    expect(() => here.read("cwd/b")).toThrow();
  });

  test("stops the operator's own command, too, where it is required", async () => {
    await using here = new Here([], { config: "[audit]\nrequired = true" });
    broken(here);
    const run = await here.compose();
    const work = drain(operatorCommand(run, (await here.loaded()).config, "touch a", new AbortController().signal));
    await expect(work).rejects.toThrow("record");
    expect(() => here.read("cwd/a")).toThrow();
  });
});

describe("[audit] journal", () => {
  test("logs decisions and effects on the machine they are about", async () => {
    await using here = new Here([shell("touch a; exit 5", CHANGE), { text: "done" }], {
      answer: () => ({ kind: "yes" }),
      config: "[audit]\njournal = true",
    });
    here.programs({ logger: `printf '%s\\n' "$*" >> ${quote(here.dir)}/journal` });
    const { run } = await here.turn();
    const text = () =>
      Bun.file(join(here.dir, "journal"))
        .text()
        .catch(() => "");
    await until(async () => (await text()).split("\n").length === 3, "both lines");
    // Nothing waits for a logger, so that one may come after the next.
    const lines = (await text()).trimEnd().split("\n").sort();
    expect(lines[1]).toMatch(/^-t buddy -- shell-ended .* exit=5 /);
    expect(lines[0]).toStartWith("-t buddy -- approved ");
    expect(lines[0]).toContain(`session=${run.sessions.id}`);
    expect(lines[0]).toContain('action="touch a; exit 5"');
  });

  test("a logger that hangs holds up nothing", async () => {
    await using here = new Here([shell("touch a", CHANGE), shell("touch b", CHANGE), { text: "done" }], {
      answer: () => ({ kind: "yes" }),
      config: "[audit]\njournal = true",
    });
    here.programs({ logger: `echo $$ >> ${quote(here.dir)}/pids; exec sleep 1000` });
    const { run } = await here.turn();
    await run.recorder.close();
    expect(here.read("cwd/b")).toBe("");
    expect(here.problems).toEqual([]);
    const pids = () => here.read("pids").trimEnd().split("\n");
    await until(() => pids().length === 4, "four loggers");
    for (const pid of pids()) process.kill(Number(pid), "SIGKILL");
  });

  test("a machine without logger is reported once", async () => {
    await using here = new Here([shell("touch a", CHANGE), shell("touch b", CHANGE), { text: "done" }], {
      answer: () => ({ kind: "yes" }),
      config: "[audit]\njournal = true",
    });
    here.programs({ logger: "" });
    rmSync(join(here.dir, "bin/logger"));
    for (const name of ["sh", "bash", "touch", "id", "env"])
      symlinkSync(Bun.which(name) ?? "", join(here.dir, "bin", name));
    process.env.PATH = join(here.dir, "bin");
    const { run } = await here.turn();
    await run.recorder.close();
    expect(here.problems.filter((problem) => problem.includes("logger"))).toHaveLength(1);
  });
});
