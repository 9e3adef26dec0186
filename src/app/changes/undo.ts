/** /undo: undoes changes of the session, one by one, each after a question. */
import { z } from "zod";
import type { AgentEvent } from "../../agent/events.ts";
import {
  type Change,
  type ChangeStore,
  keptState,
  sameState,
  type SeenState,
  stateDiff,
} from "../../changes/change-store.ts";
import { BuddyError } from "../../lib/errors.ts";
import { defined } from "../../lib/values.ts";
import type { FileAccess, FileState, RestorableState, Target } from "../../targets/target.ts";
import { boundDiff } from "../../tools/bound-output.ts";
import { unifiedDiff } from "../../tools/diff.ts";
import { filesFor } from "../../tools/text-file.ts";
import type { Prepared, Tool, ToolContext, ToolResult } from "../../tools/tool.ts";
import type { ChangeListing } from "../../ui/repl/host.ts";
import type { Run } from "../run.ts";

/** `which`: a number, "all", or "" for the newest change that is not undone. */
export function undo(run: Run, which: string, signal: AbortSignal): AsyncIterable<AgentEvent> {
  return run.agent.operatorTurn(`/undo ${which}`.trimEnd(), signal, async (publish, inner) => {
    const store = await storeOf(run);
    const done: string[] = [];
    const wanted = chosen(store, which);
    if (wanted.length === 0) publish({ type: "notice", kind: "info", message: NOTHING_LEFT });
    for (const { first, last } of wanted) {
      const { contextLimit } = run.agent;
      const batch = { signal: inner, contextLimit, seesImages: false, publish };
      const result: ToolResult = await run.calls.runForOperator(
        undoTool(store, last, first),
        { number: last.number },
        batch,
        last.machine,
      );
      if (result.outcome === "done") done.push(String(result.result));
      // After a refusal there are no further questions; and if a part of one call could not be restored, nothing else
      // of it is removed.
      if (inner.aborted || result.outcome === "denied") break;
      if (which === "" && result.outcome !== "done" && result.outcome !== "unchanged") break;
    }
    if (done.length === 0) return undefined;
    return `I undid file changes myself; there is nothing for you to do yet.\n\n${done.join("\n")}`;
  });
}

const NOTHING_LEFT = "every change of this session is already undone; /undo N also reverses an undo";

export async function storeOf(run: Run): Promise<ChangeStore> {
  const changes = await run.changes();
  if (changes === undefined || "none" in changes)
    throw new BuddyError("usage", changes?.none ?? "changes are not kept in this run");
  return changes;
}

function chosen(store: ChangeStore, which: string): readonly FileChanges[] {
  const changes = store.list();
  if (changes.length === 0) throw noChanges();
  if (which === "all") {
    const files = [...byFile(changes).values()].toReversed();
    return restoringFirst(
      files.filter(({ first, last }) => last.after === undefined || !sameState(first.before, last.after)),
    );
  }
  if (which !== "") {
    const change = wantedChange(store, Number(which));
    return [{ first: change, last: change }];
  }
  const undone = undoneBy(changes);
  const last = changes.findLast(({ number, undoes }) => !undone.has(number) && undoes === undefined);
  if (last === undefined) return [];
  // The changes of one call are undone together: both names of a file that was moved, for example.
  const together = changes.filter(
    ({ number, call, undoes }) => call === last.call && undoes === undefined && !undone.has(number),
  );
  return restoringFirst(together.map((change) => ({ first: change, last: change })));
}

/** What a file was made from is restored before the file is removed. */
function restoringFirst(changes: readonly FileChanges[]): readonly FileChanges[] {
  return changes.toSorted(
    (a, b) => Number(a.first.before.kind === "missing") - Number(b.first.before.kind === "missing"),
  );
}

interface UndoInput {
  readonly number: number;
}

/**
 * A call of the operator's, judged, asked about and kept like any other write. `first`: all changes from that one to
 * `change` are undone at once.
 */
