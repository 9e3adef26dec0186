/** Follows a command that runs in a shell, and reports how it ended. */
import { defined } from "../lib/values.ts";
import type { RunOptions, RunResult, Shell, Target } from "../targets/target.ts";
import { outcomeText } from "./outcome-text.ts";
import type { ToolContext, ToolResult } from "./tool.ts";

export async function runAndWatch(
  shell: Shell,
  command: string,
  wait: { waitMs: number } | { noWait: true },
  target: Target,
  context: ToolContext,
): Promise<ToolResult> {
  const { unasked, onlyIn } = context;
  const ran = await shell.run(command, {
    ...wait,
    ...following(target, context),
    ...defined({ unasked, onlyIn }),
  });
  const result = unasked?.inNamespace === true ? withNamespaceNote(ran) : ran;
  const reported = ended(result, shell, "waitMs" in wait ? wait.waitMs : 0, target, context);
  if (!("noWait" in wait) || result.outcome.kind !== "exited") return reported;
  const head = `[command sent, not waited for]\nIt has already ended with exit code ${result.outcome.code}:\n`;
  return { ...reported, result: head + String(reported.result) };
}

/** A program that needs temporary files fails where nothing can be written: the model learns what to do. */
function withNamespaceNote(result: RunResult): RunResult {
  const { output, stderr } = result;
  const text = [output.head, output.tail, stderr?.head, stderr?.tail].join("\n");
  return /Read-only file system/.test(text) ? { ...result, notes: [...result.notes, READ_ONLY] } : result;
}

const READ_ONLY =
  "it ran without an approval, where every file system is read-only; if it has to write, even a temporary file, " +
  "declare mutation=true and the operator is asked";

/** Waits for a command that an earlier call left running. */
export async function waitAgain(
  shell: Shell,
  waitMs: number,
  target: Target,
  context: ToolContext,
): Promise<ToolResult> {
  return ended(await shell.wait({ waitMs, ...following(target, context) }), shell, waitMs, target, context);
}

function ended(result: RunResult, shell: Shell, waitMs: number, target: Target, context: ToolContext): ToolResult {
  const { attach } = target.identity;
  return outcomeText(result, { waitMs, shell: shell.kind, budget: context.budget, attach, mask: context.mask });
}

function following(target: Target, context: ToolContext): Omit<RunOptions, "waitMs" | "noWait"> {
  return {
    signal: context.signal,
    keep: context.budget,
    ...defined({ shown: context.shown }),
    onOutput: ({ stream, text }) => context.emit({ stream, text }),
    ...whileItRuns(target, context),
  };
}

export type RunningContext = Pick<ToolContext, "emit" | "password">;

/** What the operator learns, and is asked for, while something runs on the target. */
export function whileItRuns(
  { identity: { attach } }: Target,
  { emit, password }: RunningContext,
): Pick<RunOptions, "password" | "onDelay" | "onWaiting"> {
  const say = (text: string) => emit({ stream: "info", text });
  const how = attach === undefined ? "" : ` Attach with: ${attach}`;
  return {
    ...defined({ password }),
    onDelay: say,
    onWaiting: (what) => {
      if (what.for === "password") say(`${what.program} asks for a password: type it in the pane.${how}`);
    },
  };
}
