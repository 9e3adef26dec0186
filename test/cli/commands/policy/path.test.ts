import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type PathExplanation, pathExplainer } from "../../../../src/cli/commands/policy/path.ts";
import { fileAccess } from "../../../../src/targets/files/files.ts";
import { LocalTransport } from "../../../../src/targets/connection/local.ts";

let transport: LocalTransport;
let dir: string;

beforeAll(() => {
  transport = new LocalTransport();
  dir = realpathSync(mkdtempSync(join(tmpdir(), "buddy-path-")));
  mkdirSync(join(dir, "app"));
  mkdirSync(join(dir, "app2"));
  mkdirSync(join(dir, "repo/.git"), { recursive: true });
  writeFileSync(join(dir, "app/file"), "");
  symlinkSync("/etc", join(dir, "app/etc"));
  symlinkSync("/etc/passwd", join(dir, "app/last"));
  symlinkSync("/etc/not-there-yet", join(dir, "app/dangling"));
  symlinkSync("dangling", join(dir, "app/chain"));
  symlinkSync("../repo/.git", join(dir, "app/hooks"));
  symlinkSync("loop", join(dir, "app/loop"));
  symlinkSync(join(dir, "app"), join(dir, "alias"));
});

afterAll(async () => {
  await transport[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true });
});

function explain(path: unknown, allowedPaths: string[] = [], ownPaths: string[] = []): Promise<PathExplanation> {
  const files = fileAccess(transport, { cwd: () => dir });
  return pathExplainer(files, { allowedPaths, ownPaths, lockout: "guard" })(path);
}

test("decided on where the path leads: dots, links, last components, dangling ones, chains", async () => {
  const cases: [string, string, string][] = [
    ["app/file", "allow", `${dir}/app/file`],
    ["app/new/deep/file", "allow", `${dir}/app/new/deep/file`],
    ["app/../app/./file", "allow", `${dir}/app/file`],
    ["app/etc/passwd", "block", "/etc/passwd"],
    ["app/etc/../tmp/x", "allow", "/tmp/x"],
    ["app/last", "block", "/etc/passwd"],
    ["app/dangling", "block", "/etc/not-there-yet"],
    ["app/chain", "block", "/etc/not-there-yet"],
    ["app/nothing/../../../../../../../../../etc/x", "block", "/etc/x"],
    ["app/hooks/pre-commit", "ask", `${dir}/repo/.git/pre-commit`],
    ["/proc/self/root/etc/passwd", "block", "/etc/passwd"],
    ["//etc//passwd/", "block", "/etc/passwd"],
    ["~/.ssh/authorized_keys", "block", join(process.env["HOME"] ?? "", ".ssh/authorized_keys")],
  ];
  for (const [path, verdict, resolved] of cases)
    expect([path, await explain(path)]).toMatchObject([path, { verdict, resolved }]);
});

test("names that differ by process, loops and bad values", async () => {
  for (const path of ["/dev/stdout", "/dev/fd/1", "/proc/1/root/tmp/x", "/proc/self/fd/1", "app/loop/x", "", "a\0b"])
    expect([path, (await explain(path)).verdict]).toEqual([path, "block"]);
  await expect(explain(7)).rejects.toThrow("string");
  expect(await explain({ path: "app/file" })).toMatchObject({ verdict: "allow" });
});

test("allowed roots are resolved too, and a link does not lead out of them", async () => {
  const roots = [join(dir, "alias")];
  expect((await explain("app/file", roots)).verdict).toBe("allow");
  expect((await explain("alias/file", roots)).verdict).toBe("allow");
  expect((await explain("app2/file", roots)).verdict).toBe("block");
  expect((await explain("app/etc/passwd", roots)).verdict).toBe("block");
  expect((await explain("app/hooks/x", roots)).verdict).toBe("block");
});

test("hard-to-see names ask, with the name made visible", async () => {
  const answer = await explain("app/a\u202etxt\n");
  expect(answer.verdict).toBe("ask");
  expect(answer.why).toContain("a\\u{202e}txt\\n");
});

test("a start-up file that is a link is one also when it is named from its directory", async () => {
  const home = join(dir, "home");
  mkdirSync(join(home, "dotfiles"), { recursive: true });
  writeFileSync(join(home, "dotfiles/.bashrc"), "");
  symlinkSync("dotfiles/.bashrc", join(home, ".bashrc"));
  const local = fileAccess(transport, { cwd: () => home });
  const files = { ...local, resolve: async (path: string) => ({ ...(await local.resolve(path)), home }) };
  const judge = pathExplainer(files, { allowedPaths: [], ownPaths: [], lockout: "guard" });
  for (const path of [".bashrc", "./.bashrc", "dotfiles/../.bashrc", join(home, ".bashrc")])
    expect([path, (await judge(path)).verdict]).toEqual([path, "block"]);
  expect((await judge("dotfiles/.bashrc")).verdict).toBe("allow");
});

test("what cannot be resolved now is asked again with the next path", async () => {
  const local = fileAccess(transport, { cwd: () => dir });
  let down = true;
  const files = {
    ...local,
    resolve: async (path: string) => {
      if (path === "~" && down) throw new Error("the line is down");
      return local.resolve(path);
    },
  };
  const judge = pathExplainer(files, { allowedPaths: [], ownPaths: [], lockout: "guard" });
  await expect(judge(join(dir, "app/file"))).rejects.toThrow("the line is down");
  down = false;
  expect((await judge(join(dir, "app/file"))).verdict).toBe("allow");
});

test("buddy's own files, and what to do instead", async () => {
  const own = await explain("app/file", [], [join(dir, "app/file")]);
  expect(own).toMatchObject({ verdict: "block" });
  expect(own.why).toContain("by hand");
  expect((await explain("app/file", [], [join(dir, "alias")])).verdict).toBe("block");
});
