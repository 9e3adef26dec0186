/** plan: the steps the model intends to take and its progress, as a checklist for the operator. */
import { z } from "zod";
import type { Tool } from "./tool.ts";

const input = z.strictObject({
  steps: z
    .array(
      z.strictObject({
        step: z.string().min(1).max(200),
        state: z.enum(["pending", "running", "done", "skipped"]),
      }),
    )
    .min(1)
    .max(20)
    .describe("all steps, in order"),
});

type PlanInput = z.infer<typeof input>;

export const planTool: Tool<PlanInput> = {
  name: "plan",
  description:
    "Show the operator your plan as a checklist. For work of three steps or more; send it again when a state changes.",
  input,
  intent: ({ steps }) => ({ kind: "read", title: progress(steps) }),
  run: ({ steps }) =>
    Promise.resolve({
      ok: true,
      outcome: "done",
      result: `plan shown: ${progress(steps)}`,
      display: steps.map(({ step, state }) => `${MARKS[state]} ${step}`).join("\n"),
    }),
};

function progress(steps: PlanInput["steps"]): string {
  return `${steps.filter(({ state }) => state === "done" || state === "skipped").length} of ${steps.length} steps done`;
}

const MARKS = { pending: "[ ]", running: "[>]", done: "[x]", skipped: "[-]" } as const;
