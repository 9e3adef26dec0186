/** A secret's name in a command of a pane: the shell gets the value, the pane, its history and the model the name. */
import { expect, setDefaultTimeout } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { openTarget } from "../../../src/targets/open.ts";
import type { Pane } from "../../../src/targets/target.ts";
import { drain } from "../../support/agent.ts";
import { call, DECLARED, shell } from "../../support/calls.ts";
import { Here } from "../../support/in-process.ts";
import { leaks } from "../../support/leaks.ts";
import { needs } from "../../support/needs.ts";

setDefaultTimeout(60_000);

const { test } = await needs("tmux");

const VALUE = "p4$w0rd'and!`quotes` end";
const NAME = "‹secret-1: password›";

test.each(["bash", "zsh", "fish", "dash", "mksh"])("%s", async (name) => {
  await using here = new Here([
    call("read_file", { path: "app.json" }),
    shell(`printf '%s' "${NAME}" > double; printf '%s' '${NAME}' > single; printf '%s' ${NAME} > plain`, {
      ...DECLARED,
    }),
    shell(`echo made ${NAME}`, { ...DECLARED }),
    shell("echo next", { ...DECLARED }),
    call("capture-pane", { start: "-" }),
    { text: "done" },
  ]);
  here.write("cwd/app.json", JSON.stringify({ password: VALUE }));
  const run = await here.compose(
    { tmux: true, approve: "all" },
    { open: (wanted) => openTarget({ ...wanted, shell: name }) },
  );
  const events = await drain(run.agent.runTurn("do it", new AbortController().signal));
  for (const file of ["double", "single", "plain"]) expect([file, here.read(join("cwd", file))]).toEqual([file, VALUE]);
  expect(here.results()[2]).toBe(`made ${NAME}`);
  expect(here.results()[4]).toContain(`echo made ${NAME}`);
  const texts = { events: JSON.stringify(events), model: JSON.stringify(here.model.requests) };
  await run[Symbol.asyncDispose]();
  const except = ["app.json", "double", "single", "plain", `${run.sessions.id}.json`];
  expect(leaks(["p4$w0rd'and!"], { texts, directories: [here.dir] }, except)).toEqual([]);
});

test.each(["bash", "zsh", "fish", "dash", "mksh"])("%s, where only reads run: in a clean shell", async (name) => {
  await using here = new Here(
    [
      call("read_file", { path: "app.json" }),
      shell(`grep -c "${NAME}" app.json notes`, { risk: "low" }),
      shell("echo next", { risk: "low" }),
      call("capture-pane", { start: "-" }),
      { text: "done" },
    ],
    { config: '[rules."*"]\nmode = "read-only"\n', answer: () => ({ kind: "yes" }) },
  );
  here.write("cwd/app.json", JSON.stringify({ password: VALUE }));
  here.write("cwd/notes", "none\n");
  const run = await here.compose({ tmux: true }, { open: (wanted) => openTarget({ ...wanted, shell: name }) });
  const events = await drain(run.agent.runTurn("do it", new AbortController().signal));
  expect(here.results()[1]).toContain("app.json:1");
  expect(here.results()[3]).toContain(NAME);
  const texts = { events: JSON.stringify(events), model: JSON.stringify(here.model.requests) };
  await run[Symbol.asyncDispose]();
  expect(leaks(["p4$w0rd'and!"], { texts, directories: [here.dir] }, ["app.json", `${run.sessions.id}.json`])).toEqual(
    [],
  );
});

