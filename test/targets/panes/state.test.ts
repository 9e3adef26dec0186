/** The transitions without tmux: each test is a history of events; what is asserted is what a person would notice. */
import { describe, expect, test } from "bun:test";
import {
  type Effect,
  type Event,
  type Mark,
  MS,
  newPane,
  type Pane,
  type Screen,
  type Seen,
  step,
  wakeAt,
} from "../../../src/targets/panes/state.ts";
import { ANSWERS } from "../../../src/targets/panes/words.ts";
import type { ShellName } from "../../../src/targets/panes/profiles.ts";

type Given = Event extends infer One ? (One extends unknown ? Omit<One, "at"> : never) : never;

/** A pane with a clock: events happen in order, time passes only where a test lets it. */
class World {
  at = 1000;
  pane: Pane;
  effects: Effect[] = [];
  #tag = 0;

  constructor(name: ShellName = "bash", owner: Pane["owner"] = "buddy") {
    this.pane = newPane(owner, 80, owner === "buddy" ? { key: "own", name, cwd: "/home/me" } : undefined);
    if (owner === "buddy") this.prompt();
  }

  do(event: Given): this {
    const { pane, effects } = step(this.pane, { ...event, at: this.at } as Event);
    this.pane = pane;
    this.effects.push(...effects);
    return this;
  }
  mark(mark: Mark, key = "own", generation = 1): this {
    return this.do({ kind: "mark", key, generation, mark });
  }
  text(text: string, generation = 1): this {
    return this.do({ kind: "text", text, generation });
  }
  prompt({ tag = 0, code = 0, cwd = "/home/me", id = 1, key = "own" } = {}): this {
    return this.mark({ kind: "prompt", id, code, tag, cwd }, key)
      .text("$ ")
      .mark(key === "own" ? { kind: "drawn" } : { kind: "drawn", cwd }, key);
  }
  /** Lets time pass, waking the machine whenever it asks for that. */
  wait(ms: number): this {
    const end = this.at + ms;
    for (let rounds = 0; rounds < 500; rounds++) {
      const due = wakeAt(this.pane, this.at);
      if (due === undefined || due > end) break;
      this.at = Math.max(this.at, due);
      this.do({ kind: "time" });
    }
    this.at = end;
    return this.do({ kind: "time" });
  }
  run(
    text: string,
    more: { onlyIn?: string; noWait?: boolean; deadline?: number; shown?: string; shell?: string } = {},
  ): number {
    const tag = ++this.#tag;
    const shell = more.shell ?? this.pane.shells.at(-1)?.key ?? "";
    this.do({
      kind: "run",
      wanted: {
        deadline: Number.POSITIVE_INFINITY,
        patience: MS.typing,
        ...more,
        tag,
        spareTag: tag + 1000,
        text,
        shell,
      },
    });
    return tag;
  }
  takes(tag: number, aside = "", key = "own"): this {
    return this.mark({ kind: "taken", tag, aside }, key).mark({ kind: "started", tag, hidden: 0 }, key);
  }
  /** What the last look was answered with. */
  sees(seen: Partial<Seen> | undefined): this {
    const id = this.of("look").at(-1)?.id ?? 0;
    const whole = seen && {
      doing: "working" as const,
      program: "sleep",
      cpu: 0,
      shellItself: false,
      silent: false,
      stoppable: false,
      ...seen,
    };
    return this.do({ kind: "seen", id, seen: whole });
  }
  of<Kind extends Effect["kind"]>(kind: Kind): Extract<Effect, { kind: Kind }>[] {
    return this.effects.filter((effect): effect is Extract<Effect, { kind: Kind }> => effect.kind === kind);
  }
  output(tag: number): string {
    return this.of("record")
      .filter((one) => one.tag === tag)
      .map((one) => one.text)
      .join("");
  }
  outcome(tag: number) {
    return this.of("ended").findLast(({ ended }) => ended.tag === tag)?.ended;
  }
}

const screen = (more: Partial<Screen> = {}): Screen => ({
  mark: undefined,
  cwd: "/home/me",
  ended: () => undefined,
  ...more,
});

