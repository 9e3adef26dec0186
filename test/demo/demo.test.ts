/** The demo model and the tour, with tools that really run on this machine. */
import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { withAttachment } from "../../src/cli/commands/exec/exec-input.ts";
import { loadOutputSchema } from "../../src/cli/commands/exec/final-answer.ts";
import { createDemoClient } from "../../src/demo/demo-client.ts";
import type { Message, ModelRequest, ToolDefinition } from "../../src/model/types.ts";
import { done } from "../support/model.ts";
import { DEMO } from "../support/wording.ts";
import { needs } from "../support/needs.ts";

const SHELL_FIELDS = ["command", "mode", "risk", "mutation", "privesc", "why"];
const TOOLS: ToolDefinition[] = [
  tool("run_shell", SHELL_FIELDS),
  tool("read_file", ["path"]),
  tool("fetch_url", ["url"]),
  tool("web_search", ["query"]),
  tool("shell_output", ["shell_id"]),
];

function tool(name: string, fields: string[]): ToolDefinition {
  return {
    name,
    description: name,
    parameters: { type: "object", properties: Object.fromEntries(fields.map((field) => [field, {}])) },
  };
}

type Args = Record<string, unknown>;
type Run = (name: string, args: Args) => unknown;

/** Runs commands with sh and words their outcome as buddy's tools do. */
const really: Run = (name, args) => {
  if (name !== "run_shell") return `${name} ${JSON.stringify(args)}`;
  if (String(args["command"]).includes("rm -rf /"))
    return "Not allowed: it removes everything. Name the directory you mean.";
  const { exitCode, stdout, stderr } = Bun.spawnSync(["sh", "-c", String(args["command"])]);
  const text = `${stdout}${stderr}`.trimEnd();
  return exitCode === 0 ? text || "(no output)" : `[command failed: exit code ${exitCode}]\n${text}`;
};

async function converse(
  prompt: string,
  run: Run = really,
  options: {
    tools?: ToolDefinition[];
    demo?: "demo" | "tour";
    schema?: Record<string, unknown>;
    history?: Message[];
  } = {},
) {
  const client = createDemoClient(options.demo);
  const messages: Message[] = [...(options.history ?? []), { role: "user", content: prompt }];
  const calls: { name: string; args: Args }[] = [];
  const said: string[] = [];
  for (let turn = 0; turn < 12; turn++) {
    const request: ModelRequest = {
      messages,
      tools: options.tools ?? TOOLS,
      ...(options.schema && { outputSchema: options.schema }),
    };
    const { message } = await done(client, request);
    messages.push(message);
    if (message.content) said.push(message.content);
    if (message.toolCalls.length === 0) return { answer: message.content ?? "", calls, said, messages };
    for (const call of message.toolCalls) {
      const args = JSON.parse(call.arguments) as Args;
      calls.push({ name: call.name, args });
      const result = run(call.name, args);
      const content = JSON.stringify({ harness_timestamp: { source: "harness", unix_millis: 1 }, result });
      messages.push({ role: "tool", callId: call.id, name: call.name, content });
    }
  }
  throw new Error("the conversation did not end");
}

test("run: uses run_shell with its required fields and reports what really came out", async () => {
  const { answer, calls } = await converse("run: echo fox-$((6*7))");
  expect(calls).toHaveLength(1);
  expect(calls[0]).toMatchObject({
    name: "run_shell",
    args: { command: "echo fox-$((6*7))", risk: "low", mutation: false, privesc: false },
  });
  expect(String(calls[0]?.args["why"])).not.toBe("");
  expect(answer).toContain("fox-42");
});

const procps = await needs("ps");
const checkout = await needs("checkout");

