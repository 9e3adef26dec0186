/** Keys and the line that they continue are one text, in the pane's own shell and in shells inside it. */
import { expect } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Pane } from "../../../src/targets/target.ts";
import { drain } from "../../support/agent.ts";
import { call, DECLARED, shell } from "../../support/calls.ts";
import { type Flags, Here } from "../../support/in-process.ts";
import { needs } from "../../support/needs.ts";
import { until } from "../../support/until.ts";

const { describe, test } = await needs("tmux");

const keys = (...more: readonly object[]) => more.map((one) => call("send-keys", { ...DECLARED, ...one }));
const type = (literal_text: string, enter = false) => ({ literal_text, enter });
const start = (command: string) => shell(command, { risk: "medium", mutation: true });

const INNER = { "the pane's own shell": [], "an inner shell": [start("exec 3>&1; sh")], ssh: [start("ssh plain")] };
const SEQUENCES: Readonly<Record<string, readonly object[]>> = {
  "half a line and its rest": [type("touch forb"), type("idden", true)],
  "a letter at a time": [..."touch forbidden"].map((one) => type(one)).concat(type("", true)),
  "a word and a space": [type("touch "), type(" "), type("forbidden"), { keys: ["Enter"] }],
  "a line that is continued": [type("touch \\", true), type("forbidden", true)],
  "keys in place of text": [{ keys: ["t", "o", "u", "c", "h", "Space", "forb"] }, type("idden", true)],
  "a line of another machine": [type("ssh prod rebo"), type("ot", true)],
};
const AUTO: Flags = { tmux: true, approve: "all" };
const CONFIG = `[tools]\nshell_denylist = ["touch forbidden"]\n[rules.prod]\ndeny = ["reboot"]\nmode = "guarded"`;
/** A machine whose name is all that matters. */
const PROGRAMS = {
  ssh: 'for h; do :; done; [ "$1" = -G ] && { printf "hostname %s\\nuser me\\nport 22\\n" "$h"; exit; }\nh=$1; shift; [ $# = 0 ] && exec sh\necho "$*" >>~/ran; echo "$h ran $*"',
  ufw: 'echo "$*" >>~/ran',
  systemctl: 'echo "$*" >>~/ran',
};

describe("under --approve all, a line in pieces passes no more than the whole line", () => {
  test.each(
    Object.entries(INNER).flatMap(([where, before]) =>
      Object.entries(SEQUENCES).map(([what, pressed]) => [where, what, before, pressed] as const),
    ),
  )("in %s: %s", async (_where, _what, before, pressed) => {
    await using here = new Here([...before, ...keys(...pressed), { text: "done" }], { config: CONFIG });
    here.programs(PROGRAMS);
    const { results } = await here.turn(AUTO);
    expect(results.some((one) => String(one).includes("Not allowed"))).toBe(true);
    expect([existsSync(join(here.cwd, "forbidden")), existsSync(join(here.home, "ran"))]).toEqual([false, false]);
  });

  test.each(Object.entries(INNER))("what can lock the operator out is refused in %s", async (_where, before) => {
    const pressed = keys(type("ufw ena"), type("ble", true));
    await using here = new Here([...before, ...pressed, { text: "done" }], { config: CONFIG });
    here.programs(PROGRAMS);
    const { results } = await here.turn(AUTO);
    expect(String(results.at(-1))).toContain("run_shell");
    expect(existsSync(join(here.home, "ran"))).toBe(false);
  });
});

test("what the operator began to type in an inner shell is judged, and shown, with the keys that complete it", async () => {
  const pressed = [type("idden", true), type("mitted", true)];
  const done = { text: "done" };
  await using here = new Here([start("sh"), done, ...keys(...pressed), done], {
    config: CONFIG,
    answer: () => ({ kind: "yes" }),
  });
  const run = await here.compose({ tmux: true });
  const turn = () => drain(run.agent.runTurn("do it", new AbortController().signal));
  await turn();
  const pane = await (await run.target.get()).panes!.pane();
  await pane.keys({ literalText: "touch forb" });
  await until(async () => (await pane.where()).row?.endsWith("touch forb") === true, "the line");
  await turn();
  expect(String(here.results().at(-2))).toContain("Not allowed");
  expect(here.asked.at(-1)?.action).toContain("touch forb");
  expect(existsSync(join(here.cwd, "forbidden"))).toBe(false);
});

test("a line that the operator changes in an inner shell while the question is open is asked about again", async () => {
  let pane: Pane | undefined;
  const done = { text: "done" };
  await using here = new Here([start("sh"), done, ...keys(type("mitted", true)), done], {
    answer: async ({ action }) => {
      if (action === "sh") return { kind: "yes" };
      if (here.asked.length > 2) return { kind: "no" };
      await pane!.keys({ literalText: "touch per" });
      await until(async () => (await pane!.where()).row?.endsWith("touch per") === true, "the line");
      return { kind: "yes" };
    },
  });
  const run = await here.compose({ tmux: true });
  const turn = () => drain(run.agent.runTurn("do it", new AbortController().signal));
  await turn();
  pane = await (await run.target.get()).panes!.pane();
  await until(async () => (await pane!.where()).row !== "", "the inner prompt");
  await turn();
  expect(here.asked.slice(1).map(({ action }) => action.includes("touch per"))).toEqual([false, true]);
  expect(existsSync(join(here.cwd, "permitted"))).toBe(false);
});

test("a shell on a guarded machine has the rules of that machine", async () => {
  const pressed = keys({ ...type("systemctl stop app", true), risk: "high" });
  await using here = new Here([start("ssh prod"), ...pressed, { text: "done" }], {
    config: CONFIG,
    answer: ({ typed }) => (typed === undefined ? { kind: "yes" } : { kind: "yes", typed: "wrong" }),
  });
  here.programs(PROGRAMS);
  await here.turn(AUTO);
  expect(here.asked.at(-1)).toMatchObject({ answer: "typed", typed: "prod" });
  expect(existsSync(join(here.home, "ran"))).toBe(false);
});
