/** The question to a target whether its repository names a program, against real repositories and shells. */
import { expect } from "bun:test";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import {
  gitFingerprintScript,
  gitRepositoryScript,
  isHarmlessSetting,
  readGitRepository,
} from "../../../src/policy/shell/read-only/git-repository.ts";
import { available, needs } from "../../support/needs.ts";

const { afterAll, beforeAll, test } = await needs("git");
const PRESENT = await available("dash", "bash", "mksh", "busybox");
const SHELLS = [["sh"], ...PRESENT.map((name) => (name === "busybox" ? ["busybox", "ash"] : [name]))];

let root: string;
let ran: string;
const path = (...parts: string[]) => join(root, ...parts);
const env = () => ({
  PATH: process.env.PATH ?? "/usr/bin:/bin:/usr/sbin",
  HOME: root,
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_AUTHOR_NAME: "a",
  GIT_AUTHOR_EMAIL: "a@example.com",
  GIT_COMMITTER_NAME: "a",
  GIT_COMMITTER_EMAIL: "a@example.com",
});

function git(directory: string, ...args: string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(["git", "-c", "protocol.file.allow=always", ...args], {
    cwd: directory,
    env: env(),
  });
  if (exitCode !== 0) throw new Error(`git ${args.join(" ")}: ${stderr}`);
}

function repository(name: string, ...settings: string[]): string {
  const directory = path(name);
  git(root, "init", "-q", directory);
  writeFileSync(join(directory, "f"), "one\n");
  git(directory, "add", "f");
  git(directory, "commit", "-qm", "one");
  writeFileSync(join(directory, "f"), "two\n");
  for (const setting of settings) {
    const [key = "", value = ""] = setting.split("=");
    git(directory, "config", key, value);
  }
  return directory;
}

/** The doubt, in each of the shells that may run the script; they must agree, and start nothing. */
function doubt(directory: string, entered = false): string | undefined {
  const script = gitRepositoryScript({ kind: "git-config", directory, ...(entered ? { entered: true } : {}) });
  const answers = SHELLS.map((shell) => {
    const { stdout } = Bun.spawnSync([...shell, "-c", script], { cwd: root, env: env() });
    return readGitRepository(stdout.toString()).doubt;
  });
  expect(new Set(answers).size).toBe(1);
  expect(existsSync(ran)).toBe(false);
  return answers[0];
}

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "buddy-repositories-"));
  ran = path("ran");
  writeFileSync(path("program"), `#!/bin/sh\necho ran >> ${ran}\n`);
  chmodSync(path("program"), 0o755);
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