describe("one command", () => {
  test("output, exit code and directory", () => {
    const world = new World();
    const tag = world.run("cd /tmp; false");
    expect(world.of("deliver")).toMatchObject([{ tag, by: "key", text: "cd /tmp; false" }]);
    world.takes(tag).text("a\n").text("b").prompt({ tag, code: 1, cwd: "/tmp", id: 2 });
    expect(world.outcome(tag)).toEqual({ tag, outcome: { kind: "exited", code: 1 }, notes: [] });
    expect([world.output(tag), world.pane.shells[0]?.cwd, world.pane.shells[0]?.phase.kind]).toEqual([
      "a\nb",
      "/tmp",
      "ready",
    ]);
    expect(wakeAt(world.pane, world.at)).toBeUndefined();
  });

  test("text of the command that the pane shows is not output", () => {
    const world = new World();
    const tag = world.run("echo a\necho b");
    world
      .mark({ kind: "taken", tag, aside: "" })
      .mark({ kind: "started", tag, hidden: 0 })
      .text("echo a\necho b\n")
      .mark({ kind: "output-begins", tag })
      .text("a\nb\n")
      .prompt({ tag });
    expect(world.output(tag)).toBe("a\nb\n");
  });

  test("what hooks print around it is not output, and the code is the command's", () => {
    const world = new World();
    const tag = world.run("sh -c 'exit 7'");
    world.takes(tag).text("x").mark({ kind: "ended", tag, code: 7 }).text("a hook").prompt({ tag, code: 0 });
    expect([world.output(tag), world.outcome(tag)?.outcome]).toEqual(["x", { kind: "exited", code: 7 }]);
  });

  test("a syntax error is the text after the line, though nothing started", () => {
    const world = new World();
    const tag = world.run("fi");
    world.mark({ kind: "taken", tag, aside: "" }).text("fi\r\nbash: syntax error\r\n").prompt({ tag, code: 2 });
    expect([world.output(tag), world.outcome(tag)?.outcome]).toEqual([
      "bash: syntax error\r\n",
      { kind: "exited", code: 2 },
    ]);
  });

  test("an unclosed quote is reported and its line given up", () => {
    const world = new World();
    const tag = world.run("echo 'a");
    world.mark({ kind: "taken", tag, aside: "" }).mark({ kind: "incomplete" });
    expect(world.outcome(tag)?.outcome).toEqual({ kind: "incomplete" });
    expect(world.of("press")).toEqual([{ kind: "press", key: "interrupt" }]);
    const second = world.run("true");
    expect(world.outcome(second)).toBeUndefined();
    world.prompt({ code: 130, id: 2 });
    expect(world.of("notice")).toEqual([]);
    expect(world.of("deliver").at(-1)?.tag).toBe(second);
  });

  test("fifty at once run one after the other", () => {
    const world = new World();
    const tags = Array.from({ length: 50 }, (_, at) => world.run(`echo ${at}`));
    for (const tag of tags)
      world
        .takes(tag)
        .text(`${tag}\n`)
        .prompt({ tag, id: tag + 1 });
    expect(tags.map((tag) => world.output(tag))).toEqual(tags.map((tag) => `${tag}\n`));
  });

  test("a prompt that a program printed with the key does not end it", () => {
    const world = new World();
    const tag = world.run("cat forged");
    world.takes(tag).mark({ kind: "prompt", id: 9, code: 0, tag: 0, cwd: "/evil" }).text("after\n").prompt({ tag });
    expect([world.output(tag), world.pane.shells[0]?.cwd]).toEqual(["after\n", "/home/me"]);
  });

  test("approved for a directory that the shell has left: it does not run", () => {
    const world = new World();
    const tag = world.run("rm -rf build", { onlyIn: "/srv" });
    expect([world.of("deliver"), world.outcome(tag)?.outcome]).toEqual([
      [],
      expect.objectContaining({ kind: "lost", notRun: true }),
    ]);
  });

  test("Ctrl-C, TERM, KILL; it then counts as stopped, not as an exit", () => {
    const world = new World();
    const tag = world.run("sleep 1000");
    world.takes(tag).do({ kind: "cancel", tag }).wait(MS.interrupt).wait(MS.interrupt);
    expect(world.effects.filter(({ kind }) => kind === "press" || kind === "signal").slice(0, 3)).toEqual([
      { kind: "press", key: "interrupt" },
      { kind: "signal", name: "TERM" },
      { kind: "signal", name: "KILL" },
    ]);
    world.prompt({ tag, code: 137 });
    expect(world.outcome(tag)?.outcome).toEqual({ kind: "stopped", by: "user" });
  });

  test("the deadline lets it go; the next one is told what is in front, and a later wait gets the result", () => {
    const world = new World();
    const tag = world.run("sleep 5", { deadline: 1300 });
    world.takes(tag).text("begun\n").wait(300);
    expect(world.outcome(tag)?.outcome).toEqual({ kind: "running", why: "deadline" });
    const second = world.run("echo never");
    world.wait(MS.free).sees({ doing: "working", program: "sleep" });
    expect(world.outcome(second)?.outcome).toEqual({ kind: "running", why: "busy" });
    world.prompt({ tag, code: 0 });
    world.do({ kind: "wait", id: 99, tag, deadline: 9999 });
    expect(world.of("ended").at(-1)?.ended).toMatchObject({ tag, outcome: { kind: "exited", code: 0 } });
  });

  test("`exec zsh` in the middle: the shell that answers is not ours and is called a REPL", () => {
    const world = new World();
    const tag = world.run("exec sh");
    world
      .takes(tag)
      .text("$ ")
      .wait(MS.quiet)
      .sees({ doing: "raw", program: "sh", cpu: 3 })
      .wait(MS.again)
      .sees({ doing: "raw", program: "sh", cpu: 3 });
    expect(world.outcome(tag)?.outcome).toEqual({ kind: "waiting", for: "repl", program: "sh" });
    world.mark({ kind: "shell-ended", code: 0, cwd: "/home/me" }).prompt({ id: 1 });
    world.do({ kind: "wait", id: 99, tag, deadline: 9999 });
    expect(world.of("ended").at(-1)?.ended.outcome).toEqual({ kind: "shell-ended", code: 0 });
  });

  test("the shell exits under it", () => {
    const world = new World();
    const tag = world.run("exit 7");
    world.takes(tag).mark({ kind: "shell-ended", code: 7, cwd: "/srv" });
    expect(world.outcome(tag)).toMatchObject({
      outcome: { kind: "shell-ended", code: 7 },
      notes: [expect.stringContaining("are lost")],
    });
    expect(world.pane.shells[0]).toMatchObject({ cwd: "/srv", phase: { kind: "starting" } });
  });

  test("the shell exits before it took the command: the new one gets it", () => {
    const world = new World();
    const tag = world.run("echo mine");
    world.mark({ kind: "shell-ended", code: 0, cwd: "" }).prompt().wait(MS.untaken);
    expect(world.of("deliver").map((one) => one.restoreFiles)).toEqual([false, true]);
    world.takes(tag).text("mine\n").prompt({ tag });
    expect(world.output(tag)).toBe("mine\n");
  });

  test("not taken three times: never, and it says so", () => {
    const world = new World();
    const tag = world.run("echo mine");
    for (let times = 0; times < 3; times++) {
      world.prompt({ id: times + 2 }).wait(MS.untaken);
      const asked = world.of("withdraw").at(-1);
      if (asked !== undefined) world.do({ kind: "claimed", tag: asked.tag, by: "buddy" });
    }
    expect(world.of("deliver").map((one) => one.by)).toEqual(["key", "key", "line"]);
    expect(world.outcome(tag)?.outcome).toMatchObject({ kind: "lost", notRun: true });
  });
});

