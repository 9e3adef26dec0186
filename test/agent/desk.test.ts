/** Several fronts at one desk: who is shown what, who is asked, whose answer counts. */
import { describe, expect, test } from "bun:test";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Desk, type Front, type Seat } from "../../src/agent/calls/desk.ts";
import type { AgentEvent, AgentEventBody } from "../../src/agent/events.ts";
import { AnsweredElsewhere } from "../../src/agent/events.ts";
import type { ApprovalAnswer, ApprovalRequest } from "../../src/policy/approvals.ts";
import { REQUEST, ReplRig, type ScriptedTurn, stamped } from "../support/repl-rig.ts";
import { temporaryDirectory } from "../support/temporary.ts";
import { until } from "../support/until.ts";
import { QUESTION } from "../support/wording.ts";

interface Screen extends Front {
  readonly seen: string[];
  /** Questions that wait here. */
  readonly open: { answer(given: ApprovalAnswer): void; readonly signal: AbortSignal }[];
  /** Who was first, for each question that was withdrawn. */
  readonly withdrawn: unknown[];
}

function screen(name: string, more: Partial<Front> = {}): Screen {
  const seen: string[] = [];
  const open: Screen["open"] = [];
  const withdrawn: unknown[] = [];
  return {
    name,
    seen,
    open,
    withdrawn,
    show: ({ type }) => void seen.push(type),
    ask: ({ action }, signal) => {
      seen.push(`asked ${action}`);
      const { promise, resolve } = Promise.withResolvers<ApprovalAnswer>();
      open.push({ answer: resolve, signal });
      signal.addEventListener("abort", () => {
        const { reason } = signal;
        withdrawn.push(reason instanceof AnsweredElsewhere ? [reason.by, reason.answer?.kind] : reason);
      });
      return promise;
    },
    ...more,
  };
}

const YES = { kind: "yes" } as const;
const event = (body: Partial<AgentEventBody> & { type: AgentEvent["type"] }) => stamped(body as AgentEventBody);
const started = event({ type: "tool_started", call: "c1" });
const decide = (desk: Desk, more: Partial<ApprovalRequest> = {}, signal = new AbortController().signal) =>
  desk.approvals.decide({ ...REQUEST, ...more }, signal);
const asked = (...fronts: Screen[]) => until(() => fronts.every(({ open }) => open.length > 0), "the question");

function desk(...fronts: readonly Front[]): { desk: Desk; seats: Seat[] } {
  const one = new Desk();
  return { desk: one, seats: fronts.map((front) => one.attach(front)) };
}