test("a fresh repository, a directory below it and a directory without one raise no doubt", () => {
  const directory = repository(
    "plain",
    "remote.origin.url=https://example.com/x.git",
    "branch.main.merge=refs/heads/main",
  );
  mkdirSync(join(directory, "sub dir"));
  mkdirSync(path("empty"));
  expect([doubt(directory), doubt("plain/sub dir"), doubt("empty"), doubt("not/there")]).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

test("the positive control: git status does run what core.fsmonitor names", () => {
  const directory = repository("control", `core.fsmonitor=${path("program")}`);
  Bun.spawnSync(["git", "status"], { cwd: directory, env: env() });
  expect(existsSync(ran)).toBe(true);
  rmSync(ran);
});

test("the question starts no program of the repository, even if PATH names its directory", () => {
  const directory = repository("own-programs");
  for (const name of ["git", "ls", "tr", "sed"]) symlinkSync(path("program"), join(directory, name));
  const script = gitRepositoryScript({ kind: "git-config", directory });
  for (const shell of SHELLS) {
    const before = env();
    const { stdout } = Bun.spawnSync([...shell, "-c", script], {
      cwd: directory,
      env: { ...before, PATH: `.:${before.PATH}` },
    });
    expect([existsSync(ran), readGitRepository(stdout.toString()).doubt]).toEqual([false, undefined]);
  }
});

test.each([
  ["core.fsmonitor"],
  ["core.pager"],
  ["core.sshcommand"],
  ["core.hookspath"],
  ["diff.external"],
  ["diff.x.textconv"],
  ["diff.x.command"],
  ["filter.x.clean"],
  ["filter.x.process"],
  ["credential.helper"],
  ["gpg.program"],
  ["log.showsignature"],
  ["pager.log"],
  ["remote.origin.promisor"],
  ["some.unknown"],
])("%s in the repository's own configuration raises a doubt", (key) => {
  const directory = repository(`key-${key}`, `${key}=${path("program")}`);
  writeFileSync(join(directory, ".gitattributes"), "* diff=x filter=x\n");
  expect(doubt(directory)).toContain(key.replace(".x.", ".x."));
});

test.each(["format.pretty=%h %G?", "branch.sort=signature:key", "tag.sort=-signature"])("%s starts gpg", (setting) => {
  expect(doubt(repository(`signature-${setting.length}`, setting))).toContain(setting.split("=")[0] as string);
});

test("settings in an included file count, also under a condition", () => {
  writeFileSync(path("more"), `[core]\n\tfsmonitor = ${path("program")}\n`);
  expect(doubt(repository("include", `include.path=${path("more")}`))).toContain("core.fsmonitor");
  expect(doubt(repository("include-if", `includeIf.gitdir:/elsewhere/.path=${path("more")}`))).toContain("include");
});

test("the configuration of one working tree counts", () => {
  const directory = repository("trees", "extensions.worktreeConfig=true");
  git(directory, "worktree", "add", "-q", path("tree"));
  git(path("tree"), "config", "--worktree", "core.fsmonitor", path("program"));
  expect(doubt("tree")).toContain("core.fsmonitor");
  expect(doubt(directory)).toBeUndefined();
});

test("a bare repository inside another repository raises a doubt, one by itself does not", () => {
  const outer = repository("outer");
  git(root, "init", "-q", "--bare", join(outer, "tpl"));
  git(root, "init", "-q", "--bare", path("alone.git"));
  expect(doubt("outer/tpl")).toContain("bare");
  expect(doubt("outer/tpl/refs")).toContain("bare");
  git(join(outer, "tpl"), "config", "core.bare", "false");
  git(root, "--git-dir", join(outer, "tpl"), "config", "core.worktree", path("empty"));
  expect(doubt("outer/tpl")).toContain("bare");
  expect(doubt("alone.git")).toBeUndefined();
});

test.each(["/", "../..", "../../other"])("core.worktree = %s would show files outside the repository", (worktree) => {
  const directory = repository(`elsewhere-${worktree.length}`, `core.worktree=${worktree}`);
  mkdirSync(path("other"), { recursive: true });
  expect(doubt(directory)).toContain("outside");
});

test("git shows lines of files that settings of the repository name: one outside it raises a doubt", () => {
  const line = "machine example.com login kim password not-a-word!";
  writeFileSync(path("key"), `${line}\n`);
  const blamed = repository("blamed", `blame.ignoreRevsFile=${path("key")}`);
  const { stderr } = Bun.spawnSync(["git", "blame", "f"], { cwd: blamed, env: env() });
  expect(stderr.toString()).toContain(line);
  const attributed = repository("attributed", `core.attributesFile=${path("key")}`);
  expect([doubt(blamed), doubt(attributed)]).toEqual([
    expect.stringContaining("blame.ignorerevsfile"),
    expect.stringContaining("core.attributesfile"),
  ]);
  const usual = repository("usual", "blame.ignoreRevsFile=.git-blame-ignore-revs");
  writeFileSync(join(usual, ".git-blame-ignore-revs"), "# none\n");
  expect(doubt(usual)).toBeUndefined();
  rmSync(join(usual, ".git-blame-ignore-revs"));
  symlinkSync(path("key"), join(usual, ".git-blame-ignore-revs"));
  expect(doubt(usual)).toContain("outside");
});

test.each([
  "packed-refs",
  "shallow",
  "info/grafts",
  "info/attributes",
  "info/exclude",
  "objects/info/alternates",
  "rebase-merge/done",
])("git shows lines of .git/%s: a link out of it raises a doubt", (name) => {
  const directory = repository(`linked-${name.replace("/", "-")}`);
  const file = join(directory, ".git", name);
  mkdirSync(dirname(file), { recursive: true });
  rmSync(file, { force: true });
  writeFileSync(path("key"), "secret\n");
  symlinkSync(path("key"), file);
  expect(doubt(directory)).toBeDefined();
});

test("links to the same file of another repository raise no doubt, nor does an old HEAD", () => {
  const directory = repository("shared");
  for (const name of ["config", "packed-refs"]) {
    mkdirSync(path("project.git"), { recursive: true });
    git(directory, "pack-refs", "--all");
    renameSync(join(directory, ".git", name), path("project.git", name));
    symlinkSync(path("project.git", name), join(directory, ".git", name));
  }
  expect(doubt(directory)).toBeUndefined();
  const old = repository("old-head");
  const branch = readFileSync(join(old, ".git/HEAD"), "utf8").trim().slice("ref: ".length);
  rmSync(join(old, ".git/HEAD"));
  symlinkSync(branch, join(old, ".git/HEAD"));
  expect(doubt(old)).toBeUndefined();
});

test("a .git file that points elsewhere is judged by what it points to", () => {
  const hidden = repository("hidden", `core.fsmonitor=${path("program")}`);
  mkdirSync(path("pointing"));
  writeFileSync(path("pointing", ".git"), `gitdir: ${hidden}/.git\n`);
  expect(doubt("pointing")).toContain("core.fsmonitor");
});

test("the configuration of a submodule counts, because git status looks into it", () => {
  const part = repository("part");
  const whole = repository("whole");
  git(whole, "submodule", "--quiet", "add", part, "part of it");
  expect(doubt(whole)).toBeUndefined();
  git(join(whole, "part of it"), "config", "core.fsmonitor", path("program"));
  expect(doubt(whole)).toContain("core.fsmonitor");
});

test("a hook that runs when git refreshes its index raises a doubt", () => {
  const directory = repository("hooked");
  mkdirSync(join(directory, ".git/hooks"), { recursive: true });
  writeFileSync(join(directory, ".git/hooks/post-index-change"), `#!/bin/sh\necho >> ${ran}\n`);
  chmodSync(join(directory, ".git/hooks/post-index-change"), 0o755);
  expect(doubt(directory)).toContain("hook");
});

(await needs("git", "root")).test(
  "another user's repository raises a doubt, also where the operator trusts every directory",
  () => {
    const directory = repository("foreign");
    for (const item of ["", ".git", ".git/config"]) chownSync(join(directory, item), 12_345, 12_345);
    expect(doubt(directory)).toBeDefined();
    writeFileSync(path(".gitconfig"), "[safe]\n\tdirectory = *\n");
    expect(doubt(directory)).toContain("another user");
    rmSync(path(".gitconfig"));
  },
);

test("a directory that the text enters must be there: git would look at another one", () => {
  expect(doubt("not/there", true)).toBeDefined();
});

test("the operator's own configuration names programs without a doubt", () => {
  const directory = repository("own");
  writeFileSync(path(".gitconfig"), '[core]\n\tpager = less\n[filter "lfs"]\n\tclean = git-lfs clean -- %f\n');
  expect(doubt(directory)).toBeUndefined();
  rmSync(path(".gitconfig"));
});

test("the fingerprint changes with the configuration and stays without a change", () => {
  const directory = repository("kept");
  const condition = { kind: "git-config", directory } as const;
  const say = (script: string) => Bun.spawnSync(["sh", "-c", script], { cwd: root, env: env() }).stdout.toString();
  const { files } = readGitRepository(say(gitRepositoryScript(condition)));
  const before = say(gitFingerprintScript(condition, files ?? []));
  expect(say(gitFingerprintScript(condition, files ?? []))).toBe(before);
  git(directory, "config", "core.fsmonitor", path("program"));
  expect(say(gitFingerprintScript(condition, files ?? []))).not.toBe(before);
});

test("an answer that was cut or is odd raises a doubt", () => {
  for (const answer of [
    "",
    "repository\n",
    "repository\nkey core.bare\u001Efalse",
    "surprise\nend\n",
    "end\nrepository\n",
  ])
    expect(readGitRepository(answer).doubt).toBeDefined();
});

test("a value decides where a setting may be off", () => {
  expect(isHarmlessSetting("core.fsmonitor", "false")).toBe(true);
  expect(isHarmlessSetting("core.fsmonitor", "true")).toBe(false);
  expect(isHarmlessSetting("pager.log", "false")).toBe(true);
  expect(isHarmlessSetting("core.pager", "less")).toBe(false);
});
