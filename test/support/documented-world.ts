/** The world that the documentation talks about: a host `web1`, a container `api`, a model, a sign-in. */
import { chmodSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { Playbook } from "./scripted-model/playbook.ts";
import { buddyBinary, type Sandbox, sandbox } from "./buddy.ts";
import { containerTarget } from "./container.ts";
import { startLoginServer } from "./login-server.ts";
import { quoteAll } from "../../src/lib/quote.ts";
import { LineSigner, splitLine } from "../../src/lib/line-signer.ts";
import { startModel } from "./model.ts";
import { Pty } from "./pty.ts";
import { sshTarget } from "./sshd.ts";

const ROOT = join(import.meta.dir, "../..");

export interface World extends AsyncDisposable {
  /** A home and a directory with what the commands expect to find; `configured: false` leaves out buddy.toml. */
  place(options?: { configured?: boolean }): Place;
}

export interface Place extends AsyncDisposable {
  readonly box: Sandbox;
  /** Runs a command line as a user would, without a terminal. */
  run(line: string, options?: { shell?: readonly string[]; stdin?: string }): Promise<{ code: number; output: string }>;
  /** The same on a terminal. */
  terminal(line: string): Pty;
}

/** Looks at the machine once, then answers; with JSON where a schema asks for it. */
const MODEL: Playbook = {
  reply(request) {
    if (request.schema !== undefined) return { text: '{"ok":true}' };
    if (request.messages.at(-1)?.role === "tool") return { text: "Everything is in order." };
    if (request.tools.every(({ name }) => name !== "run_shell")) return { text: "Hello." };
    const declared = { risk: "low", mutation: false, privesc: false, why: "to see" };
    return { toolCalls: [{ name: "run_shell", args: { command: "uname -s", ...declared } }] };
  },
};

const TARGETS = `[targets.web]
ssh = ["web1"]
[targets.pg]
ssh = "web1"
container = "api"
[targets.prod]
include = ["web", "pg"]
`;

/** The session of the documentation is a real one, filed under an id that starts as it is written there. */
const SESSION = "7b2f-0c51-9d3e-4a10";

export async function documentedWorld(): Promise<World> {
  const model = startModel(MODEL);
  const login = startLoginServer();
  const { env: sshEnv, server } = await sshTarget();
  server.configure(`Host web1\n  HostName 127.0.0.1\n  Port ${server.port}\n  IdentityFile ${server.dir}/id`);
  const container = await containerTarget();
  const base = sandbox();
  const bin = join(base.dir, "bin");
  mkdirSync(bin);
  symlinkSync(await buddyBinary(), join(bin, "buddy"));
  const account = Bun.spawnSync(["id", "-un"]).stdout.toString().trim();
  program(join(bin, "ssh"), renamed("deploy", account, find("ssh", sshEnv["PATH"])));
  const podman = renamed("api", container.name, find("podman", container.env["PATH"]));
  for (const directory of [bin, server.remoteBin]) program(join(directory, "podman"), podman);
  program(join(bin, "journalctl"), `echo 'Jan 05 10:00:00 web1 nginx[812]: bind() to 0.0.0.0:80 failed'`);
  const config = `[agent]\nmodel = "lab"\n[models.lab]\napi_base_url = "${model.url}"\nmodel = "scripted"\napi_key = "k"\ncontext_limit = 100000\n[[model_rules]]\nexact = "scripted"\nprice_in = 1\nprice_out = 1\n${TARGETS}[mcp.lab]\ncommand = ["lab"]\nenabled = false\n`;
  program(
    join(bin, "mcp-server-filesystem"),
    `exec ${quoteAll([process.execPath, join(ROOT, "node_modules/.bin/mcp-server-filesystem")])} "$@"`,
  );
  const stored = await storedSession(config);
  return {
    place({ configured = true } = {}) {
      const box = sandbox();
      if (configured) box.write("home/.config/buddy/buddy.toml", config, 0o600);
      box.write("cwd/report.json", '{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}');
      box.write("cwd/app.log", "Segmentation fault\n");
      box.write("cwd/t.jsonl", '{"v":1,"ts":"2026-01-05T10:00:00.000Z","ms":1,"run":"1","kind":"start"}\n');
      box.write(
        "cwd/.agents/skills/deploy/SKILL.md",
        "---\nname: deploy\ndescription: how we deploy\n---\nCarefully.\n",
      );
      box.write("cwd/task.txt", "how full are the disks?\n");
      box.write(`cwd/.buddyx/sessions/${SESSION}.jsonl`, stored.log, 0o600);
      box.write("home/.local/state/buddy/session.key", stored.key, 0o600);
      const env = {
        ...box.env,
        PATH: `${bin}:${sshEnv["PATH"]}`,
        BUDDY_AUTH_ISSUER: login.url,
      };
      return {
        box,
        async run(line, { shell = ["bash", "-o", "pipefail", "-c"], stdin = "" } = {}) {
          // Without a controlling terminal: nothing may ask the developer who runs the tests.
          const child = Bun.spawn(["setsid", "-w", ...shell, line], {
            cwd: box.cwd,
            env,
            stdin: Buffer.from(stdin),
            stdout: "pipe",
            stderr: "pipe",
          });
          const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
          return { code, output: stdout + stderr };
        },
        terminal: (line) => new Pty(["sh", "-c", line], { cols: 120, rows: 40, cwd: box.cwd, env }),
        [Symbol.asyncDispose]() {
          box[Symbol.dispose]();
          return Promise.resolve();
        },
      };
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([model, login, container].map((one) => one[Symbol.asyncDispose]()));
      base[Symbol.dispose]();
    },
  };
}

function find(name: string, path = ""): string {
  return Bun.which(name, { PATH: path }) ?? name;
}

function program(path: string, text: string): void {
  writeFileSync(path, `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
}

/**
 * Shell text that hands its arguments to a program, one word exchanged: the name in the documentation for the one here.
 */
function renamed(from: string, to: string, path: string): string {
  return `n=$#
while [ $n -gt 0 ]; do
  a=$1; shift; n=$((n - 1))
  [ "$a" = '${from}' ] && a='${to}'
  set -- "$@" "$a"
done
exec ${path} "$@"`;
}

/** Its log under the documented id, signed again with the key of the user who made it. */
async function storedSession(config: string): Promise<{ log: string; key: Buffer }> {
  using box = sandbox();
  box.write("home/.config/buddy/buddy.toml", config, 0o600);
  await box.run(["exec", "--no-tmux", "is nginx running?"]);
  const directory = join(box.cwd, ".buddyx/sessions");
  const id = basename(readdirSync(directory)[0] ?? "", ".jsonl");
  const key = readFileSync(join(box.home, ".local/state/buddy/session.key"));
  const signer = new LineSigner(key);
  const lines = readFileSync(join(directory, `${id}.jsonl`), "utf8")
    .trimEnd()
    .split("\n");
  const log = lines.map((line) => `${signer.sign(splitLine(line).json.replaceAll(id, SESSION))}\n`).join("");
  return { log, key };
}
