/** run_shell: one command on the target, in the shared pane or a direct shell: waited for, only sent, or detached. */
import { z } from "zod";
import { parseDuration } from "../lib/durations.ts";
import { defined } from "../lib/values.ts";
import type { Pane, RunOptions, RunResult, Shell, Target } from "../targets/target.ts";
import { outcomeText } from "./outcome-text.ts";
import type { Intent, Tool, ToolContext, ToolResult } from "./tool.ts";

/** What the model must declare with every tool that can change something. */
export const declaredFields = {
  risk: z.enum(["low", "medium", "high"]),
  mutation: z.boolean().describe("changes anything"),
  privesc: z.boolean().describe("sudo/su/doas"),
  why: z.string().trim().min(1, "must say why in a few words").describe("reason, shown to the operator"),
};

export function durationText(example: string) {
  return z.string().refine((text) => parseDuration(text) !== undefined, `not a duration like ${example}`);
}

/** A number is seconds. */
export function millisOf(duration: string | number): number {
  return typeof duration === "number" ? duration * 1000 : (parseDuration(duration) ?? 0);
}

export interface ShellSettings {
  readonly timeoutMs: number;
  readonly slowTimeoutMs: number;
}

const MOST_TOKENS = 60_000;
/** ≈ 4 characters a token. */
const MOST_CHARACTERS = 4 * MOST_TOKENS;
const TOO_LONG = `it is over ${MOST_TOKENS} tokens; write it to a script file with write_file first (in parts if needed), then run that file`;

const input = z.strictObject({
  command: z.string().min(1).max(MOST_CHARACTERS, TOO_LONG),
  mode: z
    .enum(["default", "slow", "background"])
    .optional()
    .describe("slow: builds, installs, tests; background: detached, gives a shell_id"),
  wait: z
    .union([z.boolean(), z.number().nonnegative(), z.string().refine(isWait, 'not a duration like "90s" or "10m"')])
    .optional()
    .describe('longest wait: seconds or "10m"; false: send into the pane and return (tmux only)'),
  session: z.string().optional(),
  pane: z.string().optional().describe("managed pane; default: the shared one"),
  revert: z
    .string()
    .min(1)
    .optional()
    .describe("for what can lock you out of the machine: the command that undoes it; give it when asked"),
  ...declaredFields,
});

type RunShellInput = z.infer<typeof input>;

export function runShellTool(settings: ShellSettings): Tool<RunShellInput> {
  return {
    name: "run_shell",
    onTarget: true,
    description: DESCRIPTION,
    input,
    budget: "shell",
    secretFields: ["command"],
    editable: true,
    shell: (args, target) => shellFor(target, args),
    intent,
    run: (args, context) => run(args, context, settings),
  };
}

const DESCRIPTION =
  "Run a shell command on {{label}}; cd persists, and so do variables and options that an approved command sets. " +
  "Waits up to {{wait}} (slow: {{slow}}). Write long scripts to a file first.";

function intent({ command, mode, wait, risk, mutation, privesc, why }: RunShellInput): Intent {
  const detached = mode === "background" || isNoWait(wait);
  return { kind: "shell", title: command, command, declared: { risk, mutation, privesc, why }, detached };
}

async function run(args: RunShellInput, context: ToolContext, settings: ShellSettings): Promise<ToolResult> {
  const target = await context.target();
  if (args.mode === "background") return background(args, target, context);
  const noWait = isNoWait(args.wait);
  const shell = await shellFor(target, args);
  if (shell.kind === "direct" && noWait) {
    return failed('wait=false needs a tmux pane and this target has none. Use mode="background" and shell_output.');
  }
  return runAndWatch(
    shell,
    args.command,
    noWait ? { noWait } : { waitMs: waitMillis(args, settings, context) },
    target,
    context,
  );
}

async function background(args: RunShellInput, target: Target, context: ToolContext): Promise<ToolResult> {
  if (args.session !== undefined || args.pane !== undefined) {
    return failed("background shells run outside tmux: leave out session and pane, or use wait=false in that pane.");
  }
  const shell = await target.background.start(args.command, {
    cwd: context.onlyIn ?? target.shell.cwd,
    signal: context.signal,
    ...defined({ unasked: context.unasked, shown: context.shown }),
  });
  return {
    ok: true,
    outcome: "background",
    result: {
      shell_id: shell.id,
      pid: shell.pid,
      output_file: shell.outputFile,
      next: `Read it with shell_output shell_id="${shell.id}"; stop it with kill_shell shell_id="${shell.id}".`,
    },
    display: `started in the background: ${shell.id}, pid ${shell.pid}`,
    outputs: [shell.id],
  };
}

function waitMillis({ mode, wait }: RunShellInput, settings: ShellSettings, { mustEnd }: ToolContext): number {
  const limit = mode === "slow" ? settings.slowTimeoutMs : settings.timeoutMs;
  if (wait === undefined || typeof wait === "boolean" || wait === "true") return limit;
  const given = Math.min(millisOf(wait), LONGEST_WAIT);
  // A look after two seconds is no reason to stop what is about to change something.
  return mustEnd === true ? Math.max(given, limit) : given;
}

