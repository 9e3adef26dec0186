/** From argv to exit code in this process: dispatch, help, errors in words. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { COMMANDS, loadCommand } from "../../src/cli/command.ts";
import { TOPICS } from "../../src/cli/commands/help/command.ts";
import { commandHelp, rootHelp, shortHelp } from "../../src/cli/args/help.ts";
import { readdirSync } from "node:fs";
import { describeError, reportError } from "../../src/cli/report-error.ts";
import { runCommandLine } from "../../src/cli/run-command-line.ts";
import { wantsColor } from "../../src/lib/terminal.ts";
import { BuddyError, EXIT, type ErrorCode, exitCodeOf } from "../../src/lib/errors.ts";
import { captureOutput } from "../support/stdout.ts";
import { alignColumns, printable } from "../../src/lib/text.ts";
import { naming } from "../support/errors.ts";

let written: ReturnType<typeof captureOutput>;
beforeEach(() => void (written = captureOutput()));
afterEach(() => written[Symbol.dispose]());

describe("run", () => {
  test.each([
    [["--version"], /^buddy \d+\.\d+\.\d+/],
    [["-V"], /^buddy \d+\.\d+\.\d+/],
    [["--version", "--verbose"], /^buddy \S+\nbuild +\S.*\nbinary .*\nsystem .*\nruntime +Bun \d/],
    [["exec", "--version"], /^buddy \d+\.\d+\.\d+/],
    [["--help"], /^buddy: \S/],
    [["-q", "-h"], /^buddy: \S/],
    [["help"], /^buddy: \S/],
    [["help", "exec"], /^buddy exec: /],
    [["exec", "-h"], /^buddy exec: /],
    [["exec", "--help", "--nonsense"], /^buddy exec: /],
    [["--json", "exec", "--help"], /^buddy exec: /],
    [["--timeout", "5m", "exec", "--help"], /^buddy exec: /],
    [["help", "help"], /^buddy help: /],
    ...Object.keys(TOPICS).map((topic): [string[], RegExp] => [["help", topic], /^# /m]),
    // A command with a page of its own shows both.
    [["help", "policy"], /^buddy policy: [\s\S]*^# /m],
  ])("%p answers", async (argv, answer) => {
    expect(await runCommandLine(argv)).toBe(EXIT.ok);
    expect(written.out.join("")).toMatch(answer);
    expect(written.out.join("")).not.toContain("<!--");
    expect(written.err).toEqual([]);
  });

  test.each([
    [
      ["exce", "hi"],
      ['"exce"', "exec?"],
    ],
    [["version"], ['"version"', "--version?"]],
    [["fix nginx"], ["buddy exec"]],
    [["resume", "7b2f"], ['buddy exec --resume 7b2f "…"']],
    [["exec", "--trace", "/does/not/exist", "hi"], ["/does/not/exist"]],
    [["constructor"], ['"constructor"']],
    [[""], ["command"]],
    [
      ["--modle", "x"],
      ["--modle", "--model?"],
    ],
    [["--demo"], ["--demo", "buddy demo?"]],
    [["--nonsense"], ["--nonsense"]],
    [
      ["help", "exce"],
      ['"exce"', "exec?"],
    ],
    [["help", "qqqqqqqq"], ["buddy help --help"]],
    [["exec", "--model"], ["--model"]],
    [["-C", "/does/not/exist"], ["--cd /does/not/exist:"]],
    [["-C", "/etc/passwd"], ["--cd /etc/passwd:"]],
    [["completion"], ["buddy completion", "bash|zsh|fish"]],
  ])("%p is a usage error", async (argv, names) => {
    expect(await runCommandLine(argv)).toBe(EXIT.usage);
    expect(written.err.join("")).toMatch(naming(...names));
    expect(written.err.join("")).not.toMatch(/\bat .*:\d+/);
    expect(written.out).toEqual([]);
  });
});

describe("help", () => {
  test("of every command fits 80 columns and shows an example", async () => {
    const texts = [rootHelp()];
    for (const name of [...Object.keys(COMMANDS), ""]) texts.push(commandHelp(await loadCommand(name)));
    for (const text of texts) {
      expect(text.split("\n").filter((line) => Bun.stringWidth(line) > 80)).toEqual([]);
      expect(text).toMatch(/^Examples?:$/m);
    }
  });

  test("the short one fits a screen and names every command; all is the rest", async () => {
    const text = shortHelp();
    expect(text.split("\n").length).toBeLessThanOrEqual(24);
    expect(text.split("\n").filter((line) => Bun.stringWidth(line) > 80)).toEqual([]);
    expect(text).toMatch(naming(...Object.keys(COMMANDS)));
    for (const argv of [
      ["--help", "all"],
      ["help", "all"],
    ]) {
      written.out.length = 0;
      expect(await runCommandLine(argv)).toBe(EXIT.ok);
      expect(written.out.join("")).toContain(rootHelp());
    }
  });

  test("of exec names every exit code", async () => {
    const text = commandHelp(await loadCommand("exec"));
    expect(/\nExit codes:\n([^]*?)\n\n/.exec(text)?.[1]).toMatch(naming(...Object.values(EXIT)));
  });

  test.each(Object.entries(COMMANDS).map(([name, [summary]]) => [name, summary] as const))(
    "%s is listed under its own name, with a summary that fits a line",
    async (name, summary) => {
      expect((await loadCommand(name)).name).toBe(name);
      expect(summary.length).toBeLessThanOrEqual(60);
    },
  );

  test("a command's help leaves out the options of all commands that mean something else for it", async () => {
    const [, globals = ""] = /Global options([^]*?)\n\n/.exec(commandHelp(await loadCommand("audit"))) ?? [];
    expect(globals).toContain("--ssh");
    expect(globals).not.toMatch(/--on\b/);
  });
});

describe("errors in words", () => {
  test("a BuddyError is its sentence and its hint", () => {
    const error = new BuddyError("config", "it is wrong", { hint: "do this\nor that", cause: new Error("deep") });
    expect(describeError(error, { verbose: false })).toBe("buddy: it is wrong\n  do this\n  or that");
    const details = describeError(error, { verbose: true });
    expect(details).toContain("at ");
    expect(details).toContain("caused by: Error: deep");
    expect(describeError(error, { verbose: false, color: true })).toStartWith(
      "\u001b[1;31mbuddy:\u001b[0m it is wrong",
    );
  });

  test("anything else is a bug, in one sentence, without a stack", () => {
    const text = describeError(new TypeError("x is not a function\nsecond line"), { verbose: false });
    expect(text).toMatch(/^buddy: .*: x is not a function\n {2}.*--verbose.*$/);
    expect(describeError("just text", { verbose: true })).toContain("just text");
    expect(describeError(new TypeError("x"), { verbose: true })).toContain("at ");
  });

  test("what the system refuses is not called a bug", () => {
    let error: unknown;
    try {
      readdirSync("/dev/null/sessions");
    } catch (thrown) {
      error = thrown;
    }
    expect(describeError(error, { verbose: false })).toMatch(/^buddy: \/dev\/null\/sessions: .* \(scandir\)$/);
    expect(describeError(error, { verbose: true })).toContain("at ");
  });

  test("a chain of causes that is a ring ends", () => {
    const error = new Error("ring");
    error.cause = error;
    expect(describeError(error, { verbose: true }).split("caused by").length).toBeLessThan(10);
  });

  test("control characters from a file do not reach the terminal", () => {
    const text = describeError(new BuddyError("config", "bad \u001b]52;c;eA==\u0007 \u009b2J \u202e"), {
      verbose: false,
    });
    expect(text).toBe("buddy: bad \\x1b]52;c;eA==\\x07 \\x9b2J \\u{202e}");
    expect(printable("plain äöü 漢字 \t\n")).toBe("plain äöü 漢字 \t\n");
  });

  test("a key in a message is not shown, wherever it came from", () => {
    const error = new BuddyError(
      "config",
      'models.x.api_key_env must be a name, found "sk-proj-abcdefghijklmnopqrstuvwxyz012345"',
      {
        cause: new Error("Authorization: Bearer my-own-odd-token-1234"),
      },
    );
    const text = describeError(error, { verbose: true, secrets: ["my-own-odd-token-1234"] });
    expect(text).not.toContain("sk-proj-abcdefghijklmnopqrstuvwxyz012345");
    expect(text).not.toContain("my-own-odd-token-1234");
  });

  test("a reader that went away is not an error", () => {
    expect(reportError(Object.assign(new Error("write EPIPE"), { code: "EPIPE" }), { verbose: false })).toBe(EXIT.ok);
    expect(written.err).toEqual([]);
  });

  test("every code has its exit code", () => {
    const codes: Record<ErrorCode, number> = {
      usage: 2,
      config: 2,
      auth: 4,
      model: 1,
      target: 1,
      tool: 1,
      budget: 1,
      approval: 3,
      session: 1,
      timeout: 124,
      interrupted: 130,
      terminated: 143,
      hangup: 129,
      internal: 1,
    };
    for (const [code, exit] of Object.entries(codes)) {
      expect(reportError(new BuddyError(code as ErrorCode, "x"), { verbose: false })).toBe(
        exitCodeOf(new BuddyError(code as ErrorCode, "x")),
      );
      expect(exitCodeOf(new BuddyError(code as ErrorCode, "x")) as number).toBe(exit);
    }
    expect(exitCodeOf(new Error("x"))).toBe(EXIT.failure);
  });
});

test("a table with wide characters was out of line", () => {
  const rows = alignColumns(
    [
      ["漢字", "1k", "end"],
      ["name", "128k", "end"],
    ],
    24,
    1,
  );
  expect(rows.map((row) => Bun.stringWidth(row.slice(0, row.indexOf("end"))))).toEqual([12, 12]);
  expect(rows[0]).toMatch(/^漢字 {4}1k/);
});

test.each([
  [{ env: {}, isTty: true }, true],
  [{ env: {}, isTty: false }, false],
  [{ env: { TERM: "dumb" }, isTty: true }, false],
  [{ env: { NO_COLOR: "1" }, isTty: true }, false],
  [{ env: { NO_COLOR: "" }, isTty: true }, true],
  [{ env: { FORCE_COLOR: "1" }, isTty: false }, true],
  [{ env: { FORCE_COLOR: "0" }, isTty: true }, false],
  [{ env: { FORCE_COLOR: "1", NO_COLOR: "1" }, isTty: true }, false],
  [{ env: { FORCE_COLOR: "1" }, isTty: true, flag: false }, false],
  [{ env: { CLICOLOR_FORCE: "1" }, isTty: false }, true],
  [{ env: { CLICOLOR_FORCE: "0" }, isTty: false }, false],
  [{ env: { CLICOLOR_FORCE: "1", NO_COLOR: "1" }, isTty: true }, false],
  [{ env: { CLICOLOR: "0" }, isTty: true }, false],
  [{ env: {}, isTty: false, setting: "always" as const }, true],
  [{ env: {}, isTty: true, setting: "never" as const }, false],
  [{ env: { FORCE_COLOR: "1" }, isTty: false, setting: "never" as const }, true],
])("colour with %p: %p", (question, answer) => expect(wantsColor(question)).toBe(answer));
