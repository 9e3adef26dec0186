/** A real agent on a scripted model, with tools of the test's choice, for tests inside the process. */
import { z } from "zod";
import { Agent } from "../../src/agent/agent.ts";
import type { AgentOptions } from "../../src/agent/agent.ts";
import type { AgentEvent } from "../../src/agent/events.ts";
import { CallRunner, type CallParts } from "../../src/agent/calls/tool-calls.ts";
import type { ModelClient } from "../../src/model/types.ts";
import { Approvals } from "../../src/policy/approvals.ts";
import { NO_RULES } from "../../src/policy/machine-rules.ts";
import { Privacy } from "../../src/policy/privacy/privacy.ts";
import type { ShellJudgement } from "../../src/policy/verdict.ts";
import { schemasOf } from "../../src/tools/schemas.ts";
import { Registry } from "../../src/tools/registry.ts";
import type { Tool, ToolContext, ToolResult } from "../../src/tools/tool.ts";

export interface RigOptions {
  readonly tools?: readonly Tool[];
  readonly calls?: Partial<CallParts>;
  readonly agent?: Partial<AgentOptions>;
}

export function agentOn(client: ModelClient, options: RigOptions = {}): { agent: Agent; calls: CallRunner } {
  const tools = options.tools ?? [];
  const registry = new Registry({ schemas: schemasOf(tools), load: () => Promise.resolve(tools) });
  const facts = () => ({ label: "local", cwd: "/work", tmux: true });
  const privacy = options.calls?.privacy ?? new Privacy({ mask: true, own: () => [] });
  const calls = new CallRunner({
    registry,
    facts,
    limits: { shell: 0, capture: 0, file: 0, page: 0, search: 0, mcp: 0 },
    approvals: new Approvals(),
    target: () => Promise.reject(new Error("this test has no target")),
    rules: () => Promise.resolve(NO_RULES),
    judgeShell: (command) => Promise.resolve(judged(command)),
    judgeWrite: () => Promise.resolve({ kind: "allow", why: "anywhere" }),
    confirm: { shell: true, fetch: "never" },
    privacy,
    maskOutput: [],
    urlRules: { allow: [], deny: [] },
    shellRoots: [],
    secondLock: "auto",
    dryRun: false,
    ...options.calls,
  });
  const agent = new Agent({
    client,
    registry,
    calls: () => calls,
    privacy,
    session: () => "aaaa-bbbb-cccc-dddd",
    maxIterations: 20,
    facts,
    instructions: () => "You are under test.",
    describe: () => ({ buddy: "0.0.0", cwd: "/work" }),
    ...options.agent,
  });
  return { agent, calls };
}

/** A judgement that asks for everything, as before any policy. */
export function judged(command: string, part: Partial<ShellJudgement> = {}): ShellJudgement {
  return {
    verdict: { kind: "ask", why: "unknown command" },
    readOnly: false,
    risk: "medium",
    mutation: true,
    privesc: false,
    commands: [{ words: command.split(" "), verdict: "ask", why: "unknown", readOnly: false }],
    uncertain: [],
    dangers: [],
    lockouts: [],
    outlives: false,
    conditions: [],
    ...part,
  };
}

/** A tool that changes nothing and does what the test says. */
export function readTool(
  name: string,
  run: (args: Record<string, unknown>, context: ToolContext) => ToolResult | Promise<ToolResult>,
): Tool {
  return {
    name,
    description: `test tool ${name}`,
    input: z.looseObject({}),
    intent: () => ({ kind: "read", title: name }),
    run: async (args, context) => run(args as Record<string, unknown>, context),
  };
}

/** The same for a tool that never runs beside others. */
export function ownTool(...args: Parameters<typeof readTool>): Tool {
  return { ...readTool(...args), intent: () => ({ kind: "end-shell", title: args[0], shell: "" }) };
}

export async function drain(events: AsyncIterable<AgentEvent>): Promise<AgentEvent[]> {
  const list: AgentEvent[] = [];
  for await (const event of events) list.push(event);
  return list;
}

export function ofType<T extends AgentEvent["type"]>(
  events: readonly AgentEvent[],
  type: T,
): Extract<AgentEvent, { type: T }>[] {
  return events.filter((event): event is Extract<AgentEvent, { type: T }> => event.type === type);
}

/** Every tool call has exactly one result, right behind its message, in call order. */
export function isValidHistory(agent: Agent): boolean {
  const { messages } = agent.history;
  const seen = new Set<string>();
  for (let at = 0; at < messages.length; at++) {
    const message = messages[at]!;
    if (message.role === "tool") return false;
    if (message.role !== "assistant") continue;
    for (const call of message.toolCalls) {
      const next = messages[++at];
      if (next?.role !== "tool" || next.callId !== call.id || seen.has(call.id) || call.id === "") return false;
      seen.add(call.id);
      JSON.parse(call.arguments);
    }
  }
  return true;
}
