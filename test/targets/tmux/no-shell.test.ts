import { expect, setDefaultTimeout } from "bun:test";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { RunResult } from "../../../src/targets/target.ts";
import { endTmux } from "../../support/end-tmux.ts";
import { openTestTarget, type OpenedTarget, temporaryHome } from "../../support/tmux.ts";
import { until } from "../../support/until.ts";
import { available, needs } from "../../support/needs.ts";
import { TmuxUnusable } from "../../../src/targets/errors.ts";
import { naming } from "../../support/errors.ts";

const { afterAll, beforeAll, describe, test } = await needs("tmux");
const SHELLS: readonly string[] = await available("bash", "zsh", "fish", "dash", "mksh");

setDefaultTimeout(60_000);

let home: ReturnType<typeof temporaryHome>;
beforeAll(() => void (home = temporaryHome()));
afterAll(() => home[Symbol.dispose]());

const output = ({ output: { head } }: RunResult) => head;
const told = ({ notices }: OpenedTarget) => notices.map(({ text }) => text).join("\n");
const screen = async (place: OpenedTarget) => (await place.tmux("capture-pane", "-p", "-J", "-S", "-")).trimEnd();

describe("start-up files that end the shell", () => {
  const files: Record<string, string> = {
    bash: ".bashrc",
    zsh: ".zshrc",
    fish: ".config/fish/config.fish",
    dash: ".shrc",
    mksh: ".mkshrc",
  };
  test.each(Object.entries(files).filter(([shell]) => SHELLS.includes(shell)))(
    "%s comes up without them; once they are mended, with them",
    async (shell, file) => {
      const path = join(home.path, file);
      mkdirSync(dirname(path), { recursive: true });
      // In fish exit ends only the file.
      writeFileSync(path, shell === "fish" ? "exec sh -c 'exit 3'\n" : "exit 3\n");
      const before = process.env["ENV"];
      if (shell === "dash") process.env["ENV"] = path;
      try {
        await using place = await openTestTarget("local", { shell });
        expect(place.notices.map(({ kind }) => kind)).toEqual(["warning"]);
        expect(told(place)).toMatch(naming(shell, "exit code 3"));
        const first = await place.target.shell.run("echo works");
        expect([first.outcome, output(first)]).toEqual([{ kind: "exited", code: 0 }, "works\n"]);
        expect(first.notes.join()).toContain("exit");
        expect(await screen(place)).toMatch(new RegExp(`^buddy: ${shell} .*\\b3 times \\(exit code 3\\)`, "m"));
        writeFileSync(path, shell === "fish" ? "set -g MENDED yes\n" : "MENDED=yes\n");
        await place.types("exit\n");
        await until(
          async () => output(await place.target.shell.run("echo $MENDED")) === "yes\n",
          "they are read again",
        );
      } finally {
        if (before === undefined) delete process.env["ENV"];
        else process.env["ENV"] = before;
        rmSync(path);
      }
    },
  );

  test("a shell that took the place of another is not followed, whatever started it", async () => {
    const path = join(home.path, ".bashrc");
    writeFileSync(path, "exec dash -i\n");
    try {
      await using place = await openTestTarget("local", { shell: "bash" });
      expect(told(place)).toMatch(naming("bash", "start-up files"));
      expect(output(await place.target.shell.run("echo $BASH"))).toMatch(/bash$/m);
    } finally {
      rmSync(path);
    }
  });

  test("is known although it happened before buddy listened, and the prompt that is there is found at once", async () => {
    const real = Bun.which("tmux");
    const bin = join(home.path, "bin");
    const path = join(home.path, ".bashrc");
    const before = process.env["PATH"];
    mkdirSync(bin);
    // A client that comes when the shell is at its prompt.
    const late = `until ${real} $2 $3 capture-pane -p | grep -q '[[]buddy 1:'; do :; done`;
    writeFileSync(join(bin, "tmux"), `#!/bin/sh\ncase "$*" in *"-C attach"*) ${late} ;; esac\nexec ${real} "$@"\n`, {
      mode: 0o755,
    });
    writeFileSync(path, "exit 3\n");
    process.env["PATH"] = `${bin}:${before}`;
    try {
      await using place = await openTestTarget("local", { shell: "bash" });
      expect(told(place)).toMatch(naming("bash", "exit code 3"));
      expect(place.notices).toHaveLength(1);
      expect(output(await place.target.shell.run("echo works"))).toBe("works\n");
    } finally {
      process.env["PATH"] = before;
      rmSync(path);
      rmSync(bin, { recursive: true });
    }
  });
});

