/** run_shell, capture-pane, send-keys and managed tmux objects as the model uses them, on a real tmux server. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import type { Turn } from "../support/scripted-model/playbook.ts";
import { ofType } from "../support/agent.ts";
import { call, DECLARED, shell } from "../support/calls.ts";
import { Here } from "../support/in-process.ts";
import { needs } from "../support/needs.ts";
import { RESULT } from "../support/wording.ts";

const pane = await needs("tmux");

const ALL = { tmux: true, approve: "all" } as const;
const keys = (more: Record<string, unknown>) => call("send-keys", { ...DECLARED, ...more });
const object = (name: string, args: Record<string, unknown>) => call(name, { ...args, ...DECLARED });

pane.describe("in the shared pane", () => {
  /** What the model got for each call, and how each ended. */
  const played = async (...turns: readonly Turn[]) => {
    await using here = new Here([...turns, { text: "done" }]);
    const { results, events } = await here.turn(ALL);
    const outcomes = ofType(events, "tool_finished").map(({ outcome }) => outcome);
    return { text: results as string[], outcomes, events };
  };

  test("a command that ended gives its output, and how to watch the pane", async () => {
    const { text, outcomes, events } = await played(shell("cd / && echo here"));
    expect(text[0]).toStartWith("here");
    expect(outcomes).toEqual(["exited"]);
    expect(ofType(events, "session").at(-1)?.attach).toMatch(/^tmux -L \S+ attach -t \S+$/);
  });

  test("a command that failed gives its exit code", async () => {
    expect((await played(shell("sh -c 'exit 6'"))).text[0]).toBe(RESULT.failed(6));
  });

  test("a command over its time continues in the pane, which takes no other until it is stopped", async () => {
    const { text, outcomes } = await played(
      shell("sleep 300", { wait: 1 }),
      shell("echo typed"),
      call("shell_output", { wait: 0.1 }),
      keys({ keys: ["C-c"] }),
      call("shell_output", { wait: "20s" }),
    );
    expect(text[0]).toStartWith(`${RESULT.timedOut("1s")}\n`);
    expect(text[1]).toStartWith("[not run: ");
    expect(text[1]).toContain('"sleep 300"');
    expect(text[2]).toStartWith(RESULT.timedOut("100ms"));
    expect(text[3]).toContain("capture-pane");
    expect(text[4]).toStartWith(RESULT.failed(130));
    expect(outcomes.slice(0, 2)).toEqual(["running", "not-run"]);
  });

  test("a command that waits for input is answered by keys", async () => {
    const { text, outcomes } = await played(
      shell("read -r answer && echo got:$answer", { wait: 20 }),
      keys({ literal_text: "the answer", enter: true }),
      call("shell_output", { wait: "20s" }),
    );
    expect(text[0]).toMatch(new RegExp(`^\\${RESULT.waiting}: .*\\]\\n.*send-keys literal_text`));
    expect(text[2]).toContain("got:the answer");
    expect(outcomes[0]).toBe("waiting");
  });

  test.each([
    ["true", false, "(no output)"],
    ["sleep 0.2; echo slept", "false", "slept"],
    ["clear; echo zero", 0, "zero"],
  ])("%j with wait=%j is sent, and waited for afterwards", async (command, wait, output) => {
    const { text } = await played(shell(command, { wait }), call("shell_output", { wait: 20 }));
    expect(text[0]).toStartWith(`${RESULT.sent}\n`);
    expect(text[1]).toBe(output);
  });

  test("the end of a command is news once", async () => {
    const { text } = await played(
      shell("sleep 0.3; exit_of() { return 3; }; exit_of", { wait: 0.1 }),
      call("shell_output", { wait: 20 }),
      call("shell_output", { wait: 20 }),
    );
    expect(text.map((one) => one.includes("earlier command"))).toEqual([false, false, true]);
  });

  test("an unfinished command is not run", async () => {
    const { text, outcomes } = await played(shell("echo 'open"));
    // A shell that reads it from a file says so itself.
    expect(text[0]).toMatch(/^\[command (?:incomplete|failed): /);
    expect(["incomplete", "exited"]).toContain(String(outcomes[0]));
  });

  test("a full-screen program is left by its own key", async () => {
    const { text } = await played(
      shell("less /etc/passwd", { wait: 20 }),
      keys({ keys: ["q"] }),
      call("shell_output", { wait: 20 }),
    );
    expect(text[0]).toMatch(/^\[full-screen program: less\]/);
  });

  test("a shell that ended is replaced", async () => {
    const { text } = await played(shell("exit 9"), shell("pwd"));
    expect(text[0]).toStartWith(`${RESULT.shellEnded(9)}\n`);
    expect(text[1]).toContain("/");
  });

  test("capture-pane shows the screen", async () => {
    const { text } = await played(shell("clear; echo zero"), call("capture-pane"));
    expect(text[1]).toMatch(/^zero\n\[buddy \d+: 0\] .*$/);
  });

  test("a password is the operator's to type: they learn where, the model is asked not to", async () => {
    const prompt = `sh -c "printf '[sudo] password for me: '; stty -echo; read -r secret; stty echo; echo"`;
    await using here = new Here([
      shell(prompt, { wait: 4 }),
      keys({ keys: ["C-c"] }),
      call("shell_output", { wait: 20 }),
      { text: "done" },
    ]);
    const { results, events } = await here.turn(ALL);
    expect(results[0]).toMatch(/^\[waiting for a password in /);
    const told = ofType(events, "tool_output").filter(({ stream }) => stream === "info");
    expect(told[0]?.text).toContain("tmux ");
  });

  test("capture-pane: ranges, options, an empty screen and a missing alternate screen", async () => {
    await using here = new Here([
      shell("clear; printf 'one\\ntwo   \\n\\033[31mred\\033[0m\\n'; seq 1 200"),
      call("capture-pane", { start: "-", end: "-" }),
      call("capture-pane", { start: 0, end: 2, include_escape_sequences: true, preserve_trailing_spaces: true }),
      call("capture-pane", { include_alternate_screen: true }),
      call("capture-pane", { join_wrapped_lines: true, escape_non_printable: true, delay: 0.01 }),
      call("capture-pane", { delay: "soon" }),
      call("capture-pane", { target: "no-such-session" }),
      keys({}),
      { text: "done" },
    ]);
    const { results } = await here.turn(ALL);
    expect(results[1]).toContain("one\ntwo\nred\n1\n2\n");
    expect(results[3]).toStartWith("[");
    expect(results[4]).toContain("200");
    expect(results[5]).toMatch(/^error: .*capture-pane: delay: /);
    expect(results[6]).toStartWith("error: ");
    expect(results[7]).toMatch(/^error: .*send-keys: /);
  });
});

