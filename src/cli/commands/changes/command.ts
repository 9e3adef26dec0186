/** `buddy changes`: the files that a session changed, and how; `/undo` in that session undoes them. */
import { clip } from "../../../lib/text.ts";
import { BuddyError, EXIT } from "../../../lib/errors.ts";
import { jsonText, print } from "../../../lib/output.ts";
import { isTerminal } from "../../../lib/terminal.ts";
import { stateDirectory } from "../../../lib/user-directories.ts";
import { defineCommand } from "../../command.ts";
import { localTime } from "../../../lib/durations.ts";

export const command = defineCommand({
  name: "changes",
  args: {
    id: {
      type: "positional",
      required: false,
      description: "the session's id, the beginning of it, or last (default)",
    },
    diff: { type: "boolean", description: "show the differences" },
    json: { type: "boolean", description: "list as JSON" },
  },
  examples: [
    ["buddy changes", "files that the last session in this directory changed"],
    ["buddy changes 7b2f --diff", "and how"],
  ],
  notes: "To undo changes, resume the session (buddy resume ID) and use /undo.",
  async run({ args: { id = "last", diff, json } }) {
    if (diff && json)
      throw new BuddyError("usage", "--diff and --json cannot be combined", { hint: "Give one of them" });
    const state = stateDirectory();
    if (state === undefined) throw new BuddyError("usage", "HOME is not set, so no changes are kept");
    const { savedSessions } = await import("../../../session/store.ts");
    const { ChangeStore } = await import("../../../changes/change-store.ts");
    const { changesDirectory } = await import("../../../session/outputs.ts");
    const { changeDiff, changeListing } = await import("../../../app/changes/undo.ts");
    const session = savedSessions().find(id);
    const store = new ChangeStore({ directory: () => changesDirectory(state, session.id), prepare: () => {} });
    const rows = changeListing(store);
    if (json) {
      const all = store.list().map(({ before, after, ...change }, index) => {
        const undone = rows[index]?.undone;
        return Object.assign(change, { before, after: after ?? null, undone: undone ?? null });
      });
      await print([jsonText(all, 2)]);
      return EXIT.ok;
    }
    const { showLine, showText } = await import("../../../policy/screen/terminal-text.ts");
    if (rows.length === 0) {
      await print([`session ${session.id} changed no file\n`]);
      return EXIT.ok;
    }
    if (diff) {
      const { redactor } = await import("../../../lib/secrets/redact.ts");
      const text = redactor([])(changeDiff(store).join("\n"));
      await print([`${showText(text, { mode: "command" }).trimEnd()}\n`]);
      return EXIT.ok;
    }
    // In a pipe nothing is left out.
    const columns = isTerminal(1) ? (process.stdout.columns ?? 80) : Infinity;
    const lines = rows.map(({ number, time, where, path, what, undone }) => {
      const note = undone === undefined ? "" : `undone by ${undone}; `;
      const text = `${String(number).padStart(3)}  ${localTime(new Date(time)).slice(0, 16)}  ${where}:${path}  ${note}${what}`;
      return `${clip(showLine(text), columns)}\n`;
    });
    await print(lines);
    return EXIT.ok;
  },
});
