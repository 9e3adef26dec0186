/**
 * Other agents beside buddy, each with a configuration that leads it to the same scripted model: those on PATH are
 * measured, `bun bench/peers.ts [name…]` some of them.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { ScriptedReply } from "../test/support/scripted-model/playbook.ts";
import type { ScriptedRequest } from "../test/support/scripted-model/read-request.ts";
import { startScripted } from "../test/support/scripted-model/server.ts";
import { figure } from "./support/figures.ts";

const RUNS = Number(process.env["RUNS"] ?? 7);
/** Nothing here takes long: what does waits for a network that it does not need. */
const LIMIT_MS = 60_000;
const wanted = process.argv.slice(2);
const ANSWER = "The answer is 42.";

interface Model extends AsyncDisposable {
  readonly url: string;
  /** Whether the result of a call has come. */
  called(): boolean;
}

interface Peer {
  readonly args: readonly string[];
  readonly env?: (url: string) => Readonly<Record<string, string>>;
  /** Files of its home, by path. */
  readonly files?: (url: string) => Readonly<Record<string, string>>;
  /** A model of its own, where it speaks a protocol that the scripted one does not. */
  readonly model?: (calls: boolean) => Model;
}

const json = (value: unknown): string => JSON.stringify(value, null, 2);
const PROMPT = "say the answer";

const PEERS: Readonly<Record<string, Peer>> = {
  buddy: {
    args: ["exec", "-q", "--no-tmux", "--approve", "all", PROMPT],
    files: (url) => ({
      ".config/buddy/buddy.toml": `[agent]\nmodel = "bench"\n[models.bench]\napi_base_url = "${url}"\nmodel = "gpt-4o"\n`,
    }),
  },
  codex: {
    args: ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", PROMPT],
    files: (url) => ({
      ".codex/config.toml": `model = "gpt-5"\nmodel_provider = "bench"\n[model_providers.bench]\nname = "bench"\nbase_url = "${url}"\nwire_api = "responses"\nenv_key = "BENCH_KEY"\n`,
    }),
  },
  opencode: {
    args: ["run", "--model", "bench/bench", PROMPT],
    env: () => ({
      OPENCODE_DISABLE_AUTOUPDATE: "1",
      OPENCODE_DISABLE_MODELS_FETCH: "1",
      OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
      OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
    }),
    files: (url) => ({
      ".config/opencode/opencode.json": json({
        autoupdate: false,
        provider: {
          bench: {
            npm: "@ai-sdk/openai-compatible",
            name: "bench",
            options: { baseURL: url, apiKey: "k" },
            models: { bench: {} },
          },
        },
      }),
    }),
  },
  claude: {
    args: ["-p", PROMPT, "--allowedTools", "Bash"],
    env: (url) => ({
      ANTHROPIC_BASE_URL: url.replace(/\/v1$/, ""),
      ANTHROPIC_API_KEY: "k",
      DISABLE_AUTOUPDATER: "1",
      DISABLE_TELEMETRY: "1",
    }),
  },
  pi: {
    args: ["-p", "--provider", "bench", "--model", "bench", PROMPT],
    files: (url) => ({
      ".pi/agent/models.json": json({
        providers: {
          bench: { baseUrl: url, api: "openai-completions", apiKey: "k", models: [{ id: "bench", name: "bench" }] },
        },
      }),
    }),
  },
  goose: {
    args: ["run", "--no-session", "-t", PROMPT],
    env: (url) => ({
      GOOSE_PROVIDER: "openai",
      GOOSE_MODEL: "gpt-4o",
      OPENAI_HOST: new URL(url).origin,
      OPENAI_API_KEY: "k",
      GOOSE_MODE: "auto",
      GOOSE_DISABLE_KEYRING: "1",
    }),
    files: () => ({
      ".config/goose/config.yaml":
        "extensions:\n  developer:\n    enabled: true\n    type: builtin\n    name: developer\n",
    }),
  },
  crush: {
    args: ["run", "--quiet", PROMPT],
    files: (url) => ({
      ".config/crush/crush.json": json({
        providers: {
          bench: {
            type: "openai",
            base_url: url,
            api_key: "k",
            models: [{ id: "bench", name: "bench", context_window: 128_000 }],
          },
        },
        models: { large: { provider: "bench", model: "bench" }, small: { provider: "bench", model: "bench" } },
        permissions: { allowed_tools: ["bash"] },
      }),
    }),
  },
  gemini: {
    args: ["--approval-mode", "yolo", "--skip-trust", "--model", "gemini-2.5-flash", "--prompt", PROMPT],
    env: (url) => ({ GEMINI_API_KEY: "k", GOOGLE_GEMINI_BASE_URL: url }),
    files: () => ({
      ".gemini/settings.json": json({
        security: { auth: { selectedType: "gemini-api-key" } },
        general: { enableAutoUpdate: false },
        privacy: { usageStatisticsEnabled: false },
      }),
    }),
    model: geminiModel,
  },
};

