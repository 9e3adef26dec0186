/**
 * `buddy exec` inside this process: what reaches stdout and stderr, the exit code, schemas, attachments, resumed
 * sessions.
 */
import { describe, expect, test } from "bun:test";
import { closeSync, constants, existsSync, openSync, readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { call, shell } from "../../support/calls.ts";
import { eventsOf } from "../../support/event-schema.ts";
import { exec } from "../../../src/cli/commands/exec/run-exec.ts";
import { Output } from "../../../src/lib/output.ts";
import { Here } from "../../support/in-process.ts";
import { Pty } from "../../support/pty.ts";
import { QUESTION, RESULT } from "../../support/wording.ts";
import { naming } from "../../support/errors.ts";

const touch = shell("touch made", { mutation: true, risk: "medium" });

/** What the run used, on stderr. */
const TOKENS = /\d+ tokens .*\d+ out.* \d+ %/;

describe("stdout is the answer, stderr is everything else", () => {
  test("an answer without tools", async () => {
    await using here = new Here([{ text: "hello\u001b[31m there" }]);
    expect(await here.exec({ prompt: "hi" })).toEqual({ code: 0, stdout: "hello\u001b[31m there\n", stderr: "" });
  });

  test("tool calls and what they gave are reported, short; -q keeps quiet; -v says more", async () => {
    const turns = [
      { text: "Let me look.", ...shell("seq 1 10; echo oops >&2; touch made", { mutation: true }) },
      { text: "ten lines", usage: { input: 100, output: 7 } },
    ];
    const flags = { "no-tmux": true, approve: "all" } as const;
    await using here = new Here(turns);
    const plain = await here.exec({ prompt: "hi" }, flags);
    expect(plain).toMatchObject({ code: 0, stdout: "ten lines\n" });
    // On a slow machine a line says first that it runs.
    expect(plain.stderr).toStartWith("Let me look.\n");
    expect(plain.stderr).toContain("\n● seq 1 10; echo oops >&2; touch made  run_shell  auto-approved  exit 0");
    await using quiet = new Here(turns);
    expect(await quiet.exec({ prompt: "hi" }, { ...flags, quiet: true })).toEqual({
      code: 0,
      stdout: "ten lines\n",
      stderr: "",
    });
    await using verbose = new Here(turns);
    const more = await verbose.exec({ prompt: "hi" }, { ...flags, verbose: true });
    expect(more.stderr).toContain("approved by mode");
    expect(more.stderr).toContain("10\noops\n");
    expect(more.stderr).toMatch(TOKENS);
    await using off = new Here(turns, { config: "[display]\nshow_tool_calls = false\nshow_tokens = true" });
    const few = await off.exec({ prompt: "hi" }, flags);
    expect(few.stderr).not.toContain("run_shell");
    expect(few.stderr).toMatch(TOKENS);
  });

  test("--json: one event a line, without secrets, and nothing else on stdout", async () => {
    await using here = new Here([shell("echo $((6*7))"), { text: "forty-two" }], {
      config: '[models.keyed]\napi_base_url = "http://127.0.0.1:9"\nmodel = "m"\n',
    });
    process.env.BUDDY_API_KEY = "sk-very-secret-1234567890";
    const { code, stdout } = await here.exec({ prompt: "my key is sk-very-secret-1234567890", json: true });
    expect(code).toBe(0);
    expect(stdout).not.toContain("very-secret");
    const events = eventsOf(stdout);
    expect(events[0]).toMatchObject({ type: "session" });
    expect(events.at(-1)).toMatchObject({ type: "done", status: "answered", text: "forty-two" });
    expect(events.filter(({ type }) => type === "tool_finished")).toHaveLength(1);
  });

  test("piped text is attached behind the prompt, fenced; alone it is the prompt", async () => {
    await using here = new Here([{ text: "ok" }, { text: "ok" }]);
    await here.exec({ prompt: "why?", stdin: "log with ``` in it\n" });
    const sent = here.model.requests[0]!.messages.at(-1)!.content;
    expect(sent).toMatch(/^why\?\n\n\S.*:\n\n````\n/);
    expect(sent).toEndWith("log with ``` in it\n````");
    await here.exec({ prompt: "-", stdin: "  the prompt  \n" });
    expect(here.model.requests[1]!.messages.at(-1)!.content).toBe("the prompt");
  });

  test("--last-message writes the answer, and a file that cannot be written is a usage error", async () => {
    await using here = new Here([{ text: "the answer" }, { text: "the answer" }]);
    const path = join(here.dir, "last.txt");
    expect(await here.exec({ prompt: "hi", lastMessage: path })).toMatchObject({ code: 0, stdout: "the answer\n" });
    expect(here.read("last.txt")).toBe("the answer\n");
    const full = await here.exec({ prompt: "hi", lastMessage: "/dev/full" });
    expect(full).toMatchObject({ code: 2, stdout: "the answer\n" });
    expect(full.stderr).toContain("/dev/full: ");
  });

  test("a --last-message that cannot be written is reported before anything is asked", async () => {
    await using here = new Here([]);
    for (const path of [join(here.write("file", "x"), "below-a-file"), join(here.dir, "nowhere/last.txt"), here.dir]) {
      const { code, stdout, stderr } = await here.exec({ prompt: "hi", lastMessage: path });
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toContain(` ${path}: `);
    }
    expect(here.model.requests).toHaveLength(0);
  });
});

test("on a terminal the answer is rendered as it comes, in colour, and what it waits for is shown", async () => {
  const text = "# Title\n\n- one **bold**\n- two\u001b]0;evil\u0007\n";
  await using here = new Here([shell("sleep 2.5; echo slept"), { text, reasoning: "let me think" }]);
  await using pty = new Pty(["sleep", "600"], { cols: 100 });
  const tty = openSync(readlinkSync(`/proc/${pty.pid}/fd/0`), constants.O_RDWR | constants.O_NOCTTY);
  const streams = { out: new Output(tty), err: new Output(tty) };
  const stdin = { kind: "none", read: () => Promise.resolve(undefined) } as const;
  const running = exec({ prompt: "hi", json: false }, here.globals({ "no-tmux": true, approve: "all" }), {
    ...streams,
    stdin,
  });
  await pty.until(/[⠋⠙⠸⠴⠦⠇] \S.* [12]s/);
  expect(await running).toBe(0);
  closeSync(tty);
  const screen = await pty.until("two");
  expect(screen).toContain("slept");
  expect(screen).toContain("let me think");
  expect(screen).not.toContain("**");
  expect(screen).not.toMatch(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/);
});

describe("exit codes", () => {
  test("3: no terminal to ask on; the answer is printed, and stderr says what it was and how to allow it", async () => {
    await using here = new Here([touch, { text: "I would have." }]);
    const { code, stdout, stderr } = await here.exec({ prompt: "go" });
    expect({ code, stdout }).toEqual({ code: 3, stdout: "I would have.\n" });
    expect(stderr).toContain("touch made");
    expect(stderr).toContain("--approve all");
    expect(existsSync(join(here.cwd, "made"))).toBe(false);
  });

  test("3: --approve is not recommended for what only a person approves", async () => {
    await using here = new Here([shell("redis-cli flushall", { mutation: true, risk: "high" }), { text: "No." }]);
    const { code, stderr } = await here.exec({ prompt: "go" });
    expect(code).toBe(3);
    expect(stderr).toContain("redis-cli flushall");
    expect(stderr).not.toContain("--approve all");
  });

  test("0: the operator approves on the terminal, wherever stdin and stdout lead", async () => {
    await using here = new Here([touch, { text: "made it" }]);
    await using pty = new Pty(["sleep", "600"], { cols: 100 });
    const tty = readlinkSync(`/proc/${pty.pid}/fd/0`);
    const terminal = () => openSync(tty, constants.O_RDWR | constants.O_NOCTTY);
    const running = here.exec({ prompt: "go", stdin: "n\nn\n", terminal });
    await pty.until(`touch made ${QUESTION.asked}`);
    pty.type("y");
    expect(await running).toMatchObject({ code: 0, stdout: "made it\n" });
    expect(existsSync(join(here.cwd, "made"))).toBe(true);
  });

  test("0: --approve none refuses, and the answer is an answer", async () => {
    await using here = new Here([touch, { text: "I would have." }]);
    const { code, stdout, stderr } = await here.exec({ prompt: "go" }, { "no-tmux": true, approve: "none" });
    expect({ code, stdout }).toEqual({ code: 0, stdout: "I would have.\n" });
    expect(stderr).toContain("touch made");
    expect(existsSync(join(here.cwd, "made"))).toBe(false);
  });

  test("1: the model fails, or goes round and round", async () => {
    await using here = new Here([
      { fault: { status: 400, body: { error: { message: "no such parameter" } } } },
      ...[1, 2, 3].map((n) => shell(`echo ${n}`)),
    ]);
    const failed = await here.exec({ prompt: "hi" });
    expect(failed).toMatchObject({ code: 1, stdout: "" });
    expect(failed.stderr).toContain("no such parameter");
    const round = await here.exec({ prompt: "hi", maxIterations: 2 });
    expect(round.code).toBe(1);
    expect(round.stderr).toMatch(naming(2, "--max-iterations"));
  });

  test("2: no prompt, a schema that is none, a broken configuration", async () => {
    await using here = new Here([]);
    expect(await here.exec({})).toMatchObject({ code: 2, stderr: expect.stringContaining("prompt") });
    expect(await here.exec({ prompt: " " })).toMatchObject({ code: 2 });
    const schema = here.write("schema.json", "[1]");
    expect(await here.exec({ prompt: "x", outputSchema: schema })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("schema.json"),
    });
    here.write("home/.config/buddy/buddy.toml", "[agent]\nmax_iterations = 'many'\n");
    const broken = await here.exec({ prompt: "x" });
    expect(broken.code).toBe(2);
    expect(broken.stderr).toContain("max_iterations");
    expect(here.model.requests).toHaveLength(0);
  });

  test("4: no key, with every way out", async () => {
    await using here = new Here([], {
      config: '[models.far]\napi_base_url = "https://api.example.com/v1"\nmodel = "m"\napi_key_env = "NO_SUCH_KEY"\n',
    });
    const { code, stderr } = await here.exec({ prompt: "x" }, { model: "far" });
    expect(code).toBe(4);
    expect(stderr).toContain("NO_SUCH_KEY");
    expect(stderr).toContain("--model demo");
  });

  test("1: a target that cannot be opened is an error, never this machine instead", async () => {
    await using here = new Here([touch, { text: "could not" }]);
    const { code, stderr } = await here.exec({ prompt: "x" }, { container: "no-such-container-here", approve: "all" });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^buddy: .*(no-such-container-here|docker|podman)/m);
    expect(existsSync(join(here.cwd, "made"))).toBe(false);
  });

  test("124: --timeout ends the run and the command", async () => {
    await using here = new Here([shell("sleep 300"), { text: "never" }]);
    const { code, stdout, stderr } = await here.exec(
      { prompt: "x", timeoutMs: 400 },
      { "no-tmux": true, approve: "all" },
    );
    expect({ code, stdout }).toEqual({ code: 124, stdout: "" });
    expect(stderr).toContain("--timeout (0.4 s)");
    expect(stderr).not.toContain("cancelled");
  });

  test("130: a signal ends the run, and leaves no listener behind", async () => {
    const before = process.listenerCount("SIGINT");
    await using here = new Here([
      () => {
        process.emit("SIGINT");
        return { text: "never" };
      },
    ]);
    const { code, stdout, stderr } = await here.exec({ prompt: "x" });
    expect({ code, stdout }).toEqual({ code: 130, stdout: "" });
    expect(stderr).toContain("interrupted");
    expect(process.listenerCount("SIGINT")).toBe(before);
  });
});

