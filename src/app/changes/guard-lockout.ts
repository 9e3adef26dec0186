/**
 * Commands that can lock the operator out: a revert is armed on the target before they run. It runs unless a new
 * connection works and the operator keeps the change.
 */
import { defined } from "../../lib/values.ts";
import { randomBytes } from "node:crypto";
import type { PermittedCall, RevertPlan } from "../../agent/permit/permission.ts";
import { revertRecipe } from "../../changes/revert-recipes.ts";
import { type RevertState, RevertTimer, type ScriptOnTarget } from "../../changes/revert-timer.ts";
import { formatDuration } from "../../lib/durations.ts";
import { BuddyError, messageOf } from "../../lib/errors.ts";
import { within, pause } from "../../lib/waiting.ts";
import { changedFiles } from "../../policy/shell/file-changes.ts";
import type { Lockout } from "../../policy/shell/dangers/lockout.ts";
import { runAsRoot } from "../../targets/as-root.ts";
import type { Target } from "../../targets/target.ts";
import { noted } from "../../tools/notes.ts";
import type { ToolResult } from "../../tools/tool.ts";

export async function planRevert(
  lockouts: readonly Lockout[],
  { text, revert }: { readonly text: string; readonly revert?: string | undefined },
  target: Target,
  seconds: number,
): Promise<RevertPlan | { readonly problem: string }> {
  const { home, user } = target.transport.facts;
  const { elsewhere } = changedFiles(text, { cwd: "/", home, user });
  const { recipe, unknown } = revertRecipe(lockouts, home);
  const known = elsewhere ? undefined : recipe;
  if (revert === undefined && (known === undefined || unknown.length > 0))
    return { problem: unknownRevert(elsewhere, unknown) };
  const own = revert === undefined || (known !== undefined && unknown.length === 0) ? undefined : revert;
  const back = [known?.back, own].filter((part) => part !== undefined);
  const what = [known?.what, own === undefined ? undefined : `with: ${own}`].filter((part) => part !== undefined);
  return {
    says: `reverted after ${formatDuration(seconds * 1000)} unless you keep it (${what.join("; ")})`,
    ...defined({ own }),
    save: known?.save ?? "",
    back: back.map((part) => `( ${part}\n)`).join(" && "),
    seconds,
    asRoot: own !== undefined || !lockouts.every(({ file }) => file !== undefined && isBelow(file, home)),
  };
}

/** A file of the user who is logged in. */
function isBelow(file: string, home: string): boolean {
  return file.startsWith("~/") || file.startsWith(`${home.replace(/\/$/, "")}/`);
}

function unknownRevert(elsewhere: boolean, unknown: readonly string[]): string {
  const why = elsewhere
    ? "This does not run on the target itself, so buddy cannot prepare a revert."
    : `This can lock the operator out, and buddy does not know how to undo it: ${unknown.join(", ")}.`;
  return `${why} Call run_shell again with the reverse command in "revert"; it runs on the target unless the operator keeps the change.`;
}

/** Around the run itself, after every question: from here on the clock is what brings the machine back. */
export async function guardLockout(
  call: PermittedCall,
  plan: RevertPlan,
  run: () => Promise<ToolResult>,
): Promise<ToolResult> {
  const target = await call.target();
  const { transport } = target;
  const { signal, emit } = call.context;
  const say = (text: string) => emit({ stream: "info", text });
  // If a new connection asks for a password, only the operator can try one.
  const before = await transport.connectAnew(limited(signal, PROBE_MS));
  signal.throwIfAborted();
  const timer = await arm(call, target, plan);
  say(`a revert is armed on the target: it runs in ${formatDuration(plan.seconds * 1000)} unless you keep the change`);
  const reverted = async (result: ToolResult, why: string): Promise<ToolResult> => {
    const seen = await revert(timer, why, signal.aborted ? STOPPED_MS : FIRE_MS);
    const isOver = !GOES_ON.has(result.outcome);
    const note = isOver ? seen.note : `${seen.note}; the command may still run, and what it changes from now on stays`;
    say(note);
    return { ...noted(result, note), ok: false, outcome: seen.reverted && isOver ? "reverted" : "lost" };
  };
  const result = await extended(timer, run).catch(async (error: unknown) => {
    // At once: later, it would overwrite newer changes.
    say((await revert(timer, "the call failed", FIRE_MS)).note);
    throw error;
  });
  if (result.notRun === true || (call.intent.kind === "write" && !result.ok)) {
    // Nothing was changed; a part of a file that could not be written is put back.
    const { reverted: isBack, note } = await revert(timer, "nothing is left of it", FIRE_MS);
    if (!isBack) say(note);
    return result;
  }
  if (signal.aborted) return reverted(result, "it was stopped");
  if (GOES_ON.has(result.outcome)) return reverted(result, "its end was not seen");
  if (result.outcome === "stopped") return reverted(result, "it was stopped before it had ended");
  if (!(await restarted(timer, signal))) return reverted(result, "no answer came back in time");
  const after = await transport.connectAnew(limited(signal, Math.min(PROBE_MS, timer.firesAt - Date.now())));
  if (before === undefined && after !== undefined) return reverted(result, `a new connection failed: ${after}`);
  if (!(await restarted(timer, signal))) return reverted(result, "no answer came back in time");
  const kept = await call.askToKeep(timer.firesAt - MARGIN_MS, question(target, before));
  if (signal.aborted) return reverted(result, "it was stopped");
  if (!kept) return reverted(result, "the operator did not keep it");
  const state = await within(
    timer.keep().catch(() => undefined),
    FIRE_MS,
  );
  if (state !== "kept") return reverted(result, "the answer came too late to keep it");
  await timer.clean().catch(() => undefined);
  return noted(result, "the operator kept the change");
}

