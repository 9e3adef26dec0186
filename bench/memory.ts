/**
 * What large texts cost in memory: `bun bench/memory.ts [part…]`; needs dist/buddy. Peaks of the binary, beside an idle
 * run.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { figure } from "./support/figures.ts";

const BUDDY = process.env["BUDDY_BINARY"] ?? join(import.meta.dir, "../dist/buddy");
const MB = 1024 * 1024;
const wanted = process.argv.slice(2);
const dir = mkdtempSync(join(tmpdir(), "buddy-memory-"));

const sse = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;

/** What the model answers next; set by each part. */
let answers: (() => AsyncIterable<string>)[] = [];
const server = Bun.serve({
  port: 0,
  idleTimeout: 0,
  maxRequestBodySize: 1024 * MB,
  async fetch() {
    const answer = answers.shift() ?? text("done");
    const parts = answer();
    const iterator = parts[Symbol.asyncIterator]();
    const body = new ReadableStream({
      async pull(controller) {
        const { value, done } = await iterator.next();
        if (done) return controller.close();
        controller.enqueue(new TextEncoder().encode(value));
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  },
});

function text(content: string): () => AsyncIterable<string> {
  return async function* () {
    yield sse({ content });
    yield `${sse({}, "stop")}data: [DONE]\n\n`;
  };
}

function words(piece: string, megabytes: number, field = "content"): () => AsyncIterable<string> {
  return async function* () {
    for (let sent = 0; sent < megabytes * MB; sent += piece.length) yield sse({ [field]: piece });
    yield `${sse({ content: "." })}${sse({}, "stop")}data: [DONE]\n\n`;
  };
}

const typed = (type: string, fields: object) => `data: ${JSON.stringify({ type, ...fields })}\n\n`;

/** The closing events repeat the whole text three times. */
function responsesWords(piece: string, megabytes: number): () => AsyncIterable<string> {
  return async function* () {
    const at = { output_index: 0, item_id: "m" };
    const item = { type: "message", id: "m", role: "assistant" };
    yield typed("response.output_item.added", { output_index: 0, item: { ...item, content: [] } });
    let sent = 0;
    for (; sent < megabytes * MB; sent += piece.length)
      yield typed("response.output_text.delta", { ...at, delta: piece });
    const text = piece.repeat(sent / piece.length);
    const whole = { ...item, content: [{ type: "output_text", text, annotations: [] }] };
    yield typed("response.output_text.done", { ...at, text });
    yield typed("response.output_item.done", { output_index: 0, item: whole });
    yield typed("response.completed", { response: { status: "completed", output: [whole] } });
  };
}

function anthropicWords(piece: string, megabytes: number): () => AsyncIterable<string> {
  return async function* () {
    const delta = { type: "text_delta", text: piece };
    yield typed("content_block_start", { index: 0, content_block: { type: "text", text: "" } });
    for (let sent = 0; sent < megabytes * MB; sent += piece.length)
      yield typed("content_block_delta", { index: 0, delta });
    yield typed("message_delta", { delta: { stop_reason: "end_turn" } });
    yield typed("message_stop", {});
  };
}

function shell(command: string): () => AsyncIterable<string> {
  const args = JSON.stringify({ command, risk: "low", mutation: false, privesc: false, why: "bench" });
  const call = { index: 0, id: "call_1", type: "function", function: { name: "run_shell", arguments: args } };
  return async function* () {
    yield sse({ tool_calls: [call] });
    yield `${sse({}, "tool_calls")}data: [DONE]\n\n`;
  };
}

interface Peak {
  readonly mb: number;
  readonly bytes: number;
}

async function run(args: readonly string[], bytesPerSecond = Infinity): Promise<Peak> {
  const child = Bun.spawn([BUDDY, "exec", "--no-tmux", "--approve", "all", ...args], {
    cwd: join(dir, "cwd"),
    env: { PATH: process.env["PATH"] ?? "", HOME: join(dir, "home") },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "ignore",
  });
  let peak = 0;
  const sample = () => {
    try {
      const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
      peak = Math.max(peak, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
    } catch {
      // It has ended.
    }
  };
  // An idle run is over after twenty milliseconds.
  const timer = setInterval(sample, 2);
  let bytes = 0;
  const started = performance.now();
  for await (const chunk of child.stdout) {
    bytes += chunk.length;
    const ahead = (bytes / bytesPerSecond) * 1000 - (performance.now() - started);
    if (ahead > 0) await Bun.sleep(ahead);
  }
  const code = await child.exited;
  clearInterval(timer);
  if (code !== 0) throw new Error(`buddy exec ${args.join(" ")} ended with ${code}`);
  return { mb: peak, bytes };
}

function row(name: string, { mb, bytes }: Peak, idle: number, goal?: string): void {
  figure(`${name} (${(bytes / MB).toFixed(0)} MB out): memory beyond an idle run`, mb - idle, "MB", goal);
}

const PARTS: Record<string, (idle: number) => Promise<void>> = {
  async "slow-reader"(idle) {
    answers = [shell("seq 1 40000000"), text("done")];
    row("exec --json of 340 MB, reader at 2 MB/s", await run(["--json", "x"], 2 * MB), idle, "≤ 60");
    answers = [shell("while :; do echo line of output; done | head -c 60000000"), text("done")];
    row("exec --json of many lines, reader at 2 MB/s", await run(["--json", "x"], 2 * MB), idle, "≤ 60");
  },
  async stream(idle) {
    const size = 32;
    const line = `${"word ".repeat(200)}\n`;
    answers = [words(line, size)];
    row(`an answer of ${size} MB`, await run(["x"]), idle, `≤ ${3 * size}`);
    answers = [words(line, size)];
    row(`the same with --json`, await run(["--json", "x"]), idle, `≤ ${3 * size}`);
    answers = [words(line, size)];
    row(`the same with --json, reader at 8 MB/s`, await run(["--json", "x"], 8 * MB), idle, `≤ ${3 * size}`);
    answers = [responsesWords(line, size)];
    // Its closing events repeat the answer three times.
    row("the same over Responses", await run(["--model", "responses", "x"]), idle, `≤ ${6 * size}`);
    answers = [anthropicWords(line, size)];
    row("the same over Anthropic Messages", await run(["--model", "anthropic", "x"]), idle, `≤ ${3 * size}`);
    answers = [words(line, size, "reasoning_content")];
    // Kept twice: to show it, and to send it back as it came.
    row(`reasoning of ${size} MB`, await run(["x"]), idle, `≤ ${4 * size}`);
    answers = [words("word ", 6)];
    row(`an answer of 6 MB in tokens of 5 characters`, await run(["x"]), idle, "≤ 60");
  },
  async event(idle) {
    answers = [text("x".repeat(32 * MB))];
    row("one event of 32 MB", await run(["x"]), idle, "≤ 128");
  },
  async session(idle) {
    answers = Array.from({ length: 40 }, () => text("y".repeat(5 * MB)));
    await run(["first"]);
    for (let at = 1; at < 40; at++) await run(["--resume", "last", "next"]);
    answers = [text("done")];
    row("a session of 200 MB resumed", await run(["--resume", "last", "more"]), idle, "≤ 300");
  },
};

mkdirSync(join(dir, "cwd"));
mkdirSync(join(dir, "home/.config/buddy"), { recursive: true });
const models = ["completions", "responses", "anthropic"].map(
  (api) =>
    `[models.${api}]\napi_base_url = "http://127.0.0.1:${server.port}/v1"\napi = "${api}"\nmodel = "gpt-4o"\ncontext_limit = 100000000\n`,
);
writeFileSync(join(dir, "home/.config/buddy/buddy.toml"), `[agent]\nmodel = "completions"\n${models.join("")}`);
answers = [text("done")];
const idle = (await run(["x"])).mb;
figure("an idle run", idle, "MB");
for (const [name, part] of Object.entries(PARTS)) if (wanted.length === 0 || wanted.includes(name)) await part(idle);
await server.stop(true);
rmSync(dir, { recursive: true });
