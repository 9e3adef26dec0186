/** The model's plan as a checklist. */
import { clip } from "../../lib/text.ts";
import type { Theme } from "../theme.ts";
import type { AgentEvent } from "../../agent/events.ts";
import { oneLine } from "../words.ts";

/** Of the running task. */
export class Plan {
  #steps: readonly PlanStep[] = [];
  /** Sent, and may still turn out not to be valid. */
  #next: readonly PlanStep[] = [];

  follow(event: AgentEvent): void {
    if (event.type === "tool_started" && event.tool === "plan") this.#next = planSteps(event.args);
    if (event.type === "tool_finished" && event.tool === "plan" && event.ok) this.#steps = this.#next;
  }

  rows(limit: number, style: Theme): string[] {
    return planRows(this.#steps, limit, style);
  }

  end(): void {
    this.#steps = [];
  }
}

interface PlanStep {
  readonly step: string;
  readonly state: string;
}

/** The steps in the arguments of a call of `plan`; none when that is something else. */
function planSteps(args: unknown): readonly PlanStep[] {
  const steps = (args as { steps?: unknown } | null)?.steps;
  if (!Array.isArray(steps)) return [];
  return steps.filter((step): step is PlanStep => typeof step?.step === "string" && typeof step?.state === "string");
}

/** At most so many rows; where they are too few, the steps around the one that runs. */
function planRows(steps: readonly PlanStep[], limit: number, style: Theme): string[] {
  if (steps.length === 0 || limit < 1) return [];
  const at = Math.max(
    0,
    steps.findIndex(({ state }) => state === "running"),
  );
  const first = Math.max(0, Math.min(at - Math.floor(limit / 2), steps.length - limit));
  return steps.slice(first, first + limit).map(({ step, state }) => {
    const text = clip(oneLine(step), LONGEST);
    if (state === "done") return `  ${style.ok("[x]")} ${style.grey(text)}`;
    if (state === "running") return `  ${style.toolName("[>]")} ${style.bold(text)}`;
    return `  ${style.grey(state === "skipped" ? "[-]" : "[ ]")} ${text}`;
  });
}

const LONGEST = 200;
