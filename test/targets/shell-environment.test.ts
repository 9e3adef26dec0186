/** What one shell hands to the next: exported variables and the umask for background shells and after a drop. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { proxyTo } from "../support/tcp-proxy.ts";
import { useSshd } from "../support/sshd.ts";
import { type OpenedTarget, openTestTarget, temporaryHome } from "../support/tmux.ts";
import { until } from "../support/until.ts";
import { DIRECT_LOOP, DIRECT_START } from "../../src/targets/direct/direct-scripts.ts";
import { openTarget } from "../../src/targets/open.ts";
import type { Pane, Shell, Target } from "../../src/targets/target.ts";
import { available, needs } from "../support/needs.ts";
import { placeOf } from "../../src/targets/place.ts";
import { targetOptions } from "../support/target-options.ts";

const SHOW = `printf '%s|%s|%s|%s' "$WORD" "$QUOTED" "\${PATH%%:*}" "$(umask)"; printf '|%s' "\${TMUX-none}" "\${PLAIN-none}"`;

async function inBackground(target: Target, command: string): Promise<string> {
  const { id } = await target.background.start(command);
  let said = "";
  await until(async () => {
    const look = await target.background.output(id);
    said += look.stdout;
    return look.status !== "running";
  }, "the background shell ends");
  return said;
}

for (const name of ["direct", "bash", "zsh", "fish", "dash", "busybox ash", "mksh"]) {
  const inShell = await needs(...(name === "direct" ? [] : (["tmux", name.split(" ")[0] as "bash"] as const)));
  inShell.describe(name, () => sameEnvironment(name));
}
const paned = await needs("tmux");
paned.test(
  "a pane has the variables of the login that opened it, not those of whoever started the tmux server",
  async () => {
    const socket = `buddy-test-${process.pid}-login`;
    const theirs = { ...process.env, SHARED: "theirs", FOREIGN: "their word" };
    Bun.spawnSync(["tmux", "-L", socket, "new-session", "-d", "-s", "theirs", "sleep 600"], { env: theirs });
    const mine = { SHARED: "mine", MINE: "two\nlines of 'words' and $HOME" };
    Object.assign(process.env, mine);
    try {
      await using place = await openTestTarget("local", { tmuxSocket: socket, shell: "bash" });
      const show = 'printf "%s|" "$SHARED" "$MINE" "${FOREIGN-none}" "$TERM" "${BUDDY_LOGIN_VARIABLES-none}"';
      const shown = async (shell: Pick<Shell, "run">) => (await shell.run(show, { waitMs: 15_000 })).output.head;
      const term = (await place.tmux("show", "-gv", "default-terminal")).trim();
      const first = await shown(place.target.shell);
      expect(first).toBe(`mine|${mine.MINE}|none|${term}|none|`);
      await place.target.panes!.createPane("other");
      expect(await shown(await place.target.panes!.pane({ pane: "other" }))).toBe(first);
    } finally {
      for (const name of Object.keys(mine)) delete process.env[name];
    }
  },
);
const ssh = await needs("sshd");
const namespaces = await needs("root", "namespaces");

function sameEnvironment(name: string): void {
  let place: OpenedTarget;
  let home: Disposable;
  beforeAll(async () => {
    home = temporaryHome();
    place = await openTestTarget("local", name === "direct" ? { tmux: "never" } : { shell: name });
  });
  afterAll(async () => {
    await place[Symbol.asyncDispose]();
    home[Symbol.dispose]();
  });

  test("a background shell starts with the exported variables, PATH and umask of the shell", async () => {
    const set =
      name === "fish"
        ? `set -gx WORD kept; set -gx QUOTED "it's \\"\\$HOME\\" & more"; set -gx PATH /opt/mine $PATH; set -g PLAIN no; umask 0027`
        : `export WORD=kept QUOTED="it's \\"\\$HOME\\" & more" PATH=/opt/mine:$PATH; PLAIN=no; umask 027`;
    const { outcome } = await place.target.shell.run(set, { waitMs: 15_000 });
    expect(outcome).toEqual({ kind: "exited", code: 0 });
    expect(await inBackground(place.target, SHOW)).toBe(`kept|it's "$HOME" & more|/opt/mine|0027|none|none`);
  });

  test.skipIf(name === "direct")("and with what the operator exported at the prompt", async () => {
    await place.types(name === "fish" ? "set -gx TYPED yes; echo ex\\ported\n" : "export TYPED=yes; echo ex\\ported\n");
    const screen = () => place.tmux("capture-pane", "-p", "-t", (place.target.shell as Pane).id);
    await until(async () => /exported\s+\[buddy/.test(await screen()), "the next prompt");
    expect(await inBackground(place.target, 'echo "$TYPED"')).toBe("yes\n");
  });

  test("a stopped command of the shell does not take background shells with it", async () => {
    const { id } = await place.target.background.start("sleep 60");
    const { outcome } = await place.target.shell.run("sleep 61", { waitMs: 200 });
    expect(["running", "stopped"]).toContain(outcome.kind);
    expect((await place.target.background.output(id)).status).toBe("running");
    await place.target.background.kill(id);
  });
}

test("a direct shell keeps its variables as long as it lives", async () => {
  const place = await openTestTarget("local", { tmux: "never" });
  const { shell } = place.target;
  await shell.run("export WORD=kept");
  const file = shell.environmentFile!;
  expect(readFileSync(file, "utf8")).toContain("WORD=");
  await place[Symbol.asyncDispose]();
  await until(() => !existsSync(dirname(file)), "its directory is gone");
});

test("a direct shell goes on where its directory was removed", async () => {
  await using place = await openTestTarget("local", { tmux: "never" });
  const { shell } = place.target;
  const unasked = { inNamespace: false };
  await shell.run("export WORD=kept");
  const directory = dirname(shell.environmentFile!);
  rmSync(directory, { recursive: true });
  expect(await shell.run("cd /usr", { unasked })).toMatchObject({ outcome: { kind: "exited", code: 0 }, cwd: "/usr" });
  rmSync(directory, { recursive: true });
  expect((await shell.run("export MORE=1; pwd")).output.head).toBe("/usr\n");
  expect(await shell.run("cd /", { unasked })).toMatchObject({ outcome: { kind: "exited", code: 0 }, cwd: "/" });
});

namespaces.test("a direct shell of another container that shares /tmp removes nothing of this one", async () => {
  await using place = await openTestTarget("local", { tmux: "never" });
  await place.target.shell.run("export WORD=kept");
  await place.target.transport.run("true");
  const directory = dirname(place.target.shell.environmentFile!);
  const loop = 'echo key | sh -c "$1" sh "$2" "" / job "" "$3"';
  const other = join(dirname(directory), "direct-other");
  const inner = [
    "unshare",
    "--pid",
    "--fork",
    "--mount-proc",
    "sh",
    "-c",
    loop,
    "sh",
    DIRECT_LOOP,
    other,
    DIRECT_START,
  ];
  expect(Bun.spawnSync(inner).exitCode).toBe(0);
  expect(readFileSync(join(directory, "env"), "utf8")).toContain("WORD=");
  // The same without a container of its own: what a shell left that was killed is removed, and only that.
  const gone = join(dirname(directory), "direct-gone");
  mkdirSync(gone, { mode: 0o700 });
  const [, pidSpace] = readFileSync(join(directory, "pid"), "utf8").trim().split(" ");
  writeFileSync(join(gone, "pid"), `${Bun.spawnSync(["true"]).pid} ${pidSpace}\n`);
  expect(Bun.spawnSync(inner.slice(4)).exitCode).toBe(0);
  expect([existsSync(gone), existsSync(directory), existsSync(other)]).toEqual([false, true, false]);
});

ssh.test("exported variables of a direct shell survive a drop, and the rest is reported as lost", async () => {
  const notices: string[] = [];
  using server = await useSshd();
  await using proxy = await proxyTo(server.port);
  await using target = await openTarget(
    targetOptions({
      place: placeOf({ ssh: `127.0.0.1:${proxy.port}` }),
      tmuxSocket: "none",
      onNotice: ({ text }) => notices.push(text),
    }),
  );
  await target.shell.run(`cd /usr/lib; export WORD="it's kept" && umask 027`);
  // Scripts of the guard run one after another: what was exported has been read.
  await target.transport.run("true", { quick: true });
  proxy.cut();
  await until(async () => !(await target.transport.answers(1000)), "the drop is noticed");
  const after = await target.shell.run('echo "$WORD in $PWD, $(umask)"');
  const again = after.outcome.kind === "exited" ? after : await target.shell.run('echo "$WORD in $PWD, $(umask)"');
  expect(again.output.head).toBe("it's kept in /usr/lib, 0027\n");
  expect(notices.filter((text) => text.includes("a new one is started"))).toHaveLength(1);
});

test.each([...(await available("tmux")).map(() => "required" as const), "never" as const])(
  "ps shows no script of buddy (tmux %s)",
  async (tmux) => {
    using home = temporaryHome();
    expect(home).toBeDefined();
    await using place = await openTestTarget("local", { tmux });
    await place.target.files.resolve("/etc");
    const { id } = await place.target.background.start("sleep 60");
    const { stdout } = await place.target.transport.run("ps -ww -eo args=");
    await place.target.background.kill(id);
    const long = stdout
      .toString()
      .split("\n")
      .filter((line) => line.length > 600 && /buddy/.test(line) && line.includes(place.options.tmuxSocket));
    expect(long).toEqual([]);
  },
);
