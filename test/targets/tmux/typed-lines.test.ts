/** What is typed for an adopted shell does nothing in any other, from whichever key on that one reads it. */
import { expect } from "bun:test";
import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { commandLines, unseenLine, unseenText } from "../../../src/targets/tmux/adopted-hooks.ts";
import { available, needs } from "../../support/needs.ts";

const { test } = await needs("linux");
const SHELLS: readonly string[] = await available("bash", "zsh", "fish", "dash", "mksh", "busybox");
const WORD = "0123456789dd";
const COMMANDS = [
  "made",
  "sudo made",
  "echo 'it'\\''s'; made",
  'x="$(made)"; `made`',
  "made>made2 <<E\nmade\nE",
  "\\' ; made ; '",
  "a=b made & made",
  ": && made || made",
  `${"made ".repeat(100)}`,
];

test.each(SHELLS)("%s", async (shell) => {
  const directory = mkdtempSync(join(tmpdir(), "buddy-typed-"));
  try {
    const bin = join(directory, "bin");
    // Whatever runs leaves a file.
    await Bun.$`mkdir ${bin}`.quiet();
    for (const name of ["made", "ade", "de", "e", "sudo", "echo", "x", "a", "dd", "d", "0123456789dd"]) {
      writeFileSync(join(bin, name), `#!/bin/sh\n: >"${directory}/ran-${name}"\n`);
      chmodSync(join(bin, name), 0o755);
    }
    const typed = COMMANDS.flatMap((command) => [
      ...commandLines(WORD, command, 77),
      unseenLine(WORD, command, "ab12"),
      unseenText(command, 77),
    ]);
    const ends = typed.flatMap((line) =>
      Array.from({ length: Math.min(line.length, 160) }, (_, at) => line.slice(line.length - at - 1)),
    );
    // A shell that is told lines as at its prompt: an error in one does not end it.
    const argv = shell === "busybox" ? ["busybox", "ash"] : [shell];
    const child = Bun.spawn([...argv, "-i"], {
      cwd: directory,
      env: { PATH: `${bin}:/usr/bin:/bin`, HOME: directory, TERM: "dumb" },
      stdin: Buffer.from(`${[...ends, ...typed].join("\n")}\n: >reached\n`),
      stdout: "ignore",
      stderr: "ignore",
    });
    await child.exited;
    const left = readdirSync(directory).filter((name) => !name.startsWith("."));
    expect(left.sort()).toEqual(["bin", "reached"]);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});
