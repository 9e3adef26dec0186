/** The changes of a session for the operator: listed, compared, taken back. */
import type { AgentEvent } from "../agent/events.ts";
import { type Change, sameState } from "../changes/change.ts";
import type { ChangeStore } from "../changes/change-store.ts";
import { type SeenState, stateDiff } from "../changes/state-diff.ts";
import { BuddyError } from "../lib/errors.ts";
import { unifiedDiff } from "../tools/diff.ts";
import type { ToolResult } from "../tools/tool.ts";
import type { ChangeListing } from "../ui/repl/host.ts";
import type { Run } from "./run.ts";
import { undoTool } from "./undo-change.ts";

/** For each change that was taken back, the change that did it, unless that was taken back itself. */
function undoneBy(changes: readonly Change[]): ReadonlyMap<number, number> {
  const undone = new Map<number, number>();
  // Newest first: an undo that was taken back itself does not count.
  for (const { number, undoes } of changes.toReversed())
    if (undoes !== undefined && !undone.has(number)) undone.set(undoes, number);
  return undone;
}

export function changeListing(store: Pick<ChangeStore, "list">): readonly ChangeListing[] {
  const changes = store.list();
  const undone = undoneBy(changes);
  return changes.map((change) => {
    const { number, time, where, path } = change;
    const row: ChangeListing = { number, time, where, path, what: describe(change) };
    const by = undone.get(number);
    return by === undefined ? row : Object.assign(row, { undone: by });
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
  const changes = number === undefined ? store.list() : [wanted(store, number)];
  if (changes.length === 0) throw nothing();
  return [...byFile(changes).values()].flatMap(({ first, last }) => {
    const numbers = first === last ? `change ${last.number}` : `changes ${first.number} to ${last.number}`;
    const { after } = last;
    const diff =
      after === undefined
        ? "[what came of it is not known]"
        : stateDiff(stored(store, first.before), stored(store, after), unifiedDiff) || "[no difference]";
    return `${last.where}:${last.path}  (${numbers})\n${diff}\n`.split("\n");
  });
}

/** `which`: a number, "all", or "" for the newest change that still stands. */
export function undo(run: Run, which: string, signal: AbortSignal): AsyncIterable<AgentEvent> {
  return run.agent.operatorTurn(`/undo ${which}`.trimEnd(), signal, async (publish, inner) => {
    const store = await storeOf(run);
    const done: string[] = [];
    for (const { first, last } of chosen(store, which)) {
      const { contextLimit } = run.agent;
      const batch = { signal: inner, contextLimit, seesImages: false, publish };
      const result: ToolResult = await run.calls.runForOperator(
        undoTool(store, last, first),
        { number: last.number },
        batch,
        last.machine,
      );
      if (result.ok) done.push(String(result.result));
      // The next ones would be asked about without the operator who just said no.
      if (inner.aborted || result.outcome === "denied") break;
    }
    if (done.length === 0) return undefined;
    return `I took changes of files back myself; nothing is asked of you yet.\n\n${done.join("\n")}`;
  });
}

export async function storeOf(run: Run): Promise<ChangeStore> {
  const changes = await run.changes();
  if (changes === undefined || "none" in changes)
    throw new BuddyError("usage", changes?.none ?? "changes are not kept in this run");
  return changes;
}

interface Net {
  readonly first: Change;
  readonly last: Change;
}

function chosen(store: ChangeStore, which: string): readonly Net[] {
  const changes = store.list();
  if (changes.length === 0) throw nothing();
  if (which === "all") {
    const files = [...byFile(changes).values()].toReversed();
    return files.filter(({ first, last }) => last.after === undefined || !sameState(first.before, last.after));
  }
  if (which !== "") {
    const change = wanted(store, Number(which));
    return [{ first: change, last: change }];
  }
  const undone = undoneBy(changes);
  const last = changes.findLast(({ number, undoes }) => !undone.has(number) && undoes === undefined);
  if (last === undefined)
    throw new BuddyError("usage", "every change of this session is undone already", {
      hint: "/changes lists them; /undo N takes back an undo, too",
    });
  return [{ first: last, last }];
}

function wanted(store: ChangeStore, number: number): Change {
  const change = Number.isInteger(number) ? store.get(number) : undefined;
  if (change !== undefined) return change;
  throw new BuddyError("usage", `there is no change ${number} in this session`, { hint: "/changes lists them" });
}

function nothing(): BuddyError {
  return new BuddyError("usage", "no file was changed in this session");
}

/** The first and the last change of each file. */
function byFile(changes: readonly Change[]): Map<string, Net> {
  const files = new Map<string, Net>();
  for (const change of changes) {
    const key = `${change.machine}\0${change.path}`;
    files.set(key, { first: files.get(key)?.first ?? change, last: change });
  }
  return files;
}

function stored(store: ChangeStore, state: SeenState["state"]): SeenState {
  return { state, bytes: state.kind === "unread" ? undefined : store.content(state) };
}
