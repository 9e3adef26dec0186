import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { exportSession, type ExportFormat } from "../../src/app/export-session.ts";
import { operatorCommand } from "../../src/app/repl/operator-commands.ts";
import type { Run } from "../../src/app/run.ts";
import { parseSkill } from "../../src/extend/skills/skill.ts";
import { drain } from "../support/agent.ts";
import { call, shell } from "../support/calls.ts";
import { Here } from "../support/in-process.ts";
import { needs } from "../support/needs.ts";
import { until } from "../support/until.ts";
import { inQuotes, quoteAll } from "../../src/lib/quote.ts";

const player = await needs("asciinema");
setDefaultTimeout(60_000);

const CHANGE = { risk: "medium", mutation: true };
const LONG = "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo line $i; done";
/** Prints the id of its own output, among others. */
const NAMES_ITSELF = "i=0; while [ $i -lt 60 ]; do i=$((i+1)); echo output out-$i; done; echo on stderr >&2";
const HIDDEN = "printf 'a\u001b[2Kb' > hidden";

/** One session with all that an export has to tell. */
async function session(here: Here): Promise<Run> {
  const run = await here.compose({ "no-tmux": true });
  await drain(run.agent.runTurn("why is web-1 full below /srv/data?", new AbortController().signal));
  const { config } = await here.loaded();
  await drain(operatorCommand(run, config, "echo by hand; (exit 4)", new AbortController().signal));
  await run.sessions.stored();
  return run;
}

let here: Here;
let run: Run;
const exported = async (format: ExportFormat): Promise<string> => {
  const state = join(here.home, ".local/state/buddy");
  return [...(await exportSession((await run.sessions.store()).readable(run.sessions.id), format, state))].join("");
};
const bash = (script: string, cwd: string, ...args: string[]) =>
  Bun.spawnSync(["bash", ...args], { cwd, stdin: Buffer.from(script), stderr: "pipe" });

beforeAll(async () => {
  here = new Here(
    [
      shell("mkdir -p data; cd data", CHANGE),
      shell("touch web-1", CHANGE),
      shell("touch denied", CHANGE),
      shell("rm -rf /", CHANGE),
      shell("touch proposed", CHANGE),
      shell("printf 'one\\n\ntwo\\n'; echo /srv/data", CHANGE),
      call("write_file", { path: "note's.txt", content: "EOF\nhi\n" }),
      shell(HIDDEN, CHANGE),
      shell(LONG, CHANGE),
      shell("echo early; sleep 0.6; echo late; sleep 0.3", CHANGE),
      shell(NAMES_ITSELF, CHANGE),
      { text: "done" },
    ],
    {
      answer: ({ action }) =>
        action === "touch denied"
          ? { kind: "no", reason: "not today" }
          : action === "touch proposed"
            ? { kind: "edit", command: "touch edited" }
            : { kind: "yes" },
    },
  );
  run = await session(here);
});
afterAll(() => here[Symbol.asyncDispose]());

describe("--script", () => {
  test("is a script that bash reads, and that does again what ran, and nothing else", async () => {
    const script = await exported("script");
    expect(bash(script, here.cwd, "-n").stderr.toString()).toBe("");
    const again = join(here.dir, "again");
    mkdirSync(again);
    // Elsewhere: the directories of the first run are named in it.
    const moved = script.replaceAll(inQuotes(here.cwd).slice(0, -1), inQuotes(again).slice(0, -1));
    const { exitCode, stdout } = bash(moved, again);
    expect(exitCode).toBe(4);
    expect(stdout.toString()).toContain("by hand");
    const files = [...new Bun.Glob("**/*").scanSync({ cwd: again })].sort();
    expect(files).toEqual(["data/edited", "data/note's.txt", "data/web-1"]);
    expect(readFileSync(join(again, "data/note's.txt"), "utf8")).toBe("EOF\nhi\n");
  });

  test("names machine, directory, exit code, who approved, and what was refused", async () => {
    const script = await exported("script");
    const { user, host } = run.target.opened!.identity;
    expect(script).toMatch(
      new RegExp(
        `^# \\S+ · local, ${user}@${host} · ${RegExp.escape(here.cwd)} · exit code 0 · approved by the operator$`,
        "m",
      ),
    );
    expect(script).toContain("# NOT RUN (denied):\n# touch denied");
    expect(script).toContain("# NOT RUN (denied):\n# rm -rf /");
    expect(script).toContain("not today");
    expect(script).toContain("# the model proposed: touch proposed");
    expect(script).toMatch(/exit code 4 · your own command\necho by hand/);
    expect(script).toContain("# prompt: why is web-1 full below /srv/data?");
  });

  test("shows no control character, and runs no command that has one", async () => {
    const script = await exported("script");
    expect(script).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f]/);
    expect(script).toContain("# printf 'a\\u001b[2Kb' > hidden");
  });
});

