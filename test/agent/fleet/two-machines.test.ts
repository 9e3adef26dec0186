/** Two machines of a run: what the model hears of both, and whose name is typed. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { drain } from "../../support/agent.ts";
import { shell } from "../../support/calls.ts";
import { Here } from "../../support/in-process.ts";
import { until } from "../../support/until.ts";

setDefaultTimeout(60_000);

const CHANGE = { risk: "medium", mutation: true };
const DONE = { text: "done" };
const BOTH = { on: "one,two", "no-tmux": true } as const;
const CONFIG = ["one", "two"].map((name) => `[targets.${name}]\nvia = ["env", "WHERE=${name}"]`).join("\n");

test("the model hears that the operator changed the command", async () => {
  await using here = new Here([shell("touch made", CHANGE), DONE], {
    config: CONFIG,
    answer: () => ({ kind: "edit", command: "touch other" }),
  });
  const { results } = await here.turn(BOTH);
  expect(results[0]).toContain("the operator changed the command; what ran was: touch other");
});

test("after Ctrl-C the model hears how far each machine had come", async () => {
  const command = 'touch "$WHERE"; test "$WHERE" = one || sleep 60; echo over';
  await using here = new Here([shell(command, CHANGE), DONE, DONE], {
    config: CONFIG,
    answer: () => ({ kind: "yes" }),
  });
  const run = await here.compose(BOTH);
  const stop = new AbortController();
  const turn = drain(run.agent.runTurn("do it", stop.signal));
  let finished = 0;
  run.agent.onEvent((event) => void (finished += event.type === "machine_finished" ? 1 : 0));
  await until(() => existsSync(join(here.cwd, "two")) || existsSync(join(here.home, "two")), "both have begun");
  await until(() => finished > 0, "the first has ended");
  stop.abort();
  await turn;
  await drain(run.agent.runTurn("go on", new AbortController().signal));
  expect(String(here.results()[0])).toMatch(/cancelled[^]*one[^]*over/);
});

test("the guarded machine that a command reaches is typed by its name", async () => {
  const ssh =
    'for h; do :; done; [ "$1" = -G ] && { printf "hostname %s\\nuser me\\nport 22\\n" "$h"; exit; }\necho "$*" >>~/ran';
  const turn = async (typed: string) => {
    await using here = new Here([shell("ssh db systemctl stop app", { ...CHANGE, risk: "high" }), DONE], {
      config: `${CONFIG}\n[rules.db]\nmode = "guarded"`,
      answer: () => ({ kind: "yes", typed }),
    });
    here.programs({ ssh });
    await here.turn(BOTH);
    return [here.asked.at(-1)?.typed, existsSync(join(here.home, "ran"))];
  };
  expect(await turn("db")).toEqual(["db", true]);
  expect(await turn("one,two")).toEqual(["db", false]);
});
