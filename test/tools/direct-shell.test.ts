/** run_shell, background shells and files as the model uses them, on a real direct shell. */
import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Turn } from "../support/scripted-model/playbook.ts";
import { ofType } from "../support/agent.ts";
import { call, shell } from "../support/calls.ts";
import { from, Here } from "../support/in-process.ts";
import { RESULT } from "../support/wording.ts";

const ALL = { "no-tmux": true, approve: "all" } as const;

describe("run_shell on a direct shell", () => {
  /** One command: its result, its outcome and the events. */
  const one = async (...turns: readonly Turn[]) => {
    await using here = new Here([...turns, { text: "done" }]);
    const { results, events } = await here.turn(ALL);
    const finished = ofType(events, "tool_finished").at(-1);
    return { result: String(results.at(-1)), finished, events };
  };

  test("keeps directory and variables, and reports the new directory", async () => {
    await using here = new Here([
      shell("mkdir sub && cd sub && export WORD=kept"),
      shell('echo "$WORD in ${PWD##*/}"'),
      { text: "done" },
    ]);
    const { results } = await here.turn(ALL);
    expect(results[0]).toMatch(/^\[cwd: .+\/sub\]$/);
    expect(results[1]).toBe("kept in sub");
  });

  test("a command without output says so", async () => {
    expect((await one(shell("true"))).result).toBe("(no output)");
  });

  test("a shell that ends is reported, with what it printed and what is lost", async () => {
    const { result, finished } = await one(shell("echo out; echo err >&2; exit 3"));
    expect(result).toStartWith(`${RESULT.shellEnded(3)}\n`);
    expect(result).toContain("out\n[stderr]\nerr");
    expect(finished).toMatchObject({ outcome: "shell-ended", exit_code: 3 });
  });

  test("a command that fails gives its exit code, and stderr apart", async () => {
    const { result, finished, events } = await one(shell("sh -c 'echo bad >&2; exit 4'"));
    expect(result).toStartWith(`${RESULT.failed(4)}\n[stderr]\nbad`);
    expect(finished).toMatchObject({ ok: false, outcome: "exited", exit_code: 4 });
    expect(ofType(events, "tool_output")).toContainEqual(expect.objectContaining({ stream: "stderr", text: "bad\n" }));
  });

  test("a command that takes too long is ended with all it started", async () => {
    const { result, finished } = await one(shell("sleep 60", { wait: 0.2 }));
    expect(result).toStartWith(`${RESULT.timedOut("200ms")}\n`);
    expect(finished).toMatchObject({ outcome: "stopped" });
  });

  test.each([false, "false"])("wait=%j needs a pane", async (wait) => {
    const { result, finished } = await one(shell("echo never", { wait }));
    expect(result).toMatch(/^wait=false .*\btmux\b/);
    expect(finished).toMatchObject({ outcome: "failed" });
  });

  test("an unfinished command fails with the shell's own words", async () => {
    const { result, finished } = await one(shell("echo 'open"));
    expect(result).toMatch(/\]\n\[stderr\]\n.*matching/);
    expect(finished).toMatchObject({ outcome: "exited" });
  });

  test("a wait can be given as a duration", async () => {
    expect((await one(shell("echo later", { wait: "10s" }))).result).toBe("later");
  });

  test("a pane needs tmux", async () => {
    const { result, finished } = await one(shell("echo x", { pane: "other" }));
    expect(result).toStartWith("error: this target has no tmux: leave out session and pane");
    expect(finished).toMatchObject({ outcome: "failed" });
  });

  test("refuses a command over 60 000 tokens, missing metadata and nonsense waits", async () => {
    await using here = new Here([
      shell(`: ${"x".repeat(240_001)}`),
      call("run_shell", { command: "ls" }),
      shell("ls", { wait: "soon" }),
      shell("ls", { why: "" }),
      { text: "done" },
    ]);
    const { results } = await here.turn(ALL);
    expect(results[0]).toMatch(/^error: .*run_shell: command: .*\b60000\b.*\bwrite_file\b/);
    expect(results[1]).toMatch(/^error: .*run_shell: risk: /);
    expect(results[1]).toContain("why: ");
    expect(results[2]).toContain("wait: ");
    expect(results[3]).toContain("why: ");
  });

  test("output over the budget is cut in the middle and can be read on", async () => {
    await using here = new Here(
      [
        shell("seq 1 20000; echo oops >&2"),
        from<string>((text) => {
          const [, id = "", offset = ""] = /output_id="([^"]+)" offset=(\d+)/.exec(text) ?? [];
          return call("shell_output", { output_id: id, offset: Number(offset), limit: 100 });
        }),
        from<{ output_id: string; next_offset: number; total_bytes: number }>(({ output_id, total_bytes }) =>
          call("shell_output", { output_id, offset: total_bytes - 6 }),
        ),
        from<{ output_id: string }>(({ output_id }) => call("shell_output", { output_id, filter: "^1234[0-9]$" })),
        call("shell_output", { output_id: "nothing" }),
        call("shell_output", { output_id: "a", shell_id: "b" }),
        { text: "done" },
      ],
      { config: "[limits]\nshell = 4000" },
    );
    const { results } = await here.turn(ALL);
    const first = results[0] as string;
    expect(first).toStartWith("1\n2\n3\n");
    expect(first).toContain("19999\n20000\n[stderr]\noops");
    const [, left = ""] = new RegExp(`\\[(\\d+) ${RESULT.leftOut}`).exec(first) ?? [];
    expect(Number(left)).toBeGreaterThan(100_000);
    expect(first.length).toBeLessThan(4_400);
    const page = results[1] as { text: string; total_bytes: number; next_offset: number };
    expect(page.text.length).toBe(100);
    expect(first).not.toContain(page.text);
    expect(page.total_bytes).toBe(108_894);
    expect(results[2]).toMatchObject({ text: "20000\n", done: true });
    expect((results[3] as { text: string }).text.trim().split("\n")).toHaveLength(10);
    expect(results[4]).toStartWith("error: ");
    expect(results[5]).toStartWith("error: invalid arguments for shell_output: ");
  });
});

