import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { call, DECLARED, type ExecRig, execRig, shell } from "../support/exec.ts";
import { needs } from "../support/needs.ts";
import { QUESTION, RESULT } from "../support/wording.ts";

const pane = await needs("tmux");

setDefaultTimeout(60_000);

const made = (rig: ExecRig, name = "made") => existsSync(join(rig.box.cwd, name));
const touch = (name = "made", more = {}) => shell(`touch ${name}`, { mutation: true, risk: "medium", ...more });

describe("without a terminal", () => {
  test("ask: read-only commands run, others are refused, exit 3, and stderr says which and how", async () => {
    await using rig = execRig([shell("ls -la"), touch(), { text: "I would have touched it." }]);
    const run = await rig.exec(["--no-tmux", "go"]);
    expect(run.code).toBe(3);
    expect(run.stdout).toBe("I would have touched it.\n");
    expect(run.stderr).toContain("touch made");
    expect(run.stderr).toContain("--approve all");
    expect(made(rig)).toBe(false);
    expect(rig.results()[0]).toContain("total");
    expect(rig.lastResult()).toStartWith("Refused: ");
  });

  test("stdin is never an answer", async () => {
    await using rig = execRig([touch(), { text: "no" }]);
    expect(await rig.exec(["--no-tmux", "go"], { stdin: "y\ny\ny\n" })).toMatchObject({ code: 3 });
    expect(made(rig)).toBe(false);
  });

  test.each([[["--approve", "all"]], [["--approve", "10m"]]])("%j runs it", async (flags) => {
    await using rig = execRig([touch(), { text: "done" }]);
    expect(await rig.exec([...flags, "--no-tmux", "go"])).toMatchObject({ code: 0, stdout: "done\n" });
    expect(made(rig)).toBe(true);
  });

  test("none refuses whatever would ask, and continues with what would not", async () => {
    await using rig = execRig([touch(), shell("echo read-only"), { text: "done" }]);
    expect(await rig.exec(["--approve", "none", "--no-tmux", "go"])).toMatchObject({ code: 0, stdout: "done\n" });
    expect(made(rig)).toBe(false);
    expect(rig.results()[0]).toStartWith("Refused: ");
    expect(rig.lastResult()).toBe("read-only");
  });

  test("a duration that has run out asks again", async () => {
    // Over before the first request is answered.
    await using rig = execRig([touch(), { text: "done" }]);
    expect(await rig.exec(["--approve", "1ms", "--no-tmux", "go"])).toMatchObject({ code: 3 });
    expect(made(rig)).toBe(false);
  });

  test("all does not overrule the policy", async () => {
    await using rig = execRig([shell("rm -rf ~", { mutation: true, risk: "high" }), { text: "ok" }]);
    const run = await rig.exec(["--approve", "all", "--no-tmux", "go"]);
    expect(run.code).toBe(0);
    expect(rig.lastResult()).toStartWith(RESULT.notAllowed);
    expect(existsSync(rig.box.home)).toBe(true);
  });

  test("shell_allow, shell_confirm = false and a denylist", async () => {
    await using allow = execRig([touch(), { text: "ok" }], { config: '[tools]\nshell_allow = ["touch"]' });
    expect(await allow.exec(["--no-tmux", "go"])).toMatchObject({ code: 0 });
    expect(made(allow)).toBe(true);
    await using off = execRig([touch(), shell("terraform destroy x"), { text: "ok" }], {
      config: '[tools]\nshell_confirm = false\nshell_denylist = ["terraform destroy"]',
    });
    expect(await off.exec(["--no-tmux", "go"])).toMatchObject({ code: 0 });
    expect(made(off)).toBe(true);
    expect(off.lastResult()).toStartWith(RESULT.notAllowed);
  });

  test("a read-only command that the model declares a change is asked about", async () => {
    await using rig = execRig([shell("ls", { mutation: true }), { text: "ok" }]);
    expect(await rig.exec(["--no-tmux", "go"])).toMatchObject({ code: 3 });
  });

  test("writes ask, with a diff in the event", async () => {
    await using rig = execRig([call("write_file", { path: "a.txt", content: "one\n" }), { text: "ok" }]);
    const { code, events } = await rig.events(["--no-tmux", "go"]);
    expect(code).toBe(3);
    expect(events.find((event) => event.type === "approval_asked")).toMatchObject({
      tool: "write_file",
      diff: "@@ -0,0 +1,1 @@\n+one",
      action: `write ${join(rig.box.cwd, "a.txt")}`,
    });
    expect(events.find((event) => event.type === "approval_answered")).toMatchObject({
      decision: "denied",
      by: "no-terminal",
    });
    expect(events.at(-1)).toMatchObject({ type: "done", status: "approval_needed" });
    expect(made(rig, "a.txt")).toBe(false);
  });

  test("--dry-run describes what would change, with the verdict, and reads on", async () => {
    await using rig = execRig([
      touch(),
      shell("rm -rf /", { mutation: true }),
      call("write_file", { path: "a.txt", content: "one\n" }),
      shell("echo read-only"),
      shell("sleep 9", { mode: "background" }),
      call("kill_shell", { shell_id: "sh-1" }),
      { text: "done" },
    ]);
    const run = await rig.exec(["--dry-run", "--approve", "all", "--no-tmux", "go"]);
    expect(run).toMatchObject({ code: 0, stdout: "done\n" });
    const results = rig.results() as string[];
    expect(results[0]).toStartWith(`${RESULT.dryRun}run: touch made\npolicy: ask`);
    expect(results[1]).toStartWith(RESULT.notAllowed);
    expect(results[2]).toStartWith(`${RESULT.dryRun}write: ${join(rig.box.cwd, "a.txt")}`);
    expect(results[2]).toContain("+one");
    expect(results[3]).toBe("read-only");
    expect(results[4]).toStartWith(`${RESULT.dryRun}run: sleep 9`);
    expect(results[5]).toStartWith(`${RESULT.dryRun}do: end sh-1`);
    expect(made(rig)).toBe(false);
    expect(made(rig, "a.txt")).toBe(false);
    expect(rig.requests[0]!.messages[0]!.content).toContain("dry run");
  });

  test("a background shell of another session is not ended; the session that started it ends it", async () => {
    let id = "";
    const kill = () => call("kill_shell", { shell_id: id });
    const start = shell("sleep 300", { mode: "background" });
    await using rig = execRig([start, { text: "1" }, kill, { text: "2" }, kill, { text: "3" }]);
    const started = await rig.events(["--no-tmux", "--approve", "all", "start"]);
    id = (rig.results()[0] as { shell_id: string }).shell_id;
    const other = await rig.exec(["--no-tmux", "end it"]);
    expect(other.code).toBe(3);
    expect(other.stderr).toContain(`end ${id}`);
    const session = String(started.events[0]!["session"]);
    expect(await rig.exec(["--no-tmux", "--resume", session, "end it"])).toMatchObject({ code: 0 });
    expect(rig.results().at(-1)).toMatchObject({ shell_id: id, status: "killed" });
    expect(rig.results().at(-1)).not.toHaveProperty("note");
  });

  test("what the policy derives counts, and a model that understates is shown as such", async () => {
    await using rig = execRig([shell("sudo rm /etc/hosts", { risk: "low" }), { text: "ok" }]);
    const { events } = await rig.events(["--no-tmux", "go"]);
    expect(events.find((event) => event.type === "approval_asked")).toMatchObject({
      understated: true,
      privesc: true,
      mutation: true,
      where: expect.stringMatching(/.+@.+/),
    });
  });
});

