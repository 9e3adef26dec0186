import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { buddyBinary, sandbox } from "../support/buddy.ts";
import { eventsOf } from "../support/event-schema.ts";
import { execRig, shell } from "../support/exec.ts";
import { needs } from "../support/needs.ts";

const pane = await needs("tmux");
const client = await needs("ssh");

setDefaultTimeout(60_000);

describe("the prompt", () => {
  test("from the argument; the answer alone on stdout, with a newline", async () => {
    await using rig = execRig([{ text: "forty-two" }]);
    const run = await rig.exec(["--no-tmux", "what is the answer?"]);
    expect(run).toEqual({ code: 0, stdout: "forty-two\n", stderr: "" });
    expect(rig.requests[0]!.messages.at(-1)).toMatchObject({ role: "user", content: "what is the answer?" });
  });

  test.each([[["-"]], [[]]])("from stdin with %j", async (args) => {
    await using rig = execRig([{ text: "ok" }]);
    const run = await rig.exec(args, { stdin: "line one\nline two\n" });
    expect(run.stdout).toBe("ok\n");
    expect(rig.requests[0]!.messages.at(-1)!.content).toBe("line one\nline two");
  });

  test("both: stdin is attached as a fenced block, fences inside it included", async () => {
    await using rig = execRig([{ text: "ok" }]);
    await rig.exec(["what failed?"], { stdin: "error 1\n```\nerror 2\n" });
    expect(rig.requests[0]!.messages.at(-1)!.content).toMatch(
      /^what failed\?\n\n.*\n\n````\nerror 1\n```\nerror 2\n````$/,
    );
  });

  test("an open but silent stdin does not hang the run", async () => {
    await using rig = execRig([{ text: "ok" }]);
    const run = await rig.exec(["hi"], { stdin: "open" });
    expect(run).toMatchObject({ code: 0, stdout: "ok\n" });
    expect(rig.requests[0]!.messages.at(-1)!.content).toBe("hi");
  });

  test("binary on stdin is refused politely, before anything is asked", async () => {
    await using rig = execRig([{ text: "ok" }]);
    const run = await rig.exec(["look"], { stdin: Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 1, 2]) });
    expect(run).toMatchObject({ code: 2, stdout: "" });
    expect(run.stderr).toContain("binary");
    expect(rig.requests).toHaveLength(0);
  });

  test.each([[[""]], [["-"]], [[]]])("none at all is a usage error: %j", async (args) => {
    await using rig = execRig([{ text: "ok" }]);
    const run = await rig.exec(args);
    expect(run.code).toBe(2);
    expect(run.stderr).toContain("no prompt");
  });

  test("a large attachment is cut to half of the window and says so", async () => {
    await using rig = execRig([{ text: "ok" }], { config: "" });
    await rig.exec(["sum up"], { stdin: "0123456789\n".repeat(100_000) });
    const { content } = rig.requests[0]!.messages.at(-1)!;
    expect(content.length).toBeLessThan(300_000);
    expect(content).toMatch(/\[\d+ bytes left out here; left out of the attached text\]/);
  });
});

describe("the answer", () => {
  test("commentary of messages that call tools goes to stderr", async () => {
    await using rig = execRig([{ text: "let me look", ...shell("echo hi") }, { text: "it says hi" }]);
    const run = await rig.exec(["--no-tmux", "look"]);
    expect(run.stdout).toBe("it says hi\n");
    expect(run.stderr).toContain("let me look");
    expect(run.stderr).toContain("● echo hi  run_shell");
  });

  test("-q: nothing but the answer", async () => {
    await using rig = execRig([{ text: "let me look", ...shell("echo hi") }, { text: "it says hi" }]);
    expect(await rig.exec(["-q", "--no-tmux", "look"])).toEqual({ code: 0, stdout: "it says hi\n", stderr: "" });
  });

  test("200 kB through a pipe arrive whole", async () => {
    const text = `${"x".repeat(99)}\n`.repeat(2000);
    await using rig = execRig([{ text, pieceChars: 10_000 }]);
    const run = await rig.exec(["long"]);
    expect(run.stdout).toBe(text);
  });

  test("a discarded attempt is not printed", async () => {
    await using rig = execRig([{ text: "half of it and", fault: "reset-midway" }, { text: "all of it" }]);
    const run = await rig.exec(["go"]);
    expect(run).toMatchObject({ code: 0, stdout: "all of it\n" });
    expect(run.stderr).toContain("Retrying");
  });

  test("--last-message to a stream that is open already, whatever stands behind it", async () => {
    await using rig = execRig([{ text: "one" }, { text: "two" }]);
    expect(await rig.exec(["--last-message", "/dev/stderr", "go"])).toEqual({
      code: 0,
      stdout: "one\n",
      stderr: "one\n",
    });
    expect(await rig.exec(["--last-message", "/dev/stdout", "go"])).toEqual({
      code: 0,
      stdout: "two\ntwo\n",
      stderr: "",
    });
  });

  test("--last-message keeps it in a file", async () => {
    await using rig = execRig([{ text: "kept" }]);
    const run = await rig.exec(["--last-message", "out.txt", "go"]);
    expect(run.stdout).toBe("kept\n");
    expect(readFileSync(join(rig.box.cwd, "out.txt"), "utf8")).toBe("kept\n");
  });

  test("a pipeline whose reader leaves ends quietly", async () => {
    await using rig = execRig([{ text: "one\ntwo\nthree\n".repeat(20_000) }]);
    const pty = await rig.terminal([], {
      shell: `cat /dev/null | "$BUDDY" exec 2>err.txt "go" | head -1; echo "rc $?"; cat err.txt`,
    });
    await using _ = pty;
    const screen = await pty.until("rc 0");
    expect(screen).toContain("one");
    expect(screen).not.toContain("EPIPE");
    expect(screen).not.toContain("buddy:");
  });
});

describe("on a terminal", () => {
  test("Markdown is rendered, and a long wait shows that it continues", async () => {
    await using rig = execRig([{ text: "# Disk\n\nIt is **full** of `logs`.\n", delayMs: 1500 }]);
    await using pty = await rig.terminal(["go"]);
    await pty.until(/thinking \d+s/);
    expect(await pty.exited).toBe(0);
    const screen = await pty.until("It is full of logs.");
    expect(screen).not.toContain("thinking");
    expect(screen).not.toContain("**");
  });

  test("markdown = false shows it as it is", async () => {
    await using rig = execRig([{ text: "It is **full**" }], { config: "[display]\nmarkdown = false" });
    await using pty = await rig.terminal(["go"]);
    await pty.until("It is **full**");
  });
});

describe("--output-schema", () => {
  const schema = JSON.stringify({
    type: "object",
    properties: { answer: { type: "integer" } },
    required: ["answer"],
    additionalProperties: false,
  });

  test("the model is informed, a fenced answer is unpacked, wrong ones are repaired", async () => {
    await using rig = execRig([
      { text: "It is 42." },
      { text: '{"answer": "42"}' },
      { text: '```json\n{"answer": 42}\n```' },
    ]);
    rig.box.write("cwd/schema.json", schema);
    const run = await rig.exec(["--output-schema", "schema.json", "what?"]);
    expect(run).toMatchObject({ code: 0, stdout: '{"answer": 42}\n' });
    expect(rig.requests[0]!.messages.at(-1)!.content).toContain("JSON Schema");
    expect(rig.requests[0]!.schema).toBeDefined();
    expect(rig.requests[1]!.messages.at(-1)!.content).toContain("not JSON");
    expect(rig.requests[2]!.messages.at(-1)!.content).toContain("/answer must be integer");
  });

  test("after two repairs it is a failure, and nothing is on stdout", async () => {
    await using rig = execRig([{ text: "no" }, { text: "no" }, { text: "still no" }, { text: "never asked" }]);
    rig.box.write("cwd/schema.json", schema);
    const run = await rig.exec(["--output-schema", "schema.json", "what?"]);
    expect(run).toMatchObject({ code: 1, stdout: "" });
    expect(run.stderr).toContain("output schema");
    expect(rig.requests).toHaveLength(3);
  });

  test.each([
    ["missing.json", undefined],
    ["broken.json", "{"],
    ["list.json", "[]"],
    ["bad.json", '{"type": "nonsense"}'],
  ])("%s is a usage error", async (name, text) => {
    await using rig = execRig([{ text: "ok" }]);
    if (text !== undefined) rig.box.write(`cwd/${name}`, text);
    const run = await rig.exec(["--output-schema", name, "what?"]);
    expect(run.code).toBe(2);
    expect(run.stderr).toContain(name);
  });
});

describe("exit codes", () => {
  test("1 when the model fails", async () => {
    await using rig = execRig([{ fault: { status: 400, body: { error: { message: "no such thing" } } } }]);
    const run = await rig.exec(["go"]);
    expect(run).toMatchObject({ code: 1, stdout: "" });
    expect(run.stderr).toContain("no such thing");
  });

  test("1 after --max-iterations", async () => {
    await using rig = execRig([shell("echo 1"), shell("echo 2"), shell("echo 3")]);
    const run = await rig.exec(["--no-tmux", "--max-iterations", "2", "go"]);
    expect(run.code).toBe(1);
    expect(run.stderr).toContain("2 model turns");
    expect(rig.requests).toHaveLength(2);
  });

  test("4 without a key, with ways to connect a model", async () => {
    await using rig = execRig([{ text: "ok" }]);
    const run = await rig.exec(["-m", "gpt-codex", "go"]);
    expect(run.code).toBe(4);
    expect(run.stderr).toContain("buddy login");
  });

  test("124 after --timeout", async () => {
    await using rig = execRig([{ fault: "silence" }]);
    const run = await rig.exec(["--timeout", "300ms", "go"]);
    expect(run).toMatchObject({ code: 124, stdout: "" });
    expect(run.stderr).toContain("--timeout");
  });

  client.test("1 when the target cannot be opened: never this machine instead", async () => {
    await using rig = execRig([shell("touch here"), { text: "I could not." }]);
    const run = await rig.exec(["--approve", "all", "--ssh", "nobody@127.0.0.1:1", "go"]);
    expect(run.code).toBe(1);
    expect(run.stdout).toBe("I could not.\n");
    expect(run.stderr).toContain("127.0.0.1");
    expect(rig.lastResult()).toContain("127.0.0.1");
    expect(existsSync(join(rig.box.cwd, "here"))).toBe(false);
  });

  test("0 for a prompt that needs no target, whatever the target is", async () => {
    await using rig = execRig([{ text: "42" }]);
    expect(await rig.exec(["--ssh", "nobody@127.0.0.1:1", "go"])).toMatchObject({ code: 0, stdout: "42\n" });
  });
});

describe("--json", () => {
  test("prints events only, and every one is valid", async () => {
    await using rig = execRig([
      { text: "let me see", reasoning: "hm", ...shell("echo hi; exit 3") },
      { text: "three" },
    ]);
    const { code, events } = await rig.events(["--no-tmux", "--approve", "all", "go"]);
    expect(code).toBe(0);
    const types = new Set(events.map((event) => event.type));
    for (const type of [
      "session",
      "turn",
      "text",
      "reasoning",
      "message",
      "usage",
      "tool_started",
      "tool_output",
      "tool_finished",
      "approval_answered",
      "done",
    ]) {
      expect(types).toContain(type);
    }
    expect(events.filter((event) => event.type === "session").at(-1)).toMatchObject({
      user: expect.any(String),
      host: expect.any(String),
      machine: expect.any(String),
    });
    expect(events.at(-1)).toMatchObject({ type: "done", status: "answered", text: "three" });
  });

  test("a failure is an event and an exit code", async () => {
    await using rig = execRig([{ fault: { status: 403, body: { error: { message: "not yours" } } } }]);
    const { code, events } = await rig.events(["go"]);
    expect(code).not.toBe(0);
    expect(events.at(-2)).toMatchObject({ type: "error" });
    expect(events.at(-1)).toMatchObject({ type: "done", status: "failed" });
  });

  test("keys never appear, wherever they come from", async () => {
    const key = "sk-test-0123456789abcdefghijklmnop";
    await using rig = execRig([shell(`echo ${key}`), { text: `the key is ${key}` }], { env: { BUDDY_API_KEY: key } });
    const { events } = await rig.events(["--no-tmux", "--approve", "all", "go"]);
    expect(JSON.stringify(events)).not.toContain(key);
    const log = [...new Bun.Glob("**/*.jsonl").scanSync({ cwd: rig.box.cwd, dot: true })]
      .map((file) => readFileSync(join(rig.box.cwd, file), "utf8"))
      .join("");
    expect(log).toContain('"type":"done"');
    expect(log).not.toContain(key);
  });
});

test("--resume continues with a stored session", async () => {
  await using rig = execRig([{ text: "I will remember." }, { text: "blue" }]);
  await rig.exec(["my colour is blue"]);
  const run = await rig.exec(["--resume", "last", "which colour?"]);
  expect(run).toMatchObject({ code: 0, stdout: "blue\n" });
  expect(rig.requests[1]!.messages.slice(1).map((message) => message.content)).toEqual([
    "my colour is blue",
    "I will remember.",
    "which colour?",
  ]);
});

test("AGENTS.md files reach the model as the operator's, outermost first", async () => {
  await using rig = execRig([{ text: "ok" }]);
  rig.box.write("home/.config/buddy/AGENTS.md", "GLOBAL RULE");
  rig.box.write("cwd/.git/HEAD", "ref: refs/heads/main");
  rig.box.write("cwd/AGENTS.md", "ROOT RULE");
  rig.box.write("cwd/sub/AGENTS.md", "SUB RULE");
  await rig.exec(["go"], { cwd: join(rig.box.cwd, "sub") });
  const { content } = rig.requests[0]!.messages[0]!;
  expect(content).toMatch(/Instructions from the operator, in .*GLOBAL RULE[\s\S]*ROOT RULE[\s\S]*SUB RULE/s);
});

test("tools are offered as the configuration says; a result names the directory it has led to, and the prompt stays", async () => {
  await using none = execRig([shell("ls"), { text: "ok" }], {
    config: "[tools]\nshell_enabled = false\nfiles_enabled = false\nfetch_enabled = false\nsearch_enabled = false",
  });
  await none.exec(["go"]);
  expect(none.requests[0]!.tools.map((tool) => tool.name)).toEqual(["time"]);
  expect(none.lastResult()).toContain('no tool "run_shell". Available: time.');
  await using moved = execRig([shell("cd /usr"), { text: "ok" }]);
  await moved.exec(["--no-tmux", "--approve", "all", "go"]);
  const [before, after] = moved.requests;
  expect(before!.messages[0]!.content).toContain(`directory ${moved.box.cwd}`);
  expect(moved.lastResult()).toContain("[cwd: /usr]");
  expect(after!.tools).toEqual(before!.tools);
  expect(after!.messages[0]).toEqual(before!.messages[0]!);
});

test("a command of more than 60 000 tokens is refused before anybody is asked", async () => {
  await using rig = execRig([shell(`echo ${"x".repeat(250_000)}`, { mutation: true }), { text: "ok" }]);
  expect((await rig.exec(["--no-tmux", "go"])).code).toBe(0);
  expect(rig.lastResult()).toContain("60000 tokens");
});

pane.test("instructions and tool definitions take at most 12 kB of the first request", async () => {
  await using rig = execRig([{ text: "ok" }]);
  await rig.exec(["go"]);
  const [request] = rig.requests;
  const names = request!.tools.map((tool) => tool.name);
  for (const name of ["run_shell", "capture-pane", "fetch_url", "web_search", "edit_file", "time"])
    expect(names).toContain(name);
  const size =
    Buffer.byteLength(request!.messages[0]!.content) + Buffer.byteLength(JSON.stringify(request!.body["tools"]));
  expect(size).toBeLessThanOrEqual(12_000);
});

describe("what broke once", () => {
  test.if(existsSync("/dev/full"))("an answer that could not be written ended with 0 and not a word", async () => {
    using box = sandbox();
    const child = Bun.spawn(
      ["sh", "-c", 'exec "$0" "$@" >/dev/full', await buddyBinary(), "exec", "-m", "demo", "hi"],
      {
        cwd: box.cwd,
        env: box.env,
        stdin: "ignore",
        stdout: "ignore",
        stderr: "pipe",
      },
    );
    const [stderr, code] = await Promise.all([child.stderr.text(), child.exited]);
    expect(code).toBe(1);
    expect(stderr).toContain("standard output: the disk is full");
  });

  test("--verbose showed a command's live output with the keys in it", async () => {
    using box = sandbox();
    const secret = ["sk", "live9abcdefghijklmnop1234"].join("-");
    box.write("cwd/key.txt", `token ${secret}\nend`);
    const run = await box.run(["exec", "-v", "-m", "demo", "--no-tmux", "run: cat key.txt"]);
    expect(run.stderr).toContain("token ‹secret-1: OpenAI key›\nend\n");
    expect(run.stderr).not.toContain(secret);
  });

  test("where sessions go when the working directory cannot hold them was not said", async () => {
    using box = sandbox();
    symlinkSync("/nowhere", join(box.cwd, ".buddyx"));
    const run = await box.run(["exec", "-m", "demo", "hi"]);
    expect(run.code).toBe(0);
    expect(run.stderr).toContain(join(box.home, ".local/state/buddy/sessions"));
    const again = await box.run(["exec", "-m", "demo", "--resume", "last", "hi"]);
    expect(again.code).toBe(0);
    expect(again.stderr).toContain(join(box.home, ".local/state/buddy/sessions"));
  });
});

test("--json leaves nothing in its lines that acts on a terminal, and every text as it was", async () => {
  const answer = "a\u009b2J\u0085\u202eb\u001b]52;c;eA==\u0007\u200f \u{1F469}\u200d\u{1F4BB}";
  await using rig = execRig([{ text: answer }]);
  const { stdout } = await rig.exec(["--json", "go"]);
  expect(stdout).not.toMatch(/[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u200B-\u200F\u202A-\u202E]/);
  const texts = eventsOf(stdout).flatMap((event) => (event.type === "text" ? [event.delta] : []));
  expect(texts.join("")).toBe(answer);
});
