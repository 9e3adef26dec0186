/** The changes of a session for people: listed, and compared file by file. */
import { type Change, type SeenState, stateDiff } from "../../changes/change.ts";
import type { ChangeStore } from "../../changes/change-store.ts";
import { BuddyError } from "../../lib/errors.ts";
import { defined } from "../../lib/values.ts";
import { unifiedDiff } from "../../tools/diff.ts";
import type { ChangeListing } from "../../ui/repl/host.ts";

/** For each change that was undone, the change that did it, unless that was undone itself. */
export function undoneBy(changes: readonly Change[]): ReadonlyMap<number, number> {
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

export interface FileChanges {
  readonly first: Change;
  readonly last: Change;
}

export function wantedChange(store: ChangeStore, number: number): Change {
  const change = Number.isInteger(number) ? store.get(number) : undefined;
  if (change !== undefined) return change;
  throw new BuddyError("usage", `there is no change ${number} in this session`, { hint: "/changes lists them" });
}

export function noChanges(): BuddyError {
  return new BuddyError("usage", "no file was changed in this session");
}

/** The first and the last change of each file. */
export function byFile(changes: readonly Change[]): Map<string, FileChanges> {
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
