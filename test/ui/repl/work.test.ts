/** Work in flight, commands of the operator's own, and the familiar commands. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BuddyError } from "../../../src/lib/errors.ts";
import type { WorkInFlight } from "../../../src/ui/repl/host.ts";
import { bestMatches } from "../../../src/ui/repl/completer.ts";
import { answer, ReplRig, type ScriptedTurn } from "../../support/repl-rig.ts";
import { scriptedEditor } from "../../support/scripted-editor.ts";
import { REPL } from "../../support/wording.ts";

setDefaultTimeout(60_000);

const WORK: WorkInFlight = {
  shells: [
    { id: "sh-0badcafe", command: "sleep 600", status: "running", startedAt: Date.now() - 5000 },
    { id: "sh-deadbeef", command: "make", status: "failed", startedAt: 0, exitCode: 2 },
  ],
  panes: [{ name: "shared", shared: true, command: "vim", idle: false }],
};

const echo: ScriptedTurn = ({ prompt }) => answer(`you said ${prompt}`);

describe("/ps", () => {
  test("lists background shells and what runs in the pane", async () => {
    await using rig = new ReplRig({ turn: echo, host: { work: async () => WORK } });
    rig.send("hello\r");
    await rig.until("you said hello");
    rig.send("/ps\r");
    const screen = await rig.until("sh-0badcafe");
    expect(screen).toMatch(/sh-0badcafe +shell running +\ds +sleep 600/);
    expect(screen).toMatch(/sh-deadbeef +shell failed \(exit 2\) +make/);
    expect(screen).toMatch(/shared +pane runs +vim/);
    const columns = screen.split("\n").flatMap((row) => [row.search(/answered |shell |pane /)].filter((at) => at > 0));
    expect([columns.length, new Set(columns).size]).toEqual([4, 1]);
  });
});

describe("/kill", () => {
  test("takes a background shell", async () => {
    const killed: string[] = [];
    const killShell = async (id: string) => {
      killed.push(id);
      return "killed";
    };
    await using rig = new ReplRig({ host: { work: async () => WORK, killShell } });
    rig.send("/kill sh-0badcafe\r");
    await rig.until("sh-0badcafe: killed");
    expect(killed).toEqual(["sh-0badcafe"]);
  });

  test("takes a pane", async () => {
    const pressed: (string | undefined)[] = [];
    const interruptPane = async (name?: string) => void pressed.push(name);
    await using rig = new ReplRig({ host: { work: async () => WORK, interruptPane } });
    rig.send("/kill shared\r");
    await rig.until(/Ctrl-C .*shared: vim/);
    expect(pressed).toEqual(["shared"]);
  });
});

test("/stop presses Ctrl-C in the shared pane", async () => {
  let pressed = 0;
  await using rig = new ReplRig({ host: { work: async () => WORK, interruptPane: async () => void pressed++ } });
  rig.send("/stop\r");
  await rig.until(/Ctrl-C .*: vim/);
  expect(pressed).toBe(1);
});

test("quitting names background shells and panes, and asks once more", async () => {
  const rig = new ReplRig({ host: { work: async () => WORK } });
  rig.send("/quit\r");
  const screen = await rig.until(REPL.quitAgain);
  expect(screen).toContain("sh-0badcafe");
  expect(screen).not.toContain("sh-deadbeef");
  rig.send("/quit\r");
  expect(await rig.done).toBe(0);
});

test("background shells of before are named when the target is open", async () => {
  await using rig = new ReplRig({ host: { work: async () => WORK } });
  rig.repl.targetOpened();
  const screen = await rig.until(REPL.survivors);
  expect(screen).toContain("sh-0badcafe  sleep 600");
});

describe("/output", () => {
  const long: ScriptedTurn = async function* () {
    const text = Array.from({ length: 90 }, (_, i) => `row ${i + 1}`).join("\n");
    yield { type: "tool_started", call: "c1", tool: "read_file", title: "/etc/services", args: {} };
    yield {
      type: "tool_finished",
      call: "c1",
      tool: "read_file",
      ok: true,
      outcome: "done",
      ms: 1,
      result: JSON.stringify({ result: text }),
    };
    yield* answer("read");
  };

  test("a cut preview names its number, and that opens the whole", async () => {
    await using rig = new ReplRig({ turn: long });
    rig.send("go\r");
    await rig.until("…84 more lines: /output 1");
    rig.send("/output 1\r");
    await rig.until("row 20");
    rig.send("G");
    await rig.until("row 90");
    rig.send("q");
    await rig.until(/> *$/);
  });

  test("an id opens what is stored", async () => {
    await using rig = new ReplRig();
    rig.send("/output out-7\r");
    await rig.until("the output of out-7");
    rig.key("escape");
    await rig.until(/> *$/);
  });

  test("a number that is none says so", async () => {
    await using rig = new ReplRig();
    rig.send("/output 9\r");
    await rig.until(/^error: .* 9$/m);
  });
});

describe("a line that begins with !", () => {
  test("runs as a command of the operator's own", async () => {
    await using rig = new ReplRig({ turn: echo });
    rig.send("! uptime -p\r");
    await rig.until("you said !uptime -p");
  });
});

describe("commands", () => {
  test("/tools x is an error: it takes no arguments", async () => {
    await using rig = new ReplRig();
    rig.send("/tools x\r");
    await rig.until(/^error: \/tools [^]*: \/tools$/m);
  });

  test("/re could be several", async () => {
    await using rig = new ReplRig();
    rig.send("/re\r");
    await rig.until(/^error: \/re .*\/resume, \/retry/m);
  });

  test("/compact FOCUS", async () => {
    await using rig = new ReplRig({ turn: echo });
    rig.send("/compact the nginx part\r");
    await rig.until("you said /compact the nginx part");
  });

  test("/retry sends the last prompt again", async () => {
    await using rig = new ReplRig({ turn: echo });
    rig.send("first\r");
    await rig.until("you said first");
    rig.send("/retry\r");
    await rig.until((screen) => screen.split("you said first").length === 3);
    expect(rig.prompts).toEqual(["first", "first"]);
  });

  test("/copy hands the last answer to the terminal's clipboard", async () => {
    await using rig = new ReplRig({ facts: { lastAnswer: "the answer" } });
    rig.send("/copy\r");
    await rig.until(/\b10\b/);
    expect(rig.emulator.raw).toContain(`\x1b]52;c;${btoa("the answer")}\x07`);
  });

  test("/export saves the conversation and does not overwrite", async () => {
    const directory = mkdtempSync(join(tmpdir(), "buddy-export-"));
    try {
      const file = join(directory, "run.html");
      await using rig = new ReplRig({ cols: 120 });
      rig.send(`/export ${file}\r`);
      await rig.until("saved ");
      expect(readFileSync(file, "utf8")).toBe("as html");
      expect(statSync(file).mode & 0o777).toBe(0o600);
      for (const [name, said] of [
        [file, "already exists"],
        [join(directory, "run.pdf"), "no format for"],
        [join(directory, "gone/run.md"), "gone does not exist"],
      ] as const) {
        rig.send(`/export ${name}\r`);
        await rig.until(said);
      }
      expect(readdirSync(directory)).toEqual(["run.html"]);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });

  test("/resume opens a list", async () => {
    const resumed: string[] = [];
    const resumeSession = async (name: string) => {
      resumed.push(name);
      return [`resumed ${name}`];
    };
    await using rig = new ReplRig({ host: { resumeSession } });
    rig.send("/resume\r");
    const screen = await rig.until(REPL.whichSession);
    expect(screen).toContain("Esc");
    rig.key("enter");
    await rig.until("resumed eeee-ffff-gggg-hhhh");
    expect(resumed).toEqual(["eeee-ffff-gggg-hhhh"]);
  });

  test("/model PROFILE:MODEL", async () => {
    const switched: string[] = [];
    const switchModel = async (name: string) => {
      switched.push(name);
      return [];
    };
    await using rig = new ReplRig({ host: { switchModel } });
    rig.send("/model spark:model-z\r");
    await rig.until("model-z");
    expect(switched).toEqual(["spark:model-z"]);
  });

  test("/theme changes the colours from now on", async () => {
    await using rig = new ReplRig({ display: { color: true } });
    rig.send("/theme none\r");
    await rig.until("theme: none");
    rig.emulator.forgetRaw();
    rig.send("/nope\r");
    await rig.until(REPL.unknown("nope"));
    expect(rig.emulator.raw).not.toContain("\x1b[1;31m");
  });
});

test("errors name the REPL's own commands", async () => {
  await using rig = new ReplRig({
    // oxlint-disable-next-line require-yield
    turn: async function* () {
      throw new BuddyError("auth", "not signed in", { hint: "Sign in with: buddy login gpt-codex" });
    },
  });
  rig.send("x\r");
  await rig.until("Sign in with: /login gpt-codex");
});

test("an error of the model names /login with the profile in use, and /model", async () => {
  await using rig = new ReplRig({
    facts: { profile: "spark" },
    turn: async function* () {
      yield { type: "error", code: "auth", message: "not signed in", hint: "Sign in with: buddy login" };
      yield { type: "error", code: "model", message: "busy", hint: "Choose another profile with --model." };
      yield { type: "done", turn: 1, status: "failed", text: "", iterations: 1, ms: 1 };
    },
  });
  rig.send("x\r");
  const screen = await rig.until("Choose another profile with /model.");
  expect(screen).toContain("Sign in with: /login spark");
});

test("Ctrl-X Ctrl-E opens the operator's editor for the prompt", async () => {
  using editor = scriptedEditor("a long prompt");
  await using rig = new ReplRig({ turn: echo, env: { EDITOR: editor.path, PATH: process.env.PATH } });
  rig.send("short");
  rig.key("ctrl-x", "ctrl-e");
  await rig.until(/> a long prompt$/);
  rig.send("\r");
  await rig.until("you said a long prompt");
});

test("a command of the operator's own that waits for input says where to answer", async () => {
  await using rig = new ReplRig({
    turn: async function* () {
      const about = { call: "1", tool: "you" } as const;
      yield { type: "tool_started", ...about, title: "read x", args: {} };
      yield { type: "tool_finished", ...about, ok: true, outcome: "waiting", result: "", display: "name?", ms: 1 };
      yield* answer("");
    },
  });
  rig.send("x\r");
  const screen = await rig.until(/\/stop/);
  expect(screen).toContain("/attach");
});

test("the model's plan is a checklist above the input, and stays in the scrollback", async () => {
  const steps = [
    { step: "look", state: "done" },
    { step: "change", state: "running" },
    { step: "check", state: "pending" },
  ];
  const planned = {
    type: "tool_finished",
    tool: "plan",
    result: "",
    display: "[>] change",
    outcome: "done",
    ms: 1,
  } as const;
  await using rig = new ReplRig({
    turn: async function* ({ gate }) {
      yield { type: "tool_started", call: "p", tool: "plan", title: "1 of 3 steps done", args: { steps } };
      yield { ...planned, call: "p", ok: true };
      const wrong = { steps: [{ step: "never", state: "sometime" }] };
      yield { type: "tool_started", call: "q", tool: "plan", title: "plan", args: wrong };
      yield { ...planned, call: "q", ok: false, outcome: "invalid", display: "not valid" };
      await gate("go");
      yield* answer("answered");
    },
  });
  rig.send("x\r");
  const screen = await rig.until(/invalid[^]*\[>\] change/);
  expect(screen).toContain("[x] look");
  expect(screen).toContain("[ ] check");
  expect(screen).not.toContain("never");
  expect(screen.match(/\[>\]/g)).toHaveLength(1);
  rig.open("go");
  const after = await rig.until((text) => text.includes("answered") && text.includes("[>] change"));
  expect(after.match(/\[>\]/g)).toHaveLength(1);
});

test("a resumed session prints its last exchange", async () => {
  await using rig = new ReplRig({ facts: { lastPrompt: "is it up?", lastAnswer: "Yes, **it is**." } });
  rig.repl.sayLastExchange();
  const screen = await rig.until("Yes, it is.");
  expect(screen).toContain("> is it up?");
});

describe("@path", () => {
  test("letters in order find files below, the name first", () => {
    const files = ["src/app/run.ts", "src/ui/repl/repl.ts", "README.md", "docs/repl.md"];
    expect(bestMatches("repl", files).slice(0, 2)).toEqual(["docs/repl.md", "src/ui/repl/repl.ts"]);
    expect(bestMatches("sar", files)[0]).toBe("src/app/run.ts");
    expect(bestMatches("zzz", files)).toEqual([]);
  });

  test("the drop-down offers them", async () => {
    await using rig = new ReplRig();
    rig.send("look at @rept");
    await rig.until("src/ui/repl/repl.ts");
  });
});

test("/targets and /on: the names, and another machine", async () => {
  const asked: string[] = [];
  await using rig = new ReplRig({
    host: {
      workOn: async (what) => {
        asked.push(what);
        if (what === "gone") throw new BuddyError("target", "gone does not answer", { hint: "Check it." });
        return [`on ${what}`];
      },
    },
  });
  rig.send("/targets\r");
  await rig.until(/local +this machine · \S/);
  rig.send("/on web1\r");
  await rig.until(/\non web1/);
  rig.send("/on gone\r");
  await rig.until("gone does not answer");
  expect(asked).toEqual(["web1", "gone"]);
});
