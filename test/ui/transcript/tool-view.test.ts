/** A finished call on the screen. */
import { expect, test } from "bun:test";
import { ToolView } from "../../../src/ui/transcript/tool-view.ts";
import { theme } from "../../../src/ui/theme.ts";

const finished = (pushed: readonly (readonly [string, string])[]) => {
  const view = new ToolView("write_file", "/etc/motd", {
    style: theme(false),
    width: () => 80,
    redact: (text) => text,
  });
  for (const [stream, text] of pushed) view.push(stream, text);
  const event = { call: "1", tool: "write_file", ok: true, outcome: "done", result: "created /etc/motd", ms: 1 };
  return view.finished({ type: "tool_finished", ...event } as Parameters<ToolView["finished"]>[0]).slice(1);
};

test("notes of how it went do not stand for the result; output does", () => {
  expect(finished([])).toEqual(["  created /etc/motd"]);
  expect(finished([["info", "sudo asks for a password"]])).toEqual([
    "  sudo asks for a password",
    "  created /etc/motd",
  ]);
  expect(
    finished([
      ["info", "a note"],
      ["info", "another\n"],
      ["stdout", "[sudo] "],
      ["info", "third"],
      ["stdout", "password for ann:\n"],
    ]),
  ).toEqual(["  a note", "  another", "  third", "  [sudo] password for ann:"]);
});

test("why a call was refused is wrapped, not cut", () => {
  const why = `Not allowed: ${"a reason of many words ".repeat(8)}end`;
  const view = new ToolView("run_shell", "rm -rf /", { style: theme(false), width: () => 40, redact: (text) => text });
  const event = { call: "1", tool: "run_shell", ok: false, outcome: "denied", result: "", display: why, ms: 1 };
  const rows = view.finished({ type: "tool_finished", ...event } as Parameters<ToolView["finished"]>[0]);
  expect(
    rows
      .slice(1)
      .map((row) => row.trim())
      .join(" "),
  ).toBe(why);
});

test("tabs are measured as the columns they take", () => {
  expect(finished([["stdout", "a\tb\nfour5678\tc\n"]])).toEqual(["  a       b", "  four5678        c"]);
  expect(finished([["stdout", `~${" ".repeat(90)}\n`]])).toEqual(["  ~"]);
  const [wide] = finished([["stdout", `${"x\t".repeat(30)}\n`]]);
  expect(Bun.stringWidth(wide!)).toBe(80);
  expect(wide).not.toContain("\t");
});

test.each([20, 39, 60])("in %i columns a call takes one row, which says how it went", (columns) => {
  const view = new ToolView("run_shell", "systemctl restart nginx", {
    style: theme(false),
    width: () => columns,
    redact: (text) => text,
  });
  view.remark("auto-approved");
  const event = { call: "1", tool: "run_shell", ok: true, outcome: "exited", exit_code: 0, result: "", ms: 1 };
  const [head = ""] = view.finished(event as never);
  expect(Bun.stringWidth(head)).toBeLessThanOrEqual(columns);
  expect(head).toContain(columns < 39 ? "● systemct" : "exit 0");
});