/** While the change is being made, its time does not run out as long as the target can be reached. */
async function extended<T>(timer: RevertTimer, run: () => Promise<T>): Promise<T> {
  const over = new AbortController();
  const every = Math.max(200, (timer.firesAt - Date.now()) / 3);
  const extending = (async () => {
    while (!over.signal.aborted) {
      await pause(every, over.signal);
      await restarted(timer, over.signal);
    }
  })().catch((error: unknown) => {
    if (!over.signal.aborted) throw error;
  });
  try {
    return await run();
  } finally {
    over.abort();
    await extending;
  }
}

async function restarted(timer: RevertTimer, signal: AbortSignal): Promise<boolean> {
  const left = timer.firesAt - Date.now();
  if (left <= 0) return false;
  return timer.extend(limited(signal, left)).catch(() => false);
}

/** The command may still make changes. */
const GOES_ON: ReadonlySet<string> = new Set(["running", "waiting", "lost", "cancelled", "timeout"]);

function question({ transport }: Target, before: string | undefined): string {
  if (transport.kind === "local")
    return "buddy runs on this machine and cannot test a new connection: try one from elsewhere before you keep it";
  return before === undefined
    ? "a new connection works"
    : `buddy cannot open a new connection on its own (${before}): try it in another terminal before you keep it`;
}

/** As root through sudo, which may ask for a password. */
function arm({ context }: PermittedCall, target: Target, plan: RevertPlan): Promise<RevertTimer> {
  const { transport, shell } = target;
  const asRoot = runAsRoot(transport, context.password === undefined ? undefined : shell, {
    ...defined({ password: context.password }),
    onDelay: (text) => context.emit({ stream: "info", text }),
  });
  const run: ScriptOnTarget = (script, options) => transport.run(script, options);
  const root: ScriptOnTarget = (script, options) =>
    asRoot(script, { signal: context.signal, ...options, purpose: "prepare a revert" });
  return RevertTimer.arm({ run, root }, randomBytes(6).toString("hex"), plan).catch((error: unknown) => {
    const why = messageOf(error);
    throw new BuddyError("target", `not run, because no revert could be prepared: ${why}`, {
      hint: 'With [safety] lockout = "ask" such commands run without a revert.',
      cause: error,
    });
  });
}

/**
 * Reverts now that the command has ended, also if its time was up before that; if the connection is cut until then,
 * waits for it. `reverted`: the target reported that all was restored.
 */
async function revert(
  timer: RevertTimer,
  why: string,
  ms: number,
): Promise<{ readonly reverted: boolean; readonly note: string }> {
  const until = Math.max(timer.firesAt + RETURN_MS, Date.now() + ms);
  let state: RevertState | undefined;
  while (state === undefined && Date.now() < until) {
    const left = Math.min(ms, until - Date.now());
    state = await within(
      timer.fire(AbortSignal.timeout(left)).catch(() => undefined),
      left,
    );
    if (ms < FIRE_MS) break;
    if (state === undefined) await pause(1000);
  }
  switch (state) {
    case "reverted":
      await timer.clean().catch(() => undefined);
      return { reverted: true, note: `${why}; the change was reverted` };
    case "failed": {
      const log = await timer.log().catch(() => "");
      return { reverted: false, note: `${why}; the revert ran and failed, look at the target now: ${log}` };
    }
    case undefined:
      return { reverted: false, note: `${why}; the revert is due, but the target does not answer` };
    case "kept":
    case "armed":
    case "reverting":
    case "gone":
      return { reverted: false, note: `${why}; it is not known whether the revert ran (${state})` };
  }
}

function limited(signal: AbortSignal, ms: number): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(Math.max(1, ms))]);
}

const PROBE_MS = 15_000;
/** For the answer to reach the target before the revert runs. */
const MARGIN_MS = 1_000;
const FIRE_MS = 20_000;
/** When the operator stops the call. */
const STOPPED_MS = 5_000;
/** How long after the revert the target may take to answer again. */
const RETURN_MS = 60_000;