describe("a question", () => {
  test("goes to every front, the first answer counts, once, and the others are told by whom", async () => {
    const [terminal, page] = [screen("the terminal"), screen("the page")];
    const it = desk(terminal, page);
    const decision = decide(it.desk);
    await asked(terminal, page);
    page.open[0]!.answer(YES);
    expect(await decision).toEqual({ kind: "approved", by: "operator" });
    terminal.open[0]!.answer({ kind: "no" });
    expect(terminal.withdrawn).toEqual([["the page", "yes"]]);
  });

  test("is shown after everything before it, also at a front that comes while it is open", async () => {
    const slow = Promise.withResolvers<void>();
    const shows: string[] = [];
    const first = screen("the terminal", {
      show: async ({ type }) => {
        await slow.promise;
        shows.push(type);
      },
    });
    const it = desk(first);
    it.desk.publish(started);
    const decision = decide(it.desk);
    it.desk.publish(event({ type: "approval_asked", call: "c1" }));
    const late = screen("the page");
    it.desk.attach(late);
    await asked(late);
    expect(late.seen).toEqual(["tool_started", "approval_asked", `asked ${REQUEST.action}`]);
    expect(first.open).toHaveLength(0);
    slow.resolve();
    await asked(first);
    expect(shows).toEqual(["tool_started", "approval_asked"]);
    late.open[0]!.answer(YES);
    expect(await decision).toMatchObject({ kind: "approved" });
    it.desk.publish(event({ type: "tool_finished", call: "c1" }));
    const later = screen("another");
    it.desk.attach(later);
    expect(later.seen).toEqual([]);
  });

  test("that is cancelled before its turn is put to nobody", async () => {
    const terminal = screen("the terminal");
    const it = desk(terminal);
    const stop = new AbortController();
    const place = async () => (stop.abort(), { where: "elsewhere" });
    expect(await it.desk.approvals.decide(REQUEST, stop.signal, undefined, place)).toMatchObject({ by: "cancelled" });
    expect(terminal.seen).toEqual([]);
  });

  test.each<[string, Partial<ApprovalRequest>, ApprovalAnswer]>([
    ["edit", { editable: false }, { kind: "edit", command: "rm -rf x" }],
    ["nothing in place of an edit", {}, { kind: "edit", command: " " }],
    ["always", { prefixes: [] }, { kind: "always" }],
    ["always, where a person must answer", { answer: "in-person" }, { kind: "always" }],
    ["a choice without machines", {}, { kind: "choose", only: ["web1"] }],
    ["a canary without machines", {}, { kind: "canary" }],
    ["yes without the name", { answer: "typed", typed: "web1" }, YES],
  ])("is not answered by what it does not offer: %s", async (_, more, answer) => {
    const it = desk(screen("broken", { ask: async () => answer }));
    expect(await decide(it.desk, more)).toMatchObject({ kind: "denied", by: "no-terminal" });
    const terminal = screen("the terminal");
    it.desk.attach(terminal);
    const decision = decide(it.desk, more);
    await asked(terminal);
    terminal.open[0]!.answer({ kind: "no" });
    expect(await decision).toMatchObject({ kind: "denied", by: "operator" });
  });

  test.each<[string, (front: Screen, seat: Seat) => void]>([
    ["left", (_, seat) => seat.leave()],
    ["lost its terminal", (front) => front.open[0]!.answer({ kind: "no-terminal" })],
  ])("is left to the others by a front that has %s; the last one leaves nobody", async (_, go) => {
    const [terminal, page] = [screen("the terminal"), screen("the page")];
    const it = desk(terminal, page);
    const decision = decide(it.desk);
    await asked(terminal, page);
    go(terminal, it.seats[0]!);
    page.open[0]!.answer(YES);
    // Too late, and from a front that may be gone.
    terminal.open[0]!.answer({ kind: "no" });
    expect(await decision).toMatchObject({ kind: "approved" });
    it.seats[0]!.leave();
    const second = decide(it.desk);
    await until(() => page.open.length === 2, "the second question");
    it.seats[1]!.leave();
    expect(await second).toMatchObject({ kind: "denied", by: "no-terminal" });
    page.open[1]!.answer(YES);
  });

  test("is not put to a front that failed to show what came before it", async () => {
    const failing = screen("broken", { show: () => Promise.reject(new Error("gone")) });
    const it = desk(failing);
    it.desk.publish(started);
    expect(await decide(it.desk)).toMatchObject({ by: "no-terminal" });
    expect(failing.open).toHaveLength(0);
    expect(it.seats[0]!.caughtUp()).rejects.toThrow("gone");
  });

  test("answered with stop stops at every other front", async () => {
    const stopped: string[] = [];
    const terminal = screen("the terminal", { stop: () => void stopped.push("the terminal") });
    const page = screen("the page", { stop: () => void stopped.push("the page") });
    const it = desk(terminal, page);
    const decision = decide(it.desk);
    await asked(page);
    page.open[0]!.answer({ kind: "no", stop: true });
    expect(await decision).toMatchObject({ kind: "denied", by: "operator" });
    expect(stopped).toEqual(["the terminal"]);
  });
});

test("a front that shows nothing any more holds up nobody, and one that falls behind is no longer shown anything", async () => {
  const stuck = screen("stuck", { show: () => new Promise(() => {}) });
  const terminal = screen("the terminal");
  const it = desk(stuck, terminal);
  for (let at = 0; at < 20_000; at++) it.desk.publish(event({ type: "notice" }));
  expect(terminal.seen).toHaveLength(20_000);
  expect(it.desk.room(new AbortController().signal)).toBeUndefined();
  expect(it.seats[0]!.caughtUp()).rejects.toThrow("behind");
  const decision = decide(it.desk);
  await asked(terminal);
  terminal.open[0]!.answer(YES);
  expect(await decision).toMatchObject({ kind: "approved" });
});

