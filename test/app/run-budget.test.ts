import { describe, expect, test } from "bun:test";
import { ofType } from "../support/agent.ts";
import { shell } from "../support/calls.ts";
import { Here } from "../support/in-process.ts";

/** One USD for each million tokens, so that 100000 tokens are $0.10. */
const PRICED = '[[model_rules]]\nexact = "gpt-4o"\nprice_in = 1\nprice_out = 1\n';
const UNPRICED = '[models.odd]\napi_base_url = "http://127.0.0.1:9/v1"\nmodel = "odd-model-of-ours"\n';
const usage = { input: 99_000, output: 1000 };
const work = { ...shell("touch a", { mutation: true }), usage };
const read = { ...shell("pwd"), usage };
const answer = { text: "done", usage };
const MAX = { "no-tmux": true, approve: "all" } as const;

describe("buddy exec over its budget", () => {
  test("ends with exit code 1 and what was done, before the next request", async () => {
    await using here = new Here([work, read, answer], { config: PRICED });
    const { code, stdout, stderr } = await here.exec({ prompt: "go" }, { ...MAX, "max-cost": "0.15" });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain("$0.20");
    expect(stderr).toContain("run_shell: touch a (exit code 0)");
    expect(here.model.requests).toHaveLength(2);
  });

  test("warns once at 80 %", async () => {
    await using here = new Here([read, read, answer], { config: `${PRICED}[limits]\ncost_session = 0.25` });
    const { events } = await here.turn();
    expect(ofType(events, "warning").map(({ message }) => /\d+ %/.exec(message)?.[0])).toEqual(["80 %"]);
    expect(ofType(events, "done")).toMatchObject([{ status: "answered" }]);
  });

  test("an answer that is there is given, whatever it cost", async () => {
    await using here = new Here([answer], { config: PRICED });
    const { code, stdout } = await here.exec({ prompt: "go" }, { ...MAX, "max-cost": "0.01" });
    expect({ code, stdout }).toEqual({ code: 0, stdout: "done\n" });
  });

  test("a resumed session counts what it has cost before", async () => {
    await using here = new Here([answer, answer], { config: PRICED });
    await here.exec({ prompt: "go" }, MAX);
    const { code, stderr } = await here.exec({ prompt: "more", resume: "last" }, { ...MAX, "max-cost": "0.10" });
    expect(code).toBe(1);
    expect(stderr).toContain("$0.10");
    expect(here.model.requests).toHaveLength(1);
  });

  test("tokens are counted separately for each turn", async () => {
    await using here = new Here([answer, answer, read, answer], { config: "[limits]\ntokens_turn = 100000" });
    const run = await here.compose();
    const outcome = async () => {
      const events = [];
      for await (const event of run.agent.runTurn("go", new AbortController().signal)) events.push(event);
      return [ofType(events, "done")[0]?.status, ofType(events, "error")[0]?.code];
    };
    expect([await outcome(), await outcome(), await outcome()]).toEqual([
      ["answered", undefined],
      ["answered", undefined],
      ["failed", "budget"],
    ]);
    expect(here.model.requests).toHaveLength(3);
  });
});

describe("the REPL over its budget", () => {
  test("asks, whatever the approval mode is, and a yes allows as much again", async () => {
    await using here = new Here([read, read, read, answer], {
      config: `${PRICED}[limits]\ncost_session = 0.1`,
      answer: () => (here.asked.length < 3 ? { kind: "yes" } : { kind: "no" }),
    });
    const run = await here.compose({ "no-tmux": true, approve: "all" }, { askOverBudget: true });
    const events = [];
    for await (const event of run.agent.runTurn("go", new AbortController().signal)) events.push(event);
    expect(here.asked.map(({ tool }) => tool)).toEqual(["budget", "budget", "budget"]);
    expect(here.model.requests).toHaveLength(3);
    expect(ofType(events, "error")).toMatchObject([{ code: "budget" }]);
    expect(run.budget?.limits).toEqual({ cost: 0.1 + 0.1 + 0.1 });
  });
});

describe("a model whose price is not known", () => {
  test("is an error with --max-cost, before anything is sent", async () => {
    await using here = new Here([answer], { config: UNPRICED });
    const { code, stderr } = await here.exec({ prompt: "go" }, { ...MAX, model: "odd", "max-cost": "1" });
    expect(code).toBe(2);
    expect(stderr).toContain("odd-model-of-ours");
    expect(stderr).toContain("price_in");
  });

  test("is a warning with [limits] cost_session", async () => {
    await using here = new Here([answer], { config: `${UNPRICED}[limits]\ncost_session = 1` });
    await here.compose({ model: "odd" });
    expect(here.problems).toEqual([expect.stringContaining("cost_session")]);
  });

  test("cannot be switched to with --max-cost", async () => {
    await using here = new Here([answer], { config: PRICED + UNPRICED });
    const run = await here.compose({ "max-cost": "1" });
    await expect(run.switchModel("odd")).rejects.toThrow("--max-cost");
    expect(run.agent.client.profile.name).toBe("test");
  });

  test("asks nothing for a model that costs nothing", async () => {
    await using here = new Here([answer]);
    await here.compose({ model: "demo", "max-cost": "1" });
    expect(here.problems).toEqual([]);
  });
});
