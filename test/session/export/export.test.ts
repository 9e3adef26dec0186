import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AgentEventBody } from "../../../src/agent/events.ts";
import { exportHtml } from "../../../src/session/export/html.ts";
import { exportCast } from "../../../src/session/export/cast.ts";
import { exportScript } from "../../../src/session/export/script.ts";
import { exportMarkdown, readTranscript, summaryOf } from "../../../src/session/export/transcript.ts";
import { needs } from "../../support/needs.ts";

const browser = await needs("chromium");

const stamp = {
  v: 1,
  ts: "2026-01-02T03:04:05.678Z",
  session: "aaaa-bbbb-cccc-dddd",
  target: "ssh deploy@web1",
} as const;
const hostile = `<script>document.title="pwned"</script><img src=x onerror="document.title='pwned'">`;
const tool = { tool: "run_shell", ms: 1 } as const;
const call = (id: string, args: unknown, name = "run_shell") => ({ id, name, arguments: JSON.stringify(args) });
const asked = {
  tool: "run_shell",
  where: "deploy@web1",
  risk: "low",
  mutation: true,
  privesc: false,
  why: "w",
  policy: "p",
} as const;
const bodies: AgentEventBody[] = [
  {
    type: "session",
    buddy: "0.1.0",
    profile: "p",
    model: "m",
    api: "completions",
    cwd: "/",
    user: "deploy",
    host: "web1",
  },
  { type: "turn", turn: 1, prompt: `clean up ${hostile}` },
  {
    type: "message",
    message: {
      role: "assistant",
      content: null,
      reasoning: "think first",
      toolCalls: [
        call("c1", { command: "rm -r old ```" }),
        call("c2", { path: "/etc/motd" }, "read_file"),
        call("c3", { command: "echo no" }),
        { id: "c4", name: "run_shell", arguments: "{broken" },
        call("c5", { steps: [{ step: "look", state: "done" }] }, "plan"),
      ],
    },
  },
  {
    type: "tool_finished",
    call: "c5",
    tool: "plan",
    ms: 1,
    ok: true,
    outcome: "done",
    result: "",
    display: "[x] look",
  },
  { type: "approval_asked", approval: "1", call: "c1", action: "rm -r old", understated: false, ...asked },
  { type: "approval_answered", approval: "1", call: "c1", decision: "approved", by: "operator", edited: "rm -r ./old" },
  { type: "approval_answered", approval: "2", call: "c3", decision: "denied", by: "operator", reason: "not today" },
  { type: "approval_answered", approval: "3", call: "c4", decision: "denied", by: "no-terminal" },
  {
    type: "tool_finished",
    call: "c1",
    ok: false,
    outcome: "exited",
    exit_code: 2,
    result: JSON.stringify({ result: `out ${hostile}\u001b[31m` }),
    ...tool,
  },
  {
    type: "tool_finished",
    call: "c2",
    ok: true,
    outcome: "ok",
    result: JSON.stringify({ result: { lines: 3 } }),
    ...tool,
    tool: "read_file",
  },
  { type: "tool_finished", call: "c3", ok: false, outcome: "denied", result: "not json", ...tool },
  { type: "compacted", summary: "all before", before_tokens: 9, after_tokens: 2, replaced: 1 },
  { type: "warning", message: "80 % of the window is used" },
  {
    type: "message",
    message: {
      role: "assistant",
      content: `# Done ${hostile}\n\n[go](javascript:alert(1)) ![pic](http://127.0.0.1:9/p.png) [ok](https://example.com)`,
      toolCalls: [],
    },
  },
  { type: "done", turn: 1, status: "cancelled", text: "", iterations: 2, ms: 9 },
];

let directory: string;
let path: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "buddy-export-"));
  path = join(directory, "s.jsonl");
  writeFileSync(path, `${bodies.map((body) => JSON.stringify({ ...stamp, ...body })).join("\n")}\n{torn`);
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