describe("the operator", () => {
  test("half a line is set aside by the shell, given back at the prompt, and told once", () => {
    const world = new World();
    world.text("rm -rf ").wait(MS.pause);
    const tag = world.run("echo mine");
    world.takes(tag, "rm -rf ").text("mine\n").prompt({ tag, id: 2 });
    expect(world.of("give-back")).toEqual([{ kind: "give-back", line: "rm -rf ", by: "key" }]);
    expect(world.outcome(tag)?.notes.join()).toContain("rm -rf");
    world.text("rm -rf ");
    const second = world.run("echo again");
    expect(world.of("deliver").at(-1)?.tag).toBe(second);
    world.takes(second, "rm -rf ").prompt({ tag: second, id: 3 });
    expect([world.of("give-back").length, world.outcome(second)?.notes]).toEqual([2, []]);
  });

  test("while they type, a command waits for a pause, says so once, and never runs half a line", () => {
    const world = new World();
    world.text("echo one");
    const tag = world.run("echo mine");
    world.wait(500).text(" two").wait(500);
    expect([world.of("deliver").length, world.of("delayed").length]).toEqual([0, 1]);
    world.mark({ kind: "started", tag: 0, hidden: 0, line: "echo one two" }).text("one two\n").prompt({ id: 2 });
    expect(world.of("deliver").map((one) => one.tag)).toEqual([tag]);
    expect(
      world
        .of("notice")
        .map((one) => one.text)
        .join(),
    ).toContain("echo one two");
    expect(world.pane.command?.notes.join()).toContain("The operator ran");
  });

  test("a prompt that a theme draws again is not typing", () => {
    const world = new World();
    world.text("\r\u001b[K12:00 $ ");
    world.run("echo mine");
    expect(world.of("deliver").length).toBe(1);
  });

  test("their own command is theirs: not ours, not our output, and the model learns of it", () => {
    const world = new World();
    world.text("ls").mark({ kind: "started", tag: 0, hidden: 0 }).text("\r\na b\r\n").prompt({ id: 2 });
    const tag = world.run("echo mine");
    world.takes(tag).text("mine\n").prompt({ tag, id: 3 });
    expect(world.outcome(tag)?.notes).toEqual(['The operator ran "ls" in the pane (exit code 0).']);
    expect(world.output(tag)).toBe("mine\n");
  });

  test("they submit a line in the moment in which ours is sent: each has its own output", () => {
    const world = new World();
    world.text("ls").wait(MS.pause);
    const tag = world.run("echo mine");
    world
      .mark({ kind: "started", tag: 0, hidden: 0 })
      .text("a b\n")
      .prompt({ id: 2 })
      .takes(tag)
      .text("mine\n")
      .prompt({ tag, id: 3 });
    expect([world.output(tag), world.of("deliver").length]).toEqual(["mine\n", 1]);
  });

  test("a command of several lines: buddy's key gives it up and asks again at the prompt", () => {
    const world = new World();
    world.mark({ kind: "incomplete" }).text("> ").wait(MS.pause);
    const tag = world.run("echo mine");
    expect(world.of("deliver").length).toBe(1);
    world.mark({ kind: "taken", tag: 0, aside: "" });
    expect(world.of("deliver").length).toBe(1);
    world.prompt({ code: 130, id: 2 });
    expect(world.of("deliver").length).toBe(2);
    world.takes(tag, "echo 'one two").prompt({ tag, id: 3 });
    expect(world.of("give-back")).toMatchObject([{ line: "echo 'one two" }]);
  });

  test("dash: half a line is discarded with a notice; a command of several lines is interrupted", () => {
    const world = new World("posix");
    world.text("rm -rf x").wait(MS.pause);
    const tag = world.run("echo mine");
    expect(world.of("deliver")).toMatchObject([{ by: "line", tag }]);
    expect(world.of("notice").at(-1)?.text).toContain("rm -rf x");
    world
      .mark({ kind: "started", tag, hidden: 1 })
      .mark({ kind: "output-begins", tag })
      .text("mine\n")
      .prompt({ tag, id: 2 });
    expect([world.of("give-back"), world.output(tag)]).toEqual([[], "mine\n"]);
    world.mark({ kind: "incomplete" }).text("> ").wait(MS.pause);
    const second = world.run("echo again");
    expect(world.of("press")).toEqual([{ kind: "press", key: "interrupt" }]);
    world.prompt({ code: 130, id: 3 });
    expect(world.of("deliver").at(-1)?.tag).toBe(second);
  });

  test("replies of the terminal that a command left in the line are dropped, and are nobody's typing", () => {
    const world = new World();
    const tag = world.run("cat binary");
    world
      .takes(tag)
      .text("\u001b[c\r\n")
      .mark({ kind: "prompt", id: 2, code: 0, tag, cwd: "/" })
      .text("$ ")
      .mark({ kind: "drawn" });
    expect(world.of("press")).toEqual([{ kind: "press", key: "interrupt" }]);
    world.text("1;2c").prompt({ id: 3, code: 130 });
    expect([world.of("notice"), world.pane.notes, world.pane.shells[0]?.phase.kind]).toEqual([[], [], "ready"]);
  });

  test("keys of the model are not the operator's", () => {
    const world = new World();
    world
      .do({ kind: "keys", entered: ["make"], line: "" })
      .text("make")
      .mark({ kind: "started", tag: 0, hidden: 0, line: "make" })
      .prompt({ code: 2, id: 2 });
    expect([world.of("notice"), world.pane.notes]).toEqual([
      [],
      ['"make", typed with send-keys, ended with exit code 2.'],
    ]);
  });

  test("a search, half a key or Ctrl-S swallowed buddy's key: once more, in other ways, then a typed line", () => {
    const world = new World();
    const tag = world.run("echo mine");
    world.wait(MS.untakenLook + MS.quietMost).sees({ shellItself: true, doing: "raw", stoppable: true });
    expect(world.of("press").at(-1)?.key).toBe("resume-output");
    world.wait(MS.quietMost * 2).sees({ shellItself: true, doing: "raw" });
    world.wait(MS.quietMost * 2).sees({ shellItself: true, doing: "raw" });
    expect(world.of("press").at(-1)?.key).toBe("end-search");
    expect(world.of("deliver").length).toBe(3);
    world.takes(tag).prompt({ tag });
    expect(world.outcome(tag)?.outcome.kind).toBe("exited");
  });
});

