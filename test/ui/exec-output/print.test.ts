/** What a person sees of `exec`: events in, bytes of stdout and stderr out. */
import { describe, expect, test } from "bun:test";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AgentEvent, AgentEventBody } from "../../../src/agent/events.ts";
import { Output } from "../../../src/lib/output.ts";
import { redactedStream } from "../../../src/lib/secrets/redact.ts";
import { until } from "../../support/until.ts";
import { JsonLines } from "../../../src/ui/exec-output/jsonl.ts";
import { Printer, type PrintOptions } from "../../../src/ui/exec-output/print.ts";

const full = (body: unknown): AgentEvent =>
  ({ v: 1, ts: "2026-01-01T00:00:00.000Z", session: "s", target: "local", ...(body as AgentEventBody) }) as AgentEvent;

async function shown(events: readonly unknown[], options: Partial<PrintOptions> = {}) {
  const dir = mkdtempSync(join(tmpdir(), "buddy-print-"));
  const [out = -1, err = -1] = ["out", "err"].map((name) => openSync(join(dir, name), "w"));
  try {
    const outs = { out: new Output(out), err: new Output(err) };
    const printer = new Printer({
      ...outs,
      stream: false,
      live: false,
      color: false,
      theme: "dark",
      quiet: false,
      verbose: false,
      showToolCalls: true,
      showReasoning: true,
      showTokens: false,
      holdAnswer: false,
      redact: (text) => text.replaceAll("s3cret", "***"),
      hideSecrets: (text) => text,
      ...options,
    });
    for (const event of events) await printer.show(full(event));
    await Promise.all([outs.out.flush(), outs.err.flush()]);
    return { out: readFileSync(join(dir, "out"), "utf8"), err: readFileSync(join(dir, "err"), "utf8") };
  } finally {
    closeSync(out);
    closeSync(err);
    rmSync(dir, { recursive: true, force: true });
  }
}

const message = (content: string, toolCalls: unknown[] = []) => ({
  type: "message",
  message: { role: "assistant", content, toolCalls },
});
const DONE = { type: "done", turn: 1, status: "answered", text: "", iterations: 1, ms: 1 };

describe("the answer", () => {
  test("in a pipe it comes once, whole and verbatim, and what came before a tool call goes to stderr", async () => {
    const { out, err } = await shown([
      { type: "text", delta: "Let me" },
      message("Let me see.", [{ id: "1", name: "time", arguments: "{}" }]),
      { type: "text", delta: "It is" },
      message("It is \u001b[1mfive\n"),
      message("  "),
      DONE,
    ]);
    expect(out).toBe("It is \u001b[1mfive\n");
    expect(err).toBe("Let me see.\n");
  });

  test("on a terminal it is streamed, without what could command the terminal", async () => {
    const events = [
      { type: "text", delta: "a\u001b]52;c;eA==\u0007" },
      { type: "text", delta: "b" },
      message("ab"),
      DONE,
    ];
    expect((await shown(events, { stream: true })).out).toBe("ab\n");
    expect((await shown(events, { stream: true, holdAnswer: true })).out).toBe("");
  });

  test("rendered rows come as they are finished, and what is left at the end", async () => {
    const rows = () => {
      let text = "";
      let finished: string[] = [];
      return {
        push(more: string) {
          const lines = (text + more).split("\n");
          text = lines.pop() ?? "";
          finished.push(...lines.map((line) => `| ${line}`));
        },
        end: () => void finished.push(`| ${text}`),
        take: () => finished.splice(0),
      };
    };
    const { out } = await shown(
      [{ type: "text", delta: "one\ntw" }, { type: "text", delta: "o" }, message("one\ntwo"), DONE],
      { stream: true, rows },
    );
    expect(out).toBe("| one\n| two\n");
  });

  test("a part that is withdrawn is marked", async () => {
    const { out, err } = await shown(
      [{ type: "text", delta: "half" }, { type: "discard" }, { type: "discard" }, DONE],
      {
        stream: true,
      },
    );
    expect(out).toBe("half\n");
    expect(err).toBe("connection lost; ignore the text above\n");
  });
});

