import { expect } from "bun:test";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { buddyBinary, sandbox } from "../support/buddy.ts";
import { call, execRig, shell } from "../support/exec.ts";
import { needs } from "../support/needs.ts";

const pane = await needs("tmux");

pane.test("commands run where buddy was started, whatever an earlier run left behind in the pane", async () => {
  using box = sandbox();
  for (const name of ["cwd/one", "cwd/it's two"]) mkdirSync(join(box.dir, name), { recursive: true });
  const where = async (directory: string, ...args: string[]) => {
    const cwd = join(box.cwd, directory);
    const { stdout } = await box.run(["exec", "-q", "-m", "demo", ...args, "run: pwd; cd /"], { cwd });
    return stdout.includes(`\n${cwd}\n`);
  };
  expect(await where("one")).toBe(true);
  expect(await where("it's two")).toBe(true);
  expect(await where("one")).toBe(true);
  // One session by name for both: the second run moves the pane.
  expect(await where("one", "--tmux=named")).toBe(true);
  expect(await where("it's two", "--tmux=named")).toBe(true);
});

/** A shell enters it: neither arguments nor the working directory of a child can be bytes here. */
const IN_LATIN1 = `cd "$1" && d=$(printf 'caf\\351') && mkdir -p "$d/sub" && cd "$d" && shift && exec setsid -w "$@" </dev/null`;

pane.test("every tool works in a directory whose name is not UTF-8, and nothing is created beside it", async () => {
  const latin1 = (name: string) => `printf '%s' "$PWD" | od -An -tx1 | grep -q 'e9$' && echo ${name} is there`;
  const turns = [
    shell(latin1("shell")),
    call("write_file", { path: "made.txt", content: "one\n" }),
    call("read_file", { path: "made.txt" }),
    shell("cd sub && pwd >/dev/null && ls -a .."),
    { text: "done" },
  ];
  await using rig = execRig([...turns, ...turns]);
  for (const how of [["--no-tmux"], []]) {
    const before = rig.requests.length;
    const run = Bun.spawn(
      ["sh", "-c", IN_LATIN1, "sh", rig.box.cwd, await buddyBinary(), "exec", "--approve", "all", ...how, "go"],
      { env: rig.box.env, stdout: "pipe", stderr: "pipe" },
    );
    const [stderr, code] = await Promise.all([run.stderr.text(), run.exited]);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    const results = rig.results().map(String);
    expect(results[0]).toContain("shell is there");
    expect(results[2]).toContain("one");
    expect(results[3]).toContain("made.txt");
    // What the model is sent can be read by any server.
    const sent = rig.requests.slice(before).flatMap(({ messages }) => messages.map(({ content }) => content));
    expect(sent[0]).toMatch(/directory .*\/caf\\xe9\n/);
    expect(sent.at(-1)).toMatch(/\[cwd: .*\/caf\\\\xe9\/sub\]/);
    expect(sent.every((content) => content.isWellFormed())).toBe(true);
  }
  expect(readdirSync(rig.box.cwd)).toHaveLength(1);
  const stored = Bun.spawnSync(["sh", "-c", 'ls "$1"/*/.buddyx/sessions', "sh", rig.box.cwd]);
  expect(stored.stdout.toString().match(/\.jsonl$/gm)).toHaveLength(2);
});