describe("a program that waits", () => {
  test("a full-screen program is reported after a second, also while it draws", () => {
    const world = new World();
    const tag = world.run("top");
    world.takes(tag).do({ kind: "screen-switched", generation: 1, alternate: true });
    for (let times = 0; times < 12; times++) world.text("x").wait(100);
    world.sees({ doing: "raw", program: "top" });
    expect(world.outcome(tag)?.outcome).toEqual({ kind: "waiting", for: "full-screen", program: "top" });
  });

  test("a password: asked once, typed into this prompt only, and the command goes on", () => {
    const world = new World();
    const tag = world.run("sudo id");
    world.takes(tag).text("Password: ").wait(MS.quiet).sees({ doing: "password", program: "sudo" });
    const [asked] = world.of("ask-password");
    expect(asked).toMatchObject({ program: "sudo", prompt: "Password:" });
    world.do({ kind: "password", request: asked?.request ?? 0, given: true });
    expect(world.of("type-password")).toEqual([]);
    world.sees({ doing: "password", program: "sudo", silent: true });
    expect(world.of("type-password").length).toBe(1);
    world.text("\r\nuid=0\r\n").prompt({ tag });
    expect(world.outcome(tag)?.outcome).toEqual({ kind: "exited", code: 0 });
    expect(world.of("ask-password").length).toBe(1);
  });

  test("the prompt has changed since it was asked: nothing is typed", () => {
    const world = new World();
    world.takes(world.run("ssh x")).text("Password: ").wait(MS.quiet).sees({ doing: "password", program: "ssh" });
    world
      .text("\r\nDenied. Type yes: ")
      .do({ kind: "password", request: world.of("ask-password")[0]?.request ?? 0, given: true })
      .sees({ doing: "password", program: "ssh", silent: true });
    expect(world.of("type-password")).toEqual([]);
  });

  test("a wrong password asks again; an end withdraws the question", () => {
    const world = new World();
    const tag = world.run("sudo id");
    world.takes(tag).text("Password: ").wait(MS.quiet).sees({ doing: "password", program: "sudo" });
    world.text("\r\nSorry.\r\nPassword: ").wait(MS.quietMost).sees({ doing: "password", program: "sudo" });
    expect([world.of("ask-password").length, world.of("drop-password").length]).toEqual([2, 1]);
    world.prompt({ tag, code: 1 });
    expect(world.of("drop-password").length).toBe(2);
  });

  test("a look that is answered after the end changes nothing", () => {
    const world = new World();
    const tag = world.run("sleep 1");
    world.takes(tag).wait(MS.quiet).prompt({ tag }).sees({ doing: "line", program: "cat" });
    expect(world.of("ended").length).toBe(1);
  });
});

describe("the connection", () => {
  const lost = (world: World) => world.do({ kind: "dropped", why: "reset" });

  test("a second client attached during a reconnect: its output does not count, nor the old one's", () => {
    const world = new World();
    const tag = world.run("loop");
    world.takes(tag).text("row 1\n");
    lost(world).do({ kind: "attached", generation: 2 }).do({ kind: "attached", generation: 3 });
    const rounds = world.of("read-screen").map((one) => one.round);
    world.do({ kind: "screen", round: rounds[0] ?? 0, screen: screen({ mark: { kind: "started", tag, hidden: 0 } }) });
    expect(world.pane.link.kind).toBe("gap");
    world.do({ kind: "screen", round: rounds[1] ?? 0, screen: screen({ mark: { kind: "started", tag, hidden: 0 } }) });
    // tmux sends every byte to both clients.
    for (const row of [15, 16]) world.text(`row ${row}\n`, 2).text(`row ${row}\n`, 3);
    expect(world.output(tag)).toBe("row 1\nrow 15\nrow 16\n");
    expect(world.of("fill-gap").length).toBe(1);
  });

  test("it ends while the connection is down: the mark that tmux remembers ends it", () => {
    const world = new World();
    const tag = world.run("make");
    lost(world.takes(tag).text("a\n")).do({ kind: "attached", generation: 2 });
    world.do({
      kind: "screen",
      round: world.of("read-screen")[0]?.round ?? 0,
      screen: screen({ mark: { kind: "prompt", id: 2, code: 6, tag, cwd: "/home/me" } }),
    });
    expect([world.of("fill-gap").length, world.outcome(tag)?.outcome]).toEqual([1, { kind: "exited", code: 6 }]);
    expect(world.pane.shells[0]?.phase.kind).toBe("ready");
  });

  test("it ended unheard and the operator ran something since: the visible prompt shows how, or nobody knows", () => {
    for (const [code, outcome] of [
      [3, { kind: "exited", code: 3 }],
      [undefined, expect.objectContaining({ kind: "lost" })],
    ] as const) {
      const world = new World();
      const tag = world.run("make");
      lost(world.takes(tag)).do({ kind: "attached", generation: 2 });
      world.do({
        kind: "screen",
        round: world.of("read-screen")[0]?.round ?? 0,
        screen: screen({ mark: { kind: "prompt", id: 4, code: 0, tag: 0, cwd: "/" }, ended: () => code }),
      });
      expect(world.outcome(tag)?.outcome).toEqual(outcome);
    }
  });

  test("it was being sent when the connection dropped: it never runs, unless it already did", () => {
    const world = new World();
    const tag = world.run("rm x");
    lost(world)
      .do({ kind: "attached", generation: 2 })
      .do({
        kind: "screen",
        round: world.of("read-screen")[0]?.round ?? 0,
        screen: screen({ mark: { kind: "prompt", id: 1, code: 0, tag: 0, cwd: "/" } }),
      });
    expect(world.of("withdraw")).toEqual([{ kind: "withdraw", tag }]);
    world.do({ kind: "claimed", tag, by: "buddy" });
    expect(world.outcome(tag)?.outcome).toMatchObject({ kind: "lost", notRun: true });
  });

  test("marks during the gap are processed after the screen, each once", () => {
    const world = new World();
    const tag = world.run("make");
    lost(world.takes(tag)).do({ kind: "attached", generation: 2 });
    world.text("on the screen too\n", 2).mark({ kind: "prompt", id: 2, code: 5, tag, cwd: "/tmp" }, "own", 2);
    expect(world.outcome(tag)).toBeUndefined();
    world.do({
      kind: "screen",
      round: world.of("read-screen")[0]?.round ?? 0,
      screen: screen({ mark: { kind: "prompt", id: 2, code: 5, tag, cwd: "/tmp" } }),
    });
    expect([world.output(tag), world.outcome(tag)?.outcome]).toEqual(["", { kind: "exited", code: 5 }]);
    expect(world.of("ended").length).toBe(1);
  });

  test("a deadline and Ctrl-C count while the connection is down", () => {
    const world = new World();
    const tag = world.run("sleep 9", { deadline: 2000 });
    lost(world.takes(tag)).wait(1500);
    expect(world.outcome(tag)?.outcome).toEqual({ kind: "running", why: "deadline" });
    const other = new World();
    const second = other.run("sleep 9");
    lost(other.takes(second)).do({ kind: "cancel", tag: second });
    expect(other.outcome(second)).toMatchObject({
      outcome: { kind: "stopped" },
      notes: [expect.stringContaining("does not answer")],
    });
  });

  test("commands wait while it is down, and are sent when the screen has been read", () => {
    const world = new World();
    lost(world);
    const tag = world.run("true");
    expect(world.of("deliver")).toEqual([]);
    world
      .do({ kind: "attached", generation: 2 })
      .do({ kind: "screen", round: world.of("read-screen")[0]?.round ?? 0, screen: screen() });
    expect(world.of("deliver").map((one) => one.tag)).toEqual([tag]);
  });

  test("the pane is gone: its command is lost, the next one gets a new pane", () => {
    const world = new World();
    const tag = world.run("sleep 1000");
    world.takes(tag).do({ kind: "gone", why: "its pane was closed" });
    expect(world.outcome(tag)?.outcome).toEqual({ kind: "lost", why: "its pane was closed" });
    const second = world.run("echo anew");
    expect(world.of("make-pane").length).toBe(1);
    world.do({ kind: "made", round: world.pane.count, key: "new", generation: 1 }).prompt({ key: "new" });
    expect(world.of("deliver").map((one) => one.tag)).toEqual([tag, second]);
    expect(world.pane.command?.notes.join()).toContain("lost");
  });

  test("a buddy that comes later follows the command that still runs", () => {
    const world = new World();
    world.do({ kind: "paused" }).do({
      kind: "screen",
      round: world.of("read-screen")[0]?.round ?? 0,
      screen: screen({ mark: { kind: "started", tag: 77, hidden: 0 } }),
    });
    world
      .text("more\n")
      .do({ kind: "wait", id: 1, tag: 77, deadline: 99_999 })
      .mark({ kind: "prompt", id: 2, code: 4, tag: 77, cwd: "/" });
    expect([world.output(77), world.outcome(77)?.outcome]).toEqual(["more\n", { kind: "exited", code: 4 }]);
  });
});

