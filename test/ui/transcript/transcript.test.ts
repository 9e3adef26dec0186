/** What events become on the screen. */
import { describe, expect, test } from "bun:test";
import type { AgentEvent, AgentEventBody } from "../../../src/agent/events.ts";
import { theme } from "../../../src/ui/theme.ts";
import { Transcript } from "../../../src/ui/transcript/transcript.ts";

const rows = (...events: readonly AgentEventBody[]): readonly string[] => {
  const transcript = new Transcript({
    style: theme(false),
    width: () => 100,
    redact: (text) => text,
    links: false,
    markdown: false,
    showTokens: false,
    showToolCalls: true,
    showReasoning: false,
  });
  for (const event of events) transcript.event(event as AgentEvent);
  transcript.finish();
  return transcript.take(100).filter((row) => row !== "");
};

describe("an answer after a retry", () => {
  const retry = { type: "retry", attempt: 1, of: 3, host: "h", reason: "refused", wait_ms: 1 } as const;
  const answered = "· the model answered after 1 retry";
  const between: readonly AgentEventBody[] = [
    { type: "discard" },
    { type: "notice", kind: "info", message: "n" },
    { type: "warning", message: "w" },
    { type: "session", buddy: "0", profile: "p", model: "m", api: "completions", cwd: "/" },
    { type: "machine", machine: "h1", state: "unreachable", label: "ssh h1" },
  ];

  test("is announced when it comes", () => {
    expect(rows(retry, ...between, { type: "text", delta: "hello" })).toContain(answered);
  });

  test("is not, whatever else happens, if none came", () => {
    const error = { type: "error", code: "connection", message: "cannot connect" } as const;
    expect(rows(retry, ...between, error).filter((row) => row.includes("answered"))).toEqual([]);
  });
});

describe("a change that its question printed", () => {
  const diff = "@@ -1,1 +1,1 @@\n-one\n+two";
  const call = { call: "c", tool: "edit_file" } as const;
  const started = { type: "tool_started", ...call, title: "a.txt", args: {} } as const;
  const asked = { type: "approval_asked", ...call, diff } as unknown as AgentEventBody;
  const done = (display: string) =>
    ({ type: "tool_finished", ...call, ok: true, outcome: "done", result: "", display, ms: 1 }) as AgentEventBody;

  test.each([
    ["the same is not printed again", [started, asked, done(`edited a.txt\n${diff}`)], 0],
    ["another one is", [started, asked, done(`edited a.txt\n${diff.replace("two", "three")}`)], 1],
    ["one that nobody was asked about is", [started, done(`edited a.txt\n${diff}`)], 1],
  ])("%s", (_, events, printed) => {
    expect(rows(...events).filter((row) => row.includes("+t"))).toHaveLength(printed);
  });
});

describe("the lines of a long output", () => {
  const output = (lines: number) => Array.from({ length: lines }, (_, at) => `row ${at + 1}\n`).join("");
  const ended = (fields: object) =>
    ({
      type: "tool_finished",
      call: "c",
      tool: "run_shell",
      ok: true,
      outcome: "exited",
      exit_code: 0,
      ms: 1,
      ...fields,
    }) as AgentEventBody;
  const started = { type: "tool_started", call: "c", tool: "run_shell", title: "seq", args: {} } as const;

  test.each([
    [8, []],
    [9, ["  …3 more lines"]],
    [100, ["  …94 more lines"]],
  ])("%i lines: %j", (lines, more) => {
    const shown = rows(
      started,
      { type: "tool_output", call: "c", stream: "stdout", text: output(lines) },
      ended({ result: "" }),
    );
    expect(shown.filter((row) => row.includes("more line"))).toEqual(more);
    expect(shown.at(-1)).toBe(`  row ${lines}`);
  });

  test("are those that were printed, where some were left out of the live view", () => {
    const shown = rows(
      started,
      { type: "tool_output", call: "c", stream: "stdout", text: output(40) },
      { type: "tool_output", call: "c", stream: "info", text: "a note" },
      ended({
        result: JSON.stringify({ result: `${output(5)}[9 bytes left out here]\nrow 199999\nrow 200000` }),
        output_cut: true,
        output_lines: 200_000,
      }),
    );
    expect(shown.slice(1)).toEqual([
      "  row 1",
      "  row 2",
      "  row 3",
      "  …199994 more lines",
      "  [9 bytes left out here]",
      "  row 199999",
      "  row 200000",
    ]);
  });
});
