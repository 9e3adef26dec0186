import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AuditLog } from "../../../src/audit/audit-log.ts";
import type { AuditEntry } from "../../../src/audit/entry.ts";
import { recordRows } from "../../../src/cli/commands/audit/command.ts";
import { Here } from "../../support/in-process.ts";
import { runHere } from "../../support/stdout.ts";

const about = { user: "ann", tool: "run_shell", call: "c1" };
const ENTRIES: readonly AuditEntry[] = [
  {
    ...about,
    kind: "decision",
    session: "aaaa-1",
    target: "ssh deploy@web1",
    names: ["web1", "web", "prod"],
    target_user: "deploy",
    host: "web1",
    machine: "9c1b",
    label: "PROD",
    action: "systemctl restart nginx\u001b[2K\u009b2K",
    verdict: "ask",
    decision: "approved",
    by: "operator",
  },
  {
    ...about,
    kind: "effect",
    session: "bbbb-2",
    target: "local",
    action: "uptime",
    outcome: "exited",
    exit_code: 0,
    ms: 3,
  },
];

async function recorded(): Promise<{ here: Here; path: string } & AsyncDisposable> {
  const here = new Here();
  const directory = join(here.home, ".local/state/buddy");
  const log = new AuditLog({
    directory,
    redact: (text) => text,
    problem: () => {},
    rotateBytes: 1 << 20,
    durable: false,
  });
  for (const entry of ENTRIES) await log.append(entry);
  return { here, path: join(directory, "audit.jsonl"), [Symbol.asyncDispose]: () => here[Symbol.asyncDispose]() };
}

const sessions = (text: string) =>
  text
    .split("\n")
    .slice(0, -1)
    .map((line) => (JSON.parse(line) as { session: string }).session);

describe("buddy audit", () => {
  test("lines of earlier versions have `unasked` where `auto` is now, and stay intact", async () => {
    await using here = new Here();
    const directory = join(here.home, ".local/state/buddy");
    const problem = () => {};
    const log = new AuditLog({ directory, redact: (text) => text, problem, rotateBytes: 1 << 20, durable: false });
    await log.append({ ...ENTRIES[0], by: "unasked" } as unknown as AuditEntry);
    const { stdout } = await runHere("audit", "--json");
    expect(JSON.parse(stdout)).toMatchObject({ by: "auto" });
    expect((await runHere("audit", "verify")).code).toBe(0);
  });

  test("a day of --since begins where the operator is", async () => {
    await using record = await recorded();
    const lines = readFileSync(record.path, "utf8").split("\n");
    const at = (line = "", ts = "") => line.replace(/"ts":"[^"]*"/, `"ts":"${ts}"`);
    writeFileSync(
      record.path,
      `${at(lines[0], "2026-03-01T04:59:00.000Z")}\n${at(lines[1], "2026-03-01T05:00:00.000Z")}\n`,
    );
    const { TZ } = process.env;
    try {
      process.env["TZ"] = "America/New_York";
      const { stdout } = await runHere("audit", "--since", "2026-03-01", "--json");
      expect(sessions(stdout)).toEqual(["bbbb-2"]);
    } finally {
      if (TZ === undefined) delete process.env["TZ"];
      else process.env["TZ"] = TZ;
    }
  });

  test.each([
    [[], ["aaaa-1", "bbbb-2"]],
    [["--on", "web1"], ["aaaa-1"]],
    [["--on", "prod"], ["aaaa-1"]],
    [["--on", "PROD"], ["aaaa-1"]],
    [["--on", "web[1-3]"], ["aaaa-1"]],
    [["--on", "local"], ["bbbb-2"]],
    [
      ["--on", "local,w*"],
      ["aaaa-1", "bbbb-2"],
    ],
    [["--on", "db"], []],
    [["--session", "bbb"], ["bbbb-2"]],
    [
      ["--since", "1h"],
      ["aaaa-1", "bbbb-2"],
    ],
    [
      ["--since", "2026-01-01"],
      ["aaaa-1", "bbbb-2"],
    ],
    [["--since", "2126-01-01"], []],
  ])("%j", async (args, wanted) => {
    await using _ = await recorded();
    const { code, stdout } = await runHere("audit", "--json", ...args);
    expect(code).toBe(0);
    expect(sessions(stdout)).toEqual(wanted);
  });

  test("shows machine, decision and action in a row that cannot drive the terminal", async () => {
    await using _ = await recorded();
    const { stdout } = await runHere("audit");
    const [first = ""] = stdout.split("\n");
    expect(first).toMatch(/deploy@web1 PROD +approved you +systemctl restart nginx/);
    expect(stdout).not.toContain("\u001b");
  });

  test("a refusal without a terminal was listed as that of a user called nobody", () => {
    const [decision] = ENTRIES.filter((entry) => entry.kind === "decision");
    const refused = {
      ...decision!,
      decision: "denied",
      by: "no-terminal",
      seq: 1,
      ts: "2026-01-05T10:00:00.000Z",
    } as const;
    const [row] = recordRows([{ ...refused, v: 1, prev: "" }], false);
    expect(row).toContain("denied no-terminal");
  });

  test("without a record says so", async () => {
    await using _ = new Here();
    expect(await runHere("audit")).toMatchObject({ code: 0, stdout: expect.stringContaining("nothing") });
    expect((await runHere("audit", "verify")).code).toBe(0);
  });

  test("where nothing matches, it is not said that nothing was recorded", async () => {
    await using _ = await recorded();
    expect((await runHere("audit", "--session", "zzzz")).stdout).toBe("no line of the record matches\n");
  });

  test.each([[["--since", "yesterday"]], [["verify", "--on", "web1"]], [["verfy"]]])(
    "a wrong command line is an error: %j",
    async (args) => {
      await using _ = new Here();
      expect((await runHere("audit", ...args)).code).toBe(2);
    },
  );

  test("verify ends with exit code 1 and the line when something was changed", async () => {
    await using record = await recorded();
    expect(await runHere("audit", "verify")).toMatchObject({ code: 0, stdout: expect.stringContaining("2 lines") });
    writeFileSync(record.path, readFileSync(record.path, "utf8").replace("uptime", "reboot"));
    const { code, stdout } = await runHere("audit", "verify");
    expect(code).toBe(1);
    expect(stdout).toContain("audit.jsonl line 2:");
    const { stdout: json } = await runHere("audit", "verify", "--json");
    expect(JSON.parse(json)).toMatchObject({ whole: false, findings: [{ file: "audit.jsonl", line: 2 }] });
  });
});