describe("shells in the pane", () => {
  /** The operator ran `sudo -i` and adopts it. */
  function adopted(owner: Pane["owner"] = "buddy", key = "root"): World {
    const world = new World("bash", owner);
    if (owner === "buddy") world.mark({ kind: "started", tag: 0, hidden: 0, line: "sudo -i" });
    return adopt(world, key);
  }
  function adopt(world: World, key: string): World {
    world
      .do({ kind: "adopt", key })
      .mark({ kind: "shell-kind", name: "bash" }, key)
      .mark({ kind: "reads-unseen" }, key);
    return world.mark({ kind: "drawn", cwd: "/root" }, key);
  }

  test("commands go into it, as lines; its directory is its own", () => {
    const world = adopted();
    expect(world.of("adopted")).toEqual([{ kind: "adopted", key: "root" }]);
    const tag = world.run("id");
    expect(world.of("deliver").at(-1)).toMatchObject({ shell: "root", by: "line" });
    world
      .mark({ kind: "started", tag, hidden: 0 }, "root")
      .text("uid=0\n")
      .mark({ kind: "prompt", id: 0, code: 0, tag, cwd: "/etc" }, "root")
      .mark({ kind: "drawn", cwd: "/etc" }, "root");
    expect([world.output(tag), world.pane.shells.map((one) => one.cwd)]).toEqual(["uid=0\n", ["/home/me", "/etc"]]);
  });

  test("a command that was approved for it waits when it exits: it does not run in the outer shell", () => {
    const world = adopted();
    world.text("sleep 9").mark({ kind: "started", tag: 0, hidden: 0, line: "sleep 9" }, "root");
    const tag = world.run("rm -rf /var/cache", { shell: "root" });
    world.prompt({ id: 2 });
    expect(world.of("left")).toEqual([{ kind: "left", key: "root" }]);
    expect([world.outcome(tag)?.outcome, world.of("deliver")]).toEqual([
      expect.objectContaining({ kind: "lost", notRun: true }),
      [],
    ]);
  });

  test("it exits under its command", () => {
    const world = adopted();
    const tag = world.run("exit");
    world.mark({ kind: "started", tag, hidden: 0 }, "root").text("exit\n").prompt({ id: 2 });
    expect(world.outcome(tag)?.outcome).toMatchObject({ kind: "lost" });
    expect(world.pane.shells.map((one) => one.key)).toEqual(["own"]);
  });

  test("one inside the other; out again one by one; a command of buddy that holds them comes back", () => {
    const world = new World();
    const ssh = world.run("ssh bastion", { deadline: 1200 });
    world.takes(ssh).wait(200);
    adopt(adopt(world, "bastion"), "web1");
    expect(world.pane.shells.map((one) => one.key)).toEqual(["own", "bastion", "web1"]);
    world.mark({ kind: "drawn", cwd: "/home/b" }, "bastion");
    expect(world.pane.shells.map((one) => one.key)).toEqual(["own", "bastion"]);
    world.mark({ kind: "ended", tag: ssh, code: 0 }).prompt({ tag: ssh, id: 2 });
    world.do({ kind: "wait", id: 99, tag: ssh, deadline: 99_999 });
    expect(world.outcome(ssh)?.outcome).toEqual({ kind: "exited", code: 0 });
  });

  test("a forged mark without the key of an outer shell's command leaves the inner one alone", () => {
    const world = new World();
    const ssh = world.run("ssh bastion", { deadline: 1200 });
    adopt(world.takes(ssh).wait(200), "bastion");
    world.mark({ kind: "prompt", id: 9, code: 0, tag: 0, cwd: "/" });
    expect(world.pane.shells.length).toBe(2);
  });

  test("Ctrl-C at its prompt ends a command without a mark of its end", () => {
    const world = adopted();
    const tag = world.run("sleep 9");
    world.mark({ kind: "started", tag, hidden: 0 }, "root").text("^C").mark({ kind: "drawn", cwd: "/root" }, "root");
    expect(world.outcome(tag)?.outcome).toEqual({ kind: "exited", code: 130 });
  });

  test("two prompts in two directories without a line between them: the directory is unknown", () => {
    const world = adopted();
    world.mark({ kind: "drawn", cwd: "/evil" }, "root");
    expect(world.pane.shells.at(-1)?.cwd).toBe("");
  });

  test("a program that does not answer like a shell is left alone", () => {
    const world = new World();
    world.mark({ kind: "started", tag: 0, hidden: 0, line: "psql" }).do({ kind: "adopt", key: "x" }).wait(MS.answer);
    expect([world.of("not-adopted").length, world.of("press").at(-1)?.key, world.pane.shells.length]).toEqual([
      1,
      "interrupt",
      1,
    ]);
  });

  test("a secret is read unseen", () => {
    const world = adopted();
    const tag = world.run("curl -H token", { shown: "curl -H $TOKEN" });
    world.mark({ kind: "reads-unseen" }, "root");
    expect(world.of("type-unseen")).toEqual([{ kind: "type-unseen", tag }]);
  });

  test("a pane of the operator: half a line is put back by typing; when the shell has ended nothing runs", () => {
    const world = adopted("operator");
    world.text("half").wait(MS.pause);
    const tag = world.run("id");
    world
      .mark({ kind: "started", tag, hidden: 0 }, "root")
      .mark({ kind: "prompt", id: 0, code: 0, tag, cwd: "/root" }, "root")
      .text("# ")
      .mark({ kind: "drawn", cwd: "/root" }, "root");
    expect(world.of("give-back")).toEqual([{ kind: "give-back", line: "half", by: "typing" }]);
    world.do({ kind: "gone", why: "it was closed" });
    const second = world.run("id", { shell: "root" });
    expect([world.outcome(second)?.outcome, world.of("make-pane")]).toEqual([
      expect.objectContaining({ kind: "lost", notRun: true }),
      [],
    ]);
  });

  test("leaving takes the hooks out and gives the line back", () => {
    const world = adopted("operator");
    world.text("half").do({ kind: "leave" }).wait(MS.leave);
    expect(world.of("type").at(-1)?.what).toBe("take-out");
    expect([world.of("give-back").at(-1)?.line, world.of("left").length, world.pane.shells.length]).toEqual([
      "half",
      1,
      0,
    ]);
  });
});

