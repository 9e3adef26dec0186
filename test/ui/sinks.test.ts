/** Every place that shows text of machines, models, servers and repositories: none of its control characters remain. */
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AgentEventBody } from "../../src/agent/events.ts";
import { journalLine } from "../../src/audit/audit-log.ts";
import { describeError } from "../../src/cli/report-error.ts";
import { BuddyError } from "../../src/lib/errors.ts";
import type { ApprovalRequest } from "../../src/policy/approvals.ts";
import { exportHtml } from "../../src/session/export/html.ts";
import { exportScript } from "../../src/session/export/script.ts";
import { exportMarkdown, readTranscript } from "../../src/session/export/transcript.ts";
import { answeredLine } from "../../src/ui/approval/question-text.ts";
import { QuestionView } from "../../src/ui/approval/question-view.ts";
import { Printer } from "../../src/ui/exec-output/print.ts";
import { PasswordLine } from "../../src/ui/questions/password-line.ts";
import { theme } from "../../src/ui/theme.ts";
import { Transcript } from "../../src/ui/transcript/transcript.ts";

const EVIL = "a\u001b]0;evil\u0007\u001b[2J\u009b2J\b\u202e<b>&\u0000z";
/** Escape sequences but colours, other control characters, and text that runs backwards. */
const CONTROL = /\u001b(?!\[[\d;:]*m)|[\0-\u0008\u000b-\u001a\u001c-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/u;
const style = theme(true);

const request = {
  id: "1",
  call: "1",
  tool: "run_shell",
  where: EVIL,
  subject: { machine: EVIL, user: EVIL, shell: EVIL },
  action: EVIL,
  cwd: EVIL,
  risk: "high",
  mutation: true,
  privesc: true,
  why: EVIL,
  policy: EVIL,
  understated: true,
  declared: { risk: "low", mutation: false, privesc: false },
  found: { risk: "high", mutation: true, privesc: true },
  editable: true,
  diff: `-${EVIL}\n+${EVIL}`,
  reverse: EVIL,
  answer: "typed",
  typed: EVIL,
  label: EVIL,
  machines: [{ name: EVIL, subject: { machine: EVIL, user: EVIL, shell: EVIL } }],
} as unknown as ApprovalRequest;

const OUTCOMES =
  "exited running waiting incomplete stopped lost denied not-run failed cancelled invalid dry-run reverted left-out timeout".split(
    " ",
  );
const on = { machine: EVIL };
const each = (outcome: string, index: number): AgentEventBody[] => {
  const call = `c${index}`;
  const ended = { ok: false, outcome, exit_code: 1, ms: 1, result: EVIL, display: EVIL } as const;
  const machines = [
    { ...on, ...ended, began: "2026-01-02T03:04:05.678Z" },
    { machine: "other", ...ended },
  ];
  return [
    {
      type: "message",
      message: {
        role: "assistant",
        content: EVIL,
        reasoning: EVIL,
        toolCalls: [{ id: call, name: "run_shell", arguments: JSON.stringify({ command: EVIL, why: EVIL }) }],
      },
    },
    { type: "tool_started", call, tool: "run_shell", title: EVIL, args: { command: EVIL }, machines: [EVIL, "other"] },
    { type: "approval_asked", approval: call, ...request, machines: [EVIL] },
    {
      type: "approval_answered",
      approval: call,
      call,
      decision: "approved",
      by: "operator",
      reason: EVIL,
      edited: EVIL,
    },
    { type: "tool_output", call, stream: "stdout", text: `${EVIL}\n`, ...on },
    { type: "tool_output", call, stream: "info", text: EVIL },
    { type: "machine_finished", call, ...on, ...ended, done: 1, of: 2, waiting: [EVIL] },
    {
      type: "tool_finished",
      call,
      tool: index % 2 === 0 ? "run_shell" : EVIL,
      ...ended,
      cwd: EVIL,
      title: EVIL,
      machines,
    },
  ] as unknown as AgentEventBody[];
};
const EVENTS = [
  {
    type: "session",
    buddy: "0",
    profile: EVIL,
    model: EVIL,
    api: "completions",
    cwd: EVIL,
    user: EVIL,
    host: EVIL,
    attach: EVIL,
    label: EVIL,
    mode: "guarded",
  },
  { type: "machine", ...on, state: "open", label: EVIL, user: EVIL, host: EVIL, attach: EVIL },
  { type: "machine", ...on, state: "unreachable", label: EVIL, message: EVIL },
  { type: "turn", turn: 1, prompt: EVIL },
  { type: "reasoning", delta: `${EVIL}\n${EVIL} ${"word ".repeat(900)}` },
  {
    type: "text",
    delta: `${EVIL}\n# ${EVIL}\n\`\`\`\n${EVIL}\n\`\`\`\n| ${EVIL} |\n|---|\n[${EVIL}](http://${EVIL})\n`,
  },
  ...OUTCOMES.flatMap(each),
  { type: "proposed", changes: [{ ...on, where: EVIL, label: EVIL, directory: EVIL, command: EVIL, why: EVIL }] },
  { type: "retry", attempt: 1, of: 2, host: EVIL, reason: EVIL, wait_ms: 1 },
  { type: "warning", message: EVIL, hint: EVIL },
  { type: "notice", kind: "warning", message: EVIL, ...on },
  { type: "compacted", summary: EVIL, before_tokens: 1, after_tokens: 1, replaced: 1 },
  { type: "error", code: "model", message: EVIL, hint: EVIL },
  { type: "done", turn: 1, outcome: "error" },
].map((body) => ({ v: 1, ts: "2026-01-02T03:04:05.678Z", session: "aaaa", target: EVIL, ...body })) as never[];

function onScreen(options: object): string {
  const transcript = new Transcript({
    style,
    width: () => 60,
    redact: (text) => text,
    links: true,
    markdown: true,
    showTokens: true,
    showToolCalls: true,
    showReasoning: true,
    ...options,
  });
  let shown = "";
  for (const event of EVENTS) {
    transcript.event(event);
    shown += `${transcript.live(20).join("\n")}\n`;
  }
  transcript.finish();
  return shown + transcript.take(10_000).join("\n");
}

async function printed(): Promise<string> {
  let shown = "";
  const sink = { write: (text: string) => ((shown += text), Promise.resolve()) } as never;
  const printer = new Printer({
    out: sink,
    err: sink,
    stream: true,
    live: false,
    color: true,
    theme: "auto",
    quiet: false,
    verbose: true,
    showToolCalls: true,
    showReasoning: true,
    showTokens: true,
    holdAnswer: false,
    redact: (text) => text,
    hideSecrets: (text) => text,
  });
  for (const event of EVENTS) await printer.show(event);
  return shown;
}

function stored(write: (transcript: ReturnType<typeof readTranscript>) => Iterable<string>): string {
  const directory = mkdtempSync(join(tmpdir(), "buddy-sinks-"));
  try {
    const log = join(directory, "log.jsonl");
    writeFileSync(log, EVENTS.map((event) => `${JSON.stringify(event)}\n`).join(""));
    return [...write(readTranscript(log, "aaaa"))].join("");
  } finally {
    rmSync(directory, { recursive: true });
  }
}

const entry = { kind: "effect", outcome: EVIL, session: "s", user: EVIL, login_user: EVIL, tool: "t", action: EVIL };
/** A place that shows such text belongs here. */
const SINKS: Readonly<Record<string, () => string | Promise<string>>> = {
  transcript: () => onScreen({}),
  "transcript without Markdown": () => onScreen({ markdown: false }),
  "output of exec": printed,
  "export as HTML": () => stored(exportHtml),
  "export as Markdown": () => stored(exportMarkdown),
  "export as a script": () => stored(exportScript),
  "question, whole": () => new QuestionView(request, style).document(80).join("\n"),
  "question, above": () => new QuestionView(request, style).preamble(80, 24).join("\n"),
  question: () => new QuestionView(request, style).question(80, 24).rows.join("\n"),
  "plain question": () => new QuestionView(request, style).plain(0, 80).join("\n"),
  "answered question": () => answeredLine(request, { kind: "no", reason: EVIL }, style, 80),
  "line for a password": () =>
    ["pane", "program"]
      .flatMap((into) => {
        const asked = { where: EVIL, program: EVIL, prompt: EVIL, into } as never;
        return new PasswordLine(asked, () => undefined).view(80, style).rows;
      })
      .join("\n"),
  error: () => describeError(new BuddyError("target", EVIL, { hint: EVIL, cause: new Error(EVIL) }), { verbose: true }),
  "line for the system log": () => journalLine({ ...entry, outcome: "exited" } as never),
};

test.each(Object.keys(SINKS))("%s", async (name) => {
  const shown = await SINKS[name]!();
  expect(shown).toContain("z");
  expect(CONTROL.exec(shown.replaceAll(/\u001b\]8;[^\u001b\u0007]*(?:\u001b\\|\u0007)/g, ""))?.[0]).toBeUndefined();
});

test("markup in an HTML export is text", () => {
  expect(stored(exportHtml).replaceAll(/<style>[^]*?<\/style>/g, "")).not.toContain("<b>&");
});
