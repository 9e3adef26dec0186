/** A plan is stages of tool calls and an answer made of their real results; where it stands is read off the conversation. */
import { isRecord } from "../../lib/is-record.ts";
import type { ScriptedCall, ScriptedReply } from "../playbook.ts";
import type { ScriptedRequest, SeenTool } from "../server/read-request.ts";
import type { Round } from "./rounds.ts";

export interface Plan {
  /** Each sees the results so far; no calls: nothing to do in this stage. */
  readonly stages: readonly ((seen: readonly Round[]) => Stage)[];
  answer(seen: readonly Round[]): string;
}

export interface Stage {
  readonly say?: string;
  readonly calls: readonly Call[];
}

export interface Call {
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** The next calls of these plans, or all their answers. */
export function follow(plans: readonly Plan[], rounds: readonly Round[], request: ScriptedRequest): ScriptedReply {
  let rest = [...rounds];
  const answers: string[] = [];
  for (const plan of plans) {
    const seen: Round[] = [];
    let missing: string | undefined;
    for (const stage of plan.stages) {
      const { say, calls } = stage(seen);
      if (calls.length === 0) continue;
      missing = calls.find((call) => !request.tools.some((tool) => tool.name === call.tool))?.tool;
      if (missing !== undefined) break;
      if (rest.length < calls.length)
        return { ...(say !== undefined && { text: say }), toolCalls: toolCalls(calls, request.tools) };
      seen.push(...rest.splice(0, calls.length));
    }
    answers.push(missing === undefined ? plan.answer(seen) : notOffered(missing));
  }
  return { text: answers.join("\n\n") };
}

function notOffered(tool: string): string {
  return `I would use the tool \`${tool}\` for that, but it is not offered (switched off in the configuration, or not possible on this target).`;
}

/** Only fields the tool's schema knows are sent. */
function toolCalls(calls: readonly Call[], tools: readonly SeenTool[]): ScriptedCall[] {
  return calls.map(({ tool, args }) => {
    const properties = tools.find((offered) => offered.name === tool)?.parameters["properties"];
    const known = isRecord(properties)
      ? Object.entries(args).filter(([name]) => name in properties)
      : Object.entries(args);
    return { name: tool, args: Object.fromEntries(known) };
  });
}
