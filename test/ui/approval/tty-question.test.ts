/** The approval question of a one-shot run, on a real terminal. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { constants, openSync, readlinkSync } from "node:fs";
import type { ApprovalAnswer, ApprovalRequest } from "../../../src/policy/approvals.ts";
import { askOnTerminal } from "../../../src/ui/approval/tty-question.ts";
import { encode, Pty } from "../../support/pty.ts";

const REQUEST: ApprovalRequest = {
  id: "1",
  call: "c1",
  tool: "run_shell",
  where: "deploy@web1",
  cwd: "/srv",
  machine: "m",
  action: "systemctl restart nginx",
  risk: "high",
  mutation: true,
  privesc: true,
  why: "it hangs",
  policy: "it changes a service",
  understated: true,
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
  const before = pty.screen().split("-- approve?").length;
  const question: Question = {
    stop,
    interrupts: 0,
    answer: askOnTerminal(
      { ...REQUEST, ...more },
      stop.signal,
      { color: true, interrupt: () => void question.interrupts++ },
      terminal,
    ),
  };
  await pty.until((screen) => screen.split("-- approve?").length > before);
  return question;
}

describe("the question", () => {
  test("shows who, where, what, why and how risky, in one line with its letters", async () => {
    const { answer } = await ask({ diff: "@@ -1 +1 @@\n-a\n+b\u001b[2J" });
    const screen = pty.screen();
    expect(screen).toContain("run_shell: high risk, changes something, as another user · in /srv");
    expect(screen).toContain("why: it hangs");
    expect(screen).toContain("the model understates it: it changes a service");
    expect(screen).toContain("+b");
    expect(screen).toContain("deploy@web1$ systemctl restart nginx -- approve? [y/n/a/e]");
    pty.type("x?");
    await pty.until("e  edit the command; it is judged again");
    pty.type("Y");
    expect(await answer).toEqual({ kind: "yes" });
  });

  test("letters that are not offered do nothing", async () => {
    const { prefixes: _, ...without } = REQUEST;
    const terminal = openSync(readlinkSync(`/proc/${pty.pid}/fd/0`), constants.O_RDWR | constants.O_NOCTTY);
    const request = {
      ...without,
      editable: false,
      why: "",
      policy: "",
      risk: "low" as const,
      mutation: false,
      privesc: false,
    };
    const options = { color: false, interrupt: () => {} };
    const answer = askOnTerminal(request, new AbortController().signal, options, terminal);
    await pty.until("-- approve? [y/n]");
    expect(pty.screen()).not.toContain("why:");
    pty.type("aeq\u001b[Ah");
    await pty.until("n  no; a reason reaches the model");
    expect(pty.screen()).not.toContain("edit the command");
    pty.type("y");
    expect(await answer).toEqual({ kind: "yes" });
  });

  test("a: says what will be remembered", async () => {
    const { answer } = await ask();
    pty.type("a");
    expect(await answer).toEqual({ kind: "always" });
    await pty.until("a (systemctl restart …)");
  });

  test("n: with a reason, edited like any line, or without one", async () => {
    const first = await ask();
    pty.type("n");
    await pty.until("because (Enter: no reason):");
    pty.type(`not noow${encode("left")}${encode("backspace")}${encode("home")}please ${encode("end")}!`);
    await pty.until("please not now!");
    pty.key("enter");
    expect(await first.answer).toEqual({ kind: "no", reason: "please not now!" });
    const second = await ask();
    pty.type("N\r");
    expect(await second.answer).toEqual({ kind: "no" });
    const third = await ask();
    pty.type("\u0004");
    expect(await third.answer).toEqual({ kind: "no" });
  });

  test("e: the command with the usual editing keys; the same or none asks again", async () => {
    const { answer } = await ask();
    pty.type("e\r");
    await pty.until((screen) => screen.split("-- approve?").length === 3);
    pty.type("e");
    await pty.until(/run instead: systemctl restart nginx\s*$/);
    pty.type(`${encode("home")}${encode("right")}${encode("ctrl-k")}`);
    await pty.until(/run instead: s\s*$/);
    pty.type(
      `${encode("ctrl-u")}uptime 漢字${encode("backspace")}${encode("ctrl-a")}${encode("left")}w;${encode("ctrl-e")}${encode("right")}\r`,
    );
    expect(await answer).toEqual({ kind: "edit", command: "w;uptime 漢" });
  });

  test("e: a command longer than the terminal is edited in one row", async () => {
    const action = `echo ${Array.from({ length: 40 }, (_, i) => `word${i}`).join(" ")}`;
    const { answer } = await ask({ action });
    pty.type("e");
    await pty.until(/^run instead: .*word39$/m);
    pty.type(`${encode("home")}${encode("right").repeat(4)} -n`);
    await pty.until(/^run instead: echo -n word0 .*$/m);
    expect(pty.screen()).not.toContain("word39 word39");
    pty.type(`${encode("end")}!\r`);
    expect(await answer).toEqual({ kind: "edit", command: `${action.replace("echo", "echo -n")}!` });
    expect(pty.screen().split("run instead:")).toHaveLength(2);
  });

  test("e: a command of several lines is written anew; Escape and Ctrl-C leave it as it was", async () => {
    const { answer } = await ask({ action: "one\ntwo" });
    pty.type("e");
    await pty.until(/run instead:\s*$/);
    pty.type(`${encode("backspace")}\u0003`);
    await pty.until((screen) => screen.split("-- approve?").length === 3);
    pty.type("E");
    await pty.until((screen) => screen.split("run instead:").length === 3);
    pty.type("three\n");
    expect(await answer).toEqual({ kind: "edit", command: "three" });
  });
});

describe("the end of a question", () => {
  test("Ctrl-C interrupts the run", async () => {
    const question = await ask();
    pty.type("\u0003");
    expect(await question.answer).toEqual({ kind: "cancelled" });
    expect(question.interrupts).toBe(1);
    await pty.until("^C");
  });

  test("one that is taken back is cancelled, and the terminal is as before", async () => {
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
    pty.type("n\r");
    expect(await answer).toEqual({ kind: "no" });
  });

  test("without a terminal nobody is there", async () => {
    // A file is no terminal: stty refuses it, and its end is the end of the question.
    const file = openSync("/dev/null", "r+");
    const options = { color: false, interrupt: () => {} };
    expect(await askOnTerminal(REQUEST, new AbortController().signal, options, file)).toEqual({ kind: "cancelled" });
  });
});
