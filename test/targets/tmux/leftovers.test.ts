import { expect, setDefaultTimeout } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeLeftovers } from "../../../src/targets/tmux/session-files.ts";
import { LocalTransport } from "../../../src/targets/connection/local.ts";
import { endTmux } from "../../support/end-tmux.ts";
import { openTestTarget } from "../../support/tmux.ts";
import { until } from "../../support/until.ts";
import { needs } from "../../support/needs.ts";

const { afterAll, afterEach, beforeAll, beforeEach, test } = await needs("tmux");

setDefaultTimeout(60_000);

const uid = process.getuid?.() ?? 0;
const socket = `buddy-test-leftovers-${process.pid}`;
const path = join(process.env["TMUX_TMPDIR"] ?? "/tmp", `tmux-${uid}`, socket);
const LONG_AGO = new Date(Date.now() - 3_600_000);
let server: number;
let gone: number;
let base: string;
let transport: LocalTransport;

beforeAll(() => {
  Bun.spawnSync(["tmux", "-L", socket, "-f", "/dev/null", "new-session", "-d", "sleep 1000"]);
  server = Number(Bun.spawnSync(["tmux", "-L", socket, "display-message", "-p", "#{pid}"]).stdout.toString());
  gone = Bun.spawnSync(["true"]).pid;
});
afterAll(() => endTmux(socket));
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "buddy-leftovers-")));
  transport = new LocalTransport({});
});
afterEach(async () => {
  await transport[Symbol.asyncDispose]();
  rmSync(base, { recursive: true, force: true });
});

function state(name: string, servers: readonly string[] | undefined, opened = LONG_AGO): string {
  const directory = join(base, name);
  mkdirSync(join(directory, "zsh"), { recursive: true, mode: 0o700 });
  if (servers !== undefined) writeFileSync(join(directory, "servers"), servers.map((line) => `${line}\n`).join(""));
  writeFileSync(join(directory, "opened"), "");
  utimesSync(join(directory, "opened"), opened, opened);
  return directory;
}

test("only directories whose servers are all gone are removed", async () => {
  expect(server).toBeGreaterThan(1);
  const dead = `/nowhere/tmux,${gone}`;
  const elsewhere = mkdtempSync(join(tmpdir(), "buddy-elsewhere-"));
  state("alive", [`${path},${server}`]);
  state("another server came to its socket", [`${path},${gone}`]);
  state("another program has its number", [`/nowhere/tmux,${process.pid}`]);
  state("one of two", [dead, `${path},${server}`]);
  state("just opened", [dead], new Date());
  state("never used", undefined);
  state("empty", []);
  const twoDaysAgo = new Date(Date.now() - 48 * 3_600_000);
  state("begun and broken off two days ago", undefined, twoDaysAgo);
  for (const name of ["buddy.just made", "buddy.made and broken off two days ago"]) mkdirSync(join(base, name));
  utimesSync(join(base, "buddy.made and broken off two days ago"), twoDaysAgo, twoDaysAgo);
  mkdirSync(join(base, "shells"));
  const target = state("z", [dead]);
  symlinkSync(target, join(base, "a link"));
  symlinkSync(elsewhere, join(target, "outside"));
  writeFileSync(join(elsewhere, "precious"), "");
  await removeLeftovers(transport, base);
  expect(readdirSync(base).toSorted()).toEqual([
    "a link",
    "alive",
    "buddy.just made",
    "empty",
    "just opened",
    "never used",
    "one of two",
    "shells",
  ]);
  expect(existsSync(join(elsewhere, "precious"))).toBe(true);
  rmSync(elsewhere, { recursive: true });
});

const namespaces = await needs("tmux", "linux", "root");
namespaces.test(
  "a server that answers stays, also where its process number is not seen: another container",
  async () => {
    const elsewhere = join(base, "elsewhere");
    const far = Bun.spawn(["unshare", "--pid", "--fork", "--kill-child", "sh", "-c", FAR_SERVER, "far", elsewhere], {
      stdio: ["pipe", "ignore", "ignore"],
    });
    const ask = () =>
      Bun.spawnSync(["tmux", "-S", elsewhere, "display-message", "-p", "#{pid}"]).stdout.toString().trim();
    const pid = await until(ask, "the server to answer");
    expect(existsSync(`/proc/${pid}`)).toBe(false);
    const directory = state("z", [`${elsewhere},${pid}`]);
    await removeLeftovers(transport, base);
    expect(existsSync(directory)).toBe(true);
    far.kill("SIGKILL");
    await far.exited;
    await until(() => ask() === "", "the server to be gone");
    await removeLeftovers(transport, base);
    expect(existsSync(directory)).toBe(false);
  },
);
const FAR_SERVER = `
echo 4000000 >/proc/sys/kernel/ns_last_pid
tmux -S "$1" -f /dev/null new-session -d 'sleep 1000'
read -r end`;

test("nothing is removed where another user could have prepared it", async () => {
  const leftover = state("z", [`/nowhere/tmux,${gone}`]);
  chmodSync(base, 0o770);
  const link = `${base}-link`;
  symlinkSync(base, link);
  await removeLeftovers(transport, base);
  await removeLeftovers(transport, link);
  chmodSync(base, 0o700);
  await removeLeftovers(transport, link);
  expect(existsSync(leftover)).toBe(true);
  rmSync(link);
  await removeLeftovers(transport, base);
  expect(existsSync(leftover)).toBe(false);
});

test("a server that was killed from outside: the next start removes what is left of it, in memory too", async () => {
  await using first = await openTestTarget("local");
  const name = `${first.options.tmuxSocket}.${first.target.identity.tmuxSession}`;
  const directories = [`/tmp/buddy-${uid}/${name}`, `/dev/shm/buddy-${uid}/${name}`].filter(existsSync);
  expect(directories.length).toBeGreaterThan(0);
  await first.target[Symbol.asyncDispose]();
  const [, pid = ""] = readFileSync(`/tmp/buddy-${uid}/${name}/servers`, "utf8").trim().split(",");
  Bun.spawnSync(["tmux", "-L", first.options.tmuxSocket, "kill-server"]);
  await until(() => !existsSync(`/proc/${pid}`), "the server to be gone");
  utimesSync(`/tmp/buddy-${uid}/${name}/opened`, LONG_AGO, LONG_AGO);
  await using second = await openTestTarget("local");
  await until(() => !directories.some(existsSync), "the next start to remove them");
  expect((await second.target.shell.run("echo fine")).outcome).toEqual({ kind: "exited", code: 0 });
});

const FILES = { bash: "bash.sh", zsh: "zsh.zsh", fish: "fish.fish", dash: "sh.sh", mksh: "sh.sh" } as const;
for (const [shell, file] of Object.entries(FILES)) {
  const { test: withShell } = await needs("linux", "tmux", shell as keyof typeof FILES);
  withShell(`${shell} writes nothing into the root directory when that of its session is gone`, () => {
    // No pane has this number.
    const pane = String(900_000_000 + process.pid);
    const env = { PATH: process.env["PATH"] ?? "", BUDDY_DIR: join(base, "none"), TMUX_PANE: `%${pane}` };
    const text = `. ${join(import.meta.dir, "../../../templates/shell-init", file)}`;
    Bun.spawnSync([shell, "-i", "-c", text], { env, stdin: "ignore", stdout: "ignore", stderr: "ignore" });
    const written = readdirSync("/").filter((name) => name.startsWith(pane));
    for (const name of written) rmSync(join("/", name));
    expect(written).toEqual([]);
  });
}