describe("--output-schema", () => {
  const SCHEMA = JSON.stringify({
    type: "object",
    properties: { n: { type: "integer" } },
    required: ["n"],
    additionalProperties: false,
  });

  test("a fenced answer is unwrapped; a wrong one is asked for again with what is wrong", async () => {
    await using here = new Here([{ text: "it is 3" }, { text: '{"n":"3"}' }, { text: '```json\n{"n":3}\n```' }]);
    const outputSchema = here.write("schema.json", SCHEMA);
    const { code, stdout } = await here.exec({
      prompt: "how many?",
      outputSchema,
      lastMessage: join(here.dir, "last"),
    });
    expect({ code, stdout }).toEqual({ code: 0, stdout: '{"n":3}\n' });
    expect(here.read("last")).toBe('{"n":3}\n');
    const prompts = here.model.requests.map(({ messages }) => messages.at(-1)!.content);
    expect(prompts[0]).toContain(SCHEMA);
    expect(prompts[1]).toContain("JSON: ");
    expect(prompts[2]).toContain(": /n ");
  });

  test("in the events, `done` holds the JSON alone, or says that the answer did not fit", async () => {
    await using here = new Here(["3", '```json\n{"n":3}\n```', "none", "none", "none"].map((text) => ({ text })));
    const outputSchema = here.write("schema.json", SCHEMA);
    const events = (text: string) =>
      text
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line));
    const good = await here.exec({ prompt: "how many?", outputSchema, json: true });
    expect(events(good.stdout).at(-1)).toMatchObject({ type: "done", status: "answered", text: '{"n":3}' });
    const bad = await here.exec({ prompt: "how many?", outputSchema, json: true });
    const [error, done] = events(bad.stdout).slice(-2);
    expect(error).toMatchObject({ type: "error", code: "model" });
    expect(done).toMatchObject({ type: "done", status: "failed", text: "none" });
    expect(bad.code).toBe(1);
  });

  test("after two repairs it is an error that shows the last answer", async () => {
    await using here = new Here(Array.from({ length: 3 }, () => ({ text: "no JSON" })));
    const outputSchema = here.write("schema.json", SCHEMA);
    const { code, stdout, stderr } = await here.exec({ prompt: "how many?", outputSchema });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain("no JSON");
  });
});

