/**
 * Secrets stay with the operator: none reaches the model, the events, the log or any file but the one they are kept in.
 */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { call, DECLARED, type ExecRig, execRig, shell } from "../support/exec.ts";
import { leaks } from "../support/leaks.ts";
import { ReplBinary } from "../support/repl-binary.ts";
import { KEY_BLOCK, SECRETS } from "../support/planted-secrets.ts";

setDefaultTimeout(60_000);

const { aws, awsSecret, password, github, plain } = SECRETS;
const VALUES = Object.values(SECRETS);

const DOT_ENV = `# settings
NODE_ENV=production
DB_HOST=db.internal
AWS_ACCESS_KEY_ID=${aws}
AWS_SECRET_ACCESS_KEY="${awsSecret}"
DB_PASSWORD=${password}
LICENSE_CODE=${plain}
`;

/** All that a run let out: what the model got, what it printed, and what it wrote. */
function everything(rig: ExecRig, texts: Record<string, string> = {}): Parameters<typeof leaks>[1] {
  const requests = Object.fromEntries(
    rig.requests.map((request, index) => [`request ${index}`, JSON.stringify(request)]),
  );
  return { texts: { ...requests, ...texts }, directories: [rig.box.dir] };
}

/** Where the values may be: their source, and the file that keeps them. */
function kept(rig: ExecRig): string[] {
  const directory = join(rig.box.home, ".local/state/buddy/secrets");
  return existsSync(directory) ? readdirSync(directory) : [];
}

