/**
 * How much of a session's requests a provider can find in its cache: the part that is byte-identical with the request
 * before.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { script } from "../test/support/scripted-model/playbook.ts";
import { startScripted } from "../test/support/scripted-model/server.ts";
import { buddyBinary } from "../test/support/buddy.ts";
import { endTmux } from "../test/support/end-tmux.ts";
import { figure } from "./support/figures.ts";

const CALLS = 20;
const COMMANDS = ["pwd", "cd /usr", "ls", "cd /", "id -un", "true"];
const dir = mkdtempSync(join(tmpdir(), "buddy-bench-"));

try {
  const buddy = await buddyBinary();
  for (const shell of ["--no-tmux", "--tmux"]) {
    for (const api of ["completions", "responses", "anthropic"]) await session(buddy, shell, api);
  }
} finally {
  endTmux("buddy-bench");
  rmSync(dir, { recursive: true, force: true });
}

/** The session walks through directories: what changes must not change what was said before. */
async function session(buddy: string, shell: string, api: string): Promise<void> {
  const home = join(dir, `${shell}-${api}`);
  mkdirSync(home, { recursive: true });
  const config = join(home, "buddy.toml");
  const call = (at: number) => ({
    toolCalls: [
      {
        name: "run_shell",
        args: { command: COMMANDS[at % COMMANDS.length], risk: "low", mutation: false, privesc: false, why: "look" },
      },
    ],
  });
  await using server = startScripted(script([...Array.from({ length: CALLS }, (_, at) => call(at)), { text: "done" }]));
  await Bun.write(
    config,
    `[agent]\nmodel = "bench"\n[tmux]\nsocket = "buddy-bench"\n[models.bench]\napi_base_url = "${server.url}"\napi = "${api}"\nmodel = "bench"\ncontext_limit = 200000\n`,
  );
  const run = Bun.spawn([buddy, "exec", "--config", config, shell, "--approve", "all", "-q", "go"], {
    cwd: home,
    env: { PATH: process.env["PATH"], HOME: home, BUDDY_API_KEY: "bench" },
    stdin: "ignore",
    stdout: "ignore",
    stderr: "inherit",
  });
  if ((await run.exited) !== 0) throw new Error("the run failed");
  const bodies = server.requests.map(({ text }) => text);
  let total = 0;
  let same = 0;
  for (let at = 1; at < bodies.length; at++) {
    total += bodies[at]!.length;
    same += commonPrefix(bodies[at - 1]!, bodies[at]!);
  }
  const last = bodies.at(-1)!;
  const added = (last.length - bodies[0]!.length - printed(last)) / CALLS;
  const where = `${api}, ${shell}`;
  figure(`${where}: the first request`, bodies[0]!.length, "bytes");
  figure(`${where}: added by a call beyond its output`, added, "bytes");
  figure(`${where}: identical with the request before`, (100 * same) / total, "%");
}

/** Bytes of what the commands printed, without what buddy says beside it. */
function printed(body: string): number {
  const results = body.matchAll(/\\"result\\":\\"(.*?)\\"\}"/g);
  return [...results]
    .map(([, text]) => text!.replace(/^\(no output\)/, "").replace(/(\\\\n)*\[cwd: [^\]]*\]$/, ""))
    .reduce((sum, text) => sum + text.replaceAll("\\\\", "\\").length, 0);
}

function commonPrefix(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at++;
  return at;
}