describe("sessions", () => {
  test("--resume continues with the conversation, --fork in a copy; buddy says what changed", async () => {
    await using here = new Here([{ text: "one" }, { text: "two" }, { text: "three" }, { text: "four" }], {
      config: '[models.other]\napi_base_url = "http://127.0.0.1:9/v1"\nmodel = "gpt-4.1"\n',
    });
    expect(await here.exec({ prompt: "first" })).toMatchObject({ code: 0, stdout: "one\n" });
    const ids = () => readdirSync(join(here.cwd, ".buddyx/sessions")).filter((name) => name.endsWith(".jsonl"));
    expect(ids()).toHaveLength(1);
    expect(await here.exec({ prompt: "second", resume: "last" })).toMatchObject({ code: 0, stdout: "two\n" });
    expect(here.model.requests[1]!.messages.map(({ content }) => content).slice(1)).toEqual(["first", "one", "second"]);
    expect(ids()).toHaveLength(1);
    expect(await here.exec({ prompt: "third", resume: "last", fork: true })).toMatchObject({ code: 0 });
    expect(ids()).toHaveLength(2);
    const other = await here.exec(
      { prompt: "fourth", resume: "last" },
      { "no-tmux": true, model: "test:gpt-4.1-mini" },
    );
    expect(other).toMatchObject({ code: 0, stdout: "four\n" });
    expect(other.stderr).toMatch(/gpt-4o\b.*gpt-4\.1-mini/);
    const none = await here.exec({ prompt: "x", resume: "zzzz" });
    expect(none.code).not.toBe(0);
    expect(none.stderr).toContain("zzzz");
  });
});

