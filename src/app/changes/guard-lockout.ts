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
import { noted, type ToolResult } from "../../tools/tool.ts";

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
  const timer = await arm(call, target, plan);
  say(`a revert is armed on the target: it runs in ${formatDuration(plan.seconds * 1000)} unless you keep the change`);
  const reverted = (result: ToolResult, note: string): ToolResult => {
    say(note);
    return endedWith(result, note, false);
  };
  const running = run();
  // Reverted at once: later, the revert would overwrite newer changes.
  const failed = async () => {
    if (!signal.aborted) say(await fired(timer, "the call failed"));
  };
  const result = await within(running, timer.firesAt - Date.now()).catch(async (error: unknown) => {
    await failed();
    throw error;
  });
  if (signal.aborted) return reverted(result ?? (await running), STOPPED);
  if (result === undefined) return reverted(await running, await ended(timer, "no answer came back in time"));
  if (call.intent.kind === "write" && !result.ok) {
    await failed();
    return result;
  }
  const after = await transport.connectAnew(limited(signal, Math.min(PROBE_MS, timer.firesAt - Date.now())));
  if (before === undefined && after !== undefined)
    return reverted(result, await fired(timer, `a new connection failed: ${after}`));
  const kept = await call.askToKeep(timer.firesAt - MARGIN_MS, question(target, before));
  if (signal.aborted) return reverted(result, STOPPED);
  if (!kept) return reverted(result, await fired(timer, "the operator did not keep it"));
  const state = await timer.keep();
  if (state !== "kept") return reverted(result, await endedAs(timer, state, "the answer came too late to keep it"));
  await timer.clean();
  return endedWith(result, "the operator kept the change", true);
}

const STOPPED = "it was stopped; the change will be reverted when its time is up";

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

/** Runs the revert now; if the connection is cut until it has run, waits for that. */
async function fired(timer: RevertTimer, why: string): Promise<string> {
  const state = await within(
    timer.fire(AbortSignal.timeout(FIRE_MS)).catch(() => undefined),
    FIRE_MS,
  );
  return state === undefined ? ended(timer, why) : endedAs(timer, state, why);
}

async function ended(timer: RevertTimer, why: string): Promise<string> {
  const until = timer.firesAt + RETURN_MS;
  for (;;) {
    const left = Math.min(ASK_MS, until - Date.now());
    if (left <= 0) return `${why}; the revert is due, but the target does not answer`;
    const state = await within(
      timer.state(AbortSignal.timeout(left)).catch(() => undefined),
      left,
    );
    if (state !== undefined && state !== "armed" && state !== "reverting") return endedAs(timer, state, why);
    await pause(Math.min(1000, Math.max(1, left)));
  }
}

async function endedAs(timer: RevertTimer, state: RevertState, why: string): Promise<string> {
  if (state === "kept") return `${why}; the change was kept`;
  const log = state === "failed" ? await timer.log().catch(() => "") : "";
  if (state === "reverted") await timer.clean().catch(() => undefined);
  if (state === "failed") return `${why}; the revert ran and failed, look at the target now: ${log}`;
  return state === "reverted"
    ? `${why}; the change was reverted`
    : `${why}; it is not known whether the revert ran (${state})`;
}

function endedWith(result: ToolResult, note: string, ok: boolean): ToolResult {
  return { ...noted(result, note), ok: result.ok && ok, outcome: ok ? result.outcome : "reverted" };
}

function limited(signal: AbortSignal, ms: number): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(Math.max(1, ms))]);
}

const PROBE_MS = 15_000;
/** For the answer to reach the target before the revert runs. */
const MARGIN_MS = 1_000;
const FIRE_MS = 20_000;
const ASK_MS = 10_000;
/** How long after the revert the target may take to answer again. */
const RETURN_MS = 60_000;
