/** --trace, -vv, BUDDY_LOG and `buddy trace summary`, inside this process. */
import { afterEach, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { endTrace, startTrace } from "../../../src/app/tracing.ts";
import { readGlobalOptions } from "../../../src/cli/args/options.ts";
import { judgeTokens, tokenize } from "../../../src/cli/args/parse-arguments.ts";
import { GLOBAL_ARGS } from "../../../src/cli/args/options.ts";
import { trace, tracing } from "../../../src/lib/trace.ts";
import { Here } from "../../support/in-process.ts";
import { runHere } from "../../support/stdout.ts";

afterEach(() => endTrace(0));

const TOKEN = `ghp_${"A1b2C3d4E5f6".repeat(3)}`;
const LOOK = { risk: "low", mutation: false, privesc: false, why: "to see" } as const;

function rows(path: string): { kind: string; [key: string]: unknown }[] {
  return readFileSync(path, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { kind: string });
}

/** One run that looks at a file with a token in it, then answers. */
async function tracedRun(here: Here, file: string): Promise<void> {
  here.write("cwd/notes.txt", `token: ${TOKEN}\n`);
  startTrace({ file, lines: false, argv: ["exec", "--api-key", "k-very-secret-1"], secrets: ["k-very-secret-1"] });
  await here.exec({ prompt: "look at the notes" }, { "no-tmux": true, "api-key": "k-very-secret-1" });
  endTrace(0);
}

const TURNS = [
  { toolCalls: [{ name: "run_shell", args: { command: "cat notes.txt", ...LOOK } }] },
  { text: `The token is in notes.txt.` },
];

describe("--trace", () => {
  test("keeps requests, answers, decisions, events and the end, for the owner alone", async () => {
    await using here = new Here(TURNS);
    const file = join(here.dir, "trace.jsonl");
    await tracedRun(here, file);
    const kinds = rows(file).map(({ kind }) => kind);
    expect(kinds[0]).toBe("start");
    expect(kinds.at(-1)).toBe("end");
    for (const kind of ["request", "headers", "response", "decision", "event"]) expect(kinds).toContain(kind);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(tracing()).toBe(false);
  });

  test("holds no key and no secret that a command printed", async () => {
    await using here = new Here(TURNS);
    const file = join(here.dir, "trace.jsonl");
    await tracedRun(here, file);
    const text = readFileSync(file, "utf8");
    expect(text).toContain("notes.txt");
    expect(text).not.toContain(TOKEN);
    expect(text).not.toContain("k-very-secret-1");
  });

  test("the second request shows only what is new in it", async () => {
    await using here = new Here(TURNS);
    const file = join(here.dir, "trace.jsonl");
    await tracedRun(here, file);
    const [, second] = rows(file).filter(({ kind }) => kind === "request");
    expect(second?.["body"]).toMatchObject({ messages: [{ role: "assistant" }, { role: "tool" }], tools: [] });
  });

  test("a second run is appended to the first", async () => {
    await using here = new Here([{ text: "one" }, { text: "two" }]);
    const file = join(here.dir, "trace.jsonl");
    await tracedRun(here, file);
    await tracedRun(here, file);
    expect(rows(file).filter(({ kind }) => kind === "end")).toHaveLength(2);
  });

  test("a file that cannot be written is named before anything is done", async () => {
    await using here = new Here([{ text: "never" }]);
    const { code, stderr } = await runHere("models", "--trace", join(here.dir, "no/such/t.jsonl"));
    expect(code).toBe(2);
    expect(stderr).toContain("no/such/t.jsonl");
    expect(here.model.requests).toHaveLength(0);
  });

  test("BUDDY_TRACE_FILE is the same, counted from the directory of the start", async () => {
    await using here = new Here();
    expect(readGlobalOptions(new Map(), { BUDDY_TRACE_FILE: "t.jsonl" }).trace).toBe(join(here.cwd, "t.jsonl"));
    expect(readGlobalOptions(new Map(), { BUDDY_TRACE_FILE: "" }).trace).toBeUndefined();
  });

  test("a failed request and its retry are in it", async () => {
    await using here = new Here([{ fault: { status: 503 } } as never, { text: "ok" }]);
    const file = join(here.dir, "trace.jsonl");
    await tracedRun(here, file);
    expect(rows(file).find(({ kind }) => kind === "failure")).toMatchObject({ status: 503, retryable: true });
  });
});

describe("buddy trace summary", () => {
  test("names the requests, the tools, how they were decided, and where the time went", async () => {
    await using here = new Here(TURNS);
    const file = join(here.dir, "trace.jsonl");
    await tracedRun(here, file);
    const { code, stdout } = await runHere("trace", "summary", file);
    expect(code).toBe(0);
    expect(stdout).toContain("run_shell cat notes.txt: exited 0");
    expect(stdout).toContain("exit code  0");
    const [json] = (await runHere("trace", "summary", file, "--json")).stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(json).toMatchObject({
      code: 0,
      requests: [{ request: expect.any(Number), outcome: "tool-calls" }, { outcome: "stop" }],
      tools: [{ tool: "run_shell", outcome: "exited", exit_code: 0, decision: expect.any(String) }],
      ms: { whole: expect.any(Number), model: expect.any(Number) },
    });
  });

  test("a line that was cut off is counted, the rest is read", async () => {
    await using here = new Here();
    const start = '{"v":1,"ts":"2026-01-05T10:00:00.000Z","ms":1,"run":"1","kind":"start","buddy":"1.0.0"}\n';
    const file = here.write("t.jsonl", `${start}{"v":1,"ts":`);
    const { code, stdout } = await runHere("trace", "summary", file);
    expect(code).toBe(0);
    expect(stdout).toContain("buddy 1.0.0");
    expect(stdout).toContain("1 line could not be read");
  });

  test("what is not a trace, or not there, is a usage error", async () => {
    await using here = new Here();
    expect(await runHere("trace", "summary", here.write("x", "hello\n"))).toMatchObject({ code: 2 });
    expect(await runHere("trace", "summary", join(here.dir, "none"))).toMatchObject({ code: 2 });
    expect(await runHere("trace", "summary", here.dir)).toMatchObject({ code: 2 });
    expect(await runHere("trace", "summary")).toMatchObject({ code: 2 });
    expect(existsSync(join(here.dir, "none"))).toBe(false);
  });

  test("a title that would drive the terminal is shown, not sent", async () => {
    await using here = new Here();
    const event = { type: "tool_finished", call: "1", tool: "run_shell\u001b[2J", outcome: "exited", ms: 1 };
    const row = { v: 1, ts: "2026-01-05T10:00:00.000Z", ms: 1, run: "1", kind: "event", event };
    const { stdout } = await runHere("trace", "summary", here.write("t.jsonl", JSON.stringify(row)));
    expect(stdout).not.toContain("\u001b");
  });
});

describe("how much is reported", () => {
  const level = (argv: string[], env: Record<string, string> = {}) => {
    const { globals } = judgeTokens(tokenize(argv, GLOBAL_ARGS), "", {}, "/");
    const { quiet, verbose, debug = false } = readGlobalOptions(globals, env);
    return { quiet, verbose, debug };
  };

  test.each([
    [["-v"], {}, { quiet: false, verbose: true, debug: false }],
    [["-vv"], {}, { quiet: false, verbose: true, debug: true }],
    [["-v", "--verbose"], {}, { quiet: false, verbose: true, debug: true }],
    [["--debug"], {}, { quiet: false, verbose: true, debug: true }],
    [[], { BUDDY_LOG: "debug" }, { quiet: false, verbose: true, debug: true }],
    [[], { BUDDY_LOG: "Verbose" }, { quiet: false, verbose: true, debug: false }],
    [[], { BUDDY_LOG: "error" }, { quiet: true, verbose: false, debug: false }],
    [[], { BUDDY_LOG: "info" }, { quiet: false, verbose: false, debug: false }],
    [[], { BUDDY_LOG: "" }, { quiet: false, verbose: false, debug: false }],
    // A flag comes before the environment.
    [["-q"], { BUDDY_LOG: "debug" }, { quiet: true, verbose: false, debug: false }],
  ] as const)("%j %j", (argv, env, wanted) => {
    expect(level([...argv], env)).toEqual(wanted);
  });

  test("a level that does not exist names those that do", () => {
    expect(() => level([], { BUDDY_LOG: "loud" })).toThrow("loud");
  });

  test("-vv shows requests and decisions as lines, without bodies", async () => {
    await using here = new Here(TURNS);
    here.write("cwd/notes.txt", `token: ${TOKEN}\n`);
    startTrace({ lines: true, argv: [] });
    const { stderr } = await here.exec({ prompt: "look" }, { "no-tmux": true, verbose: true, debug: true });
    expect(stderr).toMatch(/request \d+: http/);
    expect(stderr).toMatch(/decision: run run_shell/);
    expect(stderr).not.toContain("harness_timestamp");
    expect(stderr).not.toContain(TOKEN);
  });

  test("without a trace nothing is collected", () => {
    endTrace(0);
    trace("event", () => {
      throw new Error("made for no one");
    });
    expect(tracing()).toBe(false);
  });
});
