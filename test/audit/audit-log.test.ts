import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AuditLog } from "../../src/audit/audit-log.ts";
import type { AuditEntry, StoredEntry } from "../../src/audit/entry.ts";
import { readRecord, verifyRecord } from "../../src/audit/record-files.ts";

let state: string;
let problems: string[];
beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), "buddy-audit-"));
  problems = [];
});
afterEach(() => rmSync(state, { recursive: true, force: true }));

const path = (name = "audit.jsonl") => join(state, name);
const entry = (action: string): AuditEntry => ({
  kind: "decision",
  session: "aaaa",
  user: "ann",
  target: "local",
  tool: "run_shell",
  call: "c1",
  action,
  verdict: "ask",
  decision: "approved",
  by: "operator",
});

function open(more: Partial<ConstructorParameters<typeof AuditLog>[0]> = {}): AuditLog {
  return new AuditLog({
    directory: state,
    redact: (text) => text,
    problem: (message) => void problems.push(message),
    rotateBytes: 1 << 20,
    durable: false,
    ...more,
  });
}

async function written(count: number, more: Parameters<typeof open>[0] = {}): Promise<void> {
  const log = open(more);
  for (let i = 1; i <= count; i++) await log.append(entry(`command ${i}`));
}

function entries(): StoredEntry[] {
  return [...readRecord(state)];
}

const lines = (name?: string) => readFileSync(path(name), "utf8").trimEnd().split("\n");
const rewrite = (changed: readonly string[]) => writeFileSync(path(), `${changed.join("\n")}\n`);
const findings = () => verifyRecord(state).findings.map(({ file, line, problem }) => ({ file, line, problem }));

describe("the chain", () => {
  test("is whole after writing, private, and numbered", async () => {
    await written(5);
    expect(findings()).toEqual([]);
    expect(entries().map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5]);
    for (const name of ["audit.jsonl", "audit.head"]) expect(statSync(path(name)).mode & 0o777).toBe(0o600);
  });

  test("no record at all is whole, and looking makes no files", () => {
    expect(verifyRecord(state)).toMatchObject({ lines: 0, findings: [] });
    expect(readdirSync(state)).toEqual([]);
  });

  test("entries given at the same moment keep their order", async () => {
    const log = open();
    await Promise.all(Array.from({ length: 20 }, (_, i) => log.append(entry(String(i)))));
    expect(entries().map((one) => one.kind !== "note" && one.action)).toEqual(
      Array.from({ length: 20 }, (_, i) => String(i)),
    );
    expect(findings()).toEqual([]);
  });

  test("a line that nothing waits for comes before the next one, and is there after the end", async () => {
    const log = open();
    log.appendSoon(entry("effect of the first"));
    await log.append(entry("second"));
    expect(entries().map((one) => one.kind !== "note" && one.action)).toEqual(["effect of the first", "second"]);
    log.appendSoon(entry("effect of the second"));
    await log.close();
    expect(entries().at(-1)).toMatchObject({ seq: 3, action: "effect of the second" });
    expect(findings()).toEqual([]);
  });

  test("secrets are taken out, and the hashes are not", async () => {
    const log = open({ redact: (text) => text.replace(/hunter2|[0-9a-f]{64}/g, "[redacted]") });
    await log.append(entry("echo hunter2"));
    await log.append(entry("true"));
    expect(readFileSync(path(), "utf8")).not.toContain("hunter2");
    expect(findings()).toEqual([]);
  });

  test("continues in a new file when one is full, and the old ones stay", async () => {
    await written(40, { rotateBytes: 2000 });
    expect(existsSync(path("audit.2.jsonl"))).toBe(true);
    expect(findings()).toEqual([]);
    expect(entries()).toHaveLength(40);
  });
});