describe("--cast", () => {
  const lines = async () =>
    (await exported("cast"))
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as unknown);

  test("is an asciicast of version 2 whose times never go back", async () => {
    const [header, ...events] = (await lines()) as [Record<string, unknown>, ...[number, string, string][]];
    expect(header).toMatchObject({ version: 2, width: expect.any(Number), height: 24 });
    const times = events.map(([at]) => at);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(events.every(([, kind, text]) => kind === "o" && !/(?<!\r)\n/.test(text))).toBe(true);
  });

  test("has the whole output of a command whose middle the log left out", async () => {
    // Outputs reach the disk a moment after their command has ended.
    await until(async () => (await exported("cast")).includes("line 1500\\r"), "the middle of the output");
  });

  test("has all of a command that printed the id of its own output", async () => {
    await until(async () => (await exported("cast")).includes("output out-60\\r\\non stderr"), "all of its output");
  });

  test("shows each line when it came", async () => {
    const [, ...events] = (await lines()) as [unknown, ...[number, string, string][]];
    const at = (line: string) => events.find(([, , text]) => text === `${line}\r\n`)?.[0] ?? 0;
    expect(at("late") - at("early")).toBeGreaterThan(0.4);
  });

  test("lets nothing through that drives a terminal", async () => {
    expect(await exported("cast")).not.toContain("\\u001b[2K");
  });

  player.test("plays in asciinema", async () => {
    const file = here.write("run.cast", await exported("cast"));
    for (const args of [["cat"], ["play", "-i", "0.01"]]) {
      const { exitCode, stdout, stderr } = Bun.spawnSync(
        ["script", "-qec", quoteAll(["asciinema", ...args, file]), "/dev/null"],
        {
          stdin: "ignore",
          stderr: "pipe",
        },
      );
      expect({ args, exitCode, stderr: stderr.toString() }).toEqual({ args, exitCode: 0, stderr: "" });
      expect(stdout.toString()).toContain("touch web-1");
      expect(stdout.toString()).toContain("by hand");
    }
  });
});

describe("--runbook", () => {
  test("is a valid runbook with the commands that worked and the values of the prompt as parameters", async () => {
    const text = await exported("runbook");
    const name = /^name: (\S+)$/m.exec(text)?.[1] ?? "";
    const { skill, problems } = parseSkill(text, name);
    expect(problems).toEqual([]);
    const { parameters, readOnly } = skill!.runbook!;
    expect(readOnly).toBe(false);
    expect(Object.fromEntries(parameters.map((one) => [one.name, one.fallback]))).toEqual({
      name: "web-1",
      path: "/srv/data",
    });
    expect(text).toContain("touch {{name}}");
    expect(text).toContain("echo {{path}}");
    expect(text).not.toMatch(/denied|rm -rf|exit 4/);
  });

  test("of a session that only read is read-only", async () => {
    await using other = new Here([shell("pwd"), { text: "done" }]);
    const reading = await other.compose({ "no-tmux": true });
    await drain(reading.agent.runTurn("???", new AbortController().signal));
    await reading.sessions.stored();
    const stored = (await reading.sessions.store()).readable(reading.sessions.id);
    const text = [...(await exportSession(stored, "runbook", undefined))].join("");
    const name = /^name: (\S+)$/m.exec(text)?.[1] ?? "";
    expect(parseSkill(text, name)).toMatchObject({ problems: [], skill: { runbook: { readOnly: true } } });
  });
});

test("nothing that a model, a name or an output brings along acts on whoever reads an export, or hides in it", async () => {
  const act = "\u001b]52;c;QUFB\u0007\u001b[2J\u009b31m\u202e\u{e0041}";
  await using other = new Here([
    { toolCalls: [{ name: `tool${act}`, args: { path: `p${act}` } }] },
    shell(`echo seen # ${act}`, CHANGE),
    shell("printf '\\033]52;c;QUFB\\007shown\\n'"),
    { text: `answer ${act}`, reasoning: `thought ${act}` },
  ]);
  const talk = await other.compose({ "no-tmux": true, approve: "all" });
  await drain(talk.agent.runTurn(`prompt ${act}`, new AbortController().signal));
  await talk.sessions.stored();
  const stored = (await talk.sessions.store()).readable(talk.sessions.id);
  for (const format of ["markdown", "html", "script", "cast", "runbook"] as const) {
    const text = [...(await exportSession(stored, format, undefined))].join("");
    const lines = format === "cast" ? text.trim().split("\n").map(castText) : [text];
    expect([format, ...lines.join("\n").matchAll(/[[\p{Cc}\p{Bidi_C}\p{DI}]--[\t\n]]/gv)]).toEqual([format]);
    expect(lines.join("\n")).toContain("echo seen # ");
  }
});

/** Of a line of an asciicast, without the colours that buddy itself writes. */
function castText(line: string): string {
  const frame = JSON.parse(line) as { title: string } | [number, string, string];
  const text = Array.isArray(frame) ? frame[2] : frame.title;
  return text.replaceAll("\r\n", "\n").replaceAll(/\u001b\[[\d;]*m/g, "");
}

test("a session without any command exports in every form", async () => {
  await using other = new Here([{ text: "hello" }]);
  const talk = await other.compose({ "no-tmux": true });
  await drain(talk.agent.runTurn("hi", new AbortController().signal));
  await talk.sessions.stored();
  const stored = (await talk.sessions.store()).readable(talk.sessions.id);
  for (const format of ["markdown", "html", "json", "script", "cast", "runbook"] as const)
    expect([...(await exportSession(stored, format, undefined))].join("")).not.toBe("");
});