describe("what a tool returns", () => {
  test("a background shell that prints secrets in pieces: each look has whole lines and whole keys", async () => {
    const id = (request: { messages: readonly { content: unknown }[] }) =>
      /sh-[0-9a-f]{8}/.exec(JSON.stringify(request.messages))?.[0] ?? "";
    const pieces = [
      `token ${github.slice(0, 12)}`,
      `${github.slice(12)}\nkey ${aws.slice(0, 9)}`,
      `${aws.slice(9)}\nDB_PASSWORD=`,
      `${password}\n${KEY_BLOCK.slice(0, 100)}`,
      `${KEY_BLOCK.slice(100)}last line\n`,
    ];
    // Each piece is printed when the model asks for it, and looked at when it is there.
    const rounds = pieces.flatMap((_, at) => [
      shell(`: > go${at}; until [ -e did${at} ]; do sleep 0.02; done`),
      (request: Parameters<typeof id>[0]) => call("shell_output", { shell_id: id(request), limit: 8 }),
    ]);
    await using rig = execRig([
      call("run_shell", { ...DECLARED, command: "sh slow.sh", mode: "background" }),
      ...rounds,
      { text: "done" },
    ]);
    pieces.forEach((text, at) => rig.box.write(`cwd/piece${at}`, text));
    rig.box.write(
      "cwd/slow.sh",
      "for i in 0 1 2 3 4; do until [ -e go$i ]; do sleep 0.02; done; cat piece$i; : >did$i; done; until [ -e end ] || [ ! -e slow.sh ]; do sleep 0.02; done",
    );
    const run = await rig.exec(["--approve", "all", "--no-tmux", "go"]);
    const seen = rig.results().map((one) => JSON.stringify(one));
    rig.box.write("cwd/end", "");
    expect(seen.join(), run.stderr).toContain("last line");
    for (const value of [github, aws, password, KEY_BLOCK.slice(40)])
      for (const piece of [value.slice(4, 12), value.slice(12, 20)]) expect(seen.join()).not.toContain(piece);
  });

  test("cat .env: names of variables stay, secrets get names of their own", async () => {
    await using rig = execRig([shell("cat .env"), { text: "done" }]);
    rig.box.write("cwd/.env", DOT_ENV);
    const run = await rig.exec(["--approve", "all", "--no-tmux", "--json", "look at .env"]);
    expect(run.code).toBe(0);
    expect(rig.lastResult()).toContain("NODE_ENV=production");
    expect(rig.lastResult()).toContain("DB_HOST=db.internal");
    expect(rig.lastResult()).toContain("AWS_ACCESS_KEY_ID=‹secret-1: AWS key›");
    expect(rig.lastResult()).toMatch(/DB_PASSWORD=‹secret-\d: password›/);
    expect(leaks(VALUES, everything(rig, { out: run.stdout, err: run.stderr }), [".env", ...kept(rig)])).toEqual([]);
  });

  test.each([
    ["env", ["env", "env | sort", "printenv", "bash -c 'export -p'"]],
    ["a private key", ["cat server.key", "sed -n 2,3p server.key", "tail -n 3 server.key"]],
  ])("%s", async (_, commands) => {
    await using rig = execRig([...commands.map((command) => shell(command)), { text: "done" }], {
      env: { APP_LICENSE: plain, GITHUB_TOKEN: github, DB_PASSWORD: password },
    });
    rig.box.write("cwd/server.key", KEY_BLOCK);
    const run = await rig.exec(["--approve", "all", "--no-tmux", "--json", "look"]);
    const bodies = KEY_BLOCK.split("\n").slice(1, -2);
    const except = ["server.key", ...kept(rig)];
    expect(leaks([...VALUES, ...bodies], everything(rig, { out: run.stdout, err: run.stderr }), except)).toEqual([]);
    for (const result of rig.results()) expect(String(result)).toContain("‹secret-");
  });

  test.each([
    "cat .env | base64",
    "rev .env",
    "xxd .env",
    "cut -d= -f2 .env",
    "tr a-z n-za-m < .env",
    "fold -w 5 .env",
    "cat .e*",
    "cat ./.en?",
    "find . -name .env -exec cat {} +",
    "while read -r line; do echo $line; done < .env",
    "bash -c 'cat .env'",
    "set -a; . ./.env; echo $LICENSE_CODE",
    "grep -rn LICENSE .",
    "cp .env copy.txt; cat copy.txt",
  ])("no way to read a file of secrets gets one through: %s", async (command) => {
    await using rig = execRig([shell(command, { ...DECLARED }), { text: "done" }]);
    rig.box.write("cwd/.env", DOT_ENV);
    const run = await rig.exec(["--approve", "all", "--no-tmux", "--json", "look"]);
    const backwards = VALUES.map((value) => [...value].toReversed().join(""));
    expect(
      leaks([...VALUES, ...backwards], everything(rig, { out: run.stdout }), [".env", "copy.txt", ...kept(rig)]),
    ).toEqual([]);
  });

  test("the tables of kubectl stay, its values do not", async () => {
    await using rig = execRig([shell("kubectl get secret"), shell("kubectl get secret db -o yaml"), { text: "done" }]);
    const value = Buffer.from(password).toString("base64");
    rig.box.write(
      "bin/kubectl",
      `#!/bin/sh\ncase "$*" in *yaml) printf 'apiVersion: v1\\ndata:\\n  pin: ${value}\\nkind: Secret\\nmetadata:\\n  name: db\\n' ;; *) printf 'NAME   TYPE     DATA\\ndb     Opaque   1\\n' ;; esac\n`,
      0o755,
    );
    const env = { PATH: `${join(rig.box.dir, "bin")}:${process.env.PATH}` };
    await rig.exec(["--approve", "all", "--no-tmux", "look"], { env });
    expect(rig.results()[0]).toContain("Opaque");
    expect(rig.results()[1]).toContain("name: db");
    expect(leaks([password], everything(rig), ["kubectl", ...kept(rig)])).toEqual([]);
  });

  test("[privacy] mask_output adds commands", async () => {
    await using rig = execRig([shell("./vendor-cli show pin"), { text: "done" }], {
      config: '[privacy]\nmask_output = ["vendor-cli show"]',
    });
    rig.box.write("cwd/vendor-cli", `#!/bin/sh\necho ${plain}\n`, 0o755);
    await rig.exec(["--approve", "all", "--no-tmux", "look"]);
    expect(rig.lastResult()).toBe("‹secret-1: secret›");
    expect(leaks([plain], everything(rig), ["vendor-cli", ...kept(rig)])).toEqual([]);
  });

  test('to_model = "off" leaves results as they are', async () => {
    await using rig = execRig([shell("cat .env"), { text: "done" }], { config: '[privacy]\nto_model = "off"' });
    rig.box.write("cwd/.env", DOT_ENV);
    await rig.exec(["--approve", "all", "--no-tmux", "look"]);
    expect(rig.lastResult()).toContain(aws);
    expect(kept(rig)).toEqual([]);
  });

  test("a secret on the cut of a long output, and in what is read of it later", async () => {
    const noise = "x".repeat(58);
    const lines = Array.from({ length: 3000 }, (_, index) => `${index} token=${github}${noise}`).join("\n");
    await using rig = execRig(
      [
        shell("cat long.txt"),
        (request) => {
          const [, id = ""] = /output_id=\\+"([^"\\]+)/.exec(JSON.stringify(request.messages)) ?? [];
          return call("shell_output", { output_id: id, offset: 5000, limit: 90 });
        },
        { text: "done" },
      ],
      { config: "[limits]\nshell = 4000" },
    );
    rig.box.write("cwd/long.txt", lines);
    const run = await rig.exec(["--no-tmux", "--json", "look"]);
    for (const length of [github.length, 20, 14])
      expect(
        leaks([github.slice(0, length)], everything(rig, { out: run.stdout }), ["long.txt", ...kept(rig)]),
      ).toEqual([]);
  });
});

