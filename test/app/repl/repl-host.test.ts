import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Front } from "../../../src/agent/calls/desk.ts";
import { replHost } from "../../../src/app/repl/repl-host.ts";
import { composeRun, type Run } from "../../../src/app/run.ts";
import { readGlobalOptions } from "../../../src/cli/args/options.ts";
import { loadConfig } from "../../../src/config/load.ts";
import type { Display, ReplHost } from "../../../src/ui/repl/host.ts";
import { type Sandbox, sandbox } from "../../support/buddy.ts";
import { shell } from "../../support/calls.ts";
import { startModel, type TestModel } from "../../support/model.ts";
import { needs } from "../../support/needs.ts";
import type { Turn } from "../../support/scripted-model/playbook.ts";
import { quote } from "../../../src/lib/quote.ts";

const git = await needs("git");

setDefaultTimeout(60_000);

const DISPLAY: Display = {
  color: false,
  showTokens: false,
  showToolCalls: true,
  showReasoning: true,
  markdown: true,
  notify: "off",
};

class Rig implements AsyncDisposable {
  readonly box: Sandbox = sandbox();
  readonly model: TestModel;
  run!: Run;
  host!: ReplHost;

  constructor(turns: readonly Turn[] = [{ text: "one" }, { text: "two" }]) {
    this.model = startModel(turns);
  }

  async start(config = "", place: readonly (readonly [string, string])[] = []): Promise<this> {
    const path = this.box.write(
      "home/.config/buddy/buddy.toml",
      `[agent]\nmodel = "test"\n[models.test]\napi_base_url = "${this.model.url}"\nmodel = "m"\napi = "completions"\napi_key = "sk-test-1234567890abcdef"\n` +
        `[models.other]\napi_base_url = "https://example.invalid/v1"\nmodel = "n"\napi = "responses"\nauth = "login"\n` +
        `[models.keyless]\napi_base_url = "https://example.invalid/v1"\nmodel = "k"\napi_key_env = "NO_SUCH_KEY"\n${config}`,
      0o600,
    );
    const globals = readGlobalOptions(new Map<string, string | true>([["no-tmux", true], ...place]));
    const loaded = await loadConfig({ flags: { config: path }, env: { ...this.box.env }, cwd: this.box.cwd });
    this.run = await composeRun({ globals, loaded, problem: () => {} });
    this.host = replHost({ run: this.run, loaded, globals, display: DISPLAY, resumed: false });
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.run[Symbol.asyncDispose]();
    await this.model[Symbol.asyncDispose]();
    this.box[Symbol.dispose]();
  }
}

const never = () => Promise.reject(new Error("nothing had to be asked"));

async function turn(host: ReplHost, prompt: string): Promise<string[]> {
  const types: string[] = [];
  for await (const event of host.runTurn(prompt, new AbortController().signal)) types.push(event.type);
  return types;
}

