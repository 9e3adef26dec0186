import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { buddyBinary, type Sandbox, sandbox } from "../support/buddy.ts";
import { until } from "../support/until.ts";
import { needs } from "../support/needs.ts";

let box: Sandbox;
let env: Record<string, string>;
beforeAll(async () => {
  box = sandbox();
  const bin = join(box.dir, "bin");
  mkdirSync(bin);
  symlinkSync(await buddyBinary(), join(bin, "buddy"));
  // Stands for a container engine: what is completed is what `docker ps` prints.
  writeFileSync(join(bin, "docker"), "#!/bin/sh\nprintf 'web-app\\tnginx\\nweb-db\\tpostgres\\n'\n", { mode: 0o755 });
  box.write(
    "home/.config/buddy/buddy.toml",
    '[models.zebra-large]\napi_base_url = "http://127.0.0.1:1/v1"\nmodel = "z"\napi_key = "k"\n',
  );
  box.write("home/.ssh/config", "Host quokka-1 *.internal !no\n  User deploy\nInclude more/*\n");
  box.write("home/.ssh/more/a", 'Host "quokka-2" jumpy\n');
  box.write(
    "cwd/.buddyx/sessions/beef-0000-1111-2222.jsonl",
    '{"v":1,"ts":"2026-01-01T00:00:00.000Z","session":"beef-0000-1111-2222","target":"local","type":"turn","turn":1,"prompt":"fix it"}\n',
  );
  box.write("cwd/notes-file.json", "{}");
  box.write("cwd/folder/notes", "");
  env = { ...box.env, PATH: `${bin}:${dirname(Bun.which("sh") ?? "/bin/sh")}:${process.env.PATH}` };
});
afterAll(() => box[Symbol.dispose]());

async function offered(...words: string[]): Promise<string[]> {
  const { stdout, code } = await box.run(["__complete", ...words], { env });
  expect(code).toBe(0);
  return stdout
    .split("\n")
    .filter(Boolean)
    .map((line) => line.split("\t")[0] ?? "");
}

describe("what is offered", () => {
  const cases: [string[], string[]][] = [
    [["se"], ["sessions"]],
    [["exec", "--js"], ["--json"]],
    [["exec", "--ou"], ["--output-schema"]],
    [["-m", "zeb"], ["zebra-large"]],
    [["exec", "--model", "zeb"], ["zebra-large"]],
    [["exec", "--model=zeb"], ["--model=zebra-large"]],
    [
      ["--ssh", "quo"],
      ["quokka-1", "quokka-2"],
    ],
    [
      ["--container", ""],
      ["web-app", "web-db"],
    ],
    [["--ssh", "quokka-1", "--container", ""], []],
    [["resume", "b"], ["beef-0000-1111-2222"]],
    [["sessions", "ex"], ["export"]],
    [["sessions", "rm", "be"], ["beef-0000-1111-2222"]],
    [["exec", "--resume", "la"], ["last"]],
    [["login", "zeb"], ["zebra-large"]],
    [["policy", "u"], ["url"]],
    [["completion", "f"], ["fish"]],
    [["help", "doc"], ["doctor"]],
    [
      ["--approve", "a"],
      ["ask", "all"],
    ],
    [["exec", "--output-schema", "no"], [":files"]],
    [["--cd", ""], [":directories"]],
    [["exec", "--", "--js"], []],
    [["nonsense", "--unknown", "x"], []],
  ];
  test.each(cases)("buddy %j", async (words, expected) => {
    expect(await offered(...words)).toEqual(expected);
  });

  test("a broken configuration breaks no command line", async () => {
    const config = box.write("home/broken.toml", "not [ toml");
    const { stdout, stderr, code } = await box.run(["__complete", "-m", ""], { env: { ...env, BUDDY_CONFIG: config } });
    expect({ stdout, stderr, code }).toEqual({ stdout: "", stderr: "", code: 0 });
  });
});

/** Types into an interactive shell and waits for what the line becomes. */
async function typed(argv: string[], setUp: string, line: string, becomes: string): Promise<string> {
  let screen = "";
  const decoder = new TextDecoder();
  const child = Bun.spawn(argv, {
    cwd: box.cwd,
    env: { ...env, PS1: "READY> ", HISTFILE: "", TERM: "dumb" },
    terminal: { cols: 200, rows: 24, data: (_, bytes) => void (screen += decoder.decode(bytes, { stream: true })) },
  });
  try {
    child.terminal?.write(`${setUp}; echo set''-up\r`);
    await until(() => screen.includes("set-up"), `${argv[0]} has read the completion script`);
    child.terminal?.write(`${line}\t`);
    await until(() => screen.includes(becomes), `${line}<TAB> becomes ${becomes}`).catch((error: Error) => {
      throw new Error(`${error.message}; the screen holds ${JSON.stringify(screen.slice(-600))}`);
    });
  } finally {
    child.kill("SIGKILL");
    await child.exited;
    child.terminal?.close();
  }
  return screen;
}

const zsh = await needs("zsh");
const fish = await needs("fish");

describe("in the shells", () => {
  test.each([
    ["buddy sess", "buddy sessions "],
    ["buddy exec --output-sch", "--output-schema "],
    ["buddy -m zeb", "-m zebra-large "],
    ["buddy exec --model=zeb", "--model=zebra-large"],
    ["buddy --ssh quokka-", "quokka-1"],
    ["buddy --ssh deploy@quokka-1", "deploy@quokka-1 "],
    ["buddy --ssh=deploy@quokka-2", "--ssh=deploy@quokka-2 "],
    ["buddy resume be", "beef-0000-1111-2222"],
    ["buddy exec --output-schema not", "notes-file.json"],
    ["buddy --on 'quokka-1,quokka-2", "'quokka-1,quokka-2' "],
    ["buddy --on @notes-", "@notes-file.json "],
    ["buddy --on @fold", "@folder/notes"],
  ])("bash: %s", async (line, becomes) => {
    // Nothing is between the directory and what follows it.
    const bell = line.endsWith("quokka-") ? `${line}\t` : line.endsWith("fold") ? `${line}\tno` : line;
    await typed(["bash", "--norc", "--noprofile", "-i"], 'eval "$(buddy completion bash)"', bell, becomes);
  });

  zsh.test.each([
    ["buddy sess", "buddy sessions "],
    ["buddy -m zeb", "-m zebra-large "],
    ["buddy exec --model=zeb", "--model=zebra-large"],
    ["buddy exec --output-schema not", "notes-file.json"],
    ["buddy --on 'quokka-1,jum", "'quokka-1,jumpy' "],
    ["buddy --on @fold\tno", "@folder/notes"],
  ])("zsh: %s", async (line, becomes) => {
    const setUp = 'autoload -U compinit; compinit -u -D; eval "$(buddy completion zsh)"';
    await typed(["zsh", "-f", "-i"], setUp, line, becomes);
  });

  fish.test.each([
    ["buddy sess", "sessions"],
    ["buddy -m zeb", "zebra-large"],
    ["buddy --container web-", "web-app"],
    ["buddy exec --output-schema not", "notes-file.json"],
    ["buddy --on 'quokka-1,jum", "quokka-1,jumpy"],
  ])("fish: %s", async (line, becomes) => {
    const script = `buddy completion fish | source; complete -C ${JSON.stringify(line)}`;
    const child = Bun.spawn(["fish", "--no-config", "-c", script], {
      cwd: box.cwd,
      env,
      stdout: "pipe",
      stderr: "inherit",
    });
    expect(await new Response(child.stdout).text()).toContain(becomes);
  });
});
