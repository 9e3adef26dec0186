/** How a command ended, in the words the model gets: one test for each outcome a target can have. */
import { describe, expect, test } from "bun:test";
import type { CapturedText, RunOutcome, RunResult } from "../../src/targets/target.ts";
import { type OutcomeContext, outcomeText } from "../../src/tools/outcome-text.ts";

const text = (head: string, tail = "", omittedBytes = 0): CapturedText => ({
  head,
  tail,
  omittedBytes,
  totalBytes: head.length + tail.length + omittedBytes,
});

function told(outcome: RunOutcome, more: Partial<RunResult> = {}, context: Partial<OutcomeContext> = {}) {
  const result: RunResult = { outcome, output: text(""), cwd: "/", notes: [], ...more };
  return outcomeText(result, { waitMs: 120_000, shell: "tmux", budget: 1_000, mask: (text) => text, ...context });
}

describe("outcomes", () => {
  test.each<[RunOutcome, RegExp, boolean]>([
    [{ kind: "exited", code: 0 }, /^\(no output\)$/, true],
    [{ kind: "exited", code: 2 }, /^\[command failed: exit code 2\]$/, false],
    [{ kind: "running", why: "no-wait" }, /^\[command sent, not waited for\]\nLook at it with capture-pane/, true],
    [
      { kind: "running", why: "busy" },
      /^\[not run: a program is still running in the pane\]\nNothing was typed\./,
      false,
    ],
    [{ kind: "running", why: "busy", program: "vim" }, /^\[not run: vim is still running in the pane\]/, false],
    [{ kind: "running", why: "deadline" }, /^\[command timed out after 2m\]\nIt is still running in the pane\./, false],
    [{ kind: "stopped", by: "user" }, /^operation cancelled by user$/, false],
    [
      { kind: "stopped", by: "deadline" },
      /^\[command timed out after 2m\]\nIt was not run: the pane was not free\./,
      false,
    ],
    [{ kind: "waiting", for: "line", program: "apt" }, /^\[waiting for input: apt\]\nAnswer with send-keys/, false],
    [{ kind: "waiting", for: "repl", program: "psql" }, /^\[interactive program at its prompt: psql\]/, false],
    [{ kind: "waiting", for: "full-screen", program: "" }, /^\[full-screen program: the command\]/, false],
    [
      { kind: "waiting", for: "full-screen", program: "vi", earlier: true },
      /^\[not run: the pane is in use, full-screen program: vi\]\nSee it with capture-pane/,
      false,
    ],
    [
      { kind: "waiting", for: "password", program: "sudo" },
      /^\[waiting for a password in sudo\]\n.*in the pane \(tmux attach\)\. Do not ask for it/,
      false,
    ],
    [{ kind: "incomplete", hint: "quote" }, /^\[command incomplete: quote\]\nIt was not run\./, false],
    [{ kind: "shell-ended", code: 1 }, /^\[the shell ended with exit code 1\]\n.*functions are lost\.$/, false],
    [
      { kind: "lost", why: "it is gone; it did not run", notRun: true },
      /^\[lost: it is gone; it did not run\]$/,
      false,
    ],
    [
      { kind: "lost", why: "the connection dropped" },
      /^\[lost: the connection dropped\]\nIt is not known whether/,
      false,
    ],
  ])("%j", (outcome, words, ok) => {
    const result = told(outcome, {}, { attach: "tmux attach" });
    expect(String(result.result)).toMatch(words);
    const notRun = /^\[not run: |It was not run: the pane/.test(String(result.result));
    expect(result).toMatchObject({ ok, outcome: notRun ? "not-run" : outcome.kind });
    if (notRun) expect(result.display).toMatch(/^not run: .*[^\]]$/);
    // What the model can do next is not for people.
    expect(result.display ?? "").not.toMatch(/send-keys|capture-pane|shell_output|Do not/);
  });
});

describe("what it printed", () => {
  test("stdout, then stderr apart, then notes", () => {
    const { result } = told(
      { kind: "exited", code: 1 },
      { output: text("out\n"), stderr: text("err\n"), notes: ["the operator typed ls"] },
      { shell: "direct" },
    );
    expect(result).toBe("[command failed: exit code 1]\nout\n[stderr]\nerr\n[note: the operator typed ls]");
    const only = told({ kind: "exited", code: 0 }, { stderr: text("warning\n") }, { shell: "direct" });
    expect(only.result).toBe("[stderr]\nwarning");
  });

  test("binary data is named, with a glimpse of it", () => {
    const output = { ...text("\ufffd".repeat(900)), binary: true } as const;
    const { result } = told({ kind: "exited", code: 0 }, { output });
    expect(result).toContain("binary data");
    expect(String(result).match(/\ufffd/g)?.length).toBe(200);
  });

  test("too much of both: each keeps a half, and the way to the rest is named", () => {
    const { result } = told(
      { kind: "exited", code: 0 },
      {
        output: text("o".repeat(5_000), "p".repeat(5_000), 90_000),
        stderr: text("e".repeat(5_000)),
        outputId: "out-1",
        stderrId: "err-1",
      },
    );
    const words = String(result);
    expect(words).toContain('shell_output output_id="out-1" offset=');
    expect(words).toContain('shell_output output_id="err-1" offset=');
    expect(words.replaceAll(/[^op]/g, "").length).toBeGreaterThan(400);
    expect(words.match(/e{100,}/g)?.join("").length).toBeGreaterThan(300);
    expect(words.length).toBeLessThan(1_600);
    const lost = told({ kind: "exited", code: 0 }, { output: text("x".repeat(5_000)) });
    expect(String(lost.result)).toContain("run it again with a filter, or write it to a file");
  });
});