describe("demo", () => {
  test("says of itself that it is a script, and what it understands", async () => {
    const { answer, calls } = await converse("Hello, who are you?");
    expect(calls).toEqual([]);
    expect(answer).toContain(DEMO.isScript);
    for (const verb of ["run:", "read:", "fetch:", "search:"]) expect(answer).toContain(verb);
  });

  test("read, fetch, search use their tools", async () => {
    const { calls, answer } = await converse(
      "read: /etc/hostname\nfetch: https://example.org/\nsearch: tmux control mode",
    );
    expect(calls).toEqual([
      { name: "read_file", args: { path: "/etc/hostname" } },
      { name: "fetch_url", args: { url: "https://example.org/" } },
      { name: "web_search", args: { query: "tmux control mode" } },
    ]);
    expect(answer).toContain("`/etc/hostname` contains");
  });

  test("what exec adds below a prompt is not part of its command", async () => {
    const { calls } = await converse(withAttachment("run: echo one", "run: echo attached\n"));
    expect(calls.map(({ args }) => args["command"])).toEqual(["echo one"]);
    const path = join(mkdtempSync(join(tmpdir(), "buddy-demo-")), "schema.json");
    writeFileSync(path, '{"type":"object"}');
    const { instruction } = await loadOutputSchema(path);
    rmSync(dirname(path), { recursive: true });
    const schema = await converse(`run: echo two\n\n${instruction}`, really, { schema: { type: "object" } });
    expect(schema.calls.map(({ args }) => args["command"])).toEqual(["echo two"]);
    const noted = await converse(
      "run: echo three\n\n[What the operator wrote about this machine:\n\n- It is labelled PROD.]",
    );
    expect(noted.calls.map(({ args }) => args["command"])).toEqual(["echo three"]);
  });

  test("commands over several lines are one command; attached text is data", async () => {
    const { calls } = await converse("run: cat <<EOF\nrun away\nEOF\n\n```\nrun: echo attached\n```");
    expect(calls.map((call) => call.args["command"])).toEqual(["cat <<EOF\nrun away\nEOF"]);
  });

  test("several directives are done one after the other", async () => {
    const { answer, calls } = await converse("run: echo one\nrun: echo two");
    expect(calls.map((call) => call.args["command"])).toEqual(["echo one", "echo two"]);
    expect(answer.indexOf("one")).toBeLessThan(answer.indexOf("two"));
  });

  test("what changes something is declared so", async () => {
    const { calls } = await converse("run: sudo rm -r /tmp/x", () => "The operator refused this: not today");
    expect(calls[0]?.args).toMatchObject({ risk: "high", mutation: true, privesc: true });
    const touch = await converse("run: touch x", () => "(no output)");
    expect(touch.calls[0]?.args).toMatchObject({ risk: "medium", mutation: true, privesc: false });
    expect(touch.answer).toContain("no output");
  });

  test.each([
    ["[command failed: exit code 3]\nno such thing", "exit code 3"],
    ["[command timed out after 2m]\nhalf", "did not finish in time"],
    ["Not allowed: it is dangerous. Use less.", "the policy does not allow it: it is dangerous"],
    ["The operator refused this: later", "later"],
    ["Refused: nobody can approve it. Do not retry it.", "was not run: nobody can approve it."],
    ["[the shell ended with exit code 3]\nThe next command gets a new shell.", "did not end as usual"],
    ["Not fetched: 127.0.0.1 is a loopback address.", "did not work: 127.0.0.1 is a loopback address."],
    ["[dry run] would run: x", "dry run"],
    ["operation cancelled by user", "was cancelled"],
    ["nobody\n/home", "succeeded"],
    ["error: unknown tool", "did not work: unknown tool"],
    ["The search failed: no network. Go on.", "did not work: no network."],
    ["DuckDuckGo blocked this search as automated (HTTP 202).", "did not work: DuckDuckGo blocked"],
  ])("result %j is reported as %j", async (result, words) => {
    expect((await converse("run: x", () => result)).answer).toContain(words);
  });

  test("a structured error, a background shell, results as a list", async () => {
    expect((await converse("read: x", () => ({ error: "no such file" }))).answer).toContain("no such file");
    const shell = { shell_id: "bg-1", pid: 42, output_file: "/tmp/o" };
    expect((await converse("background: make", () => shell)).answer).toContain("bg-1, pid 42");
    const results = { results: [{ title: "T", url: "https://e.org", snippet: "S" }] };
    expect((await converse("search: t", () => results)).answer).toContain("T · https://e.org · S");
  });

  test("a tool that is not offered is named, not called", async () => {
    const { answer, calls } = await converse("run: ls", really, { tools: [] });
    expect(calls).toEqual([]);
    expect(answer).toContain("`run_shell`");
  });

  test("disk: from the real df", async () => {
    const { answer } = await converse("How full is the disk?");
    expect(answer).toMatch(/is \d+ % full: \S+ of \S+ used/);
  });

  test("disk: a full one needs attention", async () => {
    const { answer } = await converse(
      "disk?",
      () => "Filesystem Size Used Avail Capacity Mounted on\n/dev/sda1 30G 29G 1G 97% /\ntmpfs 1G 1G 0 100% /run",
    );
    expect(answer).toContain("/ is nearly full and needs attention");
    expect(answer).not.toContain("/run");
  });

  test("memory: from the real free, or what there is where it is missing", async () => {
    expect((await converse("Is there enough memory?")).answer).toMatch(/Memory: [\d.]+ GiB of [\d.]+ GiB used/);
    const without = (instead: string) =>
      converse("memory", (_, args) =>
        args["command"] === "free -m" ? "[command failed: exit code 127]\nfree: not found" : instead,
      );
    expect((await without("Pages free: 5")).answer).toContain("Pages free: 5");
    const meminfo = "MemTotal: 4194304 kB\nMemFree: 1 kB\nMemAvailable: 1048576 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB";
    expect((await without(meminfo)).answer).toContain("Memory: 3.0 GiB of 4.0 GiB used, 1.0 GiB available");
  });

  procps.test("processes: from the real ps", async () => {
    expect((await converse("Which processes are busy?")).answer).toMatch(/pid \d+.*% CPU/);
  });

  test("processes: a plain ps where it knows no options", async () => {
    const { calls } = await converse("processes", (_, args) =>
      args["command"] === "ps" ? "PID TTY\n1 ?" : "ps: unknown option",
    );
    expect(calls.map((call) => call.args["command"])).toEqual(["uptime", expect.stringContaining("ps -eo"), "ps"]);
  });

  checkout.test("this repository: from the real git; and a directory without one", async () => {
    expect((await converse("What about this repository?")).answer).toMatch(/The branch is `.+` and/);
    const { answer } = await converse("repository", (_, args) =>
      args["command"] === "ls -1" ? "a\nb" : "[command failed: exit code 128]\nfatal: not a git repository",
    );
    expect(answer).toContain("not a git repository");
    expect(answer).toContain("2 entries");
  });

  test("the earlier turns of a session do not confuse the next one", async () => {
    const first = await converse("run: echo first");
    const { answer, calls } = await converse("run: echo second", really, { history: first.messages });
    expect(calls).toHaveLength(1);
    expect(answer).toContain("second");
  });

  test("an output schema is filled", async () => {
    const schema = {
      type: "object",
      required: ["answer", "level"],
      properties: {
        answer: { type: "string" },
        level: { enum: ["low", "high"] },
        list: { type: "array", items: { $ref: "#/$defs/n" }, minItems: 2 },
        ok: { type: "boolean" },
        none: { type: ["null", "string"] },
        one: { anyOf: [{ const: 7 }] },
      },
      $defs: { n: { type: "integer", minimum: 3 } },
    };
    const { answer } = await converse("run: echo fox", really, { schema });
    expect(JSON.parse(answer)).toMatchObject({
      answer: expect.stringContaining("fox"),
      level: "low",
      list: [3, 3],
      ok: false,
      none: null,
      one: 7,
    });
  });

  test("a request to compact is answered with the lines that matter", async () => {
    const client = createDemoClient();
    const messages: Message[] = [
      { role: "system", content: "You compact the log of a session" },
      { role: "user", content: "## user\nrun: df\n\n## assistant\ncalls run_shell {}" },
    ];
    expect((await done(client, { messages, tools: [] })).message.content).toContain("asked: run: df");
  });
});

