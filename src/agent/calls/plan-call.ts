/** From a call as the model wrote it to one that is ready for a decision: tool, checked input, intent, machines. */
import { defined } from "../../lib/values.ts";
import { shorten } from "../../lib/text.ts";
import type { ToolCall } from "../../model/types.ts";
import type { Intent, TargetFacts, Tool } from "../../tools/tool.ts";
import { parseArguments, type Registry, takeOn } from "../../tools/registry.ts";
import { inWords } from "../../lib/errors.ts";
import type { FleetMachine, FleetParts } from "../fleet/fleet-parts.ts";
import type { PermitParts } from "../permit/permission.ts";

export interface Ready {
  readonly tool: Tool;
  readonly input: unknown;
  readonly intent: Intent;
  /** The machines it runs on, where the run has several. */
  readonly machines?: readonly FleetMachine[];
}

export interface Plan {
  readonly call: ToolCall;
  /** May run at the same time as its neighbours. */
  readonly concurrent: boolean;
  readonly args: unknown;
  readonly title: string;
  readonly problem?: string;
  readonly ready?: Ready;
  /** The model gets no result of it. */
  readonly operator?: boolean;
}

interface PlanParts extends Pick<PermitParts, "confirm"> {
  readonly registry: Registry;
  readonly fleet?: FleetParts | undefined;
  facts(): TargetFacts;
}

/** A call that cannot be planned fails alone: the others still get their results. */
export async function planCall(parts: PlanParts, call: ToolCall): Promise<Plan> {
  try {
    return await plan(parts, call);
  } catch (error) {
    return invalid(call, inWords(error, "model"));
  }
}

async function plan(parts: PlanParts, call: ToolCall): Promise<Plan> {
  const tool = await parts.registry.get(call.name);
  if (tool === undefined) {
    const names = parts.registry.offered(parts.facts());
    return invalid(call, `there is no tool "${shorten(call.name, 100)}". Available: ${names.join(", ")}.`);
  }
  const { fleet } = parts;
  const given = fleet === undefined || tool.onTarget !== true ? { text: call.arguments } : takeOn(call.arguments);
  if ("problem" in given) return invalid(call, given.problem);
  const parsed = parseArguments(tool, given.text);
  if (!parsed.ok) return invalid(call, parsed.message, parsed.json);
  const intent = tool.intent(parsed.input);
  const machines =
    fleet === undefined || tool.onTarget !== true
      ? undefined
      : (await import("../fleet/fleet-parts.ts")).machinesFor(fleet, given.on, parsed.input);
  if (typeof machines === "string") return invalid(call, machines, parsed.json);
  return {
    call,
    concurrent:
      intent.kind === "read" ||
      (intent.kind === "server" && intent.believed) ||
      (intent.kind === "fetch" && parts.confirm.fetch !== "always"),
    args: parsed.json,
    title: intent.title,
    ready: { tool, input: parsed.input, intent, ...defined({ machines }) },
  };
}

function invalid(call: ToolCall, problem: string, json: unknown = parsedIfJson(call.arguments)): Plan {
  return { call, concurrent: true, args: json, title: call.name, problem };
}

function parsedIfJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
