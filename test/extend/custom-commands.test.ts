/** commands/NAME.md: which files are commands, and the prompts they become. */
import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { customCommands, expandCommand } from "../../src/extend/custom-commands.ts";

describe("a prompt", () => {
  test.each([
    ["look at $1 and $2", "a 'b c'", "look at a and b c"],
    ["look: $ARGUMENTS", "a 'b c'", "look: a 'b c'"],
    ["look at $1", "", "look at "],
    ["look", "at this", "look\n\nat this"],
    ["look", "", "look"],
    ["costs \\$1 and $10", "", "costs $1 and $10"],
    ["$1", "$2 $ARGUMENTS", "$2"],
    ["say $1", "it's", "say it's"],
    ["read @$1", "/etc/hosts", "read @/etc/hosts"],
  ])("%j with %j", (body, args, prompt) => {
    expect(expandCommand({ body }, args)).toBe(prompt);
  });
});

test("files that cannot be commands are named with the reason", () => {
  const dir = mkdtempSync(join(tmpdir(), "buddy-commands-"));
  try {
    writeFileSync(join(dir, "deploy.md"), "---\ndescription: ship it\nargument-hint: SERVICE\n---\nDeploy $1");
    writeFileSync(join(dir, "check.md"), "# Check the host\n\nLook around.");
    writeFileSync(join(dir, "Bad Name.md"), "x");
    writeFileSync(join(dir, "empty.md"), " \n");
    writeFileSync(join(dir, "binary.md"), "a\0b");
    writeFileSync(join(dir, "broken.md"), "---\na: [\n---\nx");
    writeFileSync(join(dir, "huge.md"), "x".repeat(70_000));
    writeFileSync(join(dir, "notes.txt"), "x");
    Bun.spawnSync(["mkfifo", join(dir, "pipe.md")]);
    const { commands, problems } = customCommands(dir);
    expect(commands.map(({ name, args, summary }) => ({ name, args, summary }))).toEqual([
      { name: "check", args: "", summary: "Check the host" },
      { name: "deploy", args: "SERVICE", summary: "ship it" },
    ]);
    expect(problems).toHaveLength(6);
    expect(customCommands(join(dir, "none"))).toEqual({ commands: [], problems: [] });
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});