test("typed by its name into a program that asks for it", async () => {
  await using here = new Here([
    call("read_file", { path: "app.json" }),
    shell(`sh -c 'read -r answer; printf %s "$answer" > typed'`, { ...DECLARED, wait: 20 }),
    call("send-keys", { literal_text: NAME, enter: true, ...DECLARED }),
    call("shell_output", { wait: 20 }),
    call("capture-pane", { start: "-" }),
    { text: "done" },
  ]);
  here.write("cwd/app.json", JSON.stringify({ password: VALUE }));
  const { run, events } = await here.turn({ tmux: true, approve: "all" });
  expect(here.read("cwd/typed")).toBe(VALUE);
  const texts = { events: JSON.stringify(events), model: JSON.stringify(here.model.requests) };
  await run[Symbol.asyncDispose]();
  const except = ["app.json", "typed", `${run.sessions.id}.json`];
  expect(leaks(["p4$w0rd'and!"], { texts, directories: [here.dir] }, except)).toEqual([]);
});

test("where only reads run, keys are withheld, in every mode", async () => {
  await using here = new Here(
    [call("send-keys", { literal_text: "touch pressed", enter: true, ...DECLARED }), { text: "done" }],
    { config: '[rules."*"]\nmode = "read-only"\n[tools]\nshell_allow = ["touch"]\n', answer: () => ({ kind: "yes" }) },
  );
  const { run } = await here.turn({ tmux: true, approve: "all" });
  expect(here.asked).toEqual([]);
  expect(here.results()[0]).toContain("is read-only");
  const pane = (await run.target.get()).shell;
  expect(await (pane as Pane).where()).toMatchObject({ typed: "" });
  expect(existsSync(join(here.cwd, "pressed"))).toBe(false);
});

test("keys with a name ask even where nothing else does", async () => {
  await using here = new Here(
    [
      call("read_file", { path: "app.json" }),
      call("send-keys", { literal_text: `echo ${NAME}`, enter: true, ...DECLARED }),
      { text: "done" },
    ],
    { config: '[tools]\nshell_confirm = false\nshell_allow = ["echo"]', answer: () => ({ kind: "no" }) },
  );
  here.write("cwd/app.json", JSON.stringify({ password: VALUE }));
  await here.turn({ tmux: true });
  expect(here.asked).toHaveLength(1);
  expect(here.asked[0]?.action).toContain(NAME);
  expect(JSON.stringify(here.asked)).not.toContain("p4$w0rd");
});

test("variables on a screen stay masked behind later commands, by every name of the pane, and what waits for them too", async () => {
  process.env["QUUX"] = "plainvalue";
  const read = { risk: "low", mutation: false, privesc: false, why: "look" };
  await using here = new Here([
    call("send-keys", { literal_text: "env", enter: true, ...read }),
    shell("true"),
    call("capture-pane", { start: "-" }),
    call("capture-pane", { start: "-", pane: "shared" }),
    shell("sleep 1; env", { wait: 0.2 }),
    call("shell_output", { wait: 20, pane: "shared" }),
    call("read_file", { path: "page" }),
    shell("grep --color=always Qw7 app.json"),
    call("capture-pane", { include_escape_sequences: true }),
    shell("pass show mail", { wait: false }),
    call("send-keys", { literal_text: "pass show mail", enter: true, ...DECLARED }),
    { text: "done" },
  ]);
  here.write("cwd/page", "plain words\n");
  here.write("cwd/app.json", '{"api_token":"p4Zx9Qw7Lm2Rt5Vb8Nc1"}\n');
  const { run, events } = await here.turn({ tmux: true, approve: "all" });
  delete process.env["QUUX"];
  const results = here.results().map(String);
  for (const at of [2, 3, 5]) expect(results[at]).toMatch(/QUUX=‹secret-\d+: value of QUUX›/);
  expect(results[6]).toBe("plain words\n");
  expect(results[8]).toContain('"api_token":"‹secret-');
  expect(results[8]).not.toMatch(/p4Zx9|Lm2Rt5/);
  for (const at of [9, 10]) expect(results[at]).toContain("this prints secrets");
  const texts = { events: JSON.stringify(events), model: JSON.stringify(here.model.requests) };
  await run[Symbol.asyncDispose]();
  expect(leaks(["plainvalue"], { texts, directories: [here.dir] }, [`${run.sessions.id}.json`, "environ"])).toEqual([]);
});
