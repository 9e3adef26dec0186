/** `exec` inside this process: the same code as the binary's, with files for stdout and stderr. */
import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exec, type ExecOptions } from "../../../src/cli/commands/exec/run-exec.ts";
import { execInput, type Stdin, withAttachment } from "../../../src/cli/commands/exec/exec-input.ts";
import type { GlobalOptions } from "../../../src/cli/args/options.ts";
import { watchSignals } from "../../../src/cli/signals-and-crashes.ts";
import { Output } from "../../../src/lib/output.ts";
import type { Turn } from "../../support/scripted-model/playbook.ts";
import { eventsOf } from "../../support/event-schema.ts";
import { endTmux } from "../../support/end-tmux.ts";
import { buddyError } from "../../support/errors.ts";
import { call, DECLARED, shell } from "../../support/exec.ts";
import { startModel } from "../../support/model.ts";
import { needs } from "../../support/needs.ts";
import { runHere } from "../../support/stdout.ts";
import { RESULT } from "../../support/wording.ts";

const pane = await needs("tmux");
const client = await needs("ssh");

setDefaultTimeout(60_000);

const nothing: Stdin = { kind: "none", read: () => Promise.resolve(undefined) };
const socket = `buddy-test-in-${process.pid}`;
let dir: string;
let home: string;
const before = { cwd: process.cwd(), home: process.env["HOME"] };

beforeAll(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), "buddy-test-exec-")));
  home = join(dir, "home");
  mkdirSync(join(home, ".config/buddy"), { recursive: true });
  mkdirSync(join(dir, "cwd"));
});
beforeEach(() => {
  process.chdir(join(dir, "cwd"));
  process.env["HOME"] = home;
});
afterAll(() => {
  process.chdir(before.cwd);
  process.env["HOME"] = before.home;
  endTmux(socket);
  rmSync(dir, { recursive: true, force: true });
});

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly results: unknown[];
}

async function run(
  turns: readonly Turn[],
  options: Partial<ExecOptions> = {},
  globals: Partial<GlobalOptions> = {},
  config = "",
): Promise<Ran> {
  await using model = startModel(turns);
  writeFileSync(
    join(home, ".config/buddy/buddy.toml"),
    `[agent]\nmodel = "test"\n[models.test]\napi_base_url = "${model.url}"\nmodel = "gpt-4o"\n[tmux]\nsocket = "${socket}"\n${config}\n`,
    { mode: 0o600 },
  );
  const files = ["out", "err"].map((name) => openSync(join(dir, name), "w")) as [number, number];
  const code = await exec(
    { prompt: "go", json: false, ...options },
    { tmux: "never", dryRun: false, quiet: false, verbose: false, ...globals },
    { out: new Output(files[0]), err: new Output(files[1]), stdin: nothing },
  );
  files.forEach(closeSync);
  const results = (model.requests.at(-1)?.messages ?? [])
    .filter((message) => message.role === "tool")
    .map((message) => (JSON.parse(message.content) as { result: unknown }).result);
  return {
    code,
    stdout: readFileSync(join(dir, "out"), "utf8"),
    stderr: readFileSync(join(dir, "err"), "utf8"),
    results,
  };
}

const ALL = { approve: { kind: "all" } } as const;

