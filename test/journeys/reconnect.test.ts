/** A login that needs a passphrase, and a connection that drops: nothing is tried in silence, and /reconnect asks. */
import { expect, setDefaultTimeout } from "bun:test";
import { proxyTo } from "../support/tcp-proxy.ts";
import { ReplBinary, shellCall, shellReply } from "../support/repl-binary.ts";
import { sshd } from "../support/sshd.ts";
import { until } from "../support/until.ts";
import { needs } from "../support/needs.ts";
import { quote } from "../../src/lib/quote.ts";
import { QUESTION } from "../support/wording.ts";
import { call, DECLARED, shell } from "../support/calls.ts";
import { endTmux } from "../support/end-tmux.ts";
import { builtinSchemas } from "../../src/tools/schemas.ts";
import { SLASH_COMMANDS } from "../../src/ui/commands/slash-commands.ts";
import { writeFileSync } from "node:fs";

const { test } = await needs("sshd", "tmux");

setDefaultTimeout(90_000);

test("after a drop /reconnect asks for the passphrase on the operator's terminal, and work continues", async () => {
  const server = await sshd();
  await using proxy = await proxyTo(server.port);
  const key = server.key("repl-asks", { passphrase: "open sesame" });
  server.configure(`Host repl-asks\n  HostName 127.0.0.1\n  Port ${proxy.port}\n  IdentityFile ${key}`);
  await using repl = new ReplBinary([shellCall("echo back again"), { text: "It answered." }]);
  const pty = await repl.start({
    args: ["--no-tmux", "--approve", "all", "--ssh", "repl-asks"],
    env: { PATH: server.env.PATH },
  });
  await pty.until("Enter passphrase");
  pty.type("open sesame\r");
  await pty.until(")>");
  const before = proxy.accepted;
  proxy.cut();
  pty.type("/reconnect\r");
  await until(() => proxy.accepted > before, "it connects again");
  await pty.until((screen) => screen.split("Enter passphrase").length > 2);
  pty.type("open sesame\r");
  await pty.until("connected: ");
  pty.type("go\r");
  await pty.until("It answered.");
  expect(JSON.stringify(repl.model.requests.at(-1)?.messages)).toContain("back again");
});

test("a line that goes dead while a question is open: the answer counts, and the question is not asked again", async () => {
  const server = await sshd();
  await using proxy = await proxyTo(server.port);
  server.configure(
    `Host repl-dead\n  HostName 127.0.0.1\n  Port ${proxy.port}\n  IdentityFile ${server.key("repl-dead")}`,
  );
  await using repl = new ReplBinary([
    () => shellReply(`touch ${quote(repl.box.cwd)}/answered && echo made`),
    { text: "It answered." },
  ]);
  const pty = await repl.start({
    args: ["--ssh", "repl-dead"],
    env: { PATH: server.env.PATH },
  });
  await pty.until(")>");
  pty.type("go\r");
  await pty.until(QUESTION.asked);
  proxy.swallow(true);
  pty.type("y");
  await pty.until("reconnecting");
  proxy.swallow(false);
  await pty.until("It answered.");
  expect(JSON.stringify(repl.model.requests.at(-1)?.messages)).toContain("made");
});