const SHELL = /^(?:bash|shell|run_shell|exec_command|shell_command|local_shell|developer__shell|run_shell_command)$/i;

/** A call of whatever shell the agent offers; its arguments follow the schema. */
function shellCall({ tools, messages }: ScriptedRequest): ScriptedReply {
  const tool = tools.find(({ name }) => SHELL.test(name));
  const called = messages.some(({ role }) => role === "tool");
  if (tool === undefined || called) return { text: ANSWER };
  const { properties = {} } = tool.parameters as { properties?: Record<string, { type?: unknown }> };
  const name = ["command", "cmd"].find((one) => properties[one] !== undefined) ?? "command";
  const command = properties[name]?.type === "array" ? ["true"] : "true";
  const declared = { risk: "low", mutation: false, privesc: false, why: "bench", description: "bench" };
  const known = Object.fromEntries(Object.entries(declared).filter(([key]) => properties[key] !== undefined));
  return { toolCalls: [{ name: tool.name, args: { [name]: command, ...known } }] };
}

function scriptedModel(calls: boolean): Model {
  const server = startScripted({ reply: (request) => (calls ? shellCall(request) : { text: ANSWER }) });
  return {
    url: server.url,
    called: () => server.requests.some(({ messages }) => messages.some(({ role }) => role === "tool")),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** Gemini's own protocol, as much of it as one answer and one call take. */
function geminiModel(calls: boolean): Model {
  let called = false;
  const server = Bun.serve({
    port: 0,
    async fetch(request) {
      called ||= (await request.text()).includes('"functionResponse"');
      const call = { functionCall: { name: "run_shell_command", args: { command: "true" } } };
      const parts = [calls && !called ? call : { text: ANSWER }];
      const answer = json({ candidates: [{ content: { role: "model", parts }, finishReason: "STOP" }] });
      const event = `data: ${answer.replaceAll("\n", "")}\n\n`;
      return new Response(event, { headers: { "content-type": "text/event-stream" } });
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    called: () => called,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

interface Run {
  readonly ms: number;
  readonly answered: boolean;
  readonly called: boolean;
  readonly said: string;
}

async function measure(binary: string, peer: Peer, calls: boolean): Promise<Run> {
  const home = mkdtempSync(join(tmpdir(), "buddy-bench-peer-"));
  await using model = (peer.model ?? scriptedModel)(calls);
  for (const [path, text] of Object.entries(peer.files?.(model.url) ?? {})) {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), text, { mode: 0o600 });
  }
  const env = {
    HOME: home,
    PATH: process.env["PATH"] ?? "",
    LANG: "C.UTF-8",
    TERM: "dumb",
    BENCH_KEY: "k",
    ...peer.env?.(model.url),
  };
  const started = performance.now();
  const child = Bun.spawn([binary, ...peer.args], { cwd: home, env, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const timer = setTimeout(() => child.kill("SIGKILL"), LIMIT_MS);
  const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  clearTimeout(timer);
  const ms = performance.now() - started;
  rmSync(home, { recursive: true, force: true });
  return {
    ms,
    answered: `${out}${err}`.includes(ANSWER),
    called: model.called(),
    said: (err || out).trim().slice(-300),
  };
}

const medians = new Map<string, number>();
for (const [name, peer] of Object.entries(PEERS)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  const binary = name === "buddy" ? join(import.meta.dir, "../dist/buddy") : Bun.which(name);
  if (binary === null) {
    console.log(`${name}: skipped, it is not on PATH`);
    continue;
  }
  for (const calls of [false, true]) {
    const what = calls ? "one call, then an answer" : "an answer";
    // The first run warms the caches.
    const runs = [await measure(binary, peer, calls)];
    const [first] = runs;
    if (first?.answered !== true || (calls && !first.called)) {
      console.log(
        `${name}, ${what}: skipped, ${first?.answered === true ? "it called nothing" : `it did not answer: ${first?.said}`}`,
      );
      continue;
    }
    while (runs.length <= RUNS) runs.push(await measure(binary, peer, calls));
    const { value } = figure(
      `${name}: ${what}`,
      runs.slice(1).map(({ ms }) => ms),
      "ms",
    );
    const ours = medians.get(what);
    if (name === "buddy") medians.set(what, value);
    else if (ours !== undefined) figure("… to buddy", value / ours, "×");
  }
}
