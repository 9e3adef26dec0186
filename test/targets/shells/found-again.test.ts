/** Output that was missed is read back from the pane: never that of another command. */
import { expect, test } from "bun:test";
import { Spool } from "../../../src/targets/shells/output/spool.ts";
import { fillGap } from "../../../src/targets/shells/tmux/found-again.ts";
import { RunningCommand } from "../../../src/targets/shells/tmux/running-command.ts";

function filled(recorded: string, lines: readonly string[]): { text: string; notes: string } {
  using spool = new Spool();
  const command = new RunningCommand(1, "tick", spool.open(), {}, false);
  command.promptId = 3;
  command.started();
  command.recording.insert(recorded);
  fillGap(command, { mark: undefined, cwd: "/", lines, lineEnded: true }, "the connection was lost");
  const { head, tail } = command.recording.captured();
  return { text: head + tail, notes: command.notes.join(" ") };
}

const screen = [
  "[buddy 2: 0] root@vm:/# cat notes",
  "output of another command",
  "[buddy 3: 0] root@vm:/# tick",
  ...[1, 2, 3, 4, 5].map((n) => `tick ${n}`),
];

test("what follows the last lines that were seen is added", () => {
  const { text, notes } = filled("tick 1\ntick 2\n", screen);
  expect(text).toBe("tick 1\ntick 2\ntick 3\ntick 4\ntick 5\n");
  expect(notes).toContain("read back from the pane");
});

test("two drops in a row: the screen above the command's own prompt was taken for its output", () => {
  // A line came between the drops, so that what was recorded stands nowhere on the screen.
  const { text, notes } = filled("tick 1\ntick 4\n", screen);
  expect(text).toContain("tick 1\ntick 2\ntick 3\ntick 4\ntick 5\n");
  expect(text).toContain("[a part came out of order");
  expect(text).not.toContain("another command");
  expect(notes).toContain("read back from the pane");
});

test("a scrollback that no longer has the prompt: a part is missing, and that is said", () => {
  const { text, notes } = filled("tick 1\n", ["tick 400", "tick 401"]);
  expect(text).toContain("[output is missing here]\ntick 400\ntick 401\n");
  expect(notes).toContain("a part is missing");
});