describe("tour", () => {
  const background = { shell_id: "bg-1", pid: 7, output_file: "/tmp/o" };
  const answers =
    (change: unknown): Run =>
    (name, args) => {
      if (name === "shell_output") return { shell_id: "bg-1", status: "running", stdout: "step 1\n", stderr: "" };
      if (args["mode"] === "background") return background;
      return args["mutation"] === true && !String(args["command"]).includes("rm -rf")
        ? change
        : really(name, { ...args, command: String(args["command"]).replace(/^cat .*/, "echo written by buddy demo") });
    };

  test("looks, asks, is blocked, starts a background shell, says what is next", async () => {
    const { calls, said, answer } = await converse("tour", answers("(no output)"), { demo: "tour" });
    expect(calls.map((call) => call.args["command"] ?? call.name)).toEqual([
      "uname -sr",
      "df -hP /",
      expect.stringContaining("/tmp/buddy-demo-"),
      "false && rm -rf /",
      expect.stringContaining("step"),
      "shell_output",
      expect.stringContaining("cat "),
    ]);
    expect(calls[4]?.args["mode"]).toBe("background");
    expect(said[0]).toContain(DEMO.isScript);
    expect(said.join("\n")).toContain("It was blocked.");
    expect(answer).toContain("step 1");
    expect(answer).toContain("buddy login");
  });

  test.each([
    ["The operator refused this.", DEMO.notWritten],
    ["[dry run] would run: echo", "dry run"],
    ["[command failed: exit code 1]\nread-only file system", "read-only file system"],
  ])("continues after %j", async (result, words) => {
    const { said, answer } = await converse("tour", answers(result), { demo: "tour" });
    expect(said.join("\n")).toContain(words);
    expect(answer).toContain(DEMO.end);
  });
});