describe("what the operator writes", () => {
  test("a key pasted into a prompt, or piped in beside it", async () => {
    await using rig = execRig([{ text: "done" }, { text: "done" }]);
    const run = await rig.exec(["--json", `why does ${aws} not work?`], { stdin: `password=${password}\n` });
    expect(JSON.stringify(rig.requests[0])).toContain("‹secret-1: AWS key›");
    expect(leaks(VALUES, everything(rig, { out: run.stdout, err: run.stderr }), kept(rig))).toEqual([]);
  });

  test("AGENTS.md", async () => {
    await using rig = execRig([{ text: "done" }]);
    rig.box.write("cwd/AGENTS.md", `Deploy with GITHUB_TOKEN=${github}\n`);
    rig.box.write("cwd/.git/HEAD", "ref: refs/heads/main\n");
    await rig.exec(["hi"]);
    expect(JSON.stringify(rig.requests[0])).toContain("Deploy with GITHUB_TOKEN=‹secret-1: GitHub token›");
    expect(leaks([github], everything(rig), ["AGENTS.md", ...kept(rig)])).toEqual([]);
  });
});

describe("a name in a call", () => {
  const use = shell("printf %s ‹secret-1: AWS key› > out; echo ‹secret-1: AWS key›", {
    mutation: true,
    risk: "medium",
  });

  test("becomes the value on the target after an approval, and nowhere else", async () => {
    await using rig = execRig([shell("cat .env"), use, { text: "done" }]);
    rig.box.write("cwd/.env", DOT_ENV);
    const run = await rig.exec(["--approve", "all", "--no-tmux", "--json", "copy it"]);
    expect(readFileSync(join(rig.box.cwd, "out"), "utf8")).toBe(aws);
    expect(rig.lastResult()).toBe("‹secret-1: AWS key›");
    expect(leaks(VALUES, everything(rig, { out: run.stdout, err: run.stderr }), [".env", "out", ...kept(rig)])).toEqual(
      [],
    );
  });

  test("is never approved by itself: not by a read-only proof, shell_allow or shell_confirm = false", async () => {
    await using rig = execRig([shell("cat app.conf"), shell("echo ‹secret-1: AWS key›"), { text: "done" }], {
      config: '[tools]\nshell_confirm = false\nshell_allow = ["echo"]',
    });
    rig.box.write("cwd/app.conf", `key = ${aws}\n`);
    const { code, events } = await rig.events(["--no-tmux", "say it"]);
    expect(code).toBe(3);
    expect(events.find((event) => event.type === "approval_asked")).toMatchObject({
      action: "echo ‹secret-1: AWS key›",
      policy: "it uses ‹secret-1: AWS key›",
    });
  });

  test("that was never given is refused", async () => {
    await using rig = execRig([shell("echo ‹secret-7: password›"), { text: "done" }]);
    const { code, events } = await rig.events(["--approve", "all", "--no-tmux", "say it"]);
    expect(code).toBe(0);
    expect(events.find((event) => event.type === "tool_finished")).toMatchObject({ outcome: "invalid" });
  });

  test("in a file: read, edited and written by name, with the real value in the file and names in the diff", async () => {
    await using rig = execRig([
      call("read_file", { path: "app.conf" }),
      call("edit_file", {
        path: "app.conf",
        old_text: "key = ‹secret-1: AWS key›",
        new_text: "id = ‹secret-1: AWS key›",
      }),
      call("write_file", { path: "copy.conf", content: "id = ‹secret-1: AWS key›\n" }),
      { text: "done" },
    ]);
    rig.box.write("cwd/app.conf", `key = ${aws}\n`);
    const run = await rig.exec(["--approve", "all", "--no-tmux", "--json", "rename it"]);
    expect(readFileSync(join(rig.box.cwd, "app.conf"), "utf8")).toBe(`id = ${aws}\n`);
    expect(readFileSync(join(rig.box.cwd, "copy.conf"), "utf8")).toBe(`id = ${aws}\n`);
    expect(rig.results()[1]).toContain("+id = ‹secret-1: AWS key›");
    expect(leaks([aws], everything(rig, { out: run.stdout }), [".conf", ...kept(rig)])).toEqual([]);
  });
});