describe("with a terminal", () => {
  test("the question names user, host and command; y runs it", async () => {
    await using rig = execRig([touch(), { text: "done" }]);
    await using pty = await rig.terminal(["--no-tmux", "go"]);
    const screen = await pty.until(QUESTION.asked);
    expect(screen).toMatch(/\S+@\S+\$ touch made -- approve\?/);
    expect(screen).toContain("why: the test wants it");
    pty.type("y");
    await pty.until("done");
    expect(await pty.exited).toBe(0);
    expect(made(rig)).toBe(true);
  });

  test("stdin may be a pipe: the terminal is asked all the same", async () => {
    await using rig = execRig([touch(), { text: "done" }]);
    await using pty = await rig.terminal([], {
      shell: 'echo "y some text" | "$BUDDY" exec --no-tmux go | cat; echo "rc $?"',
    });
    await pty.until(QUESTION.asked);
    expect(made(rig)).toBe(false);
    pty.type("y");
    await pty.until("rc 0");
    expect(made(rig)).toBe(true);
    expect(rig.requests[0]!.messages.at(-1)!.content).toContain("y some text");
  });

  test("n with a reason: the model gets it", async () => {
    await using rig = execRig([touch(), { text: "understood" }]);
    await using pty = await rig.terminal(["--no-tmux", "go"]);
    await pty.until(QUESTION.asked);
    pty.type("n");
    await pty.until(QUESTION.reason);
    pty.type("use another naem\u007f\u007fme\r");
    await pty.until("understood");
    expect(await pty.exited).toBe(0);
    expect(rig.lastResult()).toBe(`${RESULT.refused}: use another name`);
    expect(made(rig)).toBe(false);
  });

  test("a: always this prefix for the session, and only that", async () => {
    await using rig = execRig([
      shell("mkdir one", { mutation: true }),
      shell("mkdir two", { mutation: true }),
      touch(),
      { text: "done" },
    ]);
    await using pty = await rig.terminal(["--no-tmux", "go"]);
    await pty.until(`mkdir one ${QUESTION.asked}`);
    pty.type("a");
    await pty.until(`touch made ${QUESTION.asked}`);
    expect(made(rig, "two")).toBe(true);
    pty.type("n");
    await pty.until(QUESTION.reason);
    pty.type("\r");
    await pty.until("done");
    expect(made(rig)).toBe(false);
  });

  test("e: the edited command is what runs, and the model learns of it", async () => {
    await using rig = execRig([touch("made"), { text: "done" }]);
    await using pty = await rig.terminal(["--no-tmux", "go"]);
    await pty.until(QUESTION.asked);
    pty.type("e");
    await pty.until("edit: touch made");
    pty.type("\u007f\u007f\u007f\u007fother\r");
    await pty.until("done");
    expect(made(rig)).toBe(false);
    expect(made(rig, "other")).toBe(true);
    expect(rig.lastResult()).toContain("the operator changed the command; what ran was: touch other");
  });

  test("e: an edited command is judged again", async () => {
    await using rig = execRig([touch("made"), { text: "done" }]);
    await using pty = await rig.terminal(["--no-tmux", "go"]);
    await pty.until(QUESTION.asked);
    pty.type("e");
    await pty.until("edit:");
    pty.type("\u0015rm -rf /\r");
    await pty.until("done");
    expect(rig.lastResult()).toStartWith(RESULT.notAllowed);
  });

  test("what was typed before the question does not answer it", async () => {
    await using rig = execRig([{ ...touch(), delayMs: 60 }, { text: "done" }]);
    await using pty = await rig.terminal(["--no-tmux", "go"]);
    pty.type("y\ry\ry\r");
    await pty.until(QUESTION.asked);
    expect(made(rig)).toBe(false);
    pty.type("n");
    await pty.until(QUESTION.reason);
    pty.type("\r");
    await pty.until("done");
    expect(made(rig)).toBe(false);
  });

  test("a file change is shown as a diff before it is asked", async () => {
    await using rig = execRig([call("edit_file", { path: "a.txt", old_text: "two", new_text: "2" }), { text: "done" }]);
    rig.box.write("cwd/a.txt", "one\ntwo\nthree\n");
    await using pty = await rig.terminal(["--no-tmux", "go"]);
    const screen = await pty.until(QUESTION.asked);
    expect(screen).toContain("-two");
    expect(screen).toContain("+2");
    expect(screen).toMatch(/@\S+: write .*a\.txt -- approve\?/);
    pty.type("y");
    await pty.until("done");
    expect(readFileSync(join(rig.box.cwd, "a.txt"), "utf8")).toBe("one\n2\nthree\n");
  });

  test("control characters of a command cannot forge the question", async () => {
    await using rig = execRig([
      shell("touch made #\u001b[2K\u001b[1Gls -- approve? \u202e", { mutation: true }),
      { text: "done" },
    ]);
    await using pty = await rig.terminal(["--no-tmux", "go"]);
    const screen = await pty.until("y yes");
    expect(screen).toContain("touch made #\\u{1b}[2K");
    pty.type("n");
    await pty.until(QUESTION.reason);
    pty.type("\r");
    await pty.until("done");
  });

  test("Ctrl-C at the question ends the run with 130", async () => {
    await using rig = execRig([touch(), { text: "never" }]);
    await using pty = await rig.terminal(["--no-tmux", "go"]);
    await pty.until(QUESTION.asked);
    pty.type("\u0003");
    expect(await pty.exited).toBe(130);
    expect(made(rig)).toBe(false);
  });

  test("s stops the rest of the model's answer, too", async () => {
    const both = [touch("first"), touch("second")].flatMap(({ toolCalls }) => toolCalls);
    await using rig = execRig([{ toolCalls: both }, { text: "never" }]);
    await using pty = await rig.terminal(["--no-tmux", "go"]);
    await pty.until(QUESTION.asked);
    pty.type("s");
    expect(await pty.exited).toBe(130);
    expect([made(rig, "first"), made(rig, "second"), rig.requests.length]).toEqual([false, false, 1]);
    expect(pty.emulator.history()).not.toContain(`touch second ${QUESTION.asked}`);
  });

  test("--timeout takes the question back", async () => {
    await using rig = execRig([touch(), { text: "never" }]);
    await using pty = await rig.terminal(["--no-tmux", "--timeout", "5s", "go"]);
    await pty.until(QUESTION.asked);
    expect(await pty.exited).toBe(124);
    expect(made(rig)).toBe(false);
  });

  pane.test("keys into a pane ask too", async () => {
    await using rig = execRig([
      call("send-keys", { literal_text: "touch made", enter: true, ...DECLARED }),
      { text: "done" },
    ]);
    await using pty = await rig.terminal(["go"]);
    const screen = await pty.until(QUESTION.asked);
    expect(screen).toMatch(/type "touch made" Enter .*-- approve\?/);
    pty.type("n");
    await pty.until(QUESTION.reason);
    pty.type("\r");
    await pty.until("done");
    expect(await pty.exited).toBe(0);
    expect(made(rig)).toBe(false);
  });

  test("the answer is streamed and rendered safe", async () => {
    await using rig = execRig([{ text: "all is well\u001b]52;c;aGk=\u0007 and \u001b[2Jfine", delayMs: 1 }]);
    await using pty = await rig.terminal(["go"]);
    expect(await pty.exited).toBe(0);
    expect(await pty.until("fine")).toContain("all is well and fine");
  });
});
