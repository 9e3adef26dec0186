import { expect, test } from "bun:test";
import { MAN_PAGE, manPage } from "../../scripts/make-man.ts";
import { COMMANDS } from "../../src/cli/command.ts";
import { KEYS } from "../../src/ui/commands/help.ts";
import { SLASH_COMMANDS } from "../../src/ui/commands/slash-commands.ts";
import { needs } from "../support/needs.ts";

test("docs/buddy.1 is what the commands say; otherwise: bun scripts/make-man.ts", async () => {
  expect(await Bun.file(MAN_PAGE).text()).toBe(await manPage());
});

test("what the help of a command says below its options is in it: the exit codes of buddy run, durations", async () => {
  const page = await manPage();
  expect(page).toContain("255 for one that was not reached");
  expect(page).toContain("a bare number is seconds");
});

// The man of macOS takes no file.
const man = await needs("linux", "man");
man.test("man shows it without complaint, every command in it", () => {
  const shown = Bun.spawnSync(["man", "--warnings", "-l", MAN_PAGE], {
    env: { PATH: process.env.PATH ?? "", MANWIDTH: "80", MANPAGER: "cat", LANG: "C.UTF-8" },
    stderr: "pipe",
  });
  expect(shown.stderr.toString()).toBe("");
  const text = shown.stdout.toString();
  for (const name of Object.keys(COMMANDS)) expect(text).toContain(`buddy ${name}`);
  expect(text).toContain("--approve MODE");
  for (const { name } of SLASH_COMMANDS) expect(text).toContain(`/${name}`);
  for (const [key] of KEYS) expect(text).toContain(key);
});