describe("verify finds", () => {
  beforeEach(() => written(6));

  test("a changed line", () => {
    rewrite(lines().map((line, i) => (i === 2 ? line.replace("command 3", "command x") : line)));
    expect(findings()).toEqual([{ file: "audit.jsonl", line: 3, problem: "changed" }]);
  });

  test("a removed line", () => {
    rewrite(lines().toSpliced(2, 1));
    expect(findings()).toEqual([{ file: "audit.jsonl", line: 3, problem: "missing" }]);
  });

  test("removed lines at the start", () => {
    rewrite(lines().slice(2));
    expect(findings()).toEqual([{ file: "audit.jsonl", line: 1, problem: "missing" }]);
  });

  test("removed lines at the end, also after buddy has written on", async () => {
    rewrite(lines().slice(0, 4));
    expect(findings()).toEqual([{ file: "audit.head", line: undefined, problem: "missing" }]);
    await written(1);
    expect(findings()).toEqual([{ file: "audit.jsonl", line: 5, problem: "missing" }]);
  });

  test("a last line that was cut", async () => {
    writeFileSync(path(), readFileSync(path(), "utf8").slice(0, -30));
    expect(findings()).toEqual([{ file: "audit.head", line: undefined, problem: "missing" }]);
    await written(1);
    expect(findings().map(({ problem }) => problem)).toContain("damaged");
  });

  test("reordered lines", () => {
    const all = lines();
    rewrite([all[0]!, all[1]!, all[3]!, all[2]!, all[4]!, all[5]!]);
    expect(findings()).toContainEqual({ file: "audit.jsonl", line: 4, problem: "order" });
  });

  test("a repeated line", () => {
    rewrite([...lines().slice(0, 3), ...lines().slice(2)]);
    expect(findings()).toEqual([{ file: "audit.jsonl", line: 4, problem: "order" }]);
  });

  test("a line that is not one", () => {
    rewrite(lines().with(1, "{}"));
    expect(findings()).toEqual([{ file: "audit.jsonl", line: 2, problem: "damaged" }]);
  });

  test("a line that someone else appended", () => {
    const last = JSON.parse(lines().at(-1)!) as StoredEntry;
    appendFileSync(path(), `${JSON.stringify({ ...last, seq: 7 })}\n`);
    expect(findings()).toEqual([
      { file: "audit.jsonl", line: 7, problem: "changed" },
      { file: "audit.jsonl", line: 7, problem: "replaced" },
    ]);
  });

  test("the whole file gone", async () => {
    rmSync(path());
    expect(findings()).toEqual([{ file: "audit.head", line: undefined, problem: "missing" }]);
    await written(1);
    expect(findings()).toEqual([{ file: "audit.jsonl", line: 1, problem: "missing" }]);
  });

  test("a head that is gone or changed, also after buddy has written on", async () => {
    rmSync(path("audit.head"));
    rewrite(lines().slice(0, 3));
    expect(findings()).toEqual([{ file: "audit.head", line: undefined, problem: "head" }]);
    await written(1);
    expect(findings()).toEqual([{ file: "audit.jsonl", line: 4, problem: "head" }]);
    writeFileSync(path("audit.head"), "x");
    expect(findings().at(-1)).toEqual({ file: "audit.head", line: undefined, problem: "head" });
  });

  test("a key that was replaced, without calling each line changed", () => {
    writeFileSync(path("session.key"), crypto.getRandomValues(new Uint8Array(32)));
    expect(findings()).toEqual([{ file: "session.key", line: undefined, problem: "key" }]);
  });

  test("lines that were all changed, and does not call the key a wrong one", () => {
    rewrite(lines().map((line) => line.replace("command", "commands")));
    expect(findings().filter(({ problem }) => problem === "changed")).toHaveLength(6);
  });

  test("a full file that was removed, or changed", async () => {
    await written(40, { rotateBytes: 2000 });
    expect(findings()).toEqual([]);
    writeFileSync(path("audit.1.jsonl"), readFileSync(path("audit.1.jsonl"), "utf8").replace("command 2", "command z"));
    expect(findings()).toEqual([{ file: "audit.1.jsonl", line: 2, problem: "changed" }]);
    rmSync(path("audit.1.jsonl"));
    expect(findings()).toEqual([{ file: "audit.2.jsonl", line: 1, problem: "missing" }]);
  });
});

