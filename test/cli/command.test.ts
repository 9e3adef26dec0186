/** Commands that only answer, inside this process: policy, completion, and what resume, exec and init refuse. */
import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Here } from "../support/in-process.ts";
import { runHere } from "../support/stdout.ts";

describe("buddy policy", () => {
  const answer = async (...args: string[]) => {
    const { code, stdout, stderr } = await runHere("policy", ...args, "--json");
    const found = JSON.parse(stdout) as Record<string, unknown>;
    const endsWith = args[0] !== "shell" || found["verdict"] === "allow" ? 0 : found["verdict"] === "ask" ? 3 : 4;
    expect({ code, stderr }).toEqual({ code: endsWith, stderr: "" });
    return found;
  };

  test("explains a command, an address, a path and a text, and does nothing", async () => {
    await using here = new Here([], { config: '[tools]\nshell_denylist = ["terraform destroy"]\n' });
    expect(await answer("shell", "ls -la")).toMatchObject({ verdict: "allow", read_only: true });
    expect(await answer("shell", "touch made")).toMatchObject({ verdict: "ask", read_only: false });
    expect(await answer("shell", "git push --force")).toMatchObject({ verdict: "block", instead: expect.any(String) });
    expect(await answer("shell", "terraform destroy -auto-approve")).toMatchObject({ verdict: "block" });
    expect(await answer("url", "http://169.254.169.254/")).toMatchObject({ verdict: "block" });
    expect(await answer("path", "~/.ssh/authorized_keys")).toMatchObject({
      verdict: "block",
      resolved: join(here.home, ".ssh/authorized_keys"),
    });
    expect(await answer("path", "notes.txt")).toMatchObject({ resolved: join(here.cwd, "notes.txt") });
    expect(await answer("text", "a\u001b]52;c;eA==\u0007b")).toEqual({ shown: "ab" });
    expect(existsSync(join(here.cwd, "made"))).toBe(false);
    expect(here.model.requests).toEqual([]);
  });

  test("in words for people; a value beside --batch is refused", async () => {
    await using here = new Here();
    const { code, stdout } = await runHere("policy", "shell", "git push --force");
    expect(code).toBe(4);
    expect(stdout).toContain("block");
    expect(stdout).toContain("--force-with-lease");
    expect(await runHere("policy", "shell", "ls", "--batch")).toMatchObject({ code: 2, stdout: "" });
    expect(await runHere("policy", "nonsense", "x")).toMatchObject({ code: 2 });
    here.write("home/.config/buddy/buddy.toml", "[agent");
    expect((await runHere("policy", "shell", "ls")).code).toBe(2);
  });
});

test.each(["bash", "zsh", "fish"])("buddy completion %s", async (shell) => {
  const { code, stdout } = await runHere("completion", shell);
  expect(code).toBe(0);
  expect(stdout).toContain("__complete");
});

test.each([
  [["resume"], "no session given, and there is no terminal to choose one on"],
  [["resume", "--last", "abcd"], "give an id or --last, not both"],
  [["exec", "--fork", "hi"], "--fork requires --resume ID"],
  [["exec", "--max-iterations", "none", "hi"], "--max-iterations"],
  [["exec", "--timeout", "soon", "hi"], "--timeout"],
  [["sessions", "burn"], "burn"],
])("%p is a usage error", async (argv, words) => {
  await using here = new Here();
  const { code, stdout, stderr } = await runHere(...argv);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toContain(words);
  expect(here.model.requests).toEqual([]);
});