function undoTool(store: ChangeStore, change: Change, first: Change = change): Tool<UndoInput> {
  let seen: FileState | undefined;
  return {
    name: "undo",
    description: "Undo a change.",
    input: z.strictObject({ number: z.number() }),
    intent: () => ({
      kind: "write",
      title: `change ${change.number}: ${change.path}`,
      path: change.path,
      undoes: change.number,
      ...(change.sudo === true ? { sudo: true } : {}),
      why: reason(change, first),
    }),
    async prepare(_input, context): Promise<Prepared> {
      const target = await context.target();
      const plan = await planUndo(store, { change, first }, target, context);
      if ("failed" in plan) return { kind: "failed", result: failed(plan.failed, plan.outcome) };
      seen = plan.now;
      const diff = stateDiff(plan.current, plan.wanted, unifiedDiff);
      return { kind: "ready", diff: context.mask(diff), removes: plan.wanted.state.kind === "missing" };
    },
    async run(_input, context): Promise<ToolResult> {
      const target = await context.target();
      const plan = await planUndo(store, { change, first }, target, context);
      if ("failed" in plan) return failed(plan.failed, plan.outcome);
      if (seen === undefined || !same(seen, plan.now))
        return failed(`${change.path} changed after you saw the difference. Nothing was written.`, "changed");
      const files = filesFor(target, change.sudo, context);
      await files.restore(change.path, plan.state, { signal: context.signal });
      const left = await difference(files, change.path, plan.wanted, context);
      const how = plan.state.kind === "missing" ? "removed" : "restored";
      const like = left === "" ? "it is as it was before" : "it still differs from the file before";
      const text = [`${how} ${change.path}: ${like} change ${first.number}`, ...(left === "" ? [] : [left])].join("\n");
      return { ok: true, outcome: "done", result: text };
    },
  };
}

/** What an undo could not put back: the owner, for example, without root. */
async function difference(
  files: FileAccess,
  path: string,
  wanted: SeenState,
  { signal, mask }: ToolContext,
): Promise<string> {
  const [file] = await files.look([{ path, follow: false }], { signal });
  if (file === undefined || file.state.kind === "unread") return "[it cannot be read]";
  const seen = seenState(file.state);
  return sameState(seen.state, wanted.state) ? "" : mask(boundDiff(stateDiff(seen, wanted, unifiedDiff)));
}

function reason(change: Change, first: Change): string {
  const what = `undoes change ${change.number}${first === change ? "" : ` and the earlier ones from ${first.number} on`}`;
  const unknown = change.after === undefined || change.after.kind === "unread";
  return unknown ? `${what}; the result of that change is not known, so compare carefully` : what;
}

type Plan =
  | {
      readonly current: SeenState;
      readonly wanted: SeenState;
      readonly state: RestorableState;
      readonly now: FileState;
    }
  | { readonly failed: string; readonly outcome: string };

async function planUndo(
  store: ChangeStore,
  { change, first }: { readonly change: Change; readonly first: Change },
  target: Target,
  context: ToolContext,
): Promise<Plan> {
  const stop = (message: string, outcome = "failed"): Plan => ({ failed: message, outcome });
  const { machine, user, host } = target.identity;
  if (machine !== change.machine)
    return stop(`change ${change.number} was made on ${change.where}, and this session is on ${user}@${host} now`);
  const state = store.restorable(first.before);
  if (state === undefined)
    return stop(`the content of ${change.path} before change ${first.number} is no longer stored`);
  const files = filesFor(target, change.sudo, context);
  const [file] = await files.look([{ path: change.path, follow: false }], { signal: context.signal });
  if (file === undefined || file.path !== change.path)
    return stop(`${change.path} leads to ${file?.path ?? "nowhere"} now; nothing was changed`, "changed");
  const now = file.state;
  if (now.kind === "unread") return stop(`${change.path} cannot be compared: ${WHY[now.why]}`);
  const current = seenState(now);
  const wanted = seenState(state);
  if (sameState(current.state, wanted.state)) return stop(`${change.path} is already as it was`, "unchanged");
  const { after } = change;
  if (after !== undefined && after.kind !== "unread" && !sameState(current.state, after)) {
    const diff = stateDiff({ state: after, bytes: store.content(after) }, current, unifiedDiff);
    return stop(`${since(store, change)}\n${context.mask(boundDiff(diff))}`, "changed");
  }
  return { current, wanted, state, now };
}