describe("what goes wrong", () => {
  test("a process killed between the line and the head leaves a whole chain", async () => {
    await written(2);
    const head = readFileSync(path("audit.head"));
    await written(2);
    writeFileSync(path("audit.head"), head);
    expect(findings()).toEqual([]);
    await written(1);
    expect(findings()).toEqual([]);
  });

  test("killed after a full file got its number: the chain continues in a new one", async () => {
    await written(3);
    renameSync(path(), path("audit.1.jsonl"));
    await written(2);
    expect(findings()).toEqual([]);
    expect(entries().map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5]);
  });

  test("half a line that a killed process left is taken out, and noted", async () => {
    await written(2);
    appendFileSync(path(), '{"v":1,"seq":3,"ts":"20');
    expect(verifyRecord(state)).toMatchObject({ unfinished: true, findings: [] });
    await written(1);
    expect(entries().map((one) => (one.kind === "note" ? one.note : one.kind))).toEqual([
      "decision",
      "decision",
      "repaired",
      "decision",
    ]);
    expect(findings()).toEqual([]);
  });

  test("a record that cannot be written is reported once, kept, and written when it works again", async () => {
    const log = open();
    symlinkSync("/dev/null", path());
    await expect(log.append(entry("one"))).rejects.toThrow("link");
    rmSync(path());
    Bun.spawnSync(["mkfifo", path()]);
    await expect(log.append(entry("two"))).rejects.toThrow("regular file");
    expect(problems).toHaveLength(1);
    rmSync(path());
    await log.append(entry("three"));
    expect(problems).toHaveLength(2);
    expect(entries().map((one) => one.kind !== "note" && one.action)).toEqual(["one", "two", "three"]);
    expect(findings()).toEqual([]);
  });

  const worker = join(import.meta.dir, "../support/audit-worker.ts");
  const start = (args: readonly string[], before: readonly string[] = []) =>
    Bun.spawn([...before, process.execPath, worker, state, ...args], { stdout: "pipe" });

  test("a full disk tears no line and breaks no chain", async () => {
    // A file size limit fails a write in the middle, as a full disk does.
    const limited = ["sh", "-c", `trap '' XFSZ; ulimit -f 16; exec "$@"`, "sh"];
    const child = start(["60", "700"], limited);
    const output = await new Response(child.stdout).text();
    expect(output.match(/^problem .*cannot be written/gm)).toHaveLength(1);
    expect(findings()).toEqual([]);
    expect(entries()).toHaveLength(output.match(/^\d+$/gm)!.length);
    await written(1);
    expect(findings()).toEqual([]);
  });

  test("processes that write at once, some of them killed, make one chain", async () => {
    const counted = async (child: Bun.Subprocess<"ignore", "pipe", "inherit">, killAfter: number) => {
      let told = "";
      for await (const chunk of child.stdout) {
        told += new TextDecoder().decode(chunk);
        if (told.split("\n").length > killAfter) child.kill("SIGKILL");
      }
      await child.exited;
      return told.split("\n").filter((line) => /^\d+$/.test(line)).length;
    };
    const runs = [Infinity, Infinity, 3, 11, 25].map((killAfter) =>
      counted(start(["60", "50", "5000"]) as Bun.Subprocess<"ignore", "pipe", "inherit">, killAfter),
    );
    const told = (await Promise.all(runs)).reduce((sum, one) => sum + one, 0);
    expect(findings()).toEqual([]);
    expect(entries().length).toBeGreaterThanOrEqual(told);
    expect(existsSync(path("audit.1.jsonl"))).toBe(true);
  }, 60_000);
});
