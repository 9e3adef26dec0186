import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { LineScreen } from "../../../src/ui/repl/line-screen.ts";
import { Repl } from "../../../src/ui/repl/repl.ts";
import { answer, ReplRig, type RigOptions, type ScriptedTurn } from "../../support/repl-rig.ts";
import { until } from "../../support/until.ts";
import { QUESTION, REPL } from "../../support/wording.ts";
import { droppedWords } from "../../../src/ui/repl/task-view.ts";

setDefaultTimeout(60_000);

class PlainRig implements AsyncDisposable {
  readonly inner: ReplRig;
  readonly repl: Repl;
  readonly done: Promise<number>;
  said = "";
  #line: (line: string) => void = () => {};
  #end: () => void = () => {};

  constructor(options: RigOptions = {}) {
    // Its host is wanted, not its screen.
    this.inner = new ReplRig(options);
    const input = {
      start: (line: (line: string) => void, end: () => void) => {
        this.#line = line;
        this.#end = end;
      },
      stop: () => {},
    };
    this.repl = new Repl(this.inner.host, new LineScreen(input, async (text) => void (this.said += text), 100));
    this.done = this.repl.run();
  }

  send(line: string): void {
    this.said += `${line}\n`;
    this.#line(line);
  }

  end(): void {
    this.#end();
  }

  async until(text: string): Promise<string> {
    await until(() => this.said.includes(text), text, { timeoutMs: 12_000, everyMs: 2 });
    return this.said;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.repl.leave(0);
    await this.done;
    await this.inner[Symbol.asyncDispose]();
  }
}

const waiting: ScriptedTurn = async function* ({ gate }) {
  await gate("go");
  yield* answer("# done\n\nwell");
};

describe("line mode", () => {
  test("prompts, answers, and nothing that moves", async () => {
    await using rig = new PlainRig({ turn: waiting });
    await until(() => /\/help.*\n> $/.test(rig.said), "the first prompt");
    rig.send("one");
    rig.send("two");
    await rig.until(REPL.queued(2));
    rig.send("/ps");
    await rig.until("2  queued");
    rig.send("/model");
    await rig.until(REPL.notNow("model", 1));
    rig.inner.open("go");
    await until(() => rig.inner.prompts.length === 2, "both ran");
    const said = await rig.until("well\n> ");
    expect(said).toContain("# done\n\nwell\n");
    expect(said).not.toContain("\x1b");
    expect(said).not.toContain("> > ");
    rig.send("/nope");
    await rig.until(REPL.unknown("nope"));
    rig.send("");
    rig.end();
    expect(await rig.done).toBe(0);
  });

  test("approvals are asked and answered with lines", async () => {
    const turn: ScriptedTurn = async function* ({ ask }) {
      yield* answer(`decision: ${JSON.stringify(await ask())}`);
    };
    await using rig = new PlainRig({ turn });
    const asked = (parts: number) =>
      until(() => rig.said.split(QUESTION.asked).length === parts && rig.said.endsWith("or ?: "), "the question");
    rig.send("1");
    await rig.until(`ann@desk$ systemctl restart nginx ${QUESTION.asked}\ny, n, a, e, v, s or ?: `);
    rig.send("maybe");
    await rig.until("y, n, a, e, v, s or ?\n");
    rig.send("?");
    await rig.until(QUESTION.yesHelp);
    rig.send("no");
    await rig.until(`${QUESTION.reason} `);
    rig.send("not on a Friday");
    await rig.until('"reason":"not on a Friday"');
    rig.send("2");
    await asked(3);
    rig.send("e");
    await rig.until(QUESTION.plainEdit);
    rig.send("systemctl reload nginx");
    await rig.until('"command":"systemctl reload nginx"');
    rig.send("3");
    await asked(4);
    rig.send("yes");
    await rig.until('"approved","by":"operator"');
    rig.send("4");
    await asked(5);
    rig.send("/status");
    await rig.until("approvals");
    await until(() => rig.said.endsWith("y, n, a, e, v, s or ?: "), "the question again");
    rig.send("/kill 4");
    await rig.until(`"denied","by":"cancelled"`);
  });

  test("s stops the task: a question that comes after it is not asked and does not wait", async () => {
    const turn: ScriptedTurn = async function* ({ ask, signal }) {
      await ask();
      const second = await ask({}, async () => {
        await until(() => signal.aborted, "the stop");
        return { where: "ann@desk" };
      });
      yield* answer(JSON.stringify(second));
    };
    await using rig = new PlainRig({ turn });
    rig.send("1");
    await rig.until(`${QUESTION.asked}\ny, n, a, e, v, s or ?: `);
    rig.send("s");
    await rig.until('{"kind":"denied","by":"cancelled"}');
    expect(rig.said.split(QUESTION.asked)).toHaveLength(2);
  });

  test("pickers, Ctrl-C and news", async () => {
    await using rig = new PlainRig({ turn: waiting, target: { kind: "ssh", name: "deploy@web1" } });
    await rig.until("(ssh deploy@web1)> ");
    rig.send("/model");
    await rig.until(REPL.number);
    rig.send("9");
    await rig.until("error: 9 ");
    rig.send("/model");
    await until(() => rig.said.split(REPL.number).length === 3, "asked again");
    const chosen = rig.said.length;
    rig.send("2");
    await rig.until("model: model-y");
    await until(() => rig.said.endsWith("> "), "the prompt");
    expect(rig.said.slice(chosen).split("> ")).toHaveLength(2);
    rig.inner.news({ type: "notice", kind: "x", message: "it is back" });
    rig.inner.news({
      type: "session",
      buddy: "1",
      profile: "p",
      model: "m",
      api: "responses",
      cwd: "/",
      attach: "tmux a",
    });
    await until(() => /\S +tmux a\n/.test(rig.said), "the attach command");
    expect(rig.said).toContain("· it is back");
    rig.send("task");
    await rig.until("· task 1: task");
    rig.send("another");
    await rig.until(REPL.queued(2));
    const before = rig.said.length;
    process.emit("SIGINT", "SIGINT");
    await rig.until(REPL.ended(1, "cancelled"));
    await until(() => rig.said.endsWith("> "), "the prompt");
    const [dropped, ended, prompt, ...more] = rig.said.slice(before).split("\n");
    expect([dropped, ended?.startsWith(`· ${REPL.ended(1, "cancelled")}`)]).toEqual([`· ${droppedWords(1)}`, true]);
    expect([prompt, ...more].join("\n")).toMatch(/^\S+ \S+> $/);
    rig.repl.targetOpened();
    process.emit("SIGTERM", "SIGTERM");
    expect(await rig.done).toBe(143);
  });

  test("a failure is reported", async () => {
    await using rig = new PlainRig({
      // oxlint-disable-next-line require-yield
      turn: async function* () {
        throw new Error("boom");
      },
      host: {
        login: async (_profile, { say, waiting }) => {
          say("signing in");
          for (const left of [15, 14]) waiting(`waiting, ${left} minutes left`);
          waiting(undefined);
          throw new Error("no network");
        },
      },
    });
    rig.send("x");
    await rig.until("error: boom");
    rig.send("/login spark");
    await rig.until("error: no network");
    expect(rig.said).toContain("waiting, 15 minutes left; Ctrl-C stops\n");
    expect(rig.said).not.toContain("14 minutes");
  });
});
