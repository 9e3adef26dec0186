/** The approval question of a one-shot run, on a real terminal. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { constants, openSync, readlinkSync } from "node:fs";
import type { ApprovalAnswer, ApprovalRequest } from "../../../src/policy/approvals.ts";
import { askOnTerminal } from "../../../src/ui/approval/tty-question.ts";
import { encode, Pty } from "../../support/pty.ts";
import { QUESTION } from "../../support/wording.ts";

const ASKS = /-- (?:approve|keep)\?/;

const REQUEST: ApprovalRequest = {
  id: "1",
  call: "c1",
  tool: "run_shell",
  where: "deploy@web1",
  cwd: "/srv",
  subject: { machine: "m", user: "ann", shell: "bash" },
  action: "systemctl restart nginx",
  risk: "high",
  mutation: true,
  privesc: true,
  why: "it hangs",
  policy: "it changes a service",
  understated: true,
  declared: { risk: "low", mutation: false, privesc: false },
  found: { risk: "high", mutation: true, privesc: true },
  editable: true,
  prefixes: [{ words: ["systemctl", "restart"], open: true }],
};

let pty: Pty;
beforeEach(() => {
  pty = new Pty(["sleep", "600"], { cols: 100, rows: 30 });
});
afterEach(() => pty[Symbol.asyncDispose]());

interface Question {
  readonly answer: Promise<ApprovalAnswer>;
  readonly stop: AbortController;
  interrupts: number;
}

function settings(): string {
  const tty = readlinkSync(`/proc/${pty.pid}/fd/0`);
  return Bun.spawnSync(["stty", "-a", "-F", tty]).stdout.toString();
}

async function ask(more: Partial<ApprovalRequest> = {}): Promise<Question> {
  const terminal = openSync(readlinkSync(`/proc/${pty.pid}/fd/0`), constants.O_RDWR | constants.O_NOCTTY);
  const stop = new AbortController();
  const before = pty.screen().split(ASKS).length;
  const question: Question = {
    stop,
    interrupts: 0,
    answer: askOnTerminal(
      { ...REQUEST, ...more },
      stop.signal,
      { color: true, theme: "dark", env: process.env, interrupt: () => void question.interrupts++ },
      terminal,
    ),
  };
  await pty.until((screen) => screen.split(ASKS).length > before);
  return question;
}

describe("the question", () => {
  test("shows what, where, why and how risky, and its letters", async () => {
    const { answer } = await ask();
    const screen = pty.screen();
    expect(screen).toMatch(new RegExp(`root .*${QUESTION.highChange}`));
    for (const fact of [/ deploy@web1, .*\/srv/, /: it hangs/, /: low .*: high, .*root/]) expect(screen).toMatch(fact);
    expect(screen).toContain(`deploy@web1$ systemctl restart nginx ${QUESTION.asked}`);
    pty.type("x");
    await pty.until("press y, n");
    pty.type("?");
    await pty.until(`e  ${QUESTION.editHelp}`);
    pty.type("Y");
    expect(await answer).toEqual({ kind: "yes" });
    await pty.until("deploy@web1$ systemctl restart nginx -- approved");
  });

  test("the name of the machine has to be typed where the question says so: y, a wrong name and Enter approve nothing", async () => {
    const { answer } = await ask({ answer: "typed", typed: "web1" });
    expect(pty.screen()).not.toContain(QUESTION.always);
    pty.type("a");
    await pty.until(QUESTION.notAlways);
    pty.type("y");
    await pty.until(QUESTION.name("web1"));
    pty.type("web2\r");
    await pty.until(QUESTION.nothingApproved);
    pty.type("y");
    await pty.until(QUESTION.name("web1"));
    pty.type("\r");
    await pty.until((screen) => !screen.includes(QUESTION.name("web1")));
    pty.type("y");
    await pty.until(QUESTION.name("web1"));
    pty.type("web1\r");
    expect(await answer).toEqual({ kind: "yes", typed: "web1" });
  });

  test.each([
    ["k", { kind: "yes" }, "-- kept"],
    ["r", { kind: "no" }, "-- reverted"],
  ] as const)("whether a change stays: %s, and neither y nor n", async (letter, expected, said) => {
    const { answer } = await ask({ keep: { until: Date.now() + 60_000 }, answer: "in-person" });
    expect(pty.screen()).toContain(QUESTION.keep);
    pty.type("y");
    await pty.until("k, r or v");
    pty.type(letter);
    expect(await answer).toEqual(expected);
    await pty.until(said);
  });

  const machines = ["web01", "web02", "web03"].map((name) => ({
    name,
    subject: { ...REQUEST.subject, machine: name },
  }));
  const set = { machines, where: "deploy@web[01-03] (3)" };

  test("a question for several machines offers all, a canary and a choice, and no stop", async () => {
    const { answer } = await ask(set);
    expect(pty.screen()).toContain(`deploy@web[01-03] (3)$ systemctl restart nginx ${QUESTION.asked}`);
    for (const key of ["y all", "c canary", "s choose"]) expect(pty.screen()).toContain(key);
    expect(pty.screen()).not.toContain("s stop");
    pty.type("c");
    expect(await answer).toEqual({ kind: "canary" });
  });

  test("machines are chosen by names, globs and ranges; a wrong name approves nothing", async () => {
    const { answer } = await ask(set);
    pty.type("s");
    await pty.until(QUESTION.machines);
    pty.type("db9\r");
    await pty.until(QUESTION.nothingApproved);
    pty.type("s");
    await pty.until(QUESTION.machines);
    pty.type("web0[2-3]\r");
    expect(await answer).toEqual({ kind: "choose", only: ["web02", "web03"] });
    await pty.until("approved for web[02-03]");
  });

  test("where names have to be typed there is no canary", async () => {
    const { answer } = await ask({ ...set, answer: "typed", typed: "web[01-03]" });
    expect(pty.screen()).not.toContain("c canary");
    pty.type("c");
    await pty.until("press y, n");
    pty.type("y");
    await pty.until(QUESTION.name("web[01-03]"));
    pty.type("web[01-03]\r");
    expect(await answer).toEqual({ kind: "yes", typed: "web[01-03]" });
  });

  test("where names have to be typed, choosing machines is not shown as an approval", async () => {
    const { answer } = await ask({ ...set, answer: "typed", typed: "web[01-03]" });
    pty.type("s");
    await pty.until(QUESTION.chooses);
    pty.type("web02\r");
    expect(await answer).toEqual({ kind: "choose", only: ["web02"] });
    await pty.until("chosen: web02");
  });

  test("a change that is cut says so before y is offered, and v shows the rest", async () => {
    const diff = ["@@ -0,0 +1,450 @@", ...Array.from({ length: 450 }, (_, i) => `+line ${i + 1}`)].join("\n");
    const write = { path: "/etc/app.conf", creates: false, added: 450, removed: 0 };
    const { answer } = await ask({ tool: "write_file", action: "write /etc/app.conf", write, diff, editable: false });
    const history = pty.emulator.history();
    expect(history.indexOf(`+450 −0, ${QUESTION.hidden(251)}`)).toBeLessThan(history.indexOf("+line 1\n"));
    expect(history.indexOf(`+450 −0, ${QUESTION.hidden(251)}`)).toBeGreaterThanOrEqual(0);
    expect(pty.screen()).toContain(`deploy@web1: write /etc/app.conf ${QUESTION.asked}`);
    pty.type("v");
    await pty.until("+line 1\n");
    pty.type("G");
    await pty.until("+line 450");
    pty.type("q");
    await pty.until(`deploy@web1: write /etc/app.conf ${QUESTION.asked}`);
    pty.type("y");
    expect(await answer).toEqual({ kind: "yes" });
  });

  test("control characters in a change are written out", async () => {
    const { answer } = await ask({ diff: "@@ -1 +1 @@\n-a\n+b\u001b[2J" });
    expect(pty.screen()).toContain("+b\\u{1b}[2J");
    pty.type("y");
    await answer;
  });

  test("letters that are not offered do nothing", async () => {
    const { prefixes: _, ...without } = REQUEST;
    const terminal = openSync(readlinkSync(`/proc/${pty.pid}/fd/0`), constants.O_RDWR | constants.O_NOCTTY);
    const request = {
      ...without,
      editable: false,
      why: "",
      policy: "",
      understated: false,
      risk: "low" as const,
      mutation: false,
      privesc: false,
    };
    const options = { color: false, theme: "dark", env: {}, interrupt: () => {} } as const;
    const answer = askOnTerminal(request, new AbortController().signal, options, terminal);
    await pty.until("y yes  n no  v view  s stop  ? help");
    expect(pty.screen()).not.toContain("why:");
    for (const [letter, said] of [
      ["\u001b[A", "press y, n, v"],
      ["a", QUESTION.notAlways],
      ["e", QUESTION.notEditable],
      ["q", "press y, n, v"],
    ] as const) {
      pty.type(letter);
      await pty.until(said);
    }
    pty.type("h");
    await pty.until(/^ *n {2}\S/m);
    expect(pty.screen()).not.toContain(QUESTION.editHelp);
    // A one-shot run has no input line to go to.
    expect(pty.screen()).toContain("Ctrl-C  ");
    expect(pty.screen()).not.toContain("Esc  ");
    pty.type("y");
    expect(await answer).toEqual({ kind: "yes" });
  });

  test("a: says what will be remembered", async () => {
    const { answer } = await ask();
    expect(pty.screen()).toContain(`${QUESTION.always} “systemctl restart …”`);
    pty.type("a");
    expect(await answer).toEqual({ kind: "always" });
  });

  test("s: no, and the run ends", async () => {
    const question = await ask();
    pty.type("s");
    expect(await question.answer).toEqual({ kind: "no", stop: true });
    expect(question.interrupts).toBe(1);
  });

  test("n: with a reason, edited like any line", async () => {
    const { answer } = await ask();
    pty.type("n");
    await pty.until(QUESTION.reason);
    pty.type(`not noow${encode("left")}${encode("backspace")}${encode("home")}please ${encode("end")}!`);
    await pty.until("please not now!");
    pty.key("enter");
    expect(await answer).toEqual({ kind: "no", reason: "please not now!" });
  });

  test.each(["N", "\u0004"])("%p denies without a reason", async (key) => {
    const { answer } = await ask();
    pty.type(key);
    if (key === "N") {
      await pty.until(QUESTION.reason);
      pty.type("\r");
    }
    expect(await answer).toEqual({ kind: "no" });
  });

  test("Escape at the reason goes back to the question and denies nothing", async () => {
    const { answer } = await ask();
    pty.type("n");
    await pty.until(QUESTION.reason);
    pty.key("escape");
    await pty.until(QUESTION.asked);
    pty.type("y");
    expect(await answer).toEqual({ kind: "yes" });
  });

  test("e: the command with the usual editing keys; the same or none asks again", async () => {
    const { answer } = await ask();
    pty.type("e");
    await pty.until(`${QUESTION.edit}systemctl restart nginx`);
    pty.type("\r");
    await pty.until(QUESTION.asked);
    pty.type("e");
    await pty.until(`${QUESTION.edit}systemctl restart nginx`);
    pty.type(`${encode("home")}${encode("right")}${encode("ctrl-k")}`);
    await pty.until(/edit: s\s*$/m);
    pty.type(
      `${encode("ctrl-u")}uptime 漢字${encode("backspace")}${encode("ctrl-a")}${encode("left")}w;${encode("ctrl-e")}${encode("right")}\r`,
    );
    expect(await answer).toEqual({ kind: "edit", command: "w;uptime 漢" });
  });

  test("e: a command of several lines is edited as it is", async () => {
    const { answer } = await ask({ action: "one\ntwo" });
    pty.type("e");
    await pty.until(QUESTION.edit);
    pty.type("!\r");
    expect(await answer).toEqual({ kind: "edit", command: "one\ntwo!" });
  });
});

describe("what will run", () => {
  test("is written out in the line that edits it, as in the question", async () => {
    const { answer } = await ask({ action: "echo \u202egpj\u200b; ls" });
    pty.type("e");
    await pty.until(`${QUESTION.edit}echo \\u{202e}gpj\\u{200b}; ls`);
    pty.type("!\r");
    expect(await answer).toEqual({ kind: "edit", command: "echo \u202egpj\u200b; ls!" });
  });

  test("and is longer than the screen says its size in the line, and is shown whole once more before it runs", async () => {
    const lines = Array.from({ length: 60 }, (_, at) => `echo line ${at}`);
    const { answer } = await ask({ action: lines.join("\n") });
    pty.type("e");
    await pty.until(/rows \d+-60 of 60/);
    pty.type(" && rm -f it\r");
    expect(await answer).toMatchObject({ kind: "edit" });
    await pty.until("-- edited");
    expect(pty.emulator.history()).toContain(`  echo line 58\n  echo line 59 && rm -f it\n`);
  });

  test("is approved only once all of it was shown", async () => {
    const diff = ["@@ -0,0 +1,450 @@", ...Array.from({ length: 450 }, (_, i) => `+line ${i + 1}`)].join("\n");
    const write = { path: "/etc/app.conf", creates: false, added: 450, removed: 0 };
    const { answer } = await ask({ tool: "write_file", action: "write /etc/app.conf", write, diff, editable: false });
    pty.type("y");
    await pty.until("press n, v");
    pty.type("v");
    await pty.until("+line 1\n");
    pty.type("q");
    await pty.until(/y yes .*n no/);
    pty.type("y");
    expect(await answer).toEqual({ kind: "yes" });
  });

  test.each([40, 60])("in %i columns, a says what it would allow", async (columns) => {
    pty.resize(columns, 20);
    const { answer } = await ask();
    await pty.until(/a always “systemctl restart …”/);
    pty.type("a");
    expect(await answer).toEqual({ kind: "always" });
  });
});

test.each([
  ["a long command", "systemctl restart nginx"],
  ["a short one, with wider rows below the cursor", "ls"],
])("a question in a window that is made smaller and large again is shown once: %s", async (_, action) => {
  const question = await ask({ action });
  const before = pty.screen();
  for (const [columns, rows] of [
    [40, 12],
    [100, 30],
  ] as const) {
    pty.resize(columns, rows);
    process.emit("SIGWINCH", "SIGWINCH");
    await pty.until((screen) => screen.split("\n").every((row) => row.length < columns) && ASKS.test(screen));
  }
  await pty.until((screen) => screen === before);
  pty.type("y");
  expect(await question.answer).toEqual({ kind: "yes" });
});

describe("the end of a question", () => {
  test("Ctrl-C interrupts the run", async () => {
    const question = await ask();
    pty.type("\u0003");
    expect(await question.answer).toEqual({ kind: "cancelled" });
    expect(question.interrupts).toBe(1);
    await pty.until(QUESTION.withdrawn);
  });

  test("a withdrawn one is cancelled, and the terminal is as before", async () => {
    const before = settings();
    const question = await ask();
    expect(settings()).toContain("-icanon");
    question.stop.abort();
    expect(await question.answer).toEqual({ kind: "cancelled" });
    expect(question.interrupts).toBe(0);
    expect(settings()).toBe(before);
  });

  test("what was typed before the question does not answer it", async () => {
    pty.type("yes");
    await pty.until("yes");
    const { answer } = await ask();
    pty.type("n");
    await pty.until(QUESTION.reason);
    pty.type("\r");
    expect(await answer).toEqual({ kind: "no" });
  });

  test("without a terminal there is no one to ask", async () => {
    // A file is no terminal: stty refuses it, and its end is the end of the question.
    const file = openSync("/dev/null", "r+");
    const options = { color: false, theme: "dark", env: {}, interrupt: () => {} } as const;
    expect(await askOnTerminal(REQUEST, new AbortController().signal, options, file)).toEqual({ kind: "cancelled" });
  });
});
