/** The rows of a question and of its answer: whole words, and nothing said twice. */
import { expect, test } from "bun:test";
import type { ApprovalRequest } from "../../../src/policy/approvals.ts";
import { ApprovalPrompt } from "../../../src/ui/approval/approval-prompt.ts";
import { answeredLine } from "../../../src/ui/approval/question-text.ts";
import { QuestionView } from "../../../src/ui/approval/question-view.ts";
import { key } from "../../../src/ui/terminal/keys.ts";
import { theme } from "../../../src/ui/theme.ts";
import { ToolView } from "../../../src/ui/transcript/tool-view.ts";

const request = {
  tool: "run_shell",
  action: "rm -rf build",
  where: "ann@desk",
  why: "the directory holds what an earlier build left, and nothing of it is needed any more by anyone",
  risk: "high",
  mutation: true,
  privesc: false,
  understated: false,
  policy: "rm deletes files",
  editable: true,
} as unknown as ApprovalRequest;

test.each([24, 40, 80])("in %i columns v shows every word of the facts in one piece", (columns) => {
  const rows = new QuestionView(request, theme(false)).document(columns);
  expect(rows.filter((row) => Bun.stringWidth(row) > columns)).toEqual([]);
  const said = rows.map((row) => row.trim()).join(" ");
  for (const text of [request.why, "high risk, makes changes", request.policy, request.action])
    expect(said).toContain(text);
});

test.each([20, 30, 40, 80])("in %i columns the end of a tall question is in one piece", (columns) => {
  const action = Array.from({ length: 15 }, (_, i) => `echo "line ${i} of a long script" >> out`).join("\n");
  for (const asked of [
    { ...request, action },
    { ...request, action: action.replaceAll("\n", "; ") },
  ]) {
    const view = new QuestionView(asked, theme(false));
    view.preamble(columns, 12);
    const { rows } = view.question(columns, 12);
    expect(rows.at(-1)).toContain("-- approve?");
    expect(Bun.stringWidth(rows.at(-1)!)).toBeLessThanOrEqual(columns);
  }
});

test("the command stays in sight while the name of the machine or a reason is typed", () => {
  const prompt = new ApprovalPrompt({ ...request, typed: "web1" }, theme(false), { answer: () => {}, otherKeys: [] });
  for (const [letter, label] of [
    ["y", "Type web1 to approve: "],
    ["n", "Reason (optional): "],
  ] as const) {
    prompt.handle(key(letter));
    const { rows, cursor } = prompt.view(39, 11, 0);
    const at = rows.findIndex((row) => row === label);
    expect(rows[at - 1]).toBe("ann@desk$ rm -rf build");
    expect(cursor).toEqual({ row: at, col: label.length });
    prompt.handle(key("escape"));
  }
});

test("what became of a question is whole on a narrow screen", () => {
  const line = answeredLine(request, { kind: "no", stop: true }, theme(false), 39);
  expect(line).toEndWith("-- denied; task stopped");
  expect(Bun.stringWidth(line)).toBeLessThanOrEqual(39);
});

test("the reason of a denial is said once, below the call", () => {
  const style = theme(false);
  const view = new ToolView("run_shell", "rm -rf build", { style, width: () => 40, redact: (text) => text });
  const event = { type: "tool_finished", ok: false, outcome: "denied", ms: 1, result: "refused" } as const;
  const rows = [
    answeredLine(request, { kind: "no", reason: "not now please" }, style, 40),
    ...view.finished({ ...event, display: "denied: not now please" } as never),
  ];
  expect(rows.join("\n").split("not now please")).toHaveLength(2);
  expect(rows.at(-1)).toBe("  not now please");
});