function seenState(state: RestorableState): SeenState {
  return { state: keptState(state), bytes: state.kind === "file" ? state.bytes : new Uint8Array() };
}

/** Says that the file has changed since, and which changes of the session did that. */
function since(store: ChangeStore, change: Change): string {
  const later = store
    .list()
    .filter(
      ({ number, machine, path }) => number > change.number && machine === change.machine && path === change.path,
    );
  const by = later.length === 0 ? "" : ` (change ${later.map(({ number }) => number).join(", ")} of this session)`;
  return `${change.path} has changed since change ${change.number}${by}. Nothing was undone. This is how it differs:`;
}

function same(a: FileState, b: FileState): boolean {
  return a.kind !== "unread" && b.kind !== "unread" && sameState(keptState(a), keptState(b));
}

function failed(message: string, outcome: string): ToolResult {
  return { ok: false, outcome, result: `error: ${message}`, display: message };
}

const WHY = {
  directory: "it is a directory now",
  special: "it is not a regular file now",
  large: "it is too large now",
  unreadable: "it cannot be read",
} as const;

// ── The changes of a session for people: listed, and compared file by file.

/** For each change that was undone, the change that did it, unless that was undone itself. */
function undoneBy(changes: readonly Change[]): ReadonlyMap<number, number> {
  const undone = new Map<number, number>();
  // Newest first: an undo that was undone itself does not count.
  for (const { number, undoes } of changes.toReversed())
    if (undoes !== undefined && !undone.has(number)) undone.set(undoes, number);
  return undone;
}

export function changeListing(store: Pick<ChangeStore, "list">): readonly ChangeListing[] {
  const changes = store.list();
  const undone = undoneBy(changes);
  return changes.map((change) => {
    const { number, time, where, path } = change;
    return { number, time, where, path, what: describe(change), ...defined({ undone: undone.get(number) }) };
  });
}

function describe({ before, after, tool, command, undoes }: Change): string {
  const verb =
    after === undefined || after.kind === "unread"
      ? "perhaps changed"
      : before.kind === "missing"
        ? "created"
        : after.kind === "missing"
          ? "removed"
          : "changed";
  if (undoes !== undefined) return `${verb} by undo of ${undoes}`;
  return command === undefined ? `${verb} by ${tool}` : `${verb} by: ${command}`;
}

/** The difference that one change made, or all of them together, file by file. */
export function changeDiff(store: ChangeStore, number?: number): readonly string[] {
  const changes = number === undefined ? store.list() : [wantedChange(store, number)];
  if (changes.length === 0) throw noChanges();
  return [...byFile(changes).values()].flatMap(({ first, last }) => {
    const numbers = first === last ? `change ${last.number}` : `changes ${first.number} to ${last.number}`;
    const { after } = last;
    const diff =
      after === undefined
        ? "[the result is not known]"
        : stateDiff(stored(store, first.before), stored(store, after), unifiedDiff) || "[no difference]";
    return `${last.where}:${last.path}  (${numbers})\n${diff}\n`.split("\n");
  });
}

interface FileChanges {
  readonly first: Change;
  readonly last: Change;
}

function wantedChange(store: ChangeStore, number: number): Change {
  const change = Number.isInteger(number) ? store.get(number) : undefined;
  if (change !== undefined) return change;
  throw new BuddyError("usage", `there is no change ${number} in this session`, { hint: "/changes lists them" });
}

function noChanges(): BuddyError {
  return new BuddyError("usage", "no file was changed in this session");
}

/** The first and the last change of each file. */
function byFile(changes: readonly Change[]): Map<string, FileChanges> {
  const files = new Map<string, FileChanges>();
  for (const change of changes) {
    const key = `${change.machine}\0${change.path}`;
    files.set(key, { first: files.get(key)?.first ?? change, last: change });
  }
  return files;
}

function stored(store: ChangeStore, state: SeenState["state"]): SeenState {
  return { state, bytes: state.kind === "unread" ? undefined : store.content(state) };
}