describe("background shells", () => {
  test("start, look, filter, list, kill; ended already is not an error", async () => {
    await using here = new Here([
      shell("echo first; echo second; echo bad >&2; read never < /dev/null; exec sleep 300", { mode: "background" }),
      from<{ shell_id: string }>(({ shell_id }) => call("shell_output", { shell_id })),
      call("list_shells"),
      from<{ shells: { shell_id: string }[] }>(({ shells }) => call("kill_shell", { shell_id: shells[0]!.shell_id })),
      from<{ shell_id: string }>(({ shell_id }) => call("kill_shell", { shell_id })),
      shell("exit 7", { mode: "background", session: "s" }),
      call("kill_shell", { shell_id: "nope" }),
      { text: "done" },
    ]);
    const { results, events } = await here.turn(ALL);
    const started = results[0] as { shell_id: string; pid: number; output_file: string; next: string };
    expect(started.next).toContain(`kill_shell shell_id="${started.shell_id}"`);
    expect(results[1]).toMatchObject({ shell_id: started.shell_id, status: "running", pid: started.pid });
    const { shells } = results[2] as { shells: { command: string; started: string; status: string }[] };
    expect(shells).toHaveLength(1);
    expect(shells[0]).toMatchObject({ status: "running", command: expect.stringContaining("exec sleep 300") });
    expect(Date.parse(shells[0]!.started)).toBeGreaterThan(Date.now() - 600_000);
    expect(results[3]).toMatchObject({ status: "killed" });
    expect(results[3]).not.toHaveProperty("note");
    expect(results[4]).toMatchObject({ status: "killed", note: expect.any(String) });
    expect(results[5]).toStartWith("error: ");
    expect(results[6]).toStartWith("error: ");
    expect(ofType(events, "tool_finished")[0]).toMatchObject({ outcome: "background", ok: true });
    // Both streams are in it, each in its own order; which of two streams comes first is nobody's to say.
    const lines = readFileSync(started.output_file, "utf8").split("\n");
    expect(lines.filter((line) => line === "first" || line === "second")).toEqual(["first", "second"]);
    expect(lines).toContain("bad");
    expect(readFileSync(started.output_file, "utf8").trimEnd()).toEndWith("]");
  });

  test("one that ended reports its exit code, stdout and stderr apart, and only what is new", async () => {
    await using here = new Here([
      shell("echo out; echo err >&2; exit 5", { mode: "background" }),
      from<{ shell_id: string; output_file: string }>(({ output_file }) =>
        shell(`until grep -q 'background process failed' '${output_file}'; do sleep 0.05; done`),
      ),
      call("list_shells"),
      from<{ shells: { shell_id: string }[] }>(({ shells }) => call("shell_output", { shell_id: shells[0]!.shell_id })),
      from<{ shell_id: string }>(({ shell_id }) => call("shell_output", { shell_id })),
      { text: "done" },
    ]);
    const { results, events } = await here.turn(ALL);
    expect(results[3]).toMatchObject({ status: "failed", exit_code: 5, stdout: "out\n", stderr: "err\n" });
    expect(results[4]).toMatchObject({ status: "failed", exit_code: 5, stdout: "", stderr: "" });
    const finished = ofType(events, "tool_finished");
    expect(finished[3]).toMatchObject({ outcome: "failed", exit_code: 5 });
    expect(finished[4]?.display).toMatch(/^\(.*\)$/);
  });
});