describe("a shell program that is not there", () => {
  test("is an error where a pane is required, and a direct shell with a notice elsewhere", async () => {
    const socket = `buddy-test-none-${process.pid}`;
    const options = { shell: "/nowhere/bash", tmuxSocket: socket };
    await expect(openTestTarget("local", options)).rejects.toBeInstanceOf(TmuxUnusable);
    // The pane of the first attempt is still there, waiting; it is not asked again.
    await using place = await openTestTarget("local", { ...options, tmux: "auto" });
    expect(place.target.shell.kind).toBe("direct");
    expect(told(place)).toContain("bash");
    expect(output(await place.target.shell.run("echo works"))).toBe("works\n");
    const panes = await place.tmux("list-panes", "-a", "-F", "#{pane_id}");
    expect(panes.trim().split("\n")).toHaveLength(1);
    expect(await screen(place)).toMatch(/buddy: bash .*\(exit code 127\)[^]*\bEnter\b[^\n]*$/);
    endTmux(socket);
  });

  test("any more: the pane waits, buddy says so, and Enter tries again", async () => {
    const shell = join(home.path, "bash");
    symlinkSync(Bun.which("bash") ?? "", shell);
    await using place = await openTestTarget("local", { shell });
    expect(output(await place.target.shell.run("echo works"))).toBe("works\n");
    rmSync(shell);
    expect((await place.target.shell.run("exit 4")).outcome).toEqual({ kind: "shell-ended", code: 4 });
    for (const command of ["echo never", "echo never again"]) {
      const { outcome } = await place.target.shell.run(command);
      expect(outcome.kind === "lost" && outcome.why).toContain("Enter");
    }
    symlinkSync(Bun.which("bash") ?? "", shell);
    await place.types("\n");
    await until(async () => output(await place.target.shell.run("echo back")) === "back\n", "it comes up again");
  });

  test("one that ends at every prompt is not started without end", async () => {
    writeFileSync(join(home.path, ".bashrc"), "");
    await using place = await openTestTarget("local", { shell: "bash" });
    writeFileSync(join(home.path, ".bashrc"), "PROMPT_COMMAND='exit 5'\n");
    await place.types("exit\n");
    await until(async () => /^buddy: bash .*\(exit code 5\)/m.test(await screen(place)), "the pane says so");
    expect((await place.target.shell.run("echo never")).outcome.kind).toBe("lost");
    rmSync(join(home.path, ".bashrc"));
  });
});

const mksh = await needs("tmux", "mksh");
mksh.test("sh is mksh, which gives the terminal to no job of a script: there was no pane", async () => {
  const bin = join(home.path, "sh is mksh");
  const before = process.env["PATH"];
  mkdirSync(bin);
  symlinkSync(Bun.which("mksh") ?? "", join(bin, "sh"));
  process.env["PATH"] = `${bin}:${before}`;
  try {
    for (const shell of SHELLS) {
      await using place = await openTestTarget("local", { shell });
      const { shell: pane } = place.target;
      expect((await pane.run("exit 3")).outcome).toEqual({ kind: "shell-ended", code: 3 });
      expect((await pane.run("sh -c 'kill -9 $PPID'")).outcome).toEqual({ kind: "shell-ended", code: 137 });
      expect(output(await pane.run("echo back"))).toBe("back\n");
    }
  } finally {
    process.env["PATH"] = before;
  }
});