test("while the connection is down every slash command and every tool waits: one client, every line once", async () => {
  const server = await sshd();
  await using proxy = await proxyTo(server.port);
  server.configure(
    `Host repl-every\n  HostName 127.0.0.1\n  Port ${proxy.port}\n  IdentityFile ${server.key("repl-every")}`,
  );
  const socket = `buddy-test-every-${process.pid}`;
  using _ = { [Symbol.dispose]: () => endTmux(socket, server.sockets) };
  const [go, file] = [`${server.dir}/every-go`, `${server.dir}/every-file`];
  writeFileSync(file, "one\n");
  const tools = everyTool(file);
  expect(tools.map(({ name }) => name).toSorted()).toEqual(
    builtinSchemas()
      .filter(({ onTarget }) => onTarget)
      .map(({ name }) => name)
      .toSorted(),
  );
  const drop = () => {
    proxy.refuse(true);
    proxy.cut();
  };
  await using repl = new ReplBinary([
    shell(
      `for i in $(seq 60); do echo row $i; if [ $i = 20 ]; then until [ -e '${go}' ]; do sleep 0.05; done; fi; done`,
      {
        wait: false,
      },
    ),
    { text: "It was sent." },
    () => {
      drop();
      return { toolCalls: tools };
    },
    () => {
      writeFileSync(go, "");
      return call("shell_output", { wait: "60s" });
    },
    shell("echo alone"),
    { text: "It answered." },
  ]);
  const pty = await repl.start({
    args: ["--approve", "all", "--ssh", "repl-every"],
    env: { PATH: server.env.PATH },
    config: `[tmux]\nsocket = "${socket}"\nmax_sessions = 2\n`,
    rows: 200,
  });
  await pty.until(")>");
  pty.type("send it\r");
  await pty.until("It was sent.");
  drop();
  await pty.until("reconnecting");
  const commands = SLASH_COMMANDS.filter(({ name }) => !LEAVES.has(name));
  for (const { name } of commands) pty.type(`/${name} ${ARGUMENTS[name] ?? ""}`.trim() + "\r");
  pty.type("go on\r");
  await pty.until("/ps");
  proxy.refuse(false);
  await pty.until("● background shells");
  pty.type("/ps\r/status\r");
  proxy.refuse(false);
  await pty.until("It answered.");
  const messages = repl.model.requests.at(-1)?.messages ?? [];
  const results = messages.filter(({ role }) => role === "tool").map(({ content }) => String(content));
  const rows = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => `row ${from + i}`);
  expect([...(results.at(-2)?.match(/row \d+/g) ?? [])]).toEqual(rows(1, 60));
  expect(results.at(-1)).toContain("alone");
  expect(results.at(-1)?.match(/alone/g)).toHaveLength(1);
  const failed = tools.filter((_, index) => results[index + 1]?.includes("error"));
  expect(failed.map(({ name }) => name)).toEqual(["kill_shell"]);
  const clients = Bun.spawnSync(["tmux", "-L", socket, "list-clients"], {
    env: { ...process.env, TMUX_TMPDIR: server.sockets },
  });
  expect(clients.stdout.toString().trim().split("\n")).toHaveLength(1);
});

/** A call of each that works on the target, in an order in which they work. */
const everyTool = (path: string) => [
  { name: "list_shells", args: {} },
  { name: "run_shell", args: { command: "true", mode: "background", ...DECLARED } },
  { name: "read_file", args: { path } },
  { name: "edit_file", args: { path, old_text: "one", new_text: "two" } },
  { name: "write_file", args: { path, content: "three\n" } },
  { name: "capture-pane", args: {} },
  { name: "tmux-create-pane", args: { pane: "beside", ...DECLARED } },
  { name: "send-keys", args: { pane: "beside", literal_text: "echo typed", enter: true, ...DECLARED } },
  { name: "tmux-kill-pane", args: { pane: "beside", ...DECLARED } },
  { name: "tmux-create-session", args: { session: "other", ...DECLARED } },
  { name: "tmux-kill-session", args: { session: "other", ...DECLARED } },
  { name: "shell_output", args: { wait: "1s" } },
  { name: "kill_shell", args: { shell_id: "sh-0" } },
];
/** These end the command, the conversation or buddy itself. */
const LEAVES = new Set(["quit", "stop", "new", "clear", "resume", "retry", "compact", "login", "logout"]);
const ARGUMENTS: Readonly<Record<string, string>> = {
  kill: "nothing",
  output: "sh-0",
  timeout: "10m",
  theme: "dark",
  approve: "all",
  model: "nothing",
  run: "nothing",
  session: "nothing",
  export: "/nowhere/x.md",
};