describe("everything else", () => {
  test("several machines are named once, before anything runs there; -q does not", async () => {
    const places = ["web01", "web02", "db"].map((name) => ({ name, path: [] }));
    const session = { type: "session", buddy: "1", cwd: "/", profile: "p", model: "m", places };
    const events = [session, session, DONE];
    expect((await shown(events)).err).toBe("on       3 machines: web[01-02],db\n");
    expect((await shown(events, { quiet: true })).err).toBe("");
    expect((await shown([{ ...session, places: places.slice(1, 2) }, DONE])).err).toBe("");
  });

  test("warnings, retries and news of the target; -q keeps warnings only", async () => {
    const events = [
      { type: "session", buddy: "1", cwd: "/", profile: "p", model: "m", attach: "tmux attach" },
      { type: "session", buddy: "1", cwd: "/", profile: "p", model: "m", attach: "tmux attach" },
      { type: "retry", host: "api", reason: "HTTP 503", wait_ms: 2_000, attempt: 1, of: 4 },
      { type: "warning", message: "80 % used", hint: "compact" },
      { type: "warning", message: "plain s3cret" },
      { type: "notice", kind: "info", message: "fyi" },
      { type: "notice", kind: "reconnecting", message: "dropped" },
      { type: "compacted", before_tokens: 100, after_tokens: 10, summary: "what was" },
      { type: "tool_output", call: "1", stream: "info", text: "type the password there\n" },
      { type: "error", code: "model", message: "x" },
      DONE,
    ];
    expect((await shown(events)).err.split("\n")).toEqual([
      "watch    tmux attach",
      expect.stringMatching(/^api: HTTP 503.* 2\.0s \(1\/4\)$/),
      "80 % used. compact",
      "plain ***",
      "fyi",
      "dropped",
      expect.stringMatching(/ 100 → 10 .*:$/),
      "what was",
      "type the password there",
      "",
    ]);
    const quiet = (await shown(events, { quiet: true })).err;
    expect(quiet).not.toMatch(/watch|fyi|compacted/);
    expect(quiet).toContain("dropped");
  });

  test("reasoning is shown where someone watches or asks for more, dimmed", async () => {
    const events = [{ type: "reasoning", delta: "think" }, { type: "reasoning", delta: "ing" }, DONE];
    expect((await shown(events)).err).toBe("");
    expect((await shown(events, { verbose: true, color: true })).err.replaceAll(/\u001b\[[\d;]*m/g, "")).toBe(
      "thinking\n",
    );
    expect((await shown(events, { verbose: true, showReasoning: false })).err).toBe("");
  });

  test("a tool whose title is its name is named once", async () => {
    const events = [
      { type: "tool_started", call: "1", tool: "time", title: "time", args: {} },
      { type: "tool_finished", call: "1", tool: "time", ok: true, outcome: "done", ms: 1, result: '{"result":"now"}' },
      DONE,
    ];
    expect((await shown(events)).err).toBe("● time\n  now\n");
  });

  test("tool calls in colour, results clipped; live output by whole lines without secrets", async () => {
    const events = [
      { type: "tool_started", call: "1", tool: "run_shell", title: `echo s3cret ${"x".repeat(300)}`, args: {} },
      { type: "tool_output", call: "1", stream: "stdout", text: "s3c" },
      { type: "tool_output", call: "1", stream: "stdout", text: "ret one\ntwo" },
      {
        type: "tool_finished",
        call: "1",
        tool: "run_shell",
        ok: true,
        outcome: "exited",
        ms: 1,
        result: '{"result":{"a":1}}',
      },
      {
        type: "tool_finished",
        call: "2",
        tool: "x",
        ok: true,
        outcome: "done",
        ms: 1,
        result: "no JSON",
        display: "l\n".repeat(5),
      },
      { type: "tool_finished", call: "3", tool: "x", ok: true, outcome: "done", ms: 1, result: "no JSON" },
    ];
    const plain = (await shown(events)).err;
    expect(plain).toStartWith("● echo *** xxx");
    expect(plain.split("\n")[0]).toEndWith("…  run_shell");
    expect(plain).toContain("  *** one\n  two\n");
    expect(plain).toContain("● x\n  no JSON\n");
    const verbose = (await shown(events, { verbose: true, color: true })).err;
    expect(verbose).toContain("*** one\n");
    expect(verbose).toContain("two\n");
    expect(verbose.split("*** one")).toHaveLength(2);
    expect((await shown(events, { showToolCalls: false })).err).toBe("");
  });

  test("tokens and cost at the end", async () => {
    const usage = {
      type: "usage",
      total_input: 1200,
      total_output: 30,
      context_used: 500,
      context_limit: 1000,
      estimated: true,
    };
    expect((await shown([usage, DONE])).err).toBe("");
    expect((await shown([usage, DONE], { showTokens: true })).err).toBe(
      "about 1200 tokens in, 30 out; 50 % of the context used\n",
    );
    const priced = { ...usage, estimated: false, total_cost_usd: 0.01234 };
    expect((await shown([priced, DONE], { verbose: true })).err).toStartWith("1200 tokens in, 30 out, $0.0123;");
  });
});

test("--json: secrets are taken out of every text inside, at any depth", async () => {
  const dir = mkdtempSync(join(tmpdir(), "buddy-json-"));
  const fd = openSync(join(dir, "out"), "w");
  const lines = new JsonLines(
    new Output(fd),
    (text) => text.replaceAll('k"ey', "***"),
    () => redactedStream([]),
  );
  await lines.show(full({ type: "tool_started", call: "1", tool: "t", title: 'k"ey', args: { a: ['k"ey', 1, null] } }));
  closeSync(fd);
  const [line = ""] = readFileSync(join(dir, "out"), "utf8").split("\n");
  rmSync(dir, { recursive: true, force: true });
  expect(JSON.parse(line)).toMatchObject({ title: "***", args: { a: ["***", 1, null] } });
});

test("--json: lines of many machines leave together, in order, and wait for a reader that is slow", async () => {
  const dir = mkdtempSync(join(tmpdir(), "buddy-json-"));
  const pipe = join(dir, "pipe");
  Bun.spawnSync(["mkfifo", pipe]);
  const fd = openSync(pipe, "r+");
  const out = new Output(fd);
  const lines = new JsonLines(
    out,
    (text) => text,
    () => redactedStream([]),
  );
  const count = 8_000;
  let shown = 0;
  const show = async (): Promise<void> => {
    for (; shown < count; shown++)
      await lines.show(
        full({ type: "machine_finished", call: "1", machine: `web${shown}`, ok: true, outcome: "exited", ms: 1 }),
      );
    await out.flush();
  };
  const showing = show();
  await until(() => shown > 100, "they do not wait for each other");
  const reader = Bun.spawn(["head", "-n", String(count), pipe], { stdout: "pipe" });
  let text = "";
  let most = 0;
  for await (const chunk of reader.stdout) {
    text += Buffer.from(chunk).toString();
    most = Math.max(most, shown - text.split("\n").length);
  }
  await showing;
  closeSync(fd);
  rmSync(dir, { recursive: true, force: true });
  const names = text.trimEnd().split("\n");
  expect(names.map((line) => (JSON.parse(line) as { machine: string }).machine)).toEqual(
    Array.from({ length: count }, (_, at) => `web${at}`),
  );
  expect(most).toBeLessThan(count / 2);
});

test("-q was not quiet about retries", async () => {
  const retry = { type: "retry", host: "api", reason: "HTTP 503", wait_ms: 2_000, attempt: 1, of: 4 };
  expect((await shown([retry, message("ok"), DONE], { quiet: true })).err).toBe("");
});

test.each([
  [{ result: '{"result":"/dev/sda1 100%\\n"}' }, "/dev/sda1 100%\n"],
  [{ result: '{"result":{"shell_id":"s1"}}' }, '{\n  "shell_id": "s1"\n}'],
  [{ result: '{"result":"for the model"}', display: "a diff" }, "a diff"],
  [{ result: "not an envelope" }, "not an envelope"],
])("--json: tool_finished has its output as plain text: %j", async (fields, output) => {
  const dir = mkdtempSync(join(tmpdir(), "buddy-json-"));
  const fd = openSync(join(dir, "out"), "w");
  const lines = new JsonLines(
    new Output(fd),
    (text) => text,
    () => redactedStream([]),
  );
  await lines.show(full({ type: "tool_finished", call: "1", tool: "t", ok: true, outcome: "done", ms: 1, ...fields }));
  closeSync(fd);
  const [line = ""] = readFileSync(join(dir, "out"), "utf8").split("\n");
  rmSync(dir, { recursive: true, force: true });
  expect(JSON.parse(line)).toMatchObject({ output });
});

test.each([
  ["dark", "\u001b[1;33mcareful\u001b[22;39m\n"],
  ["light", "\u001b[1;35mcareful\u001b[22;39m\n"],
  ["none", "careful\n"],
] as const)("a warning in the theme %s", async (theme, line) => {
  expect((await shown([{ type: "warning", message: "careful" }], { color: true, theme })).err).toContain(line);
});