describe("across runs", () => {
  test("names keep their values over a resume, in a private file that goes with the session", async () => {
    await using rig = execRig([
      shell("cat .env"),
      { text: "first" },
      shell("printf %s ‹secret-1: AWS key› > out", { ...DECLARED }),
      { text: "second" },
    ]);
    rig.box.write("cwd/.env", DOT_ENV);
    await rig.exec(["--approve", "all", "--no-tmux", "look"]);
    const directory = join(rig.box.home, ".local/state/buddy/secrets");
    const [file = ""] = readdirSync(directory);
    expect(statSync(join(directory, file)).mode & 0o777).toBe(0o600);
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    await rig.exec(["--approve", "all", "--no-tmux", "--resume", "last", "use it"]);
    expect(readFileSync(join(rig.box.cwd, "out"), "utf8")).toBe(aws);
    expect(leaks(VALUES, everything(rig), [".env", "out", file])).toEqual([]);
    const exported = await rig.box.run(["sessions", "export", "last"]);
    expect(leaks(VALUES, { texts: { exported: exported.stdout } })).toEqual([]);
    await rig.box.run(["sessions", "rm", file.replace(".json", "")]);
    expect(readdirSync(directory)).toEqual([]);
  });
});

describe("in the REPL", () => {
  test("a file named with @, and a command of the operator's own", async () => {
    await using repl = new ReplBinary([{ text: "I see." }, { text: "Read." }]);
    repl.box.write("cwd/.env", DOT_ENV);
    const pty = await repl.start();
    await pty.until(/> *$/);
    pty.type("what is in @.env ?\r");
    await pty.until("I see.");
    pty.type("!printf 'LICENSE_CODE=%s\\n' \"$APP_LICENSE\"; env\r");
    await pty.until("LICENSE_CODE=");
    pty.type("and now?\r");
    await pty.until("Read.");
    pty.type("/quit\r");
    await pty.exited;
    const requests = Object.fromEntries(
      repl.model.requests.map((request, index) => [`request ${index}`, JSON.stringify(request)]),
    );
    expect(requests["request 0"]).toContain("‹secret-1: AWS key›");
    const secrets = readdirSync(join(repl.box.home, ".local/state/buddy/secrets"));
    expect(leaks(VALUES, { texts: requests, directories: [repl.box.dir] }, [".env", ...secrets])).toEqual([]);
  });
});

describe("/privacy", () => {
  test("lists names, shows one after a question, drops one; the history file has no secret", async () => {
    await using repl = new ReplBinary([{ text: "I see." }]);
    const pty = await repl.start();
    await pty.until(/> *$/);
    pty.type(`is ${aws} still valid?\r`);
    await pty.until("I see.");
    expect(repl.prompts).toEqual(["is ‹secret-1: AWS key› still valid?"]);
    pty.type("/privacy\r");
    await pty.until(/‹secret-1: AWS key› +prompt/);
    pty.type("/privacy show 1\r");
    await pty.until("yes, show it");
    const before = pty.emulator.raw.length;
    pty.key("down", "enter");
    await pty.until(() => pty.emulator.raw.slice(before).includes(aws));
    pty.type("/privacy drop 1\r");
    await pty.until("is forgotten");
    pty.type("/privacy\r");
    await pty.until("no secrets found");
    pty.type("/quit\r");
    await pty.exited;
    expect(leaks([aws], { directories: [repl.box.dir] })).toEqual([]);
    expect(readFileSync(join(repl.box.home, ".config/buddy/history"), "utf8")).toContain("still valid?");
  });
});