describe("export", () => {
  test("Markdown has prompts, answers, commands with exit codes, and who approved what", () => {
    const text = [...exportMarkdown(readTranscript(path, "aaaa-bbbb-cccc-dddd"))].join("");
    expect(text).toContain("# buddy session aaaa-bbbb-cccc-dddd");
    expect(text).toContain("- damaged lines skipped: 1");
    expect(text).toContain("- target: ssh deploy@web1, deploy@web1");
    expect(text).toContain("exit code 2 · approved by the operator");
    expect(text).toContain("denied by the operator: not today");
    expect(text).toContain("````text\n# the model proposed: rm -r old ```\n$ rm -r ./old"); // the fence is longer than what it holds
    expect(text).toContain("> (reasoning) think first");
    expect(text).toContain("{broken");
    expect(text).toContain("denied: no terminal to ask on");
    expect(text).toContain("The turn ended: cancelled");
  });

  test("a plan is its checklist, not the arguments it was made of", () => {
    const transcript = readTranscript(path, "aaaa-bbbb-cccc-dddd");
    expect([...exportMarkdown(transcript)].join("")).toContain("```text\n[x] look\n```");
    const pages = [exportMarkdown, exportHtml].map((make) => [...make(transcript)].join(""));
    for (const page of pages) {
      expect(page).toContain("[x] look");
      expect(page).not.toContain('"steps"');
    }
  });

  test("a tool that worked was painted as failed unless it was a command", () => {
    const page = [...exportHtml(readTranscript(path, "aaaa-bbbb-cccc-dddd"))].join("");
    const tools = [...page.matchAll(/<section class="(tool[^"]*)">.*?<b>(\w+)<\/b>/gs)].map(
      ([, style, name]) => `${name}: ${style}`,
    );
    expect(tools).toContain("read_file: tool");
    expect(tools).toContain("run_shell: tool failed");
  });

  test("a story told by the effects: when they happened, what was stopped, what was undone, and where", () => {
    const at = (time: string, body: AgentEventBody) => ({ ...stamp, ts: `2026-01-02T03:${time}.000Z`, ...body });
    const began = (time: string) => `2026-01-02T03:${time}.000Z`;
    const of = (id: string, name = "run_shell") => ({
      call: id,
      tool: name,
      ms: 6000,
      ok: true,
      result: '{"result":"r"}',
    });
    const log = join(directory, "story.jsonl");
    const answered = { type: "approval_answered", approval: "1", decision: "approved", by: "operator" } as const;
    const events = [
      at("00:00", { type: "turn", turn: 1, prompt: "raise the limit" }),
      at("00:05", {
        type: "message",
        message: {
          role: "assistant",
          content: null,
          toolCalls: [
            call("late", { command: "sed -i s/1/2/ app.conf" }),
            call("stopped", { command: "sleep 100" }),
            call("refused", { command: "reboot" }),
            call("fleet", { command: "uptime" }),
          ],
        },
      }),
      at("00:49", { ...answered, call: "late" }),
      at("00:50", { type: "tool_finished", ...of("late"), outcome: "exited", exit_code: 0, began: began("00:49") }),
      at("00:56", { type: "tool_finished", ...of("stopped"), ok: false, outcome: "timeout", began: began("00:50") }),
      at("00:57", { type: "tool_finished", ...of("refused"), ok: false, outcome: "timeout" }),
      at("01:10", { ...answered, call: "fleet", machines: ["h1"] }),
      at("01:20", { ...answered, call: "fleet", decision: "denied", machines: ["h2", "h3"], reason: "not now" }),
      at("01:21", {
        type: "tool_finished",
        ...of("fleet"),
        outcome: "exited",
        began: began("01:11"),
        machines: [
          { machine: "h1", ok: true, outcome: "exited", exit_code: 0, ms: 1 },
          { machine: "h2", ok: false, outcome: "denied", ms: 0 },
          { machine: "h3", ok: false, outcome: "denied", ms: 0 },
        ],
      }),
      at("01:22", { type: "done", turn: 1, status: "answered", text: "", iterations: 1, ms: 1 }),
      at("02:01", { ...answered, call: "operator-1" }),
      at("02:02", {
        type: "tool_finished",
        ...of("operator-1", "undo"),
        outcome: "done",
        began: began("02:01"),
        title: "change 1: app.conf",
        result: '{"result":"restored app.conf: it is as it was before change 1"}',
      }),
      at("02:03", { type: "turn", turn: 2, prompt: "I undid file changes myself", shown: "/undo 1" }),
    ];
    writeFileSync(log, events.map((event) => `${JSON.stringify(event)}\n`).join(""));
    const transcript = readTranscript(log, "aaaa-bbbb-cccc-dddd");
    const tools = [...transcript.entries].flatMap((entry) =>
      entry.kind === "tool"
        ? [[entry.at.slice(14, 19), entry.tool.name, summaryOf(entry.tool), entry.tool.approval]]
        : [],
    );
    expect(tools).toEqual([
      ["00:49", "run_shell", "exit code 0", "approved by the operator"],
      ["00:50", "run_shell", "stopped by the time limit after 6s", ""],
      ["00:57", "run_shell", "timeout", ""],
      [
        "01:11",
        "run_shell",
        "exit code 0 on h1, denied on h[2-3]",
        "approved by the operator on h1; denied by the operator on h[2-3]: not now",
      ],
      ["02:01", "undo", "done", "approved by the operator"],
    ]);
    const prompts = [...transcript.entries].flatMap((entry) => (entry.kind === "prompt" ? entry.text : []));
    expect(prompts).toEqual(["raise the limit"]);
    for (const page of [exportMarkdown, exportHtml, exportScript].map((make) => [...make(transcript)].join("")))
      expect(page).toContain("restored app.conf: it is as it was before change 1");
    const script = [...exportScript(transcript)].join("");
    expect(script).toMatch(/^sed -i/m);
    expect(script.match(/^# (?:NOT RUN|STOPPED).*\n# .*/gm)).toEqual([
      expect.stringMatching(/^# STOPPED BY THE TIME LIMIT AFTER 6S.*\n# sleep 100/),
      "# NOT RUN (timeout):\n# reboot",
    ]);
    expect([...exportCast(transcript, { show: (text) => text, output: () => undefined })].join("")).toContain(
      "undo (done)",
    );
  });

  browser.test(
    "HTML in a browser: readable, runs nothing, loads nothing",
    async () => {
      const page = join(directory, "s.html");
      writeFileSync(page, [...exportHtml(readTranscript(path, "aaaa-bbbb-cccc-dddd"))].join(""));
      const chromium = Bun.which("chromium") ?? "chromium";
      const child = Bun.spawn(
        [
          chromium,
          "--headless",
          "--no-sandbox",
          "--disable-gpu",
          "--disable-quic",
          "--no-first-run",
          "--disable-dev-shm-usage",

          "--disable-background-networking",
          "--disable-component-update",
          "--disable-sync",
          `--user-data-dir=${join(directory, "profile")}`,
          "--dump-dom",
          `file://${page}`,
        ],
        { stdout: "pipe", stderr: "ignore" },
      );
      const dom = await new Response(child.stdout).text();
      expect(dom).toContain("<title>buddy session aaaa-bbbb-cccc-dddd</title>");
      expect(dom).not.toMatch(/<(script|img)\b/);
      expect(dom).toContain("&lt;script&gt;");
      expect(dom).not.toContain("javascript:");
      expect(dom).toContain('href="https://example.com"');
      expect(dom).toContain("[image: pic]");
      expect(dom).toContain("exit code 2");
      expect(dom).toContain("approved by the operator");
      expect(dom).not.toContain("\u001b");
    },
    60_000,
  );
});
