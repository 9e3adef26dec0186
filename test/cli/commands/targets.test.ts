/** `buddy targets --sessions`: lists what is on a real tmux server, and ends only what is not in use. */
import { expect, setDefaultTimeout } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openTarget } from "../../../src/targets/open.ts";
import { openTestTarget } from "../../support/tmux.ts";
import { needs } from "../../support/needs.ts";
import { until } from "../../support/until.ts";

const { test } = await needs("tmux");

setDefaultTimeout(60_000);

const main = join(import.meta.dir, "../../../src/main.ts");

async function buddy(socket: string, ...args: string[]) {
  const directory = mkdtempSync(join(tmpdir(), "buddy-targets-"));
  const config = join(directory, "buddy.toml");
  writeFileSync(config, `[tmux]\nsocket = "${socket}"\n`);
  const child = Bun.spawn([process.execPath, main, "--config", config, ...args], {
    cwd: directory,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    // Without a controlling terminal nobody can be asked.
    detached: true,
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  rmSync(directory, { recursive: true });
  return { stdout, stderr, code };
}

test("lists sessions with their use, ends those that are not in use, and only those", async () => {
  await using place = await openTestTarget("local", { shell: "bash", agentName: "used" });
  const socket = place.options.tmuxSocket;
  const busy = await openTarget({ ...place.options, agentName: "busy" });
  await busy.shell.run("sleep 100 &");
  await busy[Symbol.asyncDispose]();
  const left = await openTarget({ ...place.options, agentName: "left" });
  await left[Symbol.asyncDispose]();
  await place.tmux("new-session", "-d", "-s", "theirs", "sh");

  const list = async () => {
    const { stdout } = await buddy(socket, "targets", "--sessions", "--json");
    return (JSON.parse(stdout) as { name: string; in_use: string | null }[]).map(({ name, in_use }) => [name, in_use]);
  };
  // What the shell's own start-up files run counts as a program, too, until it has ended.
  await until(async () => (await list())[1]?.[1] === null, "the shell that was left is idle");
  expect(await list()).toEqual([
    ["buddy-busy", "program"],
    ["buddy-left", null],
    ["buddy-used", "buddy"],
  ]);

  const unasked = await buddy(socket, "targets", "--sessions", "--end");
  expect(unasked.code).toBe(3);

  const ended = await buddy(socket, "targets", "--sessions", "--end", "--yes");
  expect([ended.code, ended.stderr]).toEqual([0, "ended: buddy-left\n"]);
  const names = (await place.tmux("list-sessions", "-F", "#{session_name}")).trim().split("\n");
  expect(names).toEqual(["buddy-busy", "buddy-used", "theirs"]);
});

test("without a server there are none, and without --sessions it says what to do", async () => {
  const none = await buddy(`buddy-test-${process.pid}-none`, "targets", "--sessions");
  expect([none.code, none.stdout]).toEqual([0, "no sessions of buddy on local\n"]);
  expect((await buddy("x", "targets")).code).toBe(2);
});
