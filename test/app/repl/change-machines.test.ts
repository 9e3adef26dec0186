/** /on: a conversation that continues on other machines, each reached before the one before is left. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { targetRows, workOn } from "../../../src/app/repl/change-machines.ts";
import { newSession, resumeSession } from "../../../src/app/repl/change-session.ts";
import { composeRun, type Run } from "../../../src/app/run.ts";
import { readGlobalOptions } from "../../../src/cli/args/options.ts";
import { loadConfig, type LoadedConfig } from "../../../src/config/load.ts";
import { sandbox } from "../../support/buddy.ts";
import { shell } from "../../support/exec.ts";
import { startModel } from "../../support/model.ts";
import type { Turn } from "../../support/scripted-model/playbook.ts";

setDefaultTimeout(60_000);

const TARGETS = `
[targets.one]
via = ["env", "WHERE=one"]
cd = "/"
[targets.two]
via = ["env", "WHERE=two"]
[targets.gone]
via = ["false"]
[targets.both]
include = ["one", "two"]
`;

async function rig(turns: Turn[] = [], rules = "") {
  const box = sandbox();
  const model = startModel(turns);
  const path = box.write(
    "home/.config/buddy/buddy.toml",
    `[agent]\nmodel = "test"\n[models.test]\napi_base_url = "${model.url}"\nmodel = "m"\napi_key = "k"\n${TARGETS}${rules}`,
    0o600,
  );
  const globals = readGlobalOptions(
    new Map<string, string | true>([
      ["no-tmux", true],
      ["approve", "10m"],
    ]),
  );
  const loaded = await loadConfig({ flags: { config: path }, env: { ...box.env }, cwd: box.cwd });
  const run = await composeRun({ globals, loaded, problem: () => {} });
  return {
    run,
    loaded,
    model,
    log: () => {
      const directory = join(box.cwd, ".buddyx/sessions");
      const [name = ""] = readdirSync(directory).filter((file) => file.endsWith(".jsonl"));
      return readFileSync(join(directory, name), "utf8");
    },
    async [Symbol.asyncDispose]() {
      await run[Symbol.asyncDispose]();
      await model[Symbol.asyncDispose]();
      box[Symbol.dispose]();
    },
  };
}

const never = new AbortController().signal;
const on = (run: Run, loaded: LoadedConfig, what: string) => workOn(run, loaded, what, never);

async function turn(run: Run, prompt: string): Promise<string> {
  let result = "";
  for await (const event of run.agent.runTurn(prompt, never)) if (event.type === "tool_finished") result = event.result;
  return result;
}

test("commands run on the machine of now; prompt, tools, events and the session log follow", async () => {
  const say = shell('echo "$WHERE"; pwd');
  await using here = await rig([say, { text: "a" }, say, { text: "b" }]);
  const { run, loaded, model } = here;
  await on(run, loaded, "one");
  const first = run.target.opened;
  expect(run.target.facts().label).toBe("env WHERE=one");
  expect(await turn(run, "where?")).toContain("one\\n/");
  await on(run, loaded, "two");
  expect(await turn(run, "and now?")).toContain("two\\n");
  await expect(first?.transport.run("true")).rejects.toMatchObject({ code: "target" });
  const system = JSON.stringify(model.requests.at(-1)?.messages[0]);
  expect(system).toContain("env WHERE=two");
  await run.sessions.stored();
  const events = here
    .log()
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { type: string; target: string; places?: { name: string }[] });
  const sessions = events.filter(({ type }) => type === "session");
  expect(sessions.at(-1)?.places?.map(({ name }) => name)).toEqual(["two"]);
  expect(events.filter(({ type }) => type === "tool_finished").map(({ target }) => target)).toEqual([
    "env WHERE=one",
    "env WHERE=two",
  ]);
});

test("a machine that cannot be reached leaves everything as it was", async () => {
  await using here = await rig();
  const { run, loaded } = here;
  await on(run, loaded, "one");
  const before = run.target.opened;
  await expect(on(run, loaded, "gone")).rejects.toMatchObject({ code: "target" });
  await expect(on(run, loaded, "oen")).rejects.toMatchObject({ code: "usage" });
  expect(run.target.opened).toBe(before);
  expect((await before?.transport.run("echo ok"))?.stdout.toString()).toBe("ok\n");
});

test("what was approved for a while was approved for the machine before", async () => {
  await using here = await rig();
  expect(here.run.approvals.mode.kind).toBe("until");
  await on(here.run, here.loaded, "one");
  expect(here.run.approvals.mode.kind).toBe("ask");
});

test("a + adds machines, a name goes back to one, local to this machine", async () => {
  await using here = await rig();
  const { run, loaded } = here;
  await on(run, loaded, "one");
  await on(run, loaded, "+two");
  expect(run.places.map(({ name }) => name)).toEqual(["one", "two"]);
  expect(run.target.facts().machines).toEqual(["one", "two"]);
  expect(await on(run, loaded, "both")).toEqual(["already on 2 machines: one, two"]);
  const [set, silent, ...more] = await on(run, loaded, "+gone");
  expect(set).toContain("3 machines");
  expect(silent).toMatch(/^gone: /);
  expect(more).toEqual([]);
  expect(run.fleet?.machines.map(({ opened }) => opened?.identity.label)).toEqual([
    "env WHERE=one",
    "env WHERE=two",
    undefined,
  ]);
  await on(run, loaded, "two");
  expect(run.fleet).toBeUndefined();
  await on(run, loaded, "local");
  expect(run.target.facts().label).toBe("local");
});

test("a - leaves machines; those that stay in use keep directory, variables and connection, by whatever change", async () => {
  const say = shell('echo "$WHERE:$KEPT:$PWD"');
  const set = shell("cd /usr && export KEPT=yes", { risk: "low", mutation: true });
  await using here = await rig([set, { text: "a" }, say, { text: "b" }, say, { text: "c" }, say, { text: "d" }]);
  const { run, loaded } = here;
  const names = () => run.places.map(({ name }) => name);
  const targets = () => run.target.targets.map(({ opened }) => opened);
  await on(run, loaded, "one");
  run.approvals.setMode({ kind: "all" });
  await turn(run, "go");
  const [one] = targets();
  await on(run, loaded, "+two");
  expect(targets()[0]).toBe(one);
  expect(run.approvals.mode.kind).toBe("ask");
  run.approvals.setMode({ kind: "all" });
  expect(await turn(run, "where?")).toContain("one:yes:/usr");
  await on(run, loaded, "+gone");
  const [, two] = targets();

  // What cannot be left changes nothing.
  for (const what of ["-", "-tow", "-local", "-one,local", "-*", "-both,gone"])
    await expect(on(run, loaded, what)).rejects.toMatchObject({ code: "usage" });
  expect(names()).toEqual(["one", "two", "gone"]);

  run.approvals.setMode({ kind: "all" });
  expect(await on(run, loaded, "-gone")).toEqual(["on 2 machines: one, two"]);
  expect(targets()).toEqual([one, two]);
  // The machines are those that were approved.
  expect(run.approvals.mode.kind).toBe("all");
  expect(await turn(run, "where?")).toContain("one:yes:/usr");
  const told: string[] = [];
  run.agent.onEvent((event) => {
    if (event.type === "notice") told.push(`${event.machine ?? "only"}: ${event.message}`);
  });
  await on(run, loaded, "-tw?");
  expect({ names: names(), fleet: run.fleet, label: run.target.facts().label }).toEqual({
    names: ["one"],
    fleet: undefined,
    label: "env WHERE=one",
  });
  expect(await turn(run, "where?")).toContain("one:yes:/usr");
  await expect(two?.transport.run("true")).rejects.toMatchObject({ code: "target" });
  // What its shell says now is about the only machine, not about one of several.
  await one?.shell.run("kill -9 $$");
  expect(told.every((line) => line.startsWith("only: "))).toBe(true);
  expect(told.length).toBeGreaterThan(0);
});

test("a machine that stays in use is held to the rules of its new names, too", async () => {
  const rules = '[targets.frozen]\ninclude = ["one"]\n[rules.two]\nmode = "guarded"\n';
  await using here = await rig([], rules);
  const { run, loaded } = here;
  await on(run, loaded, "both");
  const [one] = run.target.targets;
  const opened = await one!.get();
  expect((await run.rules.of(opened, run.places[0])).mode).toBe("normal");
  expect((await run.rules.of(opened, { ...run.places[0], names: ["one", "two"] })).mode).toBe("guarded");
});

test("rules of several machines are facts of all of them, and their notes are shown after /on", async () => {
  const rules = '[rules."one"]\nlabel = "PROD"\nnotes = "call Ann first"\n[rules."*"]\nnotes = "22 to 04"\n';
  await using here = await rig([], rules);
  const { run, loaded } = here;
  const said = await on(run, loaded, "both");
  // What is not about all of them says which it is about.
  expect(said).toContain("notes: one: call Ann first");
  expect(said).toContain("notes: 22 to 04");
  expect(run.rules.current).toMatchObject({ label: "PROD", notes: ["one: call Ann first", "22 to 04"] });
});

test("/targets names what there is, and what is in use", async () => {
  await using here = await rig();
  const { run, loaded } = here;
  await on(run, loaded, "two");
  const rows = await targetRows(run, loaded);
  expect(rows.map(({ name, current }) => [name, current])).toEqual([
    ["one", false],
    ["two", true],
    ["gone", false],
    ["both", false],
  ]);
  expect((await targetRows(run, loaded, "both")).map(({ name }) => name)).toEqual(["one", "two"]);
  await on(run, loaded, "local");
  expect((await targetRows(run, loaded))[0]).toMatchObject({ name: "local", current: true });
});

test("a stored session is continued where it worked", async () => {
  await using here = await rig([{ text: "a" }, { text: "b" }]);
  const { run, loaded } = here;
  await on(run, loaded, "one");
  await turn(run, "hello");
  const first = run.sessions.id;
  await newSession(run);
  await on(run, loaded, "local");
  await turn(run, "here");
  const said = await resumeSession(run, loaded, first);
  expect(run.target.facts()).toMatchObject({ label: "env WHERE=one", cwd: "/" });
  expect(said.join("\n")).not.toContain("continues on");
});