describe("files", () => {
  test("read_file: pages, what is left, binary, empty and missing files", async () => {
    await using here = new Here([
      call("read_file", { path: "lines.txt", offset: 3, limit: 2 }),
      call("read_file", { path: "lines.txt" }),
      call("read_file", { path: "lines.txt", offset: 99_999 }),
      call("read_file", { path: "binary" }),
      call("read_file", { path: "empty" }),
      call("read_file", { path: "missing" }),
      call("read_file", { path: "long-line" }),
      call("read_file", { path: "lines.txt", offset: 0 }),
      { text: "done" },
    ]);
    here.write("cwd/lines.txt", Array.from({ length: 20_000 }, (_, i) => `line ${i + 1}\n`).join(""));
    here.write("cwd/binary", new Uint8Array([0x7f, 0x45, 0x4c, 0x46, 0, 0, 1]));
    here.write("cwd/empty", "");
    here.write("cwd/long-line", "y".repeat(200_000));
    const { results, events } = await here.turn();
    expect(results[0]).toMatch(/^line 3\nline 4\n\n\[19996 .*offset=5\]$/);
    expect(results[1]).toStartWith("line 1\nline 2\n");
    expect(results[1]).toMatch(new RegExp(`\\[\\d+ ${RESULT.leftOut} read_file offset=\\d+ `));
    expect(results[1]).toContain("line 20000\n");
    expect(results[2]).toMatch(/^\(.*\b99999\b.*\)$/);
    expect(results[3]).toMatch(/^binary .*\b7 .*\brun_shell\b/);
    expect(results[4]).toMatch(/^\(.*\)$/);
    expect(results[5]).toMatch(/^error: .*missing/);
    expect(results[6]).toContain("run_shell");
    expect(results[7]).toMatch(/^error: .*read_file: offset: /);
    expect(ofType(events, "tool_finished")[0]?.display).toContain("2 lines");
    // The next offset the notice names is the line behind the part that is shown.
    const [, offset = ""] = /read_file offset=(\d+)/.exec(results[1] as string) ?? [];
    expect((results[1] as string).slice(0, (results[1] as string).indexOf("["))).toContain(
      `line ${Number(offset) - 1}\n`,
    );
  });

  test("write_file: creates, replaces, keeps the mode, and refuses what is not a file", async () => {
    await using here = new Here([
      call("write_file", { path: "new/deep.txt", content: "hello\n" }),
      call("write_file", { path: "run.sh", content: "#!/bin/sh\necho two\n" }),
      call("write_file", { path: ".", content: "x" }),
      call("write_file", { path: "/dev/null", content: "x" }),
      call("write_file", { path: "binary", content: "text\n" }),
      { text: "done" },
    ]);
    here.write("cwd/run.sh", "#!/bin/sh\necho one\n", 0o755);
    here.write("cwd/binary", new Uint8Array([0, 1, 2]));
    const { results, events } = await here.turn(ALL);
    expect(results[0]).toBe(`created ${here.cwd}/new/deep.txt: 6 bytes written`);
    expect(here.read("cwd/new/deep.txt")).toBe("hello\n");
    expect(results[1]).toBe(`replaced ${here.cwd}/run.sh: 19 bytes written`);
    expect((await Bun.file(join(here.cwd, "run.sh")).stat()).mode & 0o777).toBe(0o755);
    expect(results[2]).toStartWith(`error: ${here.cwd} `);
    expect(results[3]).toContain("/dev/null");
    expect(results[4]).toBe(`replaced ${here.cwd}/binary: 5 bytes written; it was a binary file`);
    const answered = ofType(events, "approval_answered");
    expect(answered.every(({ by, decision }) => by === "mode" && decision === "approved")).toBe(true);
  });

  test("edit_file: exact, ambiguous, absent, all places, other line ends", async () => {
    const edit = (path: string, old_text: string, new_text: string, more = {}) =>
      call("edit_file", { path, old_text, new_text, ...more });
    await using here = new Here([
      edit("conf", "port = 80\n", "port = 8080\n"),
      edit("conf", "a = 1", "a = 2"),
      edit("conf", "a = 1", "a = 2", { replace_all: true }),
      edit("conf", "prot = 8080", "port = 1"),
      edit("conf", "a = 2", "a = 2", { replace_all: true }),
      edit("dos", "one\ntwo", "1\n2"),
      edit("binary", "x", "y"),
      edit("latin1", "x", "ü"),
      edit("many", "x", "y"),
      edit("conf", "", "y"),
      { text: "done" },
    ]);
    here.write("cwd/conf", "port = 80\na = 1\nb = 2\na = 1\n");
    here.write("cwd/dos", "one\r\ntwo\r\n");
    here.write("cwd/binary", new Uint8Array([0x78, 0, 1]));
    here.write("cwd/latin1", new Uint8Array([0x78, 0xe9, 0xe8, 0x0a]));
    here.write("cwd/many", "x\n".repeat(12));
    const { results, events } = await here.turn(ALL);
    expect(results[0]).toStartWith("edited conf (");
    expect(results[0]).toContain("-port = 80\n+port = 8080");
    expect(results[1]).toMatch(/^error: .*\b2\b.*\(lines 2, 4\)/);
    expect(results[2]).toStartWith("edited conf (2 places, ");
    expect(results[3]).toStartWith("error: ");
    expect(results[3]).toContain("port = 8080");
    expect(results[4]).toStartWith("error: ");
    expect(here.read("cwd/dos")).toBe("1\r\n2\r\n");
    expect(results[6]).toStartWith("error: ");
    expect(readFileSync(join(here.cwd, "latin1"))).toEqual(Buffer.from([0xfc, 0xe9, 0xe8, 0x0a]));
    expect(results[8]).toMatch(/^error: .*\b12\b.*\(lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …\)/);
    expect(results[9]).toStartWith("error: invalid arguments for edit_file: old_text: ");
    expect(here.read("cwd/conf")).toBe("port = 8080\na = 2\nb = 2\na = 2\n");
    // What cannot work is a result, not a question.
    expect(ofType(events, "approval_answered")).toHaveLength(4);
  });

  test("a file that changes while the operator looks at the difference is not overwritten", async () => {
    await using here = new Here([call("write_file", { path: "a.txt", content: "mine\n" }), { text: "done" }], {
      answer: () => {
        writeFileSync(join(here.cwd, "a.txt"), "theirs, meanwhile\n");
        return { kind: "yes" };
      },
    });
    here.write("cwd/a.txt", "before\n");
    const { results } = await here.turn();
    expect(here.asked[0]).toMatchObject({
      action: `write ${here.cwd}/a.txt`,
      diff: "@@ -1,1 +1,1 @@\n-before\n+mine",
    });
    expect(results[0]).toStartWith("a.txt ");
    expect(here.read("cwd/a.txt")).toBe("theirs, meanwhile\n");
  });

  test.each(["write_file", "edit_file"])(
    "%s: a path that leads elsewhere after it was judged is not written",
    async (tool) => {
      const args = tool === "write_file" ? { content: "mine\n" } : { old_text: "same", new_text: "mine" };
      await using here = new Here([call(tool, { path: "link/a.txt", ...args }), { text: "done" }], {
        answer: () => {
          Bun.spawnSync(["ln", "-sfn", join(here.dir, "two"), join(here.cwd, "link")]);
          return { kind: "yes" };
        },
      });
      here.write("one/a.txt", "same\n");
      here.write("two/a.txt", "same\n");
      symlinkSync(join(here.dir, "one"), join(here.cwd, "link"));
      const { results } = await here.turn();
      expect(here.asked[0]?.action).toEndWith(`${here.dir}/one/a.txt`);
      expect(results[0]).toStartWith("error: ");
      expect([here.read("one/a.txt"), here.read("two/a.txt")]).toEqual(["same\n", "same\n"]);
    },
  );
});

test("time has every notation, of one moment", async () => {
  await using here = new Here([call("time"), { text: "done" }]);
  const [now] = (await here.turn()).results as [Record<string, string | number>];
  const millis = Number(now.unix_millis);
  expect(now).toMatchObject({
    unix_seconds: Math.floor(millis / 1000),
    unix_nanos: `${millis}000000`,
    iso8601_millis: new Date(millis).toISOString(),
    iso8601: `${new Date(millis).toISOString().slice(0, 19)}Z`,
    rfc2822: new Date(millis).toUTCString().replace("GMT", "+0000"),
  });
  expect(Date.parse(String(now.rfc2822))).toBe(Number(now.unix_seconds) * 1000);
  expect(`${now.date_utc}T${now.time_utc}Z`).toBe(String(now.iso8601));
  expect(existsSync(join(here.cwd, ".buddyx/sessions"))).toBe(true);
});
