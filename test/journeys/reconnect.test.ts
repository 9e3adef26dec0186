/** A login that needs a passphrase, and a connection that drops: nothing is tried in silence, and /reconnect asks. */
import { expect, setDefaultTimeout } from "bun:test";
import { proxyTo } from "../support/tcp-proxy.ts";
import { ReplBinary, shellCall, shellReply } from "../support/repl-binary.ts";
import { sshd } from "../support/sshd.ts";
import { until } from "../support/until.ts";
import { needs } from "../support/needs.ts";
import { quote } from "../../src/lib/quote.ts";
import { QUESTION } from "../support/wording.ts";

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