describe("what a review broke", () => {
  const heard = (world: World, mark: Mark, key: string) => world.mark(mark, key, 2);
  const back = (world: World, more: Partial<Screen> = {}) =>
    world.do({ kind: "screen", round: world.of("read-screen").at(-1)?.round ?? 0, screen: screen(more) });
  function inner(world: World, key: string): World {
    return world
      .mark({ kind: "started", tag: 0, hidden: 0 })
      .do({ kind: "adopt", key })
      .mark({ kind: "shell-kind", name: "bash" }, key)
      .mark({ kind: "reads-unseen" }, key)
      .mark({ kind: "drawn", cwd: "/root" }, key);
  }

  test("1: a mark of an inner shell in a gap is one of that shell, and nothing is delivered before the foreground is seen", () => {
    const world = inner(inner(new World(), "root"), "db");
    world.do({ kind: "dropped", why: "x" }).do({ kind: "attached", generation: 2 });
    heard(world, { kind: "drawn", cwd: "/srv" }, "db");
    back(world);
    expect(world.pane.shells.map(({ key }) => key)).toEqual(["own", "root", "db"]);
    const tag = world.run("id", { shell: "db" });
    expect(world.of("deliver")).toEqual([]);
    world.sees({ doing: "raw", program: "ssh" });
    expect(world.of("deliver")).toMatchObject([{ id: tag, shell: "db" }]);
  });

  test("1: a command in the inner shell that ends in a gap ends", () => {
    const world = inner(new World(), "root");
    const tag = world.run("make", { shell: "root" });
    world.mark({ kind: "started", tag, hidden: 0 }, "root").do({ kind: "dropped", why: "x" });
    world.do({ kind: "attached", generation: 2 });
    heard(world, { kind: "prompt", id: 0, code: 2, tag, cwd: "/root" }, "root");
    back(world);
    expect(world.outcome(tag)?.outcome).toEqual({ kind: "exited", code: 2 });
  });

  describe("4: a password is typed only where it was asked for", () => {
    const asking = () => {
      const world = new World();
      const tag = world.run("sudo id");
      world.takes(tag).text("Password: ").wait(MS.quiet).sees({ doing: "password", program: "sudo", silent: true });
      const request = world.of("ask-password")[0]?.request ?? 0;
      return { world, tag, give: () => world.do({ kind: "password", request, given: true }) };
    };
    test.each<[string, (world: World, tag: number) => World]>([
      ["the connection is down", (world) => world.do({ kind: "dropped", why: "x" })],
      ["the screen has not been read again", (world) => world.do({ kind: "paused" })],
      ["Ctrl-C was pressed", (world, tag) => world.do({ kind: "cancel", tag })],
    ])("%s", (_, happens) => {
      const { world, tag, give } = asking();
      happens(world, tag);
      give().sees({ doing: "password", program: "sudo", silent: true });
      expect([world.of("type-password"), world.of("drop-password").length]).toEqual([[], 1]);
    });
    test("the program ended between the answer and the look, and another one reads", () => {
      const { world, give } = asking();
      give().sees({ doing: "line", program: "cat" });
      expect([world.of("type-password"), world.of("notice").length]).toEqual([[], 1]);
    });
  });

  describe("5: “it did not run” is true", () => {
    test("a shell that took the third delivery in that moment has it", () => {
      const world = new World();
      const tag = world.run("echo mine");
      world.prompt({ id: 2 }).wait(MS.untaken).prompt({ id: 3 }).wait(MS.untaken);
      expect(world.of("withdraw").length).toBe(1);
      world.do({ kind: "claimed", tag, by: "shell" }).takes(tag).text("mine\n").prompt({ tag, id: 4 });
      expect([world.outcome(tag)?.outcome, world.of("deliver").length]).toEqual([{ kind: "exited", code: 0 }, 2]);
    });
    test("typed as a line, it has marks of its own: the first delivery is over", () => {
      const world = new World();
      const tag = world.run("echo mine");
      world.prompt({ id: 2 }).wait(MS.untaken).prompt({ id: 3 }).wait(MS.untaken);
      world.do({ kind: "claimed", tag, by: "buddy" });
      expect(world.of("deliver").at(-1)).toMatchObject({ id: tag, tag: tag + 1000, by: "line" });
      world.mark({ kind: "started", tag: tag + 1000, hidden: 0 }).prompt({ tag: tag + 1000, id: 4 });
      expect(world.outcome(tag)?.outcome).toEqual({ kind: "exited", code: 0 });
    });
    test("nobody says who has it: then it may have run", () => {
      const world = new World();
      const tag = world.run("echo mine");
      world.do({ kind: "cancel", tag }).wait(ANSWERS.withdraw.ms);
      expect(world.outcome(tag)?.outcome).toEqual({ kind: "lost", why: expect.any(String) });
      world.prompt({ id: 2 });
      const second = world.run("true");
      expect(world.of("deliver").map(({ id }) => id)).toEqual([tag, second]);
    });
    test("a late take of what was given up is a warning, and the pane is not free", () => {
      const world = new World();
      const tag = world.run("echo mine");
      world.do({ kind: "cancel", tag }).do({ kind: "claimed", tag, by: "buddy" }).takes(tag);
      expect(world.of("notice").map(({ level }) => level)).toEqual(["warning"]);
      const next = world.run("true");
      expect(world.of("deliver").some(({ id }) => id === next)).toBe(false);
      world.prompt({ tag, id: 2 });
      expect(world.of("deliver").at(-1)?.id).toBe(next);
    });
  });

  test("6: one pane is made, one that comes too late is closed, and a command is delivered once", () => {
    const world = new World();
    world.do({ kind: "gone", why: "closed" });
    const [first, second] = [world.run("a"), world.run("b")];
    world.do({ kind: "time" });
    expect(world.of("make-pane").length).toBe(1);
    const { round = 0 } = world.of("make-pane")[0] ?? {};
    world
      .do({ kind: "made", round, key: "new", generation: 2 })
      .do({ kind: "made", round, key: "late", generation: 3 });
    expect(world.of("close-pane").map(({ key }) => key)).toEqual(["late"]);
    world.mark({ kind: "prompt", id: 1, code: 0, tag: 0, cwd: "/" }, "new", 2).mark({ kind: "drawn" }, "new", 2);
    expect(world.of("deliver").map(({ id }) => id)).toEqual([first]);
    world.mark({ kind: "taken", tag: first, aside: "" }, "new", 2);
    world.mark({ kind: "prompt", id: 2, code: 0, tag: first, cwd: "/" }, "new", 2).mark({ kind: "drawn" }, "new", 2);
    expect(world.of("deliver").map(({ id }) => id)).toEqual([first, second]);
  });

  test.each(Object.entries(ANSWERS))("7: %s is never answered: the pane goes on without", (kind, { ms }) => {
    const world = new World();
    if (kind === "make-pane") world.do({ kind: "gone", why: "closed" });
    const tag = world.run("sleep 9", { deadline: world.at + 90_000 });
    if (kind === "look") world.takes(tag).wait(MS.quiet);
    if (kind === "read-screen") world.do({ kind: "paused" });
    if (kind === "withdraw") world.do({ kind: "cancel", tag });
    expect(world.effects.filter((effect) => effect.kind === kind).length).toBe(1);
    world.wait(ms * 3 + MS.quietMost * 2);
    if (kind === "look") expect(world.of("look").length).toBeGreaterThan(1);
    else if (kind === "read-screen") expect([world.of("read-screen").length, world.pane.link.kind]).toEqual([3, "up"]);
    else expect(world.outcome(tag)?.outcome.kind).toBe("lost");
  });

  test("9: who waits is told by the own deadline, of the command that was meant", () => {
    const world = new World();
    const tag = world.run("sleep 9", { deadline: world.at + 60_000 });
    world
      .takes(tag)
      .do({ kind: "wait", id: 50, tag, deadline: world.at + 100 })
      .wait(200);
    const told = () => world.of("ended").map(({ id, ended }) => [id, ended.outcome.kind]);
    expect(told()).toEqual([[50, "running"]]);
    world.do({ kind: "wait", id: 51, tag: 4711, deadline: world.at + 100 });
    world.prompt({ tag, id: 2 });
    expect(told().slice(1)).toEqual([
      [51, "lost"],
      [tag, "exited"],
    ]);
  });

  test("10: a mark of the outer shell that a program may have printed: nothing is delivered before its shell is seen", () => {
    const world = inner(new World(), "root");
    world.mark({ kind: "shell-ended", code: 0, cwd: "/" }).prompt({ id: 2 });
    expect(world.pane.shells.map(({ key }) => key)).toEqual(["own"]);
    const tag = world.run("rm -rf build");
    world.sees({ doing: "raw", program: "ssh" });
    expect([world.of("deliver"), world.outcome(tag)?.outcome.kind]).toEqual([[], "waiting"]);
    const second = world.run("true");
    world.wait(MS.free).sees({ doing: "raw", program: "bash", shellItself: true });
    expect(world.of("deliver").map(({ id }) => id)).toEqual([second]);
  });

  test("11: a shell is adopted once, and one at a time; what was meant for the outer one is told so", () => {
    const world = inner(new World(), "root");
    const waits = world.run("true", { shell: "own" });
    world.do({ kind: "adopt", key: "root" }).do({ kind: "adopt", key: "db" }).do({ kind: "adopt", key: "web" });
    expect(world.of("not-adopted").map(({ key }) => key)).toEqual(["root", "web"]);
    expect(world.outcome(waits)?.outcome).toMatchObject({ why: expect.stringContaining("adopted"), notRun: true });
  });

  test("12: what nobody fetches is bounded", () => {
    const world = new World();
    for (let at = 0; at < 3000; at++) {
      world.mark({ kind: "started", tag: 0, hidden: 0, line: `echo ${at}` }).prompt({ id: at + 2 });
      world.do({ kind: "keys", entered: [`x${at}`], line: "" });
    }
    expect(world.pane.notes.length).toBeLessThan(100);
    expect(world.pane.shells[0]?.model.entered.length).toBeLessThan(100);
  });
});

