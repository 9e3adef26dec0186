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

async function start(
  box: ReturnType<typeof sandbox>,
  env: Readonly<Record<string, string>>,
  { command = ["init"], cols = 100, rows = 40 } = {},
): Promise<Pty> {
  const pty = new Pty([await buddyBinary(), ...command], { cols, rows, cwd: box.cwd, env: { ...box.env, ...env } });
  await pty.until(INIT.model);
  return pty;
}

const filesOf = (box: ReturnType<typeof sandbox>): string[] =>
  readdirSync(join(box.home, ".config/buddy"), { recursive: true })
    .map((name) => join(box.home, ".config/buddy", String(name)))
    .filter((path) => statSync(path).isFile());

/** The key is in one file that its owner alone can read, and neither in the configuration nor on the screen. */
function expectKept(box: ReturnType<typeof sandbox>, key: string, screen: string): void {
  const holders = filesOf(box).filter((path) => readFileSync(path, "utf8").includes(key));
  expect(holders).toHaveLength(1);
  expect(readFileSync(holders[0] ?? "", "utf8")).toBe(`${key}\n`);
  expect(statSync(holders[0] ?? "").mode & 0o777).toBe(0o600);
  expect(screen).not.toContain(key);
}

test("init: a key that is refused is asked for again; the right one opens the list and is kept for its owner alone", async () => {
  await using openai = await provider();
  using box = sandbox();
  await using pty = await start(box, openai.env);
  pty.key("enter");
  await pty.until(INIT.key);
  pty.type("sk-wrong\r");
  await pty.until(INIT.again);
  pty.type(`${KEY}\r`);
  await pty.until(INIT.offered);
  pty.type("large");
  await pty.until((screen) => screen.includes("gpt-large") && !screen.includes("gpt-small"));
  pty.key("enter");
  await pty.until(inOrder(`gpt-large ${INIT.answered}`, INIT.approve));
  pty.key("enter");
  await pty.until(INIT.session);
  pty.key("enter");
  expect(await pty.exited).toBe(0);
  const text = readFileSync(join(box.home, ".config/buddy/buddy.toml"), "utf8");
  expect(text).toMatch(/^model = "openai"$/m);
  expect(text).toMatch(/^model = "gpt-large"$/m);
  expectKept(box, KEY, pty.screen());
  expect(openai.asked.filter(isPrompt)).toEqual(["/v1/responses"]);
});

test.each(["model", "key", "offered", "approve", "session"] as const)(
  "init: Ctrl-C at “%s” leaves no configuration behind",
  async (question) => {
    await using openai = await provider();
    using box = sandbox();
    await using pty = await start(box, openai.env);
    const steps = [
      ["model", "\r"],
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

test("init: without an endpoint the model can be used anyway", async () => {
  using box = sandbox();
  await using pty = await start(box, { HTTPS_PROXY: "http://127.0.0.1:9" });
  pty.key("enter");
  await pty.until(INIT.key);
  pty.type(`${KEY}\r`);
  await pty.until(INIT.name);
  pty.type("gpt-new\r");
  await pty.until(inOrder(INIT.notAnswered, INIT.next));
  pty.type("3\r");
  await pty.until(INIT.approve);
  pty.key("enter");
  await pty.until(INIT.session);
  pty.key("enter");
  expect(await pty.exited).toBe(0);
  expectKept(box, KEY, pty.screen());
});

test("init: an endpoint of one's own: address, protocol, key, model, one request", async () => {
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
  expect(pty.screen()).toMatch(/Groq.*GROQ_API_KEY/);
  pty.key("up");
  pty.key("up");
  pty.key("enter");
  await pty.until(INIT.address);
  pty.type("nonsense\r");
  await pty.until(INIT.notAddress);
  pty.key("ctrl-u");
  pty.type(`${server.url.origin}\r`);
  await pty.until(INIT.protocol);
  pty.type("3\r");
  await pty.until(INIT.ownKey);
  pty.type("\r");
  await pty.until(INIT.pasted);
  pty.type(`${KEY}\r`);
  await pty.until(INIT.offered);
  pty.key("down", "enter");
  await pty.until(inOrder(`own-large ${INIT.answered}`, INIT.approve));
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
  expectKept(box, KEY, pty.screen());
});

const FIRST = { command: [], cols: 80, rows: 24 };

test("buddy with nothing configured: a refused key is corrected in place, and the prompt is there", async () => {
  await using openai = await provider();
  using box = sandbox();
  await using pty = await start(box, { ...openai.env, OPENAI_API_KEY: "sk-wrong-0123456789c4f2" }, FIRST);
  expect(pty.screen()).toMatch(/1 +OpenAI.*OPENAI_API_KEY.*found/);
  pty.key("enter");
  await pty.until(inOrder("c4f2", "OPENAI_API_KEY", INIT.again));
  pty.type(`${KEY}\r`);
  await pty.until(inOrder(`gpt-6.1-sol ${INIT.answered}`, "buddy.toml", "/help"));
  pty.type("hello\r");
  await pty.until(/^ready[^]*>\s*$/m);
  pty.key("ctrl-d");
  expect(await pty.exited).toBe(0);
  expectKept(box, KEY, pty.screen());
  expect(openai.asked.filter(isPrompt)).toEqual(["/v1/responses", "/v1/responses", "/v1/responses"]);
  await using again = new Pty([await buddyBinary()], {
    cols: 80,
    rows: 24,
    cwd: box.cwd,
    env: { ...box.env, ...openai.env },
  });
  await again.until(/> *$/);
  expect(again.screen()).not.toContain(INIT.model);
  again.key("ctrl-d");
  expect(await again.exited).toBe(0);
});

test.each([
  ["escape", 0],
  ["ctrl-c", 130],
] as const)("buddy with nothing configured: %s writes nothing", async (key, code) => {
  using box = sandbox();
  await using pty = await start(box, {}, FIRST);
  pty.key(key);
  expect(await pty.exited).toBe(code);
  expect(existsSync(join(box.home, ".config"))).toBe(false);
});

test("buddy with nothing configured: the demo is one key away, also at 40 columns and on a dumb terminal", async () => {
  for (const [env, cols, asked] of [
    [{}, 40, INIT.model],
    [{ TERM: "dumb" }, 80, INIT.number],
  ] as const) {
    using box = sandbox();
    await using pty = await start(box, env, { command: [], cols, rows: 24 });
    await pty.until(asked);
    pty.type("6\r");
    await pty.until(/\/help[^]*>\s*$/);
    pty.type("/quit\r");
    expect(await pty.exited).toBe(0);
  }
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
