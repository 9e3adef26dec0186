import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "../../support/until.ts";
import { answer, ReplRig, type ScriptedTurn } from "../../support/repl-rig.ts";
import { scriptedEditor } from "../../support/scripted-editor.ts";
import { QUESTION, REPL } from "../../support/wording.ts";
import { approvalWords } from "../../../src/ui/commands/status.ts";
import { droppedWords } from "../../../src/ui/repl/task-view.ts";
import { Picker } from "../../../src/ui/questions/picker.ts";
import { theme } from "../../../src/ui/theme.ts";

setDefaultTimeout(60_000);

/** A command that prints, waits for the gate "go" and ends. */
const shell: ScriptedTurn = async function* ({ gate }) {
  yield { type: "tool_started", call: "c1", tool: "run_shell", title: "make all", args: {} };
  for (let i = 1; i <= 12; i++) yield { type: "tool_output", call: "c1", stream: "stdout", text: `step ${i}\n` };
  await gate("go");
  yield {
    type: "tool_finished",
    call: "c1",
    tool: "run_shell",
    ok: true,
    outcome: "exited",
    exit_code: 0,
    ms: 2300,
    result: "{}",
  };
  yield* answer("It is **built**.");
};

const asking: ScriptedTurn = async function* ({ ask, gate }) {
  await gate("ask");
  const decision = await ask();
  yield* answer(`decision: ${JSON.stringify(decision)}`);
};

describe("the first screen", () => {
  for (const [cols, rows] of [
    [80, 24],
    [40, 12],
    [200, 60],
  ] as const) {
    test(`fits ${cols}×${rows}`, async () => {
      await using rig = new ReplRig({ cols, rows, target: { attach: "tmux -L buddy attach -t buddy-ab12" } });
      const screen = await rig.until(/^> *$/m);
      const lines = screen.split("\n");
      expect(lines.filter((line) => line !== "").length).toBeLessThanOrEqual(7);
      for (const word of ["buddy 1.2.3", "model-x", "ann@desk", "tmux -L buddy att", "/help"])
        expect(screen).toContain(word);
      expect(rig.emulator.beforeCursor()).toBe("> ");
    });
  }

  test("the shared pane is reported when it is known later, as are a resumed session and other approvals", async () => {
    let attach: string | undefined;
    await using rig = new ReplRig({ facts: { resumed: true, lastPrompt: "is the\nweb up?" }, host: {} });
    const facts = rig.host.facts;
    Object.assign(rig.host, {
      facts: () => ({ ...facts(), target: { ...facts().target, ...(attach ? { attach } : {}) } }),
    });
    await rig.until(/aaaa-bbbb-cccc-dddd.*“is the web up\?”/);
    attach = "tmux attach -t x";
    rig.repl.targetOpened();
    await rig.until(/\S +tmux attach -t x$/m);
  });
});