describe("exec", () => {
  test("answers, and says on stderr what it did", async () => {
    const ran = await run(
      [
        { text: "I look", ...shell("seq 1 10") },
        { text: "ten", usage: { input: 100, output: 5 } },
      ],
      {},
      { verbose: true },
    );
    expect(ran).toMatchObject({ code: 0, stdout: "ten\n" });
    expect(ran.stderr).toContain("I look");
    expect(ran.stderr).toContain("● seq 1 10  run_shell");
    expect(ran.stderr).toMatch(/tokens in, \d+ out/);
  });

  test("previews are short, and name the command that prints all of it", async () => {
    const ten = Array.from({ length: 10 }, (_, at) => at + 1);
    const ran = await run([shell("seq 1 10"), { text: "ten" }]);
    const [, session = ""] = /…4 more lines: buddy sessions output (\w+) out-1\n/.exec(ran.stderr) ?? [];
    expect((await runHere("sessions", "output", session, "out-1")).stdout).toBe(`${ten.join("\n")}\n`);
  });

  test("--json in this process", async () => {
    const ran = await run([shell("echo hi"), { text: "ok" }], { json: true }, { quiet: true });
    expect(eventsOf(ran.stdout).at(-1)).toMatchObject({ type: "done", text: "ok" });
  });

  test("schema, last message, failure, time-out", async () => {
    writeFileSync("schema.json", '{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"array"}');
    const valid = await run([{ text: "{}" }, { text: "[1]" }], {
      outputSchema: "schema.json",
      lastMessage: "last.json",
    });
    expect(valid).toMatchObject({ code: 0, stdout: "[1]\n" });
    expect(readFileSync("last.json", "utf8")).toBe("[1]\n");
    writeFileSync("schema.json", '{"$schema":"https://json-schema.org/draft/2019-09/schema","type":"array"}');
    expect(await run([{ text: "{}" }, { text: "{}" }, { text: "{}" }], { outputSchema: "schema.json" })).toMatchObject({
      code: 1,
      stdout: "",
    });
    expect(await run([{ text: "x" }], { lastMessage: join(dir, "nowhere/file") })).toMatchObject({ code: 2 });
    expect(await run([{ fault: "silence" }], { timeoutMs: 50 })).toMatchObject({ code: 124 });
  });

  client.test("a target that is not there", async () => {
    const gone = await run([shell("true"), { text: "no" }], {}, { ssh: "127.0.0.1:1" });
    expect(gone).toMatchObject({ code: 1, stdout: "no\n" });
    expect(gone.stderr).toContain("127.0.0.1");
  });

  pane.describe("tools in a pane", () => {
    /** What the model got for each call, as text. */
    const results = async (...turns: Parameters<typeof run>[0]): Promise<string[]> => {
      const ran = await run([...turns, { text: "done" }], {}, { tmux: "required", ...ALL });
      expect(ran).toMatchObject({ code: 0, stdout: "done\n" });
      return ran.results.map((result) => (typeof result === "string" ? result : JSON.stringify(result)));
    };

    test("a command that is still running keeps the pane until it is stopped", async () => {
      const [timedOut, busy, sent, ended] = await results(
        shell("sleep 30", { wait: 0.2 }),
        shell("echo busy"),
        call("send-keys", { keys: "C-c", ...DECLARED }),
        call("shell_output", { wait: "10s" }),
      );
      expect(timedOut).toStartWith(RESULT.timedOut("200ms"));
      expect(busy).toMatch(/^\[not run: \S+ is still running/);
      expect(sent).toStartWith("sent");
      expect(ended).toContain("130");
    });

    test("a command that waits for input gets what is typed", async () => {
      const [waiting, , answered] = await results(
        shell("read -r line && echo got-$line", { wait: 20 }),
        call("send-keys", { literal_text: "typed", enter: true, delay: 0.01, ...DECLARED }),
        call("shell_output", { wait: 10 }),
      );
      expect(waiting).toStartWith(RESULT.waiting);
      expect(answered).toContain("got-typed");
    });

    test("an unfinished command is not run", async () => {
      expect((await results(shell('echo "unfinished', { wait: 5 })))[0]).toMatch(/^\[command (?:incomplete|failed)/);
    });

    test("a session beyond the limit, and one that buddy does not manage", async () => {
      const [more, unknown] = await results(
        call("tmux-create-session", { session: "more", ...DECLARED }),
        call("tmux-kill-session", { session: "nosuch", ...DECLARED }),
      );
      expect(more).toMatch(/^error: .*\b1\b.*max_sessions/s);
      expect(unknown).toMatch(/^error: .*nosuch/);
    });

    test("a pane is created once and ended", async () => {
      const [created, again, ended] = await results(
        call("tmux-create-pane", { pane: "p", ...DECLARED }),
        call("tmux-create-pane", { pane: "p", ...DECLARED }),
        call("tmux-kill-pane", { pane: "p", ...DECLARED }),
      );
      expect([created, again, ended]).toEqual([
        expect.stringContaining("created: pane p"),
        expect.stringContaining("already exists: pane p"),
        expect.stringContaining("ended: pane p"),
      ]);
    });

    test("capture-pane takes every option", async () => {
      const [, screen] = await results(
        shell("clear; echo on the screen"),
        call("capture-pane", {
          start: -5,
          end: 10,
          preserve_trailing_spaces: true,
          include_escape_sequences: true,
          escape_non_printable: true,
          include_alternate_screen: true,
          delay: 0.01,
        }),
      );
      expect(screen).toContain("on the screen");
    });

    test("capture-pane of a pane that does not exist", async () => {
      expect((await results(call("capture-pane", { target: "nosuch:9" })))[0]).toMatch(/^error: .*nosuch:9/);
    });

    test("time", async () => {
      expect((await results(call("time")))[0]).toContain("iso8601_millis");
    });

    test("a file is created, then replaced", async () => {
      const [created, replaced] = await results(
        call("write_file", { path: "w.txt", content: "a\nb\n" }),
        call("write_file", { path: "w.txt", content: "a\nB\n" }),
      );
      expect(created).toStartWith("created ");
      expect(replaced).toStartWith("replaced ");
    });

    test("a directory is not written", async () => {
      expect((await results(call("write_file", { path: ".", content: "x" })))[0]).toStartWith("error: ");
    });

    test("an edit shows its difference; an ambiguous one is refused", async () => {
      writeFileSync("w.txt", "a\nB\n");
      const [edited, ambiguous, read] = await results(
        call("edit_file", { path: "w.txt", old_text: "B", new_text: "b" }),
        call("edit_file", { path: "w.txt", old_text: "\n", new_text: "\n\n" }),
        call("read_file", { path: "w.txt" }),
      );
      expect(edited).toContain("-B");
      expect(ambiguous).toMatch(/^error: .*\b2\b/);
      expect(read).toBe("a\nb\n");
    });

    test("a binary file is not read, and a line beyond the end is reported", async () => {
      writeFileSync("w.txt", "a\n");
      const [binary, beyond] = await results(
        call("read_file", { path: "/bin/true" }),
        call("read_file", { path: "w.txt", offset: 99 }),
      );
      expect(binary).toContain("binary file");
      expect(beyond).toContain("99");
    });

    test("a private address is not fetched", async () => {
      expect((await results(call("fetch_url", { url: "http://127.0.0.1:1/" })))[0]).toStartWith(RESULT.notFetched);
    });

    test("a background shell is started and listed", async () => {
      const [started, listed] = await results(shell("exit 4", { mode: "background" }), call("list_shells"));
      expect(started).toContain("shell_id");
      expect(listed).toContain("exit 4");
    });

    test("a shell that ends is reported", async () => {
      expect((await results(shell("exit 7")))[0]).toStartWith(RESULT.shellEnded(7));
    });
  });

  test("a session is continued, also after it was left", async () => {
    await run([{ text: "noted" }], { prompt: "remember 7" });
    const ran = await run([{ text: "7" }], { resume: "last", prompt: "what?" });
    expect(ran).toMatchObject({ code: 0, stdout: "7\n" });
  });

  test("a model that repeats a failing command is warned", async () => {
    const ran = await run([shell("false"), shell("false"), shell("false"), { text: "sorry" }]);
    expect(ran.results.at(-1)).toContain(RESULT.again);
  });
});

describe("the prompt", () => {
  const text = (data: string | Uint8Array, kind: Stdin["kind"] = "stream"): Stdin => ({
    kind,
    read: () => Promise.resolve(typeof data === "string" ? Buffer.from(data) : data),
  });
  const signal = new AbortController().signal;

  test.each([
    ["ask", nothing, { prompt: "ask" }],
    ["ask", text("more\n"), { prompt: "ask", attached: "more\n" }],
    ["ask", text(" \n"), { prompt: "ask" }],
    ["ask", text("x", "terminal"), { prompt: "ask" }],
    ["-", text(" from stdin \n"), { prompt: "from stdin" }],
    [undefined, text("from a file", "file"), { prompt: "from a file" }],
    ["-", text("typed", "terminal"), { prompt: "typed" }],
  ] as const)("%p with stdin", async (argument, stdin, wanted) => {
    expect(await execInput(argument, stdin, signal)).toEqual(wanted);
  });

  test.each([
    [undefined, nothing, "prompt"],
    [undefined, text("x", "terminal"), "prompt"],
    ["-", text(""), "prompt"],
    ["", nothing, "prompt"],
    ["ask", text(Buffer.from([1, 2, 0, 3])), "binary"],
    ["ask", text(Buffer.from(Array.from({ length: 400 }, (_, n) => 128 + (n % 100)))), "binary"],
  ] as const)("%p is refused", async (argument, stdin, named) => {
    expect(execInput(argument, stdin, signal)).rejects.toThrow(buddyError("usage", named));
  });

  test("the fence is longer than any inside", () => {
    expect(withAttachment("p", "````\nx")).toContain("\n`````\n````\nx\n`````");
  });
});

test("signals abort with their exit code, once", () => {
  using signals = watchSignals();
  signals.interrupt();
  expect(signals.signal.reason).toMatchObject({ code: "interrupted" });
});

test("output that cannot be written is noticed once", async () => {
  const file = openSync(join(dir, "closed"), "w");
  const output = new Output(file);
  closeSync(file);
  let told = 0;
  output.onBroken(() => told++);
  await output.write("x");
  await output.write("y");
  await output.flush();
  expect(output.broken).toBe(true);
  expect(told).toBe(1);
});