test("instructions of the operator are in the prompt, from the repository root down", async () => {
  await using here = new Here([{ text: "ok" }], { config: "" });
  here.write("home/.config/buddy/AGENTS.md", "global rule");
  here.write("cwd/.git/HEAD", "");
  here.write("cwd/AGENTS.md", "root rule");
  here.write("cwd/deep/AGENTS.md", "deep rule");
  process.chdir(join(here.cwd, "deep"));
  expect((await here.exec({ prompt: "hi" })).code).toBe(0);
  const prompt = here.model.requests[0]!.messages[0]!.content;
  const places = ["global rule", "root rule", "deep rule"].map((rule) => prompt.indexOf(rule));
  expect(places.every((place, i) => place > (places[i - 1] ?? 0))).toBe(true);
  expect(prompt).toContain(` ${here.cwd}/AGENTS.md:`);
});

test("fetch_url through the policy of the configuration", async () => {
  const html = () => new Response("<h1>Hello</h1>", { headers: { "content-type": "text/html" } });
  await using page = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: html });
  const turns = [call("fetch_url", { url: `http://127.0.0.1:${page.port}/` }), { text: "ok" }];
  await using refused = new Here(turns);
  await refused.exec({ prompt: "x" });
  expect(String(refused.results()[0])).toStartWith(RESULT.notFetched);
  await using allowed = new Here(turns, { config: '[tools]\nfetch_allowed_domains = ["127.0.0.1"]\n' });
  await allowed.exec({ prompt: "x" });
  expect(JSON.stringify(allowed.results()[0])).toContain("Hello");
});
