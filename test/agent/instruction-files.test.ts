/** AGENTS.md files: which are taken, in which order, how much of them, and how they stand in the prompt. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { chownSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { systemPrompt, instructionFiles } from "../../src/agent/system-prompt.ts";
import { skillPlaces } from "../../src/extend/skills/skill-places.ts";
import { needs } from "../support/needs.ts";

const asRoot = await needs("root");

let dir: string;
beforeEach(() => void (dir = realpathSync(mkdtempSync(join(tmpdir(), "buddy-agents-")))));
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function write(path: string, text: string | Uint8Array): string {
  mkdirSync(dirname(join(dir, path)), { recursive: true });
  writeFileSync(join(dir, path), text);
  return join(dir, path);
}

const found = (config: string | undefined, cwd: string | undefined) =>
  instructionFiles(config && join(dir, config), cwd && join(dir, cwd));
const taken = (config: string | undefined, cwd: string | undefined) => found(config, cwd).files;

test("global first, then from the repository root down; nothing above it", () => {
  write("AGENTS.md", "above the repository");
  write("config/AGENTS.md", "global");
  write("repo/.git/HEAD", "");
  write("repo/AGENTS.md", "root");
  write("repo/a/b/AGENTS.md", "deep");
  expect(taken("config", "repo/a/b").map(({ text }) => text)).toEqual(["global", "root", "deep"]);
  expect(taken(undefined, "repo/a").map(({ text }) => text)).toEqual(["root"]);
  expect(taken("config", undefined).map(({ text }) => text)).toEqual(["global"]);
});

asRoot.test("a repository that another user made above the directory does not count", () => {
  write("shared/AGENTS.md", "planted");
  const git = dirname(write("shared/.git/HEAD", ""));
  write("shared/mine/AGENTS.md", "here");
  chownSync(git, 12345, 12345);
  expect(taken(undefined, "shared/mine").map(({ text }) => text)).toEqual(["here"]);
  // Who works in it says so by being there, or has it from the one whose directory that is.
  expect(taken(undefined, "shared").map(({ text }) => text)).toEqual(["planted"]);
  chownSync(join(dir, "shared/mine"), 12345, 12345);
  expect(taken(undefined, "shared/mine").map(({ text }) => text)).toEqual(["planted", "here"]);
});

asRoot.test("nor do its skills", () => {
  const git = dirname(write("shared/.git/HEAD", ""));
  write("shared/.agents/skills/planted/SKILL.md", "");
  write("shared/mine/.agents/skills/own/SKILL.md", "");
  const places = () => skillPlaces(undefined, undefined, join(dir, "shared/mine")).map(({ directory }) => directory);
  const own = join(dir, "shared/mine/.agents/skills");
  expect(places()).toEqual([own, join(dir, "shared/.agents/skills")]);
  chownSync(git, 12345, 12345);
  expect(places()).toEqual([own]);
});

test("outside a repository only the working directory counts", () => {
  write("AGENTS.md", "above");
  write("plain/AGENTS.md", "here");
  expect(taken(undefined, "plain").map(({ text }) => text)).toEqual(["here"]);
});

test("what is empty, binary, a directory, a dangling link or the same file twice is left out", () => {
  write("repo/.git/HEAD", "");
  const one = write("repo/AGENTS.md", "once");
  mkdirSync(join(dir, "repo/a/b/c/d/e"), { recursive: true });
  symlinkSync(one, join(dir, "repo/a/AGENTS.md"));
  write("repo/a/b/AGENTS.md", "text\0with a zero");
  write("repo/a/b/c/AGENTS.md", " \n");
  symlinkSync(join(dir, "nowhere"), join(dir, "repo/a/b/c/d/AGENTS.md"));
  mkdirSync(join(dir, "repo/a/b/c/d/e/AGENTS.md"));
  expect(taken(undefined, "repo/a/b/c/d/e").map(({ path }) => path)).toEqual([one]);
});

test.each([
  ["home/.aws/credentials", "out of the repository"],
  ["elsewhere/notes.md", "out of the repository"],
  ["repo/.ssh/id_rsa", "a file with keys"],
])("a repository that links its AGENTS.md to %s is skipped with a notice", (target, why) => {
  write("repo/.git/HEAD", "");
  symlinkSync(write(target, "secret words"), join(dir, "repo/AGENTS.md"));
  const { files, notices } = found(undefined, "repo");
  expect(files).toEqual([]);
  expect(notices.join()).toContain(why);
  expect(notices.join()).not.toContain("secret words");
});

test("links inside the repository, a repository behind a link, and the operator's own link are followed", () => {
  write("repo/.git/HEAD", "");
  symlinkSync(write("repo/docs/agents.md", "inside"), join(dir, "repo/AGENTS.md"));
  mkdirSync(join(dir, "config"));
  symlinkSync(write("dotfiles/agents.md", "mine"), join(dir, "config/AGENTS.md"));
  symlinkSync(join(dir, "repo"), join(dir, "link"));
  for (const at of ["repo", "link"]) {
    expect(found("config", at)).toMatchObject({ files: [{ text: "mine" }, { text: "inside" }], notices: [] });
  }
});

test("large ones are cut, and together they are bounded", () => {
  write("repo/.git/HEAD", "");
  for (const at of ["repo", "repo/a", "repo/a/b", "repo/a/b/c"]) write(`${at}/AGENTS.md`, `${at} `.repeat(10_000));
  const files = taken(undefined, "repo/a/b/c");
  expect(files.length).toBeLessThan(4);
  expect(files[0]?.text).toContain(` ${dir}/repo/AGENTS.md`);
  expect(files.reduce((sum, { text }) => sum + text.length, 0)).toBeLessThan(34_000);
});

test("the prompt names target, shell, tools and the operator's words", () => {
  const facts = { label: "ssh web1", who: "op@web1", system: "Linux, bash", cwd: "/srv", tmux: true } as const;
  const base = { facts, tools: ["run_shell", "time"], operator: "Be brief.", files: [], dryRun: false };
  const prompt = systemPrompt(base);
  expect(prompt).toContain("ssh web1, op@web1, Linux, bash, directory /srv");
  expect(prompt).toContain("run_shell, time");
  expect(prompt).toContain("Instructions from the operator:\n\nBe brief.");
  expect(prompt).toContain("in a tmux pane that the operator can watch");
  expect(prompt).not.toContain("{{");
  const direct = systemPrompt({ ...base, facts: { label: "local", tmux: false }, operator: " ", dryRun: true });
  expect(direct).toContain("without a terminal (no tmux)");
  expect(direct).toContain("This is a dry run");
  expect(direct).not.toContain("Instructions from the operator");
  expect(systemPrompt({ ...base, facts: { label: "ssh web1", tmux: undefined } })).toContain("where there is tmux");
});
