/** The compiled REPL inside tmux, on an ssh host, and with the shared pane. */
import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buddyBinary } from "../support/buddy.ts";
import { ReplBinary, shellCall, shellReply } from "../support/repl-binary.ts";
import { sshTarget } from "../support/sshd.ts";
import { until } from "../support/until.ts";
import { needs } from "../support/needs.ts";
import { quote } from "../../src/lib/quote.ts";
import { QUESTION } from "../support/wording.ts";

const pane = await needs("tmux");
const client = await needs("ssh");
const ssh = await needs("sshd");

const TIMEOUT = 60_000;

pane.test(
  "inside tmux: typing, streaming, resizing, and /attach opens a split with the shared pane",
  async () => {
    await using repl = new ReplBinary([
      { text: "word ".repeat(100) },
      shellCall("echo from the pane"),
      { text: "it ran" },
    ]);
    repl.configure();
    const { env, cwd } = repl.box;
    const tmux = (...args: string[]): string =>
      Bun.spawnSync(["tmux", "-L", "outer", "-f", "/dev/null", ...args], { env, cwd }).stdout.toString();
    const screen = (): string => tmux("capture-pane", "-p", "-t", "outer:0.0");
    const shows = (wanted: RegExp): Promise<boolean> =>
      until(() => wanted.test(screen()), String(wanted)).catch((error: Error) => {
        throw new Error(`${error.message}\n${screen()}`);
      });
    tmux("new-session", "-d", "-s", "outer", "-x", "80", "-y", "24", quote(await buddyBinary()));
    await shows(/watch +tmux -L buddy attach -t buddy-/);
    tmux("send-keys", "-t", "outer", "hello", "Enter");
    await shows(/(word ){10}[\s\S]*> *\n/);
    const line = "a line that wraps when the window gets narrow, as it will";
    tmux("send-keys", "-t", "outer", line);
    await shows(/as it will/);
    tmux("resize-window", "-t", "outer", "-x", "40", "-y", "12");
    await until(() => screen().replace(/\n */g, "").includes("narrow, as it will"), "the wrapped line");
    expect(screen().match(/a line that/g)).toHaveLength(1);
    tmux("resize-window", "-t", "outer", "-x", "100", "-y", "30");
    await shows(new RegExp(`> ${line}`));
    expect(screen().match(/a line that/g)).toHaveLength(1);
    tmux("send-keys", "-t", "outer", "C-u", "C-l");
    tmux("send-keys", "-t", "outer", "run it");
    await shows(/^\n.*> run it\n/);
    tmux("send-keys", "-t", "outer", "Enter");
    await shows(/it ran|approve\?/);
    if (screen().includes(QUESTION.asked)) tmux("send-keys", "-t", "outer", "y");
    await shows(/it ran/);
    // What is taken off the top of the screen must not go into tmux's history.
    expect(tmux("capture-pane", "-p", "-S", "-", "-t", "outer:0.0").match(/> run it/g)).toHaveLength(1);
    tmux("send-keys", "-t", "outer", "/attach", "Enter");
    await shows(/opened in a split: tmux -L buddy attach/);
    await until(() => tmux("list-panes", "-t", "outer").trim().split("\n").length === 2, "a second pane");
    await until(() => tmux("capture-pane", "-p", "-t", "outer:0.1").includes("from the pane"), "the shared pane in it");
  },
  TIMEOUT,
);

const TEXT = "echo a rather long line of output that is wrapped";

for (const [state, confirm, command, wanted] of [
  ["a question is open", true, `rm -rf /srv/no-such && ${`${TEXT}; `.repeat(3)}`, /● rm[^]*approve\?/],
  [
    "a task runs",
    false,
    `for i in 1 2 3 4 5 6 7 8 9; do ${TEXT}; done; sleep 600`,
    /(?:.*output that is wrapped\n){5}\n.*running/,
  ],
] as const)
  pane.test(
    `inside tmux: a window made smaller and large again while ${state} shows everything once`,
    async () => {
      await using repl = new ReplBinary([shellCall(command), { text: "it ran" }]);
      repl.configure(`[tools]\nshell_confirm = ${confirm}\n`);
      const { env, cwd } = repl.box;
      const tmux = (...args: string[]): string =>
        Bun.spawnSync(["tmux", "-L", "outer", "-f", "/dev/null", ...args], { env, cwd }).stdout.toString();
      // Without what ticks.
      const all = (): string =>
        tmux("capture-pane", "-p", "-S", "-", "-t", "outer")
          .replace(/^\S+ task 1 .*/m, "task 1 running")
          .trimEnd();
      const shows = (holds: () => boolean, what: string): Promise<boolean> =>
        until(holds, what).catch((error: Error) => {
          throw new Error(`${error.message}\n${all()}`);
        });
      tmux("new-session", "-d", "-s", "outer", "-x", "80", "-y", "24", await buddyBinary(), "--no-tmux");
      await shows(() => /> *$/.test(all()), "the prompt");
      tmux("send-keys", "-t", "outer", "go", "Enter");
      await shows(() => wanted.test(tmux("capture-pane", "-p", "-t", "outer")), String(wanted));
      const before = all();
      for (const [columns, rows] of [
        [40, 12],
        [33, 10],
      ] as const) {
        tmux("resize-window", "-t", "outer", "-x", String(columns), "-y", String(rows));
        // Rows that tmux has wrapped are full; those that are painted anew are not.
        const fits = (): boolean => {
          const screen = tmux("capture-pane", "-p", "-t", "outer");
          const live = screen.slice(Math.max(0, screen.lastIndexOf("\n? "))).split("\n");
          return confirm
            ? screen.includes(QUESTION.asked) && live.every((row) => row.length < columns)
            : live.some((row) => /a rather/.test(row) && row.length === columns - 1) && screen.includes("running");
        };
        await shows(fits, `painted at ${columns}×${rows}`);
      }
      tmux("resize-window", "-t", "outer", "-x", "80", "-y", "24");
      await shows(() => all() === before, `as it was:\n${before}\n---`);
      process.kill(Number(tmux("display-message", "-p", "-t", "outer", "#{pane_pid}")), "SIGTERM");
      await until(() => tmux("list-sessions") === "", "buddy has ended");
    },
    TIMEOUT,
  );

