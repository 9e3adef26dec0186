import { expect, test } from "bun:test";
import { answerBatch } from "../../../../src/cli/commands/policy/command.ts";
import { explainer } from "../../../../src/cli/commands/policy/shell.ts";
import { sandbox } from "../../../support/buddy.ts";
import { needs } from "../../../support/needs.ts";

test("buddy policy shell: words, JSON, stdin and batches on the binary, creating nothing", async () => {
  using box = sandbox();
  const words = await box.run(["policy", "shell", "git push --force"]);
  expect(words.stdout).toStartWith("block: permission denied: git push --force is not allowed");
  expect(words.stdout).toContain("instead: Use git push --force-with-lease");
  expect(words.code).toBe(4);
  const json = JSON.parse((await box.run(["policy", "shell", "--json", "ls | wc -l"])).stdout);
  expect(json).toMatchObject({ verdict: "allow", read_only: true, instead: null, risk: "low" });
  expect(json.commands.map((command: { words: string[] }) => command.words)).toEqual([["ls"], ["wc", "-l"]]);
  expect((await box.run(["policy", "shell"], { stdin: "cat <<E | sh\nrm -rf /\nE\n" })).stdout).toStartWith("block: ");
  const { stdout } = await box.run(["policy", "shell", "--batch"], {
    stdin: '"ls"\nnot json\n{"a":1}\n\n"touch x"\n"rm -rf ~"',
  });
  const verdicts = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line).verdict ?? "error");
  expect(verdicts).toEqual(["allow", "error", "error", "error", "ask", "block"]);
  expect((await box.run(["policy", "shell", "--batch", "ls"])).code).toBe(2);
  expect([...new Bun.Glob("**/*").scanSync({ cwd: box.home, dot: true })]).toEqual([]);
});

test("the rules of the configuration hold", async () => {
  using box = sandbox();
  box.write(
    "home/.config/buddy/buddy.toml",
    '[tools]\nshell_allow = ["make"]\nshell_denylist = ["terraform destroy"]\n[safety]\ngit_add = "off"\nforce_push = "ask"\n',
  );
  const { stdout } = await box.run(["policy", "shell", "--batch"], {
    stdin: '"make all"\n"terraform destroy"\n"git add ."\n"git push -f"\n"rm -rf /"\n',
  });
  expect(
    stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line).verdict),
  ).toEqual(["allow", "block", "ask", "ask", "block"]);
});

const repository = await needs("git");
repository.test("a git read is allowed where the repository names no program, and asks where it does", async () => {
  using box = sandbox();
  const git = (...args: string[]) =>
    Bun.spawnSync(["git", ...args], { cwd: box.cwd, env: { PATH: process.env.PATH ?? "" } });
  const ask = async (command = "git status") =>
    JSON.parse((await box.run(["policy", "shell", "--json", command])).stdout);
  git("init", "-q");
  expect(await ask()).toMatchObject({ verdict: "allow", read_only: true });
  git("config", "core.fsmonitor", "./program");
  const doubted = await ask();
  expect(doubted).toMatchObject({ verdict: "ask", read_only: false });
  expect(doubted.why).toContain("core.fsmonitor");
  // A prompt with git status would run it as soon as the shell is there.
  for (const command of ["cd .", "cd . && ls", `pushd ${box.cwd}`])
    expect([command, (await ask(command)).verdict]).toEqual([command, "ask"]);
  for (const command of ["cd /", "cd ..", "cd -"])
    expect([command, (await ask(command)).verdict]).toEqual([command, "allow"]);
});

test("what each command would do to files and machines", async () => {
  const explain = await explainer({ tmux: "auto", config: "/dev/null" } as Parameters<typeof explainer>[0]);
  const answer = await explain.explain("truncate -s0 a; ssh -p 2222 prod 'rm -r b'");
  expect((answer as { commands: { effects: object[] }[] }).commands.map(({ effects }) => effects)).toEqual([
    [{ does: "empties", what: "a" }],
    [{ does: "reaches", what: "prod:2222" }],
    [{ does: "removes", what: "b" }],
  ]);
  const text = explain.words(answer);
  for (const words of ["overwrites a", "reaches prod:2222", "removes b"]) expect(text).toContain(words);
});

test("words name what cannot be known", async () => {
  const explain = await explainer({ tmux: "auto", config: "/dev/null" } as Parameters<typeof explainer>[0]);
  const text = explain.words(await explain.explain("sudo rm -rf $X"));
  expect(text).toContain("ask: cannot be analysed");
  expect(text).toContain("unknown: ");
  expect(text).toContain("with other privileges");
});

test("a batch answers each line when it arrives, also lines split over chunks and endless ones", async () => {
  const out: string[] = [];
  const echo = { explain: (value: unknown) => ({ value }), words: () => "" };
  const bytes = (text: string) => new TextEncoder().encode(text);
  async function* input() {
    yield bytes('"a');
    yield bytes('b"\n"é');
    expect(out).toEqual(['{"value":"ab"}\n']);
    yield bytes('"\n');
    for (let i = 0; i < 10; i++) yield bytes("x".repeat(1024 * 1024));
    yield bytes("\n1");
  }
  await answerBatch(echo, input(), async (text) => out.push(text));
  expect(out.join("")).toBe('{"value":"ab"}\n{"value":"é"}\n{"error":"the line is too long"}\n{"value":1}\n');
});

test("--shell: the verdict for a machine where that is the shell, also for a batch and for one line of it", async () => {
  using box = sandbox();
  const verdict = async (...args: string[]) =>
    JSON.parse((await box.run(["policy", "shell", "--json", ...args])).stdout).verdict;
  expect(await verdict('ls "$HOME"')).toBe("allow");
  expect(await verdict("--shell", "bash", 'ls "$HOME"')).toBe("allow");
  expect(await verdict("--shell", "/bin/bash", 'ls "$HOME"')).toBe("allow");
  expect(await verdict("--shell", "fish", 'ls "$HOME"')).toBe("ask");
  expect(await verdict("--shell", "zsh", "ls -la")).toBe("allow");
  const { stdout } = await box.run(["policy", "shell", "--batch", "--shell", "dash"], {
    stdin: [
      JSON.stringify("echo $((1))"),
      JSON.stringify({ command: "echo $((1))", shell: "bash" }),
      JSON.stringify({ command: "cat shadow", shell: "bash", cwd: "/etc" }),
      JSON.stringify({ command: "ls", shell: 5 }),
      JSON.stringify("ls /etc"),
    ].join("\n"),
  });
  expect(
    stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line).verdict ?? "error"),
  ).toEqual(["ask", "allow", "ask", "error", "allow"]);
  expect((await box.run(["policy", "url", "--shell", "sh", "http://x/"])).code).toBe(2);
  expect((await box.run(["policy", "shell", "--shell", "a b", "ls"])).code).toBe(2);
});