pane.describe("managed objects", () => {
  test("sessions and panes are made, used and ended; what is shared is protected; limits hold", async () => {
    await using here = new Here(
      [
        object("tmux-create-pane", { pane: "build" }),
        object("tmux-create-pane", { pane: "build" }),
        shell("cd /usr && pwd", { pane: "build" }),
        call("capture-pane", { pane: "build" }),
        object("tmux-create-pane", { pane: "more" }),
        object("tmux-kill-pane", { pane: "build" }),
        object("tmux-kill-pane", { pane: "shared" }),
        object("tmux-create-session", { session: "second" }),
        object("tmux-kill-session", { session: "second" }),
        object("tmux-kill-session", { session: "nobody-made-this" }),
        shell("echo x", { pane: "gone" }),
        { text: "done" },
      ],
      { config: "max_panes = 2\nmax_sessions = 2" },
    );
    const { results, events } = await here.turn(ALL);
    const text = results as string[];
    expect(text[0]).toMatch(/ build .*run_shell pane="build"$/);
    expect(text[1]).toStartWith("already exists: pane build");
    expect(text[2]).toBe("/usr");
    expect(text[3]).toContain("/usr");
    expect(text[4]).toStartWith("error: ");
    expect(text[5]).toBe("ended: pane build");
    expect(text[6]).toStartWith("error: ");
    expect(text[7]).toMatch(/^created: session \S*second$/);
    expect(text[8]).toBe("ended: session second");
    expect(text[9]).toStartWith("error: ");
    expect(text[10]).toStartWith("error: ");
    expect(ofType(events, "tool_started").map(({ title }) => title)).toContain("end pane build");
  });

  test("what keys and panes do is asked about, and described by a dry run", async () => {
    await using here = new Here(
      [keys({ literal_text: "rm x", enter: true, delay: 2 }), keys({ keys: ["Up"] }), { text: "done" }],
      { answer: ({ action }) => ({ kind: "no", reason: `not ${action}` }) },
    );
    const { results } = await here.turn({ tmux: true });
    expect(results[0]).toMatch(new RegExp(`^${RESULT.refused}: .*"rm x" Enter .*\\b2s$`));
    expect(here.asked[1]).toMatchObject({
      action: expect.stringMatching(/^type Up /),
      editable: false,
      risk: "medium",
    });
    await using dry = new Here([object("tmux-create-pane", { pane: "p", session: "s" }), { text: "done" }]);
    expect((await dry.turn({ tmux: true, "dry-run": true, approve: "all" })).results[0]).toStartWith(
      `${RESULT.dryRun}do: create pane p in session s\npolicy: ask (`,
    );
  });
});

