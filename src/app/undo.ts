/** /undo: takes changes of the session back, one by one, each after a question. */
import type { AgentEvent } from "../agent/events.ts";
import { sameState } from "../changes/change.ts";
import type { ChangeStore } from "../changes/change-store.ts";
import { BuddyError } from "../lib/errors.ts";
import type { ToolResult } from "../tools/tool.ts";
import { byFile, type Net, noChanges, undoneBy, wantedChange } from "./list-changes.ts";
import type { Run } from "./run.ts";
import { undoTool } from "./undo-change.ts";

/** `which`: a number, "all", or "" for the newest change that still stands. */
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
      // After a no there are no further questions; and of what belongs together nothing is removed before the rest is
      // back.
      if (inner.aborted || result.outcome === "denied") break;
      if (which === "" && result.outcome !== "done" && result.outcome !== "unchanged") break;
    }
    if (done.length === 0) return undefined;
    return `I took changes of files back myself; nothing is asked of you yet.\n\n${done.join("\n")}`;
  });
}

const NOTHING_LEFT = "every change of this session is undone already; /undo N takes back an undo, too";

export async function storeOf(run: Run): Promise<ChangeStore> {
  const changes = await run.changes();
  if (changes === undefined || "none" in changes)
    throw new BuddyError("usage", changes?.none ?? "changes are not kept in this run");
  return changes;
}

function chosen(store: ChangeStore, which: string): readonly Net[] {
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
  // What one call did goes back together: of a file that was moved, both names.
  const together = changes.filter(
    ({ number, call, undoes }) => call === last.call && undoes === undefined && !undone.has(number),
  );
  return restoringFirst(together.map((change) => ({ first: change, last: change })));
}

/** Nothing is removed before what it was made of is back. */
function restoringFirst(changes: readonly Net[]): readonly Net[] {
  return changes.toSorted(
    (a, b) => Number(a.first.before.kind === "missing") - Number(b.first.before.kind === "missing"),
  );
}