describe("prompts", () => {
  test("local, ssh, container, with the context used", async () => {
    await using ssh = new ReplRig({ target: { kind: "ssh", name: "deploy@web1" }, turn: () => answer("ok") });
    await ssh.until("(ssh deploy@web1)>");
    ssh.used = 40;
    ssh.send("hi\r");
    await ssh.until("4% context (ssh deploy@web1)>");
    await using container = new ReplRig({ target: { kind: "container", name: "api" } });
    await container.until("(container api)>");
    await using narrow = new ReplRig({
      cols: 30,
      rows: 10,
      target: { kind: "ssh", name: "somebody@a-very-long-host-name.example.com" },
    });
    await narrow.until(/\(ssh some\S*…>/);
    expect(narrow.emulator.cursor().col).toBeLessThan(25);
  });
});

describe("a task", () => {
  test("streams above the line while the operator types, and ends in a clipped preview", async () => {
    await using rig = new ReplRig({ turn: shell });
    rig.send("build it\r");
    await rig.until("step 12");
    rig.send("and then");
    const running = await rig.until("> and then");
    expect(running).toContain("● make all  run_shell\n  step 8\n  step 9");
    expect(running).toMatch(/task 1 · running run_shell · \ds/);
    rig.open("go");
    const done = await rig.until((screen) => screen.includes("It is built.") && !screen.includes("task 1 ·"));
    expect(done).toContain(
      "● make all  run_shell  exit 0 · 2.3s\n  step 1\n  step 2\n  step 3\n  …6 more lines: /output 1\n",
    );
    expect(done).toContain("  step 12\n");
    expect(done).toMatch(/> and then$/);
    expect(rig.prompts).toEqual(["build it"]);
  });

  test("a second prompt is queued, shown as queued, and runs next", async () => {
    await using rig = new ReplRig({ turn: shell });
    rig.send("one\r");
    await rig.until("step 12");
    rig.send("two\r");
    const screen = await rig.until("queued 2: two");
    expect(screen).toContain("1 queued");
    rig.send("/ps\r");
    await rig.until(/2 {2}queued/);
    rig.open("go");
    await rig.until((text) => text.includes("> two") && !text.includes("task 2 ·"));
    expect(rig.prompts).toEqual(["one", "two"]);
  });

  test("Ctrl-C clears the line, then stops the task and drops the queue, then leaves", async () => {
    const rig = new ReplRig({ turn: shell });
    rig.send("one\rtwo\rhalf");
    await rig.until("> half");
    rig.key("ctrl-c");
    await rig.until((screen) => !screen.includes("half"));
    expect(rig.repl.tasks.running?.state.kind).toBe("running");
    rig.key("ctrl-c");
    expect(await rig.untilEnd(1, "cancelled")).toContain(droppedWords(1));
    expect(rig.end(2)).toBe("cancelled");
    rig.key("ctrl-c");
    await rig.until(REPL.pressAgain);
    rig.key("ctrl-c");
    expect(await rig.done).toBe(0);
    expect(rig.raw).toBe(false);
    expect(rig.emulator.raw).toContain("\x1b[?2004l");
  });

  test("Ctrl-D while a task runs says what runs and asks once more", async () => {
    const rig = new ReplRig({ turn: shell });
    rig.send("one\r");
    await rig.until("step 12");
    rig.send("x\x7f\x04");
    const screen = await rig.until(REPL.quitAgain);
    expect(screen).toMatch(/1 +running run_shell .*one/);
    expect(rig.repl.tasks.running).toBeDefined();
    rig.send("\x04");
    expect(await rig.done).toBe(0);
    await rig.untilEnd(1, "cancelled");
  });

  test("a line typed after that keeps the REPL, and Ctrl-D asks again", async () => {
    await using rig = new ReplRig({ turn: shell });
    rig.send("one\r");
    await rig.until("step 12");
    rig.send("\x04");
    await rig.until(REPL.quitAgain);
    rig.send("/ps\r");
    await rig.until("> /ps");
    rig.key("ctrl-l");
    rig.send("\x04");
    await rig.until(REPL.quitAgain);
    expect(rig.repl.leaving).toBe(false);
  });

  test("retries are one line that changes and goes away", async () => {
    await using rig = new ReplRig({
      turn: async function* ({ gate }) {
        yield { type: "retry", attempt: 1, of: 4, host: "api.example", reason: "connection broken", wait_ms: 400 };
        await gate("second");
        yield { type: "retry", attempt: 2, of: 4, host: "api.example", reason: "connection broken", wait_ms: 800 };
        await gate("answer");
        yield* answer("here it is");
      },
    });
    rig.send("x\r");
    await rig.until(/api\.example.* 0\.4s \(1\/4\)/);
    rig.open("second");
    await rig.until((screen) => screen.includes("(2/4)") && !screen.includes("(1/4)"));
    rig.open("answer");
    await rig.until((screen) => screen.includes("here it is") && !screen.includes("(2/4)"));
  });

  test("/timeout ends it, /kill stops it, /ps lists what really runs", async () => {
    await using rig = new ReplRig({ turn: shell });
    rig.send("one\r");
    await rig.until("step 12");
    rig.send("/timeout soon\r");
    await rig.until('"soon"');
    rig.send("/timeout 99d\r/approve 99999999d\r");
    await rig.until('"99d"');
    await rig.until('"99999999d"');
    expect([rig.repl.tasks.running?.timeoutMs, rig.approvals.mode.kind]).toEqual([undefined, "ask"]);
    rig.send("/timeout 30ms\r");
    await rig.untilEnd(1, "timeout");
    rig.send("two\r");
    await rig.until("> two");
    rig.send("/kill 7\r/kill x\r/kill 2\r");
    const screen = await rig.untilEnd(2, "cancelled");
    expect(screen).toMatch(/^error: .* 7$/m);
    expect(screen).toMatch(/^error: "x" /m);
    rig.key("ctrl-l");
    rig.send("/ps\r");
    await rig.until(/2 {2}cancelled.*\n.*1 {2}timeout/);
    rig.send("/kill 2\r");
    await rig.until(/^error: .* 2 /m);
  });

  test("a failure is reported with what to do", async () => {
    await using rig = new ReplRig({
      turn: async function* () {
        yield { type: "warning", message: "the window is 80 % full", hint: "/compact" };
        yield { type: "retry", attempt: 1, of: 4, host: "api.example", reason: "503", wait_ms: 10 };
        yield { type: "error", code: "model", message: "no such model", hint: "try /model" };
        yield { type: "done", turn: 1, status: "failed", text: "", iterations: 1, ms: 1 };
      },
    });
    rig.send("x\r");
    const screen = await rig.untilEnd(1, "failed");
    expect(screen).toContain("warning: the window is 80 % full\n  /compact");
    expect(screen).toContain("error: no such model\n  try /model");
  });

  test("what a program throws is an error line, not a crash", async () => {
    await using rig = new ReplRig({
      // oxlint-disable-next-line require-yield
      turn: async function* () {
        throw new Error("boom");
      },
    });
    rig.send("x\r");
    await rig.until("error: boom");
  });
});

describe("output", () => {
  test("model and tool text cannot move the cursor, set titles or hide", async () => {
    await using rig = new ReplRig({
      turn: async function* () {
        yield { type: "tool_started", call: "c", tool: "run_shell\x1b[2J", title: "x\x1b]0;owned\x07\ny", args: {} };
        yield { type: "tool_output", call: "c", stream: "stdout", text: "\x1b]52;c;" };
        yield { type: "tool_output", call: "c", stream: "stdout", text: "ZXZpbA==\x07\x1b[1Aout\rput\n" };
        yield {
          type: "tool_finished",
          call: "c",
          tool: "t",
          ok: false,
          outcome: "exited",
          exit_code: 3,
          ms: 1,
          result: "",
        };
        yield* answer("safe \x1b[5;5Htext\x1b]52;c;eA==\x07 end");
      },
    });
    rig.send("x\r");
    const screen = await rig.until("safe text end");
    expect(screen).toContain("exit 3");
    expect(screen).toContain("● x\\u{1b}]0;owned\\u{7} ⏎ y");
    // oxlint-disable-next-line no-control-regex
    expect(rig.emulator.raw).not.toMatch(/\x1b\]52|\x1b\]0;|\x1b\[5;5H/);
  });

  test("reasoning is dimmed, folds and unfolds", async () => {
    const turn: ScriptedTurn = async function* () {
      yield { type: "reasoning", delta: "first I think\nthen I " };
      yield { type: "reasoning", delta: "decide" };
      yield* answer("the answer");
    };
    await using rig = new ReplRig({ turn, display: { color: true, showReasoning: false } });
    rig.send("x\r");
    const folded = await rig.until("the answer");
    expect(folded).toMatch(/\(Ctrl-O .*\)/);
    expect(folded).not.toContain("decide");
    rig.key("ctrl-o");
    await rig.until("then I decide");
    expect(rig.emulator.raw).toContain("\x1b[2;3mthen I decide");
    rig.send("y\r");
    await rig.until((screen) => screen.split("first I think").length === 3);
    rig.key("ctrl-o");
    rig.send("z\r");
    await until(() => rig.end(3) === "answered", "the third answer");
    expect((await rig.until(/> z\n[^]*the answer/)).split("first I think")).toHaveLength(3);
  });

  test("discarded text is marked, a compaction shows its summary, tokens are counted", async () => {
    await using rig = new ReplRig({
      display: { showTokens: true },
      turn: async function* () {
        yield { type: "text", delta: "half an answer\n\n" };
        yield { type: "discard" };
        yield { type: "compacted", summary: "they *talked*", before_tokens: 9000, after_tokens: 300, replaced: 4 };
        yield { type: "notice", kind: "reconnected", message: "web1 is back" };
        yield* tokens();
        yield* answer("whole");
      },
    });
    rig.send("x\r");
    const screen = await rig.until(/1\.5k in, 20 out · \$0\.0123/);
    expect(screen).toMatch(/half an answer\n+· /);
    expect(screen).toMatch(/ 4 messages, 9\.0k → 300 .*:\n  they talked/);
    expect(screen).toContain("· web1 is back");
  });

  test("no colour means not one colour sequence", async () => {
    await using rig = new ReplRig({ turn: shell });
    rig.send("x\r");
    await rig.until("step 12");
    rig.open("go");
    rig.send("/status\r");
    await rig.until("It is built.");
    expect(rig.emulator.raw).not.toMatch(/\x1b\[[\d;]+m/);
  });

  test("a slow terminal makes the task wait instead of memory grow, and keys still count", async () => {
    let sent = 0;
    await using rig = new ReplRig({
      turn: async function* () {
        for (; sent < 30_000; sent++) yield { type: "text", delta: `line ${sent}\n\n` };
        yield* answer("END");
      },
    });
    await rig.until("/help");
    const stall = Promise.withResolvers<void>();
    rig.stalled = stall.promise;
    rig.send("flood\r");
    rig.send("typed");
    await rig.emulator.settle();
    rig.stalled = undefined;
    stall.resolve();
    await rig.until((screen) => screen.includes("END") && screen.includes("> typed"));
    expect(sent).toBe(30_000);
    expect(rig.emulator.history()).toContain("line 29999\n\nEND");
  });

  test("a terminal that takes nothing any more does not keep the process", async () => {
    const rig = new ReplRig({
      turn: async function* () {
        for (let i = 0; i < 30_000; i++) yield { type: "text", delta: `line ${i}\n\n` };
      },
    });
    await rig.until("/help");
    rig.stalled = new Promise(() => {});
    rig.send("flood\r");
    await until(() => rig.repl.tasks.running !== undefined, "the task");
    rig.repl.leave(143);
    expect(await rig.done).toBe(143);
    expect(rig.repl.stuck).toBe(true);
  });

  test("news outside a task appear at once", async () => {
    await using rig = new ReplRig();
    rig.send("typing");
    rig.news({ type: "notice", kind: "operator", message: "the operator ran uptime" });
    const screen = await rig.until("the operator ran uptime");
    expect(screen).toMatch(/> typing$/);
    rig.news({
      type: "session",
      buddy: "1",
      profile: "p",
      model: "m",
      api: "responses",
      cwd: "/",
      attach: "tmux attach",
    });
    await rig.until(/\S +tmux attach$/m);
  });
});

describe("approvals", () => {
  test("interrupt typing and give the half-typed line back", async () => {
    await using rig = new ReplRig({ turn: asking });
    rig.send("do it\r");
    rig.send("half a line");
    await rig.until("> half a line");
    rig.open("ask");
    const asked = await rig.until(QUESTION.asked);
    expect(asked).toContain(`ann@desk$ systemctl restart nginx ${QUESTION.asked}`);
    for (const fact of [
      /\bhigh\b/,
      / ann@desk\n/,
      /: to apply the configuration/,
      /: low .*: high/,
      /“systemctl restart …”/,
    ])
      expect(asked).toMatch(fact);
    expect(rig.emulator.beforeCursor()).toEndWith(`${QUESTION.asked} `);
    rig.send("y");
    const done = await rig.until('"approved","by":"operator"');
    expect(done).toContain("ann@desk$ systemctl restart nginx -- approved");
    expect(done).toMatch(/> half a line$/);
    // "y" and Enter, out of habit: the line is not sent.
    rig.send("\r");
    await rig.until(/> half a line$/);
    expect(rig.prompts).toEqual(["do it"]);
  });

  test("n takes a reason, e edits, a remembers, ? explains, anything else does nothing", async () => {
    await using rig = new ReplRig({ turn: asking });
    rig.open("ask");
    rig.send("1\r");
    await rig.until(QUESTION.asked);
    rig.send("z");
    await rig.until("y, n, a, e, v, s or ?");
    rig.send("?");
    await rig.until(QUESTION.editHelp);
    rig.send("n");
    await rig.until(QUESTION.reason);
    rig.send("too risky\r");
    await rig.until('"reason":"too risky"');
    rig.send("2\r");
    await rig.until(QUESTION.asked);
    rig.send("e");
    await rig.until(`${QUESTION.edit}systemctl restart nginx`);
    rig.key("ctrl-w");
    rig.send("apache2\r");
    await rig.until('"edited","command":"systemctl restart apache2"');
    rig.key("ctrl-l");
    rig.send("3\r");
    await rig.until(QUESTION.asked);
    rig.send("a");
    await rig.until('"by":"operator"');
    rig.send("4\r");
    await rig.until('"by":"prefix"');
    rig.send("/status\r");
    await rig.until(/always +systemctl restart/);
  });

  test("escape leaves the edit, Ctrl-C denies, what cannot be edited or remembered says so", async () => {
    const turn: ScriptedTurn = async function* ({ ask }) {
      const { prefixes: _, ...rest } = { prefixes: undefined };
      const decision = await ask({ ...rest, editable: false, prefixes: [], diff: "--- a\n+++ b\n-old\n+new" });
      yield* answer(`decision: ${JSON.stringify(decision)}`);
    };
    await using rig = new ReplRig({ turn });
    rig.send("1\r");
    const screen = await rig.until(QUESTION.asked);
    expect(screen).toContain("  -old\n  +new");
    rig.send("e");
    await rig.until(QUESTION.notEditable);
    rig.key("ctrl-c");
    await rig.until('"denied","by":"operator"');
    await using other = new ReplRig({ turn: asking });
    other.open("ask");
    other.send("1\r");
    await other.until(QUESTION.asked);
    other.send("e");
    await other.until(QUESTION.edit);
    other.key("escape");
    await other.until(QUESTION.asked);
    other.send("n");
    await other.until(QUESTION.reason);
    other.key("escape");
    await other.until(QUESTION.asked);
    expect(other.repl.tasks.running).toBeDefined();
    other.key("ctrl-c");
    await other.until('"denied"');
  });

  test("a long change says above itself how much is not shown; v shows it all and comes back to the question", async () => {
    const lines = Array.from({ length: 450 }, (_, i) => `+line ${i + 1}`);
    const turn: ScriptedTurn = async function* ({ ask }) {
      const decision = await ask({
        tool: "write_file",
        action: "write /etc/app.conf",
        write: { path: "/etc/app.conf", creates: true, added: 450, removed: 0 },
        diff: ["@@ -0,0 +1,450 @@", ...lines].join("\n"),
        understated: false,
        editable: false,
      });
      yield* answer(`decision: ${JSON.stringify(decision)}`);
    };
    await using rig = new ReplRig({ turn });
    rig.send("1\r");
    const asked = await rig.until(QUESTION.asked);
    expect(asked).toContain("create /etc/app.conf (+450 −0)");
    expect(asked).toContain(`ann@desk: write /etc/app.conf ${QUESTION.asked}`);
    const history = rig.emulator.history();
    expect(history).toMatch(/\+450 −0, 251 [^]*\+line 1\n/);
    expect(history).not.toContain("+line 400");
    rig.send("v");
    await rig.until("+line 1\n");
    rig.send("G");
    await rig.until("+line 450");
    rig.key("escape");
    await rig.until(`ann@desk: write /etc/app.conf ${QUESTION.asked}`);
    expect(rig.repl.tasks.running).toBeDefined();
    rig.send("y");
    await rig.until('"approved","by":"operator"');
  });

  test("v gives the pager the text on stdin; where it fails, the built-in view shows it", async () => {
    const directory = mkdtempSync(join(tmpdir(), "buddy-pager-"));
    try {
      const PAGER = `sed -n 'w ${directory}/got'; false`;
      await using rig = new ReplRig({ turn: asking, env: { PATH: process.env.PATH, PAGER } });
      rig.open("ask");
      rig.send("1\r");
      await rig.until(QUESTION.asked);
      rig.send("v");
      await rig.until(/^ *100%/m);
      expect(readFileSync(join(directory, "got"), "utf8")).toContain("\nsystemctl restart nginx\n");
      rig.send("q");
      await rig.until(/\bpager\b[^]*-- approve\?/);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });

  test("Esc went from the list of keys to the input line", async () => {
    await using rig = new ReplRig({ turn: asking });
    rig.open("ask");
    rig.send("1\r");
    await rig.until(QUESTION.asked);
    rig.send("?");
    await rig.until(QUESTION.yesHelp);
    rig.key("escape");
    await rig.until((screen) => screen.includes(QUESTION.asked) && !screen.includes(QUESTION.yesHelp));
    rig.key("escape");
    await rig.until(QUESTION.aside);
  });

  test("s denies and stops the task", async () => {
    await using rig = new ReplRig({ turn: asking });
    rig.open("ask");
    rig.send("1\r");
    await rig.until(QUESTION.asked);
    rig.key("escape");
    await rig.until(QUESTION.aside);
    rig.send("and then this\r");
    await rig.until((screen) => screen.includes("queued 2: and then this") && screen.includes(QUESTION.asked));
    rig.send("s");
    const screen = await rig.until(/nginx -- denied; /);
    expect(screen).toContain(droppedWords(1));
    await until(() => rig.repl.tasks.running === undefined, "the task has ended");
    expect(rig.end(2)).toBe("cancelled");
  });

  test("says how many questions wait", async () => {
    const turn: ScriptedTurn = async function* ({ ask }) {
      await Promise.all([ask(), ask({ action: "reboot" }), ask({ action: "halt" })]);
      yield* answer("all asked");
    };
    await using rig = new ReplRig({ turn });
    rig.send("1\r");
    await rig.until("1 of 3");
    rig.key("ctrl-c");
    await rig.until("1 of 2");
    rig.key("ctrl-c");
    await rig.until((screen) => screen.includes(`halt ${QUESTION.asked}`) && !screen.includes("1 of"));
    rig.key("ctrl-c");
    await rig.until("all asked");
  });

  test.each([20, 27, 33, 40])("the question's end is never broken, at %i columns", async (cols) => {
    for (const length of [1, 5, 9, 13, 17, 21, 25]) {
      await using rig = new ReplRig({
        cols,
        rows: 16,
        turn: async function* ({ ask }) {
          await ask({ action: "x".repeat(length) });
          yield* answer("asked");
        },
      });
      rig.send("1\r");
      await rig.until(/-- approve\?\s*$/m);
      rig.key("ctrl-c");
      await rig.until("asked");
    }
  });

  test("Ctrl-X Ctrl-E opens the operator's editor for the reason", async () => {
    using editor = scriptedEditor("because it is Friday");
    await using rig = new ReplRig({ turn: asking, env: { EDITOR: editor.path, PATH: process.env.PATH } });
    rig.open("ask");
    rig.send("1\r");
    await rig.until(QUESTION.asked);
    rig.send("n");
    await rig.until(QUESTION.reason);
    rig.key("ctrl-x", "ctrl-e");
    await rig.until(`${QUESTION.reason} because it is Friday`);
    rig.send("\r");
    await rig.until('"reason":"because it is Friday"');
  });

  test("neither a paste nor type-ahead answers", async () => {
    await using rig = new ReplRig({ turn: asking });
    rig.send("1\r");
    await rig.until("task 1");
    rig.open("ask");
    // Sent before the question can have been painted.
    rig.send("yyy");
    await rig.until(QUESTION.asked);
    rig.send("\x1b[200~y\x1b[201~");
    await rig.emulator.settle();
    expect(rig.repl.tasks.running).toBeDefined();
    expect(rig.emulator.screen()).toContain(QUESTION.asked);
    rig.send("y");
    await rig.until(/> yyy$/);
  });

  test("someone in the middle of a word continues with the word", async () => {
    await using rig = new ReplRig({ turn: asking });
    rig.send("1\r");
    await rig.until("task 1");
    for (const letter of "restar") rig.send(letter);
    rig.open("ask");
    const screen = await rig.until(QUESTION.waits);
    expect(screen).toContain("ann@desk$ systemctl restart nginx\n");
    expect(screen).toMatch(/> restar$/);
    rig.send("y");
    await rig.until(/> restary$/);
    // The keys rest: now they are answers.
    await rig.until(QUESTION.asked);
    rig.send("y");
    await rig.until('"approved"');
    await rig.until(/> restary$/);
  });

  test("a word begun just as the question appears is not an answer", async () => {
    await using rig = new ReplRig({ turn: asking });
    rig.open("ask");
    rig.send("1\r");
    await rig.until(QUESTION.asked);
    for (const letter of "halya") rig.send(letter);
    await rig.until((text) => text.includes(QUESTION.waits) && text.endsWith("> halya"));
    await rig.until(QUESTION.asked);
    // Several letters at once, as over a slow link, are a word however old the question is.
    rig.send(" and this");
    await rig.until((text) => text.includes(QUESTION.waits) && text.endsWith("> halya and this"));
    await rig.until(QUESTION.asked);
    rig.send("y");
    await rig.until((text) => text.includes('"approved"') && text.endsWith("> halya and this"));
    rig.send("\r");
    await rig.until((text) => text.endsWith("> halya and this"));
    expect(rig.prompts).toEqual(["1"]);
  });

  test("on a small screen the facts are not cut at the edge, and the help hides neither command nor prefix", async () => {
    await using rig = new ReplRig({ cols: 32, rows: 12, turn: asking });
    rig.open("ask");
    rig.send("1\r");
    const asked = await rig.until(QUESTION.asked);
    expect(asked.replace(/\s+/g, " ")).toContain(QUESTION.highChange);
    rig.send("?");
    const help = await rig.until(QUESTION.yesHelp);
    expect(help.replaceAll("\n", "")).toContain(`ann@desk$ systemctl restart nginx ${QUESTION.asked}`);
    expect(help.replace(/\s+/g, " ")).toContain('"systemctl restart"');
    rig.resize(60, 5);
    await rig.until(
      (text) => text.includes(`ann@desk$ systemctl restart nginx ${QUESTION.asked}`) && text.includes(QUESTION.yesHelp),
    );
  });

  test("the rest of a typed-out yes and its Enter sent a prompt", async () => {
    await using rig = new ReplRig({ turn: asking });
    rig.send("1\r");
    rig.send("half");
    await rig.until("> half");
    rig.open("ask");
    await rig.until(QUESTION.asked);
    // In one piece it is a burst, which goes to the line and sends nothing.
    rig.send("yes\r");
    await rig.until((text) => text.includes(QUESTION.waits) && text.endsWith("> halfyes"));
    await rig.until(QUESTION.asked);
    rig.send("y");
    await rig.until((text) => text.includes('"approved"') && text.endsWith("> halfyes"));
    rig.send("\x7f\x7f\x7f2\r");
    await rig.until((text) => text.split(QUESTION.asked).length === 2 && text.includes("half2"));
    rig.send("y");
    await rig.until((text) => text.split('"approved"').length === 3);
    for (const letter of "east\r") rig.send(letter);
    await until(() => rig.prompts.length === 3, "the third prompt");
    expect(rig.prompts).toEqual(["1", "half2", "east"]);
  });

  test("a time-out and /kill take the question away; a long command is shown in full first", async () => {
    const long = Array.from({ length: 40 }, (_, i) => `echo step ${i}`).join("\n");
    await using rig = new ReplRig({
      turn: async function* ({ ask }) {
        const decision = await ask({ action: long });
        yield* answer(JSON.stringify(decision));
      },
    });
    rig.send("1\r");
    const screen = await rig.until(/ 40 .*-- approve\?/);
    expect(screen).toContain("ann@desk$ echo step 0");
    expect(rig.emulator.history()).toContain("  echo step 0\n");
    rig.repl.tasks.cancel(1);
    await rig.until((text) => text.includes(QUESTION.withdrawn) && !text.includes(QUESTION.asked));
  });

  test("a slash goes to the line for a command, and the half-typed line is not lost", async () => {
    await using rig = new ReplRig({ turn: asking });
    rig.send("1\r");
    rig.send("half a line");
    await rig.until("> half a line");
    rig.open("ask");
    await rig.until(QUESTION.asked);
    rig.send("/status\r");
    await rig.until(/tasks +1 /);
    await rig.until(QUESTION.asked);
    rig.send("/");
    const screen = await rig.until(QUESTION.aside);
    expect(screen).toMatch(/> \/\n/);
    rig.key("escape", "escape");
    await rig.until(QUESTION.asked);
    rig.send("/x\x7f\x7f");
    await rig.until(QUESTION.asked);
    // Esc goes to the line as it is, and what is typed there stays.
    rig.key("escape");
    await rig.until(/> half a line$/);
    rig.send(" and more");
    await rig.until("> half a line and more");
    rig.key("escape");
    await rig.until(QUESTION.asked);
    rig.send("/kill 1\r");
    await rig.until((text) => text.includes(QUESTION.withdrawn) && text.endsWith("> half a line and more"));
  });

  test("the bell rings for a question while the terminal has no focus, and not when someone is there", async () => {
    await using rig = new ReplRig({
      turn: async function* ({ ask, gate }) {
        await gate("one");
        await ask();
        await gate("two");
        await ask({ action: "reboot" });
        yield* answer("done");
      },
    });
    rig.send("1\r");
    await rig.until("task 1");
    rig.send("\x1b[O");
    rig.open("one");
    await rig.until(`nginx ${QUESTION.asked}`);
    expect(rig.emulator.raw).toContain("\x07");
    rig.emulator.forgetRaw();
    // Coming back to the window while the question is up counts, too.
    rig.send("\x1b[I");
    rig.send("y");
    await rig.until("approved");
    rig.open("two");
    await rig.until(`reboot ${QUESTION.asked}`);
    expect(rig.emulator.raw).not.toContain("\x07");
    rig.send("y");
    await rig.until("done");
  });

  test("a command that hides is shown as it is", async () => {
    await using rig = new ReplRig({
      turn: async function* ({ ask }) {
        yield* answer(JSON.stringify(await ask({ action: "echo \u202egpj.exe\x1b[8m; rm -rf x" })));
      },
    });
    rig.send("1\r");
    const screen = await rig.until(QUESTION.asked);
    expect(screen).toContain("\\u{202e}");
    expect(screen).toContain("\\u{1b}[8m; rm -rf x");
  });
});

describe("slash commands", () => {
  test("/status, /context, /tools, /help say what they promise", async () => {
    await using rig = new ReplRig({
      rows: 90,
      facts: { dryRun: true, contextState: "warn" },
      target: { attach: "tmux attach -t b" },
    });
    rig.used = 850;
    rig.send("/status all\r");
    const status = await rig.until(/buddy +1\.2\.3\n/);
    for (const words of [
      "model-x",
      "main",
      "ann@desk",
      "/srv",
      "tmux attach -t b",
      "aaaa-bbbb-cccc-dddd",
      approvalWords({ kind: "ask" }, 0),
      "dry run",
      "850 of 1.0k",
      "85%",
      "10 in, 20 out",
      "tools      run_shell\n",
    ]) {
      expect(status).toContain(words);
    }
    rig.send("/context\r");
    await rig.until(/\] 85%[^]*\/compact/);
    rig.send("/tools\r");
    expect(await rig.until("off: search_enabled")).toContain("run_shell   runs a command");
    rig.send("/help all\r");
    const help = await rig.until("Ctrl-Z");
    for (const name of [
      "status",
      "model",
      "login",
      "context",
      "compact",
      "ps",
      "kill",
      "timeout",
      "approve",
      "session",
      "tools",
      "attach",
      "help",
      "quit",
    ]) {
      expect(help).toContain(`/${name}`);
    }
  });

  test("/approve shows and sets the mode, with its end", async () => {
    await using rig = new ReplRig({ turn: asking });
    rig.send("/approve\r");
    await rig.until(approvalWords({ kind: "ask" }, 0));
    rig.send("/approve 10m\r");
    await rig.until(/ (10m00s|9m59s) \(.*\d\d:\d\d:\d\d\)/);
    await rig.until(/^\[auto (10m00s|9m5\ds)\] > *$/m);
    expect(rig.approvals.mode.kind).toBe("until");
    rig.send("/approve never\r");
    await rig.until('"never"');
    rig.send("/approve none\r");
    await rig.until(approvalWords({ kind: "none" }, 0));
    await rig.until(/^\[deny\] > *$/m);
    rig.send("/approve all\r");
    await rig.until(approvalWords({ kind: "all" }, 0));
    rig.send("go\r");
    await rig.until(/^\[auto\] > *$/m);
  });

  test("the end of a duration is reported, and its badge goes away", async () => {
    await using rig = new ReplRig();
    rig.send("/approve 1s\r");
    await rig.until("warning: ");
    await rig.until(/^> *$/m);
    expect(rig.approvals.mode.kind).toBe("ask");
  });

  test("a call that was not asked about says auto-approved", async () => {
    await using rig = new ReplRig({
      turn: async function* () {
        yield { type: "tool_started", call: "c1", tool: "run_shell", title: "touch made", args: {} };
        yield { type: "approval_answered", approval: "a", call: "c1", decision: "approved", by: "mode" };
        yield {
          type: "tool_finished",
          call: "c1",
          tool: "run_shell",
          ok: true,
          outcome: "exited",
          ms: 1,
          result: "{}",
        };
        yield* answer("done");
      },
    });
    rig.send("go\r");
    await rig.until(/touch made.* auto-approved/);
  });

  test("a list gives the hints their room, where the labels keep a part of the row", () => {
    const choices = Array.from({ length: 12 }, (_, i) => ({
      value: String(i),
      label: `a prompt of many words, number ${i}, that goes on and on`,
      hint: `${i} min ago · e0bf-153e-c5c9-5d6${i}`,
    }));
    const rows = (columns: number): string[] =>
      new Picker("Which?", choices, 0, () => {}).rows(columns, 20, theme(false)).slice(1);
    for (const row of rows(79)) expect(row).toMatch(/…  \d+ min ago · e0bf-153e-c5c9-5d6\d+$/);
    for (const row of rows(39)) expect(row).toMatch(/a prompt of m/);
  });

  test("/model: a picker, a name, a number; a change of protocol and sign-in is reported", async () => {
    const switched: string[] = [];
    await using rig = new ReplRig({ host: { switchModel: async (name) => (switched.push(name), ["note"]) } });
    rig.send("/model\r");
    await rig.until("› 1 main");
    rig.key("down");
    await rig.until("› 2 spark");
    rig.key("enter");
    const screen = await rig.until("model: model-y (profile spark)");
    for (const words of ["note", "completions → responses", REPL.signsIn]) expect(screen).toContain(words);
    rig.send("/model 2\r/model main\r/model sprak\r");
    await rig.until(/sprak.* spark\?/);
    expect(switched).toEqual(["spark", "spark"]);
    rig.send("/model\r");
    await rig.until("› 1 main");
    rig.send("sp");
    await rig.until("› 2 spark");
    rig.send("1");
    await rig.until("› 1 main");
    rig.key("escape");
    await rig.until((text) => !text.includes("Esc"));
  });

  test("/model PROFILE: lists what its endpoint offers; the profile alone goes back to its own model", async () => {
    const switched: string[] = [];
    const main = { name: "main", model: "model-z", api: "completions", auth: "api-key", active: true, own: "model-x" };
    await using rig = new ReplRig({
      host: { profiles: () => [main], switchModel: async (name) => (switched.push(name), []) },
    });
    rig.send("/model main:\r");
    await rig.until("› 1 model-x");
    rig.key("down", "enter");
    await rig.until("model: model-z (profile main)");
    rig.send("/model main\r");
    await rig.until("model: model-x (profile main)");
    expect(switched).toEqual(["main:model-z", "main"]);
  });

  test("/session lists, starts and resumes; /login; errors keep the REPL", async () => {
    await using rig = new ReplRig({
      host: {
        login: async (profile, { say, waiting }, signal) => {
          say(`open the page for ${profile}`);
          waiting("waiting, 15 minutes left");
          await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
        },
        resumeSession: async () => {
          throw new Error("it is in use");
        },
      },
    });
    rig.send("/session\r");
    expect(await rig.until("eeee-ffff-gggg-hhhh")).toContain("* aaaa-bbbb-cccc-dddd");
    rig.send("/session new\r");
    await rig.until("session 1111-2222-3333-4444");
    rig.send("/session zap\r/session last\r");
    await rig.until("error: it is in use");
    rig.send("/login\r");
    await rig.until(REPL.usesKey);
    rig.send("/login spark\r");
    await rig.until("open the page for spark");
    await rig.until("waiting, 15 minutes left · Ctrl-C stops");
    rig.key("ctrl-c");
    await rig.until((text) => text.includes("stopped") && !text.includes("15 minutes"));
  });

  test("unknown ones name the closest; a path is a prompt", async () => {
    await using rig = new ReplRig({ turn: ({ prompt }) => answer(`you said ${prompt}`) });
    rig.send("/staus\r");
    await rig.until(new RegExp(`${REPL.unknown("staus")}; .* /status\\?`));
    rig.send("/\r");
    await until(() => rig.emulator.screen().split(/^error: /m).length === 3, "the second error");
    rig.send("/zzz\r");
    await rig.until(`${REPL.unknown("zzz")}\n`);
    rig.send("/etc/hosts is odd\r");
    await rig.until("you said /etc/hosts is odd");
    rig.send("/stat\r");
    await rig.until(approvalWords({ kind: "ask" }, 0));
  });

  test("while a task runs only some work, and the others say why not", async () => {
    await using rig = new ReplRig({ rows: 50, turn: shell, target: { attach: "tmux attach -t b" } });
    rig.send("one\r");
    await rig.until("step 12");
    for (const name of ["model", "login", "compact", "session new", "new", "export"]) {
      rig.send(`/${name}\r`);
      await rig.until(REPL.notNow(name.split(" ")[0]!, 1));
    }
    rig.send("/tools\r");
    await rig.until("runs a command");
    rig.send("/attach\r");
    await rig.until(/\S: tmux attach -t b$/m);
    for (const [line, words] of [
      ["/status", "aaaa-bbbb"],
      ["/context", "] 0%"],
      ["/approve all", approvalWords({ kind: "all" }, 0)],
      ["/timeout 1h", "task 1 ends in 1h"],
      ["/ps", "running run_shell"],
      ["/kill", REPL.ended(1, "cancelled")],
    ] as const) {
      rig.send(`${line}\r`);
      await rig.until(words);
    }
    rig.send("/q\r");
    expect(await rig.done).toBe(0);
  });

  test("/attach prints the command, or says that there is none; /compact is a task", async () => {
    await using rig = new ReplRig({ turn: ({ prompt }) => answer(`did ${prompt}`) });
    rig.send("/attach\r");
    await rig.until(/> \/attach\nerror: /);
    rig.send("/compact\r");
    await rig.until("did /compact");
    rig.send("/ps\r");
    await rig.until(/1 {2}answered .*\/compact/);
  });

  test("the drop-down knows commands, arguments and paths", async () => {
    await using rig = new ReplRig();
    rig.send("/");
    await rig.until("› /status");
    rig.send("mod");
    await rig.until("› /model [PROFILE|PROFILE:MODEL|N]");
    rig.key("tab");
    await rig.until("› main   model-x (active)");
    rig.key("ctrl-u");
    rig.send("/session resume ");
    await rig.until("eeee-ffff-gggg-hhhh");
    rig.key("ctrl-u");
    rig.send("/approve ");
    await rig.until("› ask");
    rig.key("ctrl-u");
    rig.send("look at @s");
    await rig.until("› src/\n  some file.txt");
    rig.key("down", "tab");
    await rig.until("> look at @some\\ file.txt");
    rig.key("ctrl-u");
    rig.send("@.h");
    await rig.until("› .hidden");
    rig.send("\x15/timeout 5m ");
    await rig.emulator.settle();
  });
});

describe("the terminal", () => {
  test("resizing while typing keeps the line and leaves no rubbish", async () => {
    await using rig = new ReplRig({ turn: shell });
    rig.send("x\r");
    await rig.until("step 12");
    const text = "a line that is long enough to be wrapped at forty columns, twice even, I think";
    rig.send(text);
    await rig.until("twice even");
    for (const [cols, rows] of [
      [40, 12],
      [100, 30],
      [33, 10],
      [120, 24],
      [20, 8],
      [80, 24],
    ] as const) {
      rig.resize(cols, rows);
      await rig.until((screen) => screen.replace(/\n */g, "").includes("twice even"));
      await rig.emulator.settle();
    }
    const screen = await rig.until(`> ${text.slice(0, 60)}`);
    expect(screen.match(/task 1 ·/g)).toHaveLength(1);
    expect(screen.match(/a line that/g)).toHaveLength(1);
  });

  test("an open question in a window that is made smaller and large again is shown once", async () => {
    await using rig = new ReplRig({ turn: asking });
    rig.send("x\r");
    rig.open("ask");
    await rig.until(QUESTION.asked);
    const before = rig.emulator.history();
    rig.resize(40, 14);
    await rig.until((screen) => screen.includes(QUESTION.asked) && screen.split("\n").every((row) => row.length < 40));
    rig.resize(80, 24);
    await rig.until(() => rig.emulator.history() === before);
  });

  test("a storm of sizes while output streams", async () => {
    await using rig = new ReplRig({
      turn: async function* ({ gate }) {
        for (let i = 0; i < 3000; i++) yield { type: "text", delta: `line ${i}\n\n` };
        await gate("go");
        yield* answer("END");
      },
    });
    rig.send("x\rtyped");
    for (let i = 0; i < 60; i++) {
      rig.resize(30 + ((i * 37) % 90), 8 + ((i * 13) % 30));
      await rig.emulator.settle();
    }
    rig.resize(80, 24);
    rig.open("go");
    await rig.until((screen) => screen.includes("END") && screen.endsWith("> typed"));
    expect(rig.emulator.history()).toContain("line 2999");
  });

  test("Ctrl-L clears, focus is followed, SIGTERM and a hang-up end it", async () => {
    const rig = new ReplRig({ turn: shell });
    rig.send("one\r");
    await rig.until("step 12");
    rig.key("ctrl-l");
    await rig.until((screen) => !screen.includes("buddy 1.2.3") && screen.includes("task 1"));
    rig.send("\x1b[O");
    rig.send("\x1b[I");
    process.emit("SIGTERM", "SIGTERM");
    expect(await rig.done).toBe(143);
    const other = new ReplRig();
    await other.until("/help");
    process.emit("SIGHUP", "SIGHUP");
    expect(await other.done).toBe(129);
    const third = new ReplRig();
    await third.until("/help");
    process.emit("SIGCONT", "SIGCONT");
    process.emit("SIGINT", "SIGINT");
    await third.until(REPL.pressAgain);
    process.emit("SIGINT", "SIGINT");
    expect(await third.done).toBe(0);
  });

  for (const [cols, rows] of [
    [12, 4],
    [5, 2],
    [1, 1],
  ] as const) {
    test(`nothing breaks on ${cols}×${rows}`, async () => {
      await using rig = new ReplRig({ cols, rows, turn: asking, target: { kind: "ssh", name: "somebody@somewhere" } });
      rig.send("/\x15a long prompt that cannot fit\r");
      rig.open("ask");
      await until(() => rig.approvals !== undefined && rig.repl.tasks.running !== undefined, "the task");
      rig.send("/model\r");
      rig.resize(cols + 3, rows + 1);
      rig.resize(cols, rows);
      await rig.emulator.settle();
      rig.resize(80, 24);
      await rig.until(QUESTION.asked);
      rig.send("y");
      await rig.until(/approved/);
    });
  }

  test("a bug gives the terminal back before it is reported", async () => {
    const rig = new ReplRig({ turn: shell });
    rig.send("one\r");
    await rig.until("step 12");
    rig.repl.crash(new Error("a bug"));
    expect(rig.done).rejects.toThrow("a bug");
    await rig.done.catch(() => {});
    expect(rig.raw).toBe(false);
    expect(rig.emulator.raw).toContain("\x1b[?25h\x1b[0m");
  });

  test("keys and tokens are not shown", async () => {
    await using rig = new ReplRig({
      turn: async function* () {
        yield { type: "tool_started", call: "c", tool: "run_shell", title: "echo sk-secret", args: {} };
        yield { type: "tool_output", call: "c", stream: "stdout", text: "key: sk-secret\n" };
        yield {
          type: "tool_finished",
          call: "c",
          tool: "t",
          ok: true,
          outcome: "exited",
          exit_code: 0,
          ms: 1,
          result: "",
        };
        yield { type: "error", code: "model", message: "bad key sk-secret", hint: "not sk-secret" };
      },
    });
    rig.send("x\r");
    const screen = await rig.until("bad key [redacted]");
    expect(screen).toContain("echo [redacted]");
    expect(rig.emulator.raw).not.toContain("sk-secret");
  });

  test("wide and combining characters keep the cursor where the text ends", async () => {
    await using rig = new ReplRig();
    rig.send("漢字e\u0301 שלום x");
    await rig.until("x");
    expect(rig.emulator.cursor().col).toBe(2 + 4 + 1 + 1 + 4 + 1 + 1);
    rig.key("left", "left", "backspace");
    await rig.emulator.settle();
    await rig.until("שלו x");
  });

  test("Ctrl-R shows what it found", async () => {
    await using rig = new ReplRig({ turn: ({ prompt }) => answer(`did ${prompt}`) });
    rig.send("deploy web1\r");
    await rig.until("did deploy web1");
    rig.key("ctrl-r");
    rig.send("dep");
    await rig.until("(search 'dep') deploy web1");
    rig.send("zzz");
    await rig.until("(not found 'depzzz')");
    rig.key("ctrl-g");
    await rig.until(/> *$/);
  });
});

async function* tokens() {
  yield {
    type: "usage" as const,
    input: 1500,
    output: 20,
    cached: 0,
    reasoning: 0,
    estimated: false,
    cost_usd: 0.0123,
    context_used: 1,
    context_limit: 2,
    total_input: 1,
    total_output: 1,
  };
}
