/** What commands printed can still be read by its id when buddy was killed or ended and the session goes on. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { ScriptedReply } from "../support/scripted-model/playbook.ts";
import { call, type ExecRig, execRig, shell } from "../support/exec.ts";
import { until } from "../support/until.ts";
import { needs } from "../support/needs.ts";
import { CUT } from "../../src/targets/output/stored-output.ts";

setDefaultTimeout(120_000);

const LINES = 100_000;
const line = (n: number) => `line ${n} of the long output\n`;
const PRINT = `awk 'BEGIN { for (i = 0; i < ${LINES}; i++) print "line " i " of the long output" }'`;
/** Byte offset of line n. */
const offsetOf = (n: number) => {
  let bytes = 0;
  for (let i = 0; i < n; i++) bytes += line(i).length;
  return bytes;
};
const FROM = 72_345;
const WANTED = Array.from({ length: 20 }, (_, i) => line(FROM + i)).join("");
const byOffset = (id: string) => call("shell_output", { output_id: id, offset: offsetOf(FROM), limit: WANTED.length });
const byFilter = (id: string) => call("shell_output", { output_id: id, filter: "^line 999\\d\\d of" });
const MATCHING = Array.from({ length: 100 }, (_, i) => line(99_900 + i)).join("");

interface Page {
  readonly text: string;
  readonly total_bytes: number;
}
const outputs = (rig: ExecRig) => join(rig.box.home, ".local/state/buddy/outputs");
const idOf = async (rig: ExecRig) =>
  (JSON.parse((await rig.box.run(["sessions", "--json"])).stdout) as { id: string }[])[0]?.id ?? "";

function expectPages(rig: ExecRig): void {
  const [page, matching] = rig.results().slice(-2) as [Page, Page];
  expect(page.text).toBe(WANTED);
  expect(page.total_bytes).toBe(offsetOf(LINES));
  expect(matching.text).toBe(MATCHING);
}

for (const [name, args, id] of [
  ["a pane", [], "out-1"],
  ["a direct shell", ["--no-tmux"], "out-1"],
] as const) {
  const { test } = await needs(...(name === "a pane" ? (["tmux"] as const) : []));
  test(`${name}: read after the end of buddy, in a copy, and gone with the session`, async () => {
    const read: ScriptedReply[] = [byOffset(id), byFilter(id), { text: "read" }];
    await using rig = execRig([shell(PRINT), { text: "printed" }, ...read, ...read]);
    expect((await rig.exec([...args, "print"])).stdout).toBe("printed\n");
    expect(rig.lastResult()).toContain(`output_id="${id}"`);
    const session = await idOf(rig);
    for (const file of readdirSync(join(outputs(rig), session)))
      expect(statSync(join(outputs(rig), session, file)).mode & 0o777).toBe(0o600);

    const again = await rig.exec([...args, "--resume", session, "read it"]);
    expect([again.stdout, again.stderr.includes("cannot")]).toEqual(["read\n", false]);
    expectPages(rig);

    expect((await rig.exec([...args, "--resume", session, "--fork", "read it"])).stdout).toBe("read\n");
    expectPages(rig);
    const copy = await idOf(rig);
    expect(copy).not.toBe(session);

    await rig.box.run(["sessions", "rm", session]);
    expect(existsSync(join(outputs(rig), session))).toBe(false);
    expect(existsSync(join(outputs(rig), copy))).toBe(true);
    await rig.box.run(["sessions", "rm", copy]);
    expect(readdirSync(outputs(rig))).toEqual([]);
  });

  test(`${name}: read after kill -9, new outputs under new ids`, async () => {
    const asked = Promise.withResolvers<void>();
    const forever = () => {
      asked.resolve();
      return new Promise<ScriptedReply>(() => {});
    };
    await using rig = execRig([
      shell(PRINT),
      forever,
      byOffset(id),
      byFilter(id),
      shell(`${PRINT} | sed s/line/another/`),
      { text: "read" },
    ]);
    const child = await rig.box.spawn(["exec", ...args, "print"]);
    await asked.promise;
    child.kill("SIGKILL");
    await child.exited;
    expect((await rig.exec([...args, "--resume", "last", "read it"])).stdout).toBe("read\n");
    expect(rig.results().at(-1)).toContain("another 0 of");
    expect(rig.results().at(-1)).toMatch(/output_id="out-[2-9]"/);
    const [page, matching] = rig.results().slice(-3) as [Page, Page];
    expect(page.text).toBe(WANTED);
    expect(matching.text).toBe(MATCHING);
  });
}

test("kill -9 while the command runs: what it had printed a moment before is there", async () => {
  await using rig = execRig([
    shell("seq 1 20000; echo last words; sleep 1000"),
    call("shell_output", { output_id: "out-1", filter: "^(19999|20000|last words)$" }),
    { text: "read" },
  ]);
  const child = await rig.box.spawn(["exec", "--no-tmux", "print"]);
  const session = () => (existsSync(outputs(rig)) ? (readdirSync(outputs(rig))[0] ?? "") : "");
  const stored = () => {
    const directory = join(outputs(rig), session());
    if (session() === "" || !existsSync(directory)) return 0;
    return readdirSync(directory).reduce((sum, file) => sum + statSync(join(directory, file)).size, 0);
  };
  const all = Array.from({ length: 20_000 }, (_, i) => `${i + 1}\n`).join("").length + "last words\n".length;
  await until(() => stored() === all, "what was printed is stored");
  child.kill("SIGKILL");
  await child.exited;
  expect((await rig.exec(["--no-tmux", "--resume", "last", "read it"])).stdout).toBe("read\n");
  expect((rig.results().at(-1) as Page).text).toStartWith("19999\n20000\nlast words\n");
  expect((rig.results().at(-1) as Page).text).toContain(CUT.trim());
});

test("a home that cannot be written: the command works, its output is read meanwhile, and buddy says so once", async () => {
  await using rig = execRig([shell(PRINT), byOffset("out-1"), byFilter("out-1"), { text: "read" }]);
  rig.box.write("home/state", "a file, not a directory");
  const run = await rig.exec(["--no-tmux", "print"], { env: { XDG_STATE_HOME: join(rig.box.home, "state") } });
  expect([run.code, run.stdout]).toEqual([0, "read\n"]);
  expectPages(rig);
  expect(run.stderr.match(/cannot be saved with the session/g)).toHaveLength(1);
});