test("passwords are asked for one at a time, and a silent front does not hold the next one", async () => {
  const lines: { answer(bytes: Uint8Array | undefined): void; program: string }[] = [];
  const hidden: string[] = [];
  const it = new Desk({ hide: (password) => void hidden.push(password) });
  expect(it.passwords(() => Promise.reject(new Error("not needed")))).toBeUndefined();
  it.attach(screen("silent", { password: () => new Promise(() => {}) }));
  it.attach(
    screen("the terminal", {
      password: ({ program }) =>
        new Promise((answer) => {
          lines.push({ answer, program });
        }),
    }),
  );
  const identity = { user: "ann", host: "desk" } as never;
  const ask = it.passwords(async () => ({ identity }))!;
  const never = new AbortController().signal;
  const stop = new AbortController();
  const question = (program: string, signal: AbortSignal) =>
    ask({ program, prompt: "", into: "shell", signal } as never);
  const first = question("sudo", never);
  const second = question("ssh", stop.signal);
  const third = question("su", never);
  await until(() => lines.length === 1, "the first line");
  lines[0]!.answer(new TextEncoder().encode("one"));
  expect(new TextDecoder().decode(await first)).toBe("one");
  await until(() => lines.length === 2, "the second line");
  stop.abort();
  expect(await second).toBeUndefined();
  await until(() => lines.length === 3, "the third line");
  expect(lines.map(({ program }) => program)).toEqual(["sudo", "ssh", "su"]);
  lines[2]!.answer(new TextEncoder().encode("three"));
  await third;
  expect(hidden).toEqual(["one", "three"]);
});

const directory = temporaryDirectory();
let sockets = 0;

/** A front in another process or on another machine: lines of JSON over a socket. */
class SocketFronts implements AsyncDisposable {
  readonly path = join(directory, String(sockets++));
  readonly #server;

  constructor(desk: Desk) {
    this.#server = createServer((socket) => {
      const answers: ((answer: ApprovalAnswer) => void)[] = [];
      const send = (line: unknown) => void socket.write(`${JSON.stringify(line)}\n`);
      const seat = desk.attach({
        name: "the socket",
        show: ({ type }) => send({ type }),
        ask: ({ action }, signal) => {
          send({ asked: action });
          signal.addEventListener("abort", () => send({ over: String(signal.reason) }));
          return new Promise((resolve) => answers.push(resolve));
        },
      });
      createInterface({ input: socket }).on("line", (line) => answers.shift()?.(JSON.parse(line) as ApprovalAnswer));
      socket.on("close", () => seat.leave()).on("error", () => seat.leave());
    }).listen(this.path);
  }

  async connect(): Promise<{ lines: string[]; socket: Socket }> {
    await until(() => this.#server.listening, "the socket");
    const socket = connect(this.path);
    const lines: string[] = [];
    createInterface({ input: socket }).on("line", (line) => lines.push(line));
    return { lines, socket };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
  }
}

describe("a front over a socket, beside the REPL", () => {
  const turn: ScriptedTurn = async function* ({ ask }) {
    yield { type: "text", delta: `decision: ${JSON.stringify(await ask())}\n\n` };
    yield { type: "done", turn: 1, status: "answered", text: "", iterations: 1, ms: 1 };
  };

  test("answers for it, and the REPL shows who did", async () => {
    await using rig = new ReplRig({ turn });
    await using fronts = new SocketFronts(rig.desk);
    const { lines, socket } = await fronts.connect();
    rig.send("do it\r");
    await rig.until(QUESTION.asked);
    await until(() => lines.some((line) => line.includes("asked")), "the question at the socket");
    socket.write(`${JSON.stringify(YES)}\n`);
    await rig.until('"approved","by":"operator"');
    expect(rig.emulator.screen()).toContain("-- approved (the socket)");
    socket.destroy();
  });

  test("that comes while a question is open is asked, and is told that the REPL answered", async () => {
    await using rig = new ReplRig({ turn });
    await using fronts = new SocketFronts(rig.desk);
    rig.send("do it\r");
    await rig.until(QUESTION.asked);
    const { lines, socket } = await fronts.connect();
    await until(() => lines.some((line) => line.includes("asked")), "the question at the socket");
    rig.send("y");
    await until(() => lines.some((line) => line.includes("the terminal")), "who answered");
    socket.write(`${JSON.stringify({ kind: "no" })}\n`);
    await rig.until('"approved","by":"operator"');
    socket.destroy();
  });

  test("that is killed with the question open leaves it to the REPL", async () => {
    await using rig = new ReplRig({ turn });
    await using fronts = new SocketFronts(rig.desk);
    const { lines, socket } = await fronts.connect();
    rig.send("do it\r");
    await until(() => lines.some((line) => line.includes("asked")), "the question at the socket");
    socket.destroy();
    await rig.until(QUESTION.asked);
    rig.send("y");
    await rig.until('"approved","by":"operator"');
  });
});