describe("what the REPL sees of a run", () => {
  test("facts before and after the target is open", async () => {
    await using rig = await new Rig().start();
    const { host, run } = rig;
    const opening = { kind: "local", state: "opening" };
    expect(host.facts()).toMatchObject({ profile: "test", model: "m", resumed: false, target: opening });
    await run.target.get();
    const { target, session } = host.facts();
    expect(target).toMatchObject({ state: "open", cwd: rig.box.cwd, user: expect.stringMatching(/./) });
    expect(session).toMatch(/^[0-9a-z]{4}(-[0-9a-z]{4}){3}$/);
  });

  test("/status said only that a target is not connected, not why", async () => {
    await using rig = await new Rig().start("", [["container", "no such name"]]);
    const why = await rig.run.target.get().then(
      () => undefined,
      (error: Error) => error.message,
    );
    expect(rig.host.facts().target).toMatchObject({ state: "failed", problem: why });
  });

  test("/status counts turns and names the endpoint", async () => {
    await using rig = await new Rig().start();
    expect(await turn(rig.host, "hello")).toContain("done");
    const status = Object.fromEntries(rig.host.status().map(({ label, value }) => [label, value]));
    const endpoint = `${rig.model.url} (completions, key)`;
    expect(status).toMatchObject({ turns: "1", instructions: "none", endpoint });
  });

  test("/tools says which are off, and why", async () => {
    await using rig = await new Rig().start("[tools]\nsearch_enabled = false\n");
    await rig.run.target.get();
    const off = new Map(rig.host.tools().map((tool) => [tool.name, tool.off]));
    expect(off.get("run_shell")).toBeUndefined();
    expect(off.get("send-keys")).toBe("needs tmux on the target");
    expect([...off.values()].find((why) => why?.includes("search_enabled"))).toBeDefined();
  });

  test("profiles, with the one in use; no key in what is shown of them", async () => {
    await using rig = await new Rig().start();
    const { host } = rig;
    expect(host.profiles().map(({ name, active }) => [name, active])).toContainEqual(["test", true]);
    expect(host.profiles().find(({ name }) => name === "keyless")?.model).toBe("k");
    expect(host.redact("the key is sk-test-1234567890abcdef")).not.toContain("1234567890");
  });

  test("approvals: none remembered at first, and a mode that can be set", async () => {
    await using rig = await new Rig().start();
    const { approvals } = rig.host;
    expect(approvals.remembered()).toEqual([]);
    approvals.setMode({ kind: "all" });
    expect(approvals.mode).toEqual({ kind: "all" });
  });

  test("the demo model has no endpoint and needs no key, and the status says so", async () => {
    await using rig = await new Rig().start();
    await rig.host.switchModel("demo");
    expect(rig.host.status().find(({ label }) => label === "endpoint")?.value).toBe("built in");
  });

  test("sessions: a new one, and back to the one before", async () => {
    await using rig = await new Rig().start();
    const { host } = rig;
    await turn(host, "remember me");
    const first = host.facts().session;
    expect(await host.newSession()).toEqual([`new session ${host.facts().session}`]);
    expect(host.facts().session).not.toBe(first);
    const stored = await host.sessions();
    expect(stored.map(({ id, title, current }) => [id, title, current])).toContainEqual([first, "remember me", false]);
    expect((await host.resumeSession(first, { copy: never, foreign: never }))[0]).toBe(
      `session ${first}, 1 turn so far`,
    );
    expect(host.facts()).toMatchObject({ session: first, resumed: true });
    expect(await turn(host, "again")).toContain("done");
    expect(rig.model.requests.at(-1)?.text).toContain("remember me");
  });

  test("what `always` allowed was for that session: a new one and a resumed one ask again", async () => {
    const touch = (name: string) => shell(`touch ${name}`, { mutation: true, risk: "medium" });
    const names = ["one", "two", "three", "four"];
    await using rig = await new Rig(names.flatMap((name) => [touch(name), { text: "done" }])).start();
    const { host, run } = rig;
    const asked: string[] = [];
    const ask: Front["ask"] = async ({ action }) => (asked.push(action), { kind: "always" });
    run.desk.attach({ name: "the test", show: () => undefined, ask });
    await turn(host, "make one");
    const first = host.facts().session;
    await turn(host, "make two");
    expect(asked).toEqual(["touch one"]);
    await host.newSession();
    await turn(host, "make three");
    expect(asked).toEqual(["touch one", "touch three"]);
    await host.resumeSession(first, { copy: never, foreign: never });
    await turn(host, "make four");
    expect(asked).toEqual(["touch one", "touch three", "touch four"]);
  });

  test("a session that another process has is continued in a copy, if that is wanted", async () => {
    await using rig = await new Rig().start();
    const { host } = rig;
    await turn(host, "remember me");
    const first = host.facts().session;
    await host.newSession();
    const second = host.facts().session;
    const other = await rig.run.sessions.store();
    const { log } = await other.resume(first);
    const asked: string[] = [];
    const offer = (yes: boolean) => ({ copy: async (why: string) => (asked.push(why), yes), foreign: never });
    expect(await host.resumeSession(first.slice(0, 9), offer(false))).toEqual([`still session ${second}`]);
    const [said = ""] = await host.resumeSession("last", offer(true));
    expect(asked).toEqual([expect.stringContaining(`session ${first} is in use`), asked[0]!]);
    const copy = host.facts().session;
    expect([first, second]).not.toContain(copy);
    expect(said).toBe(`session ${copy}, 1 turn so far`);
    await turn(host, "again");
    expect(rig.model.requests.at(-1)?.text).toContain("remember me");
    await log.close();
  });

  test("a session that is not the user's own is continued only after a question, without its target and model", async () => {
    await using rig = await new Rig().start();
    const { host } = rig;
    await turn(host, "mine");
    const before = host.facts().session;
    const { directory } = await rig.run.sessions.store();
    const id = "aaaa-bbbb-cccc-dddd";
    const stamp = { v: 1, ts: new Date().toISOString(), session: id, target: "ssh evil@attacker" };
    const lines = [
      { ...stamp, type: "session", buddy: "0", profile: "evil", model: "e", api: "completions", cwd: "/" },
      { ...stamp, type: "turn", turn: 1, prompt: "planted words" },
    ];
    writeFileSync(join(directory, `${id}.jsonl`), lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    const asked: string[] = [];
    const say = (yes: boolean) => ({
      copy: never,
      foreign: async (text: readonly string[]) => (asked.push(text.join("\n")), yes),
    });
    await host.resumeSession(id, say(false));
    expect(host.facts().session).toBe(before);
    expect(asked[0]).toContain("planted words");
    expect(asked[0]).toContain(directory);
    await host.resumeSession(id, say(true));
    expect(host.facts()).toMatchObject({ session: id, resumed: true });
    expect(rig.run.target.facts().label).toBe("local");
    await turn(host, "again");
    expect(rig.model.requests.at(-1)?.text).toContain("planted words");
  });

  test("another model, directories, news", async () => {
    await using rig = await new Rig().start();
    const { host } = rig;
    await host.switchModel("demo");
    expect(host.facts().model).toBe("demo");
    expect(host.switchModel("nope")).rejects.toThrow("nope");
    mkdirSync(join(rig.box.cwd, "sub"));
    rig.box.write("cwd/file.txt", "");
    const signal = new AbortController().signal;
    const here = await host.listDirectory(".", signal);
    expect(here.toSorted((a, b) => (a.name < b.name ? -1 : 1))).toContainEqual({ name: "sub", directory: true });
    expect(await host.listDirectory(`${rig.box.cwd}/`, signal)).toContainEqual({ name: "file.txt", directory: false });
    expect(await host.listDirectory("~/", signal)).toContainEqual({ name: ".config", directory: true });
    const seen: string[] = [];
    const stop = host.onEvent(({ type }) => seen.push(type));
    rig.run.agent.publish({ type: "notice", kind: "info", message: "x" });
    stop();
    expect(seen).toEqual(["notice"]);
  });

  git.test("the files of a stranger's repository are listed by their names, and nothing it names is run", async () => {
    await using rig = await new Rig().start();
    const { box, host, run } = rig;
    const ran = join(box.cwd, "ran");
    const inside = (...args: string[]) => expect(Bun.spawnSync(["git", "-C", box.cwd, ...args]).exitCode).toBe(0);
    inside("init", "--quiet");
    inside("update-index", "--untracked-cache");
    writeFileSync(join(box.cwd, "café.txt"), "x");
    inside("config", "core.fsmonitor", `touch ${quote(ran)}; false`);
    // What git itself does there: without this the test would show nothing.
    inside("ls-files", "--others");
    expect(existsSync(ran)).toBe(true);
    rmSync(ran);
    await run.target.get();
    expect(await host.listFiles(new AbortController().signal)).toContain("café.txt");
    expect(existsSync(ran)).toBe(false);
  });
});