test("whatever happens: one outcome for each request, nothing is delivered after it, and time never stands still", () => {
  const random = (() => {
    let seed = 7;
    return (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below;
  })();
  const pick = <T>(all: readonly T[]): T => all[random(all.length)] as T;
  for (let round = 0; round < 1500; round++) {
    const world = new World(pick(["bash", "zsh", "fish", "posix"]));
    let generation = 1;
    const asked = new Map<number, number>();
    let waits = 1_000_000;
    for (let at = 0; at < 60; at++) {
      world.at += random(400);
      const key = world.pane.shells[random(world.pane.shells.length)]?.key ?? "own";
      const tag = pick([0, 0, 1, 2, 3, world.pane.command?.tag ?? 0]);
      const marks: readonly Mark[] = [
        { kind: "prompt", id: at, code: 0, tag, cwd: "/" },
        { kind: "drawn" },
        { kind: "taken", tag, aside: pick(["", "half"]) },
        { kind: "started", tag, hidden: random(2) },
        { kind: "ended", tag, code: 1 },
        { kind: "incomplete" },
        { kind: "output-begins", tag },
        { kind: "shell-ended", code: 0, cwd: "" },
        { kind: "gave-up", code: 1 },
        { kind: "reads-unseen" },
      ];
      const events: readonly (() => unknown)[] = [
        () =>
          asked.set(
            world.run("x", { deadline: world.at + random(3000), ...pick([{}, { noWait: true }, { shown: "y" }]) }),
            1,
          ),
        () => world.mark(pick(marks), key, generation),
        () => world.mark(pick(marks), key, generation),
        () => world.mark(pick(marks), key, generation),
        () => world.text(pick(["a", "a\r\n", "\r$ "]), pick([generation, 1])),
        () => world.do({ kind: "cancel", tag }),
        () => world.do({ kind: "claimed", tag: world.pane.command?.delivered ?? tag, by: pick(["buddy", "shell"]) }),
        () => {
          asked.set((waits += 1), 1);
          world.do({ kind: "wait", id: waits, tag, deadline: world.at + random(3000) });
        },
        () =>
          world.sees(
            pick([
              undefined,
              { doing: "working" },
              { doing: "line", shellItself: true },
              { doing: "password" },
              { doing: "raw" },
            ]),
          ),
        () => world.do({ kind: "dropped", why: "x" }),
        () => world.do({ kind: "attached", generation: ++generation }),
        () => world.do({ kind: "paused" }),
        () =>
          world.do({ kind: "screen", round: world.pane.count, screen: screen({ mark: pick([undefined, ...marks]) }) }),
        () => world.do({ kind: "refused", tag, why: "x" }),
        () => world.do({ kind: "adopt", key: `inner${at}` }),
        () => world.do({ kind: "leave" }),
        () => world.do({ kind: "gone", why: "x" }),
        () => world.do({ kind: "made", round: world.pane.count, key: "own", generation }),
        () => world.do({ kind: "time" }),
        () => world.do({ kind: "password", request: world.pane.count, given: true }),
        () => world.wait(random(2000)),
      ];
      pick(events)();
      const due = wakeAt(world.pane, world.at);
      expect(due === undefined || due > world.at).toBe(true);
    }
    world.wait(60_000);
    for (const [tag, times] of asked) {
      const ends = world.effects.flatMap((effect, at) => (effect.kind === "ended" && effect.id === tag ? [at] : []));
      expect({ tag, ends: ends.length }).toEqual({ tag, ends: times });
      const notRun = world.effects.findIndex(
        (effect) =>
          effect.kind === "ended" &&
          effect.id === tag &&
          effect.ended.outcome.kind === "lost" &&
          effect.ended.outcome.notRun === true,
      );
      if (notRun >= 0)
        expect(
          world.effects
            .slice(notRun)
            .some((effect) => effect.kind === "deliver" && effect.id === tag && effect.text !== ""),
        ).toBe(false);
    }
  }
});

test("a step is pure: the same events give the same pane, and the pane before is as it was", () => {
  const before = newPane("buddy", 80, { key: "own", name: "zsh", cwd: "/" });
  const copy = structuredClone({ ...before, shells: [] });
  const event: Event = {
    at: 1,
    kind: "mark",
    key: "own",
    generation: 1,
    mark: { kind: "prompt", id: 1, code: 0, tag: 0, cwd: "/" },
  };
  expect(step(before, event)).toEqual(step(before, event));
  expect({ ...before, shells: [] }).toEqual(copy);
  expect(before.shells[0]?.phase.kind).toBe("starting");
});