ssh.test(
  "on an ssh host: the prompt and every question name it",
  async () => {
    const target = await sshTarget();
    try {
      await using repl = new ReplBinary([
        () => shellReply(`touch ${quote(repl.box.cwd)}/made-there`),
        { text: "made" },
      ]);
      const pty = await repl.start({
        args: ["--ssh", target.host, "--no-tmux"],
        env: { ...target.env, HOME: repl.box.home, PATH: target.env.PATH },
      });
      // Where temporary files are may take more than a line.
      pty.resize(200, 24);
      const screen = await pty.until(/\(ssh \S*lab\)> *$/);
      expect(screen).toMatch(/target +\S+@\S+ .*ssh/);
      pty.type("go\r");
      await pty.until(/\S+@\S+\$ touch .*made-there -- approve\?/);
      pty.type("y");
      await pty.until("made\n");
      pty.type(`look @${repl.box.cwd.replaceAll(" ", "\\ ")}/made`);
      await pty.until("› made-there");
    } finally {
      await target.close();
    }
  },
  TIMEOUT,
);

ssh.test(
  "on an ssh host @path finds files below the directory there, and attaches them",
  async () => {
    const { host, env, server } = await sshTarget();
    await using repl = new ReplBinary([{ text: "seen" }]);
    const directory = join(server.remoteHome, "deep/er");
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, "needle there.conf"), "port = 4711\n");
    const pty = await repl.start({
      args: ["--ssh", host, "--cd", server.remoteHome, "--no-tmux"],
      env: { ...env, HOME: repl.box.home, PATH: env.PATH },
    });
    await pty.until(/\(ssh \S*lab\)> *$/);
    pty.type("look at @ndlth");
    await pty.until(/needle.*there\.conf/);
    pty.type("\t");
    await pty.until(/look at @deep\/er\/needle\\ there\.conf/);
    pty.type("\r");
    await pty.until("seen");
    expect(repl.prompts[0]).toContain("port = 4711");
  },
  TIMEOUT,
);

test(
  "a named model without its sign-in ends it before the first prompt, with ways to connect a model",
  async () => {
    await using repl = new ReplBinary([]);
    const pty = repl.spawn([await buddyBinary(), "--no-tmux", "-m", "gpt-codex"]);
    expect(await pty.exited).toBe(4);
    for (const words of ["not signed in", "buddy login", "BUDDY_API_KEY", "buddy --model demo"])
      await until(() => pty.emulator.history().includes(words), `${words} is on the screen`);
  },
  TIMEOUT,
);

client.test(
  "a host that cannot be reached ends it with an error, never on this machine instead",
  async () => {
    await using repl = new ReplBinary([]);
    const pty = await repl.start({ args: ["--ssh", "nobody@127.0.0.1:9", "--no-tmux"] });
    expect(await pty.exited).toBe(1);
    // The last bytes of a program may come after word of its end.
    await until(() => pty.emulator.history().includes("refused the connection"), "the error is on the screen");
  },
  TIMEOUT,
);

test(
  "a container that is not there ends it, too, and gives the terminal back",
  async () => {
    await using repl = new ReplBinary([]);
    const pty = await repl.start({ args: ["--container", "no-such-container", "--no-tmux"] });
    expect(await pty.exited).toBe(1);
    await until(() => pty.emulator.history().includes("no-such-container"), "the error is on the screen");
    expect(pty.emulator.raw).toContain("\x1b[?2004l");
  },
  TIMEOUT,
);
