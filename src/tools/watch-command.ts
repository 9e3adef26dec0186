/** Follows a command that runs in a shell and says how it ended. */
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
  const waitMs = "waitMs" in wait ? wait.waitMs : 0;
  const reported = outcomeText(result, {
    waitMs,
    shell: shell.kind,
    budget: context.budget,
    attach: target.identity.attach,
    mask: context.mask,
  });
  if (!("noWait" in wait) || result.outcome.kind !== "exited") return reported;
  const ended = `[command sent, not waited for]\nIt has ended already with exit code ${result.outcome.code}:\n`;
  return { ...reported, result: ended + String(reported.result) };
}

/**
 * A program that keeps temporary files fails where nothing can be written: the model learns how to have it run
 * elsewhere.
 */
function withNamespaceNote(result: RunResult): RunResult {
  const { output, stderr } = result;
  const text = [output.head, output.tail, stderr?.head, stderr?.tail].join("\n");
  return /Read-only file system/.test(text) ? { ...result, notes: [...result.notes, READ_ONLY] } : result;
}

const READ_ONLY =
  "it ran without an approval, where every file system is read-only; if it has to write, even a temporary file, " +
  "declare mutation=true and the operator is asked";

/** The same for a command that an earlier call left running. */
export async function waitAgain(
  shell: Shell,
  waitMs: number,
  target: Target,
  context: ToolContext,
): Promise<ToolResult> {
  const result = await shell.wait({ waitMs, ...following(target, context) });
  return outcomeText(result, {
    waitMs,
    shell: shell.kind,
    budget: context.budget,
    attach: target.identity.attach,
    mask: context.mask,
  });
}

function following(target: Target, context: ToolContext): Omit<RunOptions, "waitMs" | "noWait"> {
  return {
    signal: context.signal,
    keep: context.budget,
    ...defined({ shown: context.shown }),
    onOutput: ({ stream, text }) => context.emit({ stream, text }),
    ...defined({ password: context.password }),
    onDelay: (text) => context.emit({ stream: "info", text }),
    onWaiting: (what) => {
      if (what.for !== "password") return;
      const how = target.identity.attach === undefined ? "" : ` Attach with: ${target.identity.attach}`;
      context.emit({ stream: "info", text: `${what.program} asks for a password: type it in the pane.${how}` });
    },
  };
}
