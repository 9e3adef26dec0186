/**
 * `buddy init` on a terminal, with a provider that answers behind a proxy: the questions, the key, and every way to
 * leave.
 */
import { expect, setDefaultTimeout } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buddyBinary, sandbox } from "../support/buddy.ts";
import { needs } from "../support/needs.ts";
import { Pty } from "../support/pty.ts";
import { httpProxy } from "../support/http-proxy.ts";
import { INIT } from "../support/wording.ts";

setDefaultTimeout(60_000);

const { test } = await needs("openssl");
const KEY = "sk-right-0123456789abcdef";
/** An endpoint that takes its time is asked for its models meanwhile. */
const isPrompt = (asked: string): boolean => !asked.startsWith("/v1/models");

/** Every https address leads to one server here, which knows one key and two models. */
async function provider() {
  const directory = mkdtempSync(join(tmpdir(), "buddy-provider-"));
  const command =
    "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -keyout key.pem -out cert.pem " +
    "-subj /CN=api.openai.com -addext subjectAltName=DNS:api.openai.com";
  expect(Bun.spawnSync(command.split(" "), { cwd: directory }).exitCode).toBe(0);
  const [key, cert] = [join(directory, "key.pem"), join(directory, "cert.pem")];
  const asked: string[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    tls: { key: Bun.file(key), cert: Bun.file(cert) },
    fetch(request) {
      const { pathname } = new URL(request.url);
      asked.push(pathname);
      if (request.headers.get("authorization") !== `Bearer ${KEY}`)
        return Response.json(
          { error: { message: "Incorrect API key provided", code: "invalid_api_key" } },
          { status: 401 },
        );
      if (pathname.endsWith("/models")) return Response.json({ data: [{ id: "gpt-small" }, { id: "gpt-large" }] });
      const content = [{ type: "output_text", text: "ready" }];
      return Response.json({ status: "completed", output: [{ type: "message", role: "assistant", content }] });
    },
  });
  const proxy = await httpProxy(() => server.port ?? 0);
  return {
    asked,
    env: { HTTPS_PROXY: `http://127.0.0.1:${proxy.port}`, NODE_EXTRA_CA_CERTS: cert },
    async [Symbol.asyncDispose]() {
      proxy.server.close();
      await server.stop(true);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** One text after the other on the screen. */
const inOrder = (...texts: readonly string[]): RegExp => new RegExp(texts.map(RegExp.escape).join("[^]*"));

async function start(box: ReturnType<typeof sandbox>, env: Readonly<Record<string, string>>): Promise<Pty> {
  const pty = new Pty([await buddyBinary(), "init"], {
    cols: 100,
    rows: 40,
    cwd: box.cwd,
    env: { ...box.env, ...env },
  });
  await pty.until(INIT.model);
  return pty;
}

test("a key that is refused is asked for again; the right one opens the list and is kept for its owner alone", async () => {
  await using openai = await provider();
  using box = sandbox();
  await using pty = await start(box, openai.env);
  pty.key("down", "enter");
  await pty.until(INIT.key);
  pty.type("sk-wrong\r");
  await pty.until(INIT.again);
  pty.type(`${KEY}\r`);
  await pty.until(inOrder("2 models", INIT.offered));
  pty.type("large");
  await pty.until((screen) => screen.includes("gpt-large") && !screen.includes("gpt-small"));
  pty.key("enter");
  await pty.until(inOrder(`${INIT.answers} ready`, INIT.approve));
  pty.key("enter");
  await pty.until(INIT.session);
  pty.key("enter");
  expect(await pty.exited).toBe(0);

  const config = join(box.home, ".config/buddy/buddy.toml");
  const kept = readdirSync(join(box.home, ".config/buddy"), { recursive: true })
    .map((name) => join(box.home, ".config/buddy", String(name)))
    .filter((path) => statSync(path).isFile());
  const text = await Bun.file(config).text();
  expect(text).toMatch(/^model = "openai"$/m);
  expect(text).toMatch(/^model = "gpt-large"$/m);
  expect(text).not.toContain(KEY);
  expect(pty.screen()).not.toContain(KEY);
  const files = await Promise.all(kept.map(async (path) => ({ path, text: await Bun.file(path).text() })));
  const [keyFile] = files.filter((file) => file.text.trim() === KEY).map((file) => file.path);
  expect(statSync(keyFile ?? "").mode & 0o777).toBe(0o600);
  expect(openai.asked.filter(isPrompt)).toEqual(["/v1/responses"]);
});

test.each(["model", "key", "offered", "approve", "session"] as const)(
  "Ctrl-C at “%s” leaves nothing behind",
  async (question) => {
    await using openai = await provider();
    using box = sandbox();
    await using pty = await start(box, openai.env);
    const steps = [
      ["model", "\x1b[B\r"],
      ["key", `${KEY}\r`],
      ["offered", "\r"],
      ["approve", "\r"],
      ["session", "\r"],
    ] as const;
    for (const [asked, reply] of steps) {
      await pty.until(INIT[asked]);
      if (asked === question) break;
      pty.type(reply);
    }
    pty.key("ctrl-c");
    expect(await pty.exited).toBe(130);
    expect(existsSync(join(box.home, ".config"))).toBe(false);
  },
);

test("without an endpoint the file is written and says what is next", async () => {
  using box = sandbox();
  await using pty = await start(box, { HTTPS_PROXY: "http://127.0.0.1:9" });
  pty.key("down", "enter");
  await pty.until(INIT.key);
  pty.type(`${KEY}\r`);
  await pty.until(inOrder(INIT.noList, INIT.approve));
  pty.key("enter");
  await pty.until(INIT.session);
  pty.key("enter");
  expect(await pty.exited).toBe(0);
  expect(await Bun.file(join(box.home, ".config/buddy/buddy.toml")).text()).toContain("api_key_file");
});

test("an endpoint of one's own: address, protocol, key, model, one request", async () => {
  const asked: string[] = [];
  await using server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      const { pathname } = new URL(request.url);
      const key = request.headers.get("x-api-key");
      asked.push(`${pathname} ${key}`);
      if (key !== KEY) return Response.json({ error: { type: "authentication_error" } }, { status: 401 });
      if (pathname.endsWith("/models")) return Response.json({ data: [{ id: "own-small" }, { id: "own-large" }] });
      return Response.json({ role: "assistant", content: [{ type: "text", text: "ready" }], stop_reason: "end_turn" });
    },
  });
  using box = sandbox();
  await using pty = await start(box, { GROQ_API_KEY: "gsk-1" });
  expect(pty.screen()).toMatch(/openai\/gpt-oss-120b .*GROQ_API_KEY/);
  pty.key("up", "enter");
  await pty.until(INIT.address);
  pty.type("nonsense\r");
  await pty.until(INIT.notAddress);
  pty.key("ctrl-u");
  pty.type(`${server.url.origin}\r`);
  await pty.until(INIT.protocol);
  pty.key("up", "enter");
  await pty.until(INIT.ownKey);
  pty.type("\r");
  await pty.until(INIT.again);
  pty.type(`${KEY}\r`);
  await pty.until(inOrder("2 models", INIT.offered));
  pty.key("down", "enter");
  await pty.until(inOrder(`${INIT.answers} ready`, INIT.approve));
  pty.key("enter");
  await pty.until(INIT.session);
  pty.key("enter");
  expect(await pty.exited).toBe(0);
  expect(asked.filter(isPrompt)).toEqual([`/v1/messages ${KEY}`]);
  const { agent, models } = Bun.TOML.parse(readFileSync(join(box.home, ".config/buddy/buddy.toml"), "utf8")) as {
    agent: object;
    models: Record<string, Record<string, string>>;
  };
  expect(agent).toMatchObject({ model: "mine" });
  expect(models["mine"]).toMatchObject({ api_base_url: server.url.origin, api: "anthropic", model: "own-large" });
  expect(readFileSync(models["mine"]?.["api_key_file"] ?? "", "utf8")).toBe(`${KEY}\n`);
});

test("a first start without a terminal, with a key in the environment: the way out needs no question", async () => {
  using box = sandbox();
  const env = { OPENROUTER_API_KEY: "k-123" };
  const first = await box.run(["exec", "hello"], { env });
  expect([first.code, first.stderr.includes("buddy init < /dev/null")]).toEqual([4, true]);
  expect(await box.run(["init"], { env })).toMatchObject({ code: 0, stdout: expect.stringContaining("OpenRouter") });
  const file = readFileSync(join(box.home, ".config/buddy/buddy.toml"), "utf8");
  expect(file).toMatch(/^model = "openrouter"$/m);
  expect(file).toContain('api_key_env = "OPENROUTER_API_KEY"');
  expect((await box.run(["init"], { env })).code).toBe(2);
});
