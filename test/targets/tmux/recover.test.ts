/** Output that was missed is read back from the pane: never that of another command. */
import { describe, expect, test } from "bun:test";
import { OutputStore } from "../../../src/targets/output/output-store.ts";
import { MISSING, type PaneSnapshot, takeApart, fillGap } from "../../../src/targets/tmux/recover.ts";
import type { Mark } from "../../../src/targets/tmux/markers.ts";
import { RunningCommand } from "../../../src/targets/tmux/running-command.ts";

const SNAPSHOT: PaneSnapshot = { mark: undefined, cwd: "/", lines: [], column: 0, alternate: false };

function filled(recorded: string, lines: readonly string[]): { text: string; notes: string } {
  using outputStore = new OutputStore();
  const command = new RunningCommand(1, "tick", outputStore.open(), {}, false);
  command.promptId = 3;
  command.started();
  command.recording.insert(recorded);
  fillGap(command, { ...SNAPSHOT, lines: [...lines, ""] }, "the connection was lost");
  const { head, tail } = command.recording.captured();
  return { text: head + tail, notes: command.notes.join(" ") };
}

const screen = [
  "[buddy 2: 0] root@vm:/# cat notes",
  "output of another command",
  "[buddy 3: 0] root@vm:/# tick",
  ...[1, 2, 3, 4, 5].map((n) => `tick ${n}`),
];

const READ_BACK = filled("tick 1\n", screen).notes;

test("what follows the last lines that were seen is added", () => {
  const { text, notes } = filled("tick 1\ntick 2\n", screen);
  expect(text).toBe("tick 1\ntick 2\ntick 3\ntick 4\ntick 5\n");
  expect(notes).toBe(READ_BACK);
});

test("two drops in a row: the screen above the command's own prompt is not taken for its output", () => {
  // A line came between the drops, so that what was recorded stands nowhere on the screen.
  const { text, notes } = filled("tick 1\ntick 4\n", screen);
  expect(text).toContain("tick 1\ntick 2\ntick 3\ntick 4\ntick 5\n");
  expect(text).toMatch(/\n\[.*\]\ntick 1\ntick 2\n/);
  expect(text).not.toContain("another command");
  expect(notes).toBe(READ_BACK);
});

test("a scrollback that no longer has the prompt: a part is missing, and buddy says so", () => {
  const { text, notes } = filled("tick 1\n", ["tick 400", "tick 401"]);
  expect(text).toContain(`${MISSING}tick 400\ntick 401\n`);
  expect(notes).not.toBe(READ_BACK);
  expect(notes).not.toBe("");
});

test("a line that is being overwritten continues from where the cursor stands", () => {
  using outputStore = new OutputStore();
  const command = new RunningCommand(1, "progress", outputStore.open(), {}, false);
  command.promptId = 3;
  command.started();
  command.recording.insert("10%");
  const lines = ["[buddy 3: 0] root@vm:/# progress", "55%"];
  fillGap(command, { ...SNAPSHOT, lines, column: 0 }, "the connection was lost");
  command.output(Buffer.from("99%"));
  expect(command.recording.captured().head).toContain("99%");
  expect(command.recording.captured().head).not.toContain("55%");
});

test("a full-screen program that came or went unheard", () => {
  using outputStore = new OutputStore();
  const command = new RunningCommand(1, "less", outputStore.open(), {}, false);
  command.started();
  command.recording.insert("before\n");
  fillGap(command, { ...SNAPSHOT, lines: ["a file"], alternate: true }, "the connection was lost");
  expect(command.recording.fullScreen).toBe(true);
  expect(command.notes.join(" ")).toContain("full-screen");
  fillGap(command, { ...SNAPSHOT, lines: ["before", "after", ""] }, "the connection was lost");
  expect(command.recording.fullScreen).toBe(false);
  expect(command.recording.captured().head).toBe("before\nafter\n");
});

test("a character cut in two by the drop is read from the screen", () => {
  using outputStore = new OutputStore();
  const command = new RunningCommand(1, "x", outputStore.open(), {}, false);
  command.started();
  command.output(Buffer.concat([Buffer.from("gr"), Buffer.from("ü").subarray(0, 1)]));
  fillGap(command, { ...SNAPSHOT, lines: ["grün", ""] }, "the connection was lost");
  expect(command.recording.captured().head).toBe("grün\n");
});

describe("marks after a gap", () => {
  const started: Mark = { kind: "started", tag: 7 };
  const prompt = (id: number, tag: number): Mark => ({ kind: "prompt", id, code: 5, tag, cwd: "/" });
  const apart = (mark: Mark | undefined, heard: readonly Mark[], lines: readonly string[]) => {
    using outputStore = new OutputStore();
    const command = new RunningCommand(7, "tick", outputStore.open(), {}, false);
    command.promptId = 3;
    const after = takeApart(command, { ...SNAPSHOT, mark, lines }, heard, "the connection was lost");
    return { ...after, phase: command.phase, text: command.recording.captured().head };
  };
  const running = ["[buddy 3: 0] $ tick", "one", ""];
  const over = ["[buddy 3: 0] $ tick", "one", "[buddy 4: 5] $ "];

  test("what was reported is not reported again from what tmux remembers", () => {
    expect(apart(started, [], running)).toEqual({ marks: [started], phase: "started", text: "one\n" });
    expect(apart(started, [started], running).marks).toEqual([started]);
    const heard = [started, prompt(4, 7), { kind: "ready" } as const];
    expect(apart(prompt(4, 7), heard, over)).toEqual({ marks: heard, phase: "started", text: "one\n" });
  });

  test("a start that was heard before a second drop, and an end that was not, are both known", () => {
    expect(apart(prompt(4, 7), [started], over).marks).toEqual([started, prompt(4, 7)]);
    expect(apart(undefined, [started], running)).toMatchObject({ marks: [started], phase: "started" });
  });

  test("nothing of it was seen: it is not known to have begun", () => {
    expect(apart(prompt(3, 2), [], ["[buddy 3: 0] $ "])).toEqual({ marks: [prompt(3, 2)], phase: "sent", text: "" });
  });

  test("it ended unheard and the operator ran something since: the screen shows how", () => {
    const later = [...over.slice(0, 2), "[buddy 4: 5] $ ls", "file", "[buddy 5: 0] $ "];
    expect(apart(prompt(5, 0), [started], later)).toMatchObject({
      ended: { kind: "exited", code: 5 },
      text: "one\n",
    });
    expect(apart(prompt(9, 0), [started], ["[buddy 9: 0] $ "]).ended).toMatchObject({ kind: "lost" });
    expect(apart(undefined, [started], over).ended).toEqual({ kind: "exited", code: 5 });
  });
});