pane.describe("what send-keys types at a prompt is judged like run_shell", () => {
  test("what is blocked stays blocked, in keys, in text and in pieces", async () => {
    await using here = new Here([
      keys({ literal_text: "git add -A", enter: true }),
      keys({ keys: ["git add -A", "Enter"] }),
      keys({ keys: ["git", "Space", "add", "Space", "-A", "Enter"] }),
      keys({ keys: ["git add -X", "BSpace", "A", "C-m"] }),
      keys({ literal_text: "shutdown now\n" }),
      keys({ literal_text: "git add " }),
      keys({ literal_text: "-A", enter: true }),
      { text: "done" },
    ]);
    const { results } = await here.turn(ALL);
    const refused = results.map((result) => /^(?:Not allowed|sent)/.exec(result as string)?.[0]);
    const no = "Not allowed";
    expect(refused).toEqual([no, no, no, no, no, "sent", no]);
  });

  test("a line that only reads runs unasked, and is not called the operator's", async () => {
    await using here = new Here([
      keys({ literal_text: "echo typed-by-keys", enter: true, risk: "low", mutation: false }),
      shell("true"),
      call("capture-pane"),
      { text: "done" },
    ]);
    const { results, events } = await here.turn({ tmux: true });
    expect(here.asked).toHaveLength(0);
    expect(results[2]).toContain("\ntyped-by-keys\n");
    expect(ofType(events, "notice").filter(({ kind }) => kind === "operator")).toEqual([]);
    expect(JSON.stringify(results)).not.toContain("operator");
  });

  test("what is allowed asks where a prompt reads it otherwise: history, comments", async () => {
    const lines = ["mkdir one", "mkdir two !-1", "^one^three", "mkdir four # ; touch five"];
    await using here = new Here(
      [
        ...lines.map((literal_text) => keys({ literal_text, enter: true, risk: "low", mutation: false })),
        { text: "done" },
      ],
      { config: '[tools]\nshell_allow = ["mkdir"]', answer: () => ({ kind: "no" }) },
    );
    await here.turn({ tmux: true });
    expect(here.asked.map(({ action }) => action)).toEqual(
      lines.slice(1).map((line) => expect.stringContaining(`type "${line}" Enter `)),
    );
  });

  test("nothing but the operator approves keys for the pane that buddy itself runs in", async () => {
    await using here = new Here([keys({ literal_text: "/approve all", enter: true }), { text: "done" }], {
      answer: () => ({ kind: "no" }),
    });
    const socket = join(here.dir, "own");
    const tmux = (...args: string[]) => Bun.spawnSync(["tmux", "-S", socket, "-f", "/dev/null", ...args]);
    tmux("new-session", "-d", "cat");
    process.env["TMUX"] = `${socket},1,0`;
    process.env["TMUX_PANE"] = "%0";
    await here.turn({ "no-tmux": true, approve: "all" });
    tmux("kill-server");
    expect(here.asked).toMatchObject([{ answer: "in-person" }]);
  });

  test("an approved line is reported as typed, not as the operator's", async () => {
    await using here = new Here(
      [keys({ literal_text: "mkdir typed", enter: true, mutation: true }), shell("ls"), { text: "done" }],
      { answer: () => ({ kind: "yes" }) },
    );
    const { results, events } = await here.turn({ tmux: true });
    expect(ofType(events, "notice").filter(({ kind }) => kind === "operator")).toEqual([]);
    expect(JSON.stringify(results)).not.toContain("operator");
    expect(here.asked[0]).toMatchObject({ mutation: true, cwd: here.cwd });
  });

  test("in another program it is asked about, and the program is named", async () => {
    await using here = new Here(
      [shell("cat", { wait: 1 }), keys({ literal_text: "ls", enter: true }), keys({ keys: ["C-d"] }), { text: "done" }],
      { answer: ({ tool }) => (tool === "run_shell" ? { kind: "yes" } : { kind: "no" }) },
    );
    await here.turn({ tmux: true });
    expect(here.asked.filter(({ tool }) => tool === "send-keys").map(({ policy }) => policy)).toEqual([
      expect.stringContaining("cat"),
      expect.stringContaining("cat"),
    ]);
  });

  test.each([
    ["Password: ", "stty -echo"],
    // As behind ssh, and where the program shows a star for each key.
    ["Passwort: ", "stty -echo -icanon"],
    ["PIN? ", "stty -icanon"],
    ["API key: ", "stty -echo -icanon"],
    ["Adgangskode for me: ", "stty -echo -icanon"],
  ])("nothing printable goes to the password prompt %j (%s), by any field", async (asks, mode) => {
    const prompt = `sh -c 'printf "${asks}"; ${mode}; read -r secret; stty sane; echo; echo "[$secret]"'`;
    await using here = new Here([
      shell(prompt, { wait: 2 }),
      keys({ keys: ["secret", "Enter"] }),
      keys({ literal_text: "secret" }),
      keys({ keys: "Space" }),
      keys({ keys: ["M-x"] }),
      keys({ keys: ["Enter"] }),
      call("shell_output", { wait: 20 }),
      { text: "done" },
    ]);
    const { results } = await here.turn(ALL);
    for (const result of results.slice(1, 5)) expect(result).toStartWith("error: ");
    expect(results[6]).toContain("[]");
  });
});

test("without tmux these tools are not offered, and a call says so", async () => {
  await using here = new Here([call("capture-pane"), object("tmux-create-pane", { pane: "p" }), { text: "done" }]);
  const { results } = await here.turn({ "no-tmux": true, approve: "all" });
  const offered = here.model.requests[0]!.tools.map(({ name }) => name);
  expect(offered).toContain("run_shell");
  expect(offered.filter((name) => name.includes("-"))).toEqual([]);
  for (const result of results.slice(0, 2)) expect(result).toStartWith("error: ");
});