function isNoWait(wait: RunShellInput["wait"]): boolean {
  return wait === false || wait === "false" || wait === 0 || (typeof wait === "string" && parseDuration(wait) === 0);
}

function isWait(text: string): boolean {
  return text === "true" || text === "false" || parseDuration(text) !== undefined;
}

function failed(result: string): ToolResult {
  return { ok: false, outcome: "failed", result };
}

const LONGEST_WAIT = 24 * 3600 * 1000;

// ── Follows a command that runs in a shell, and reports how it ended.

async function runAndWatch(
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
  const over = context.mustEnd === true ? await stoppedUnlessEnded(shell, ran) : ran;
  const result = unasked?.inNamespace === true ? withNamespaceNote(over, unasked.note) : over;
  const finished = ended(result, shell, "waitMs" in wait ? wait.waitMs : 0, target, context);
  if (!("noWait" in wait)) return finished;
  // Its end is what a wait is for.
  reported.delete(shell);
  if (result.outcome.kind !== "exited") return finished;
  const head = `[command sent, not waited for]\nIt has already ended with exit code ${result.outcome.code}:\n`;
  return { ...finished, result: head + String(finished.result) };
}

/** A program that waits for input has not ended, either. */
async function stoppedUnlessEnded(shell: Shell, ran: RunResult): Promise<RunResult> {
  const { outcome } = ran;
  const goesOn =
    (outcome.kind === "running" && outcome.why !== "busy") || (outcome.kind === "waiting" && outcome.earlier !== true);
  if (!goesOn) return ran;
  const left = await shell.wait({ signal: AbortSignal.abort() });
  return left.outcome.kind === "stopped" ? { ...left, outcome: { ...left.outcome, by: "guard" } } : left;
}

/** A program that needs temporary files fails where nothing can be written: the model learns what to do. */
function withNamespaceNote(result: RunResult, note: string | undefined): RunResult {
  const { output, stderr } = result;
  const text = [output.head, output.tail, stderr?.head, stderr?.tail].join("\n");
  const notes = [...(note === undefined ? [] : [note]), ...(/Read-only file system/.test(text) ? [READ_ONLY] : [])];
  return notes.length === 0 ? result : { ...result, notes: [...result.notes, ...notes] };
}

const READ_ONLY =
  "it ran without approval, where every file system is read-only; if it must write, even a temporary file, " +
  "declare mutation=true to ask the operator";

/** Waits for a command that an earlier call left running. */
export async function waitAgain(
  shell: Shell,
  waitMs: number,
  target: Target,
  context: ToolContext,
): Promise<ToolResult> {
  const result = await shell.wait({ waitMs, ...following(target, context) });
  const isOld = result.outputId !== undefined && result.outputId === reported.get(shell);
  const noted = isOld ? { ...result, notes: [...result.notes, NOTHING_RAN] } : result;
  return ended(noted, shell, waitMs, target, context);
}

/** The output of the command whose end was reported last. */
const reported = new WeakMap<Shell, string>();
const NOTHING_RAN = "Nothing of yours was running: this is an earlier command, whose end you have been told.";

function ended(result: RunResult, shell: Shell, waitMs: number, target: Target, context: ToolContext): ToolResult {
  const { attach } = target.identity;
  const { kind } = result.outcome;
  if (kind !== "running" && kind !== "waiting" && result.outputId !== undefined) reported.set(shell, result.outputId);
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

export type RunningContext = Pick<ToolContext, "emit" | "password" | "several">;

/** What the operator learns, and is asked for, while something runs on the target. */
export function whileItRuns(
  { identity: { attach } }: Target,
  { emit, password, several }: RunningContext,
): Pick<RunOptions, "password" | "onDelay" | "onWaiting"> {
  const say = (text: string) => emit({ stream: "info", text });
  // Many machines that ask say the same, once; the question names each, and /attach lists their panes.
  const isAsked = several === true && password !== undefined;
  const how = attach === undefined || isAsked ? "" : ` Attach with: ${attach}`;
  return {
    ...defined({ password }),
    onDelay: say,
    onWaiting: (what) => {
      if (what.for === "password") say(`${what.program} asks for a password: type it in the pane.${how}`);
    },
  };
}

// ── Which shell or pane a call means.

interface Selection {
  readonly target?: string | undefined;
  readonly session?: string | undefined;
  readonly pane?: string | undefined;
}

/** The shared pane or direct shell, or another managed pane. */
export async function shellFor(target: Target, select: Selection): Promise<Shell> {
  if (select.session === undefined && select.pane === undefined) return target.shell;
  return paneFor(target, select);
}

export async function paneFor(target: Target, select: Selection): Promise<Pane> {
  const any = select.target === undefined && select.session === undefined && select.pane === undefined;
  if (target.panes === undefined && target.ownPane !== undefined && any) return target.ownPane;
  if (target.panes === undefined) throw new NoTmux();
  return target.panes.pane(defined({ session: select.session, pane: select.pane, target: select.target }));
}

/** The call needs a target with tmux. */
export class NoTmux extends Error {
  constructor() {
    super('this target has no tmux: leave out session and pane; for long work use mode="background"');
    this.name = "NoTmux";
  }
}
