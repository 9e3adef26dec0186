/** What an approval is for: the machine, the user and the shell of its question, and nothing else. */
import { expect } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { workOn } from "../../../src/app/repl/change-machines.ts";
import { drain } from "../../support/agent.ts";
import { call, DECLARED, shell } from "../../support/calls.ts";
import { Here } from "../../support/in-process.ts";
import { needs } from "../../support/needs.ts";

const make = (name: string, more = {}) => shell(`mkdir ${name}`, { mutation: true, risk: "medium", ...more });
const signal = new AbortController().signal;

const asRoot = await needs("linux", "root");
asRoot.test("always is for one user of a machine, not for another one after /on", async () => {
  const config = '[targets.nobody]\nvia = ["setpriv", "--reuid=65534", "--clear-groups", "--"]';
  const turns = [make("/tmp"), { text: "done" }];
  await using here = new Here([...turns, ...turns, ...turns], { config, answer: () => ({ kind: "always" }) });
  const run = await here.compose({ "no-tmux": true, on: "nobody" });
  await drain(run.agent.runTurn("do it", signal));
  for (const name of ["local", "nobody"]) {
    await workOn(run, await here.loaded(), name, signal);
    await drain(run.agent.runTurn("again", signal));
  }
  const users = here.asked.map(({ where }) => where.replace(/@.*/, ""));
  expect(users).toEqual(["nobody", "root"]);
});

const inPanes = await needs("tmux");
inPanes.test("always is for one shell, not for another pane", async () => {
  await using here = new Here(
    [
      make("a"),
      call("tmux-create-pane", { pane: "p2", ...DECLARED }),
      make("b", { pane: "p2" }),
      make("c"),
      { text: "done" },
    ],
    { answer: ({ tool }) => (tool === "run_shell" ? { kind: "always" } : { kind: "yes" }) },
  );
  await here.turn({ tmux: true });
  const asked = here.asked.filter(({ tool }) => tool === "run_shell");
  expect(asked.map(({ action }) => action)).toEqual(["mkdir a", "mkdir b"]);
  expect(["a", "b", "c"].map((name) => existsSync(join(here.cwd, name)))).toEqual([true, true, true]);
});
