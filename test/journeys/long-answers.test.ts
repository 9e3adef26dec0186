import { expect } from "bun:test";
import { readFileSync } from "node:fs";
import { buddyBinary, sandbox } from "../support/buddy.ts";
import { needs } from "../support/needs.ts";

const { test } = await needs("linux");

const MB = 1024 * 1024;
const PIECE = `${"word ".repeat(200)}\n`;
const PIECES = 32 * 1024;

type Api = "completions" | "responses" | "anthropic";

const event = (fields: object) => `data: ${JSON.stringify(fields)}\n\n`;
const delta = (fields: object) => event({ choices: [{ index: 0, delta: fields, finish_reason: null }] });
const END = `${event({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] })}data: [DONE]\n\n`;

async function* completions(field: string): AsyncGenerator<string> {
  for (let at = 0; at < PIECES; at++) yield delta({ [field]: PIECE });
  yield `${delta({ content: "." })}${END}`;
}

async function* oneEvent(): AsyncGenerator<string> {
  yield `${delta({ content: PIECE.repeat(PIECES) })}${END}`;
}

/** The closing events repeat the whole text. */
async function* responses(): AsyncGenerator<string> {
  const at = { output_index: 0, item_id: "m" };
  const item = { type: "message", id: "m", role: "assistant" };
  yield event({ type: "response.output_item.added", output_index: 0, item: { ...item, content: [] } });
  for (let count = 0; count < PIECES; count++) yield event({ type: "response.output_text.delta", ...at, delta: PIECE });
  const text = PIECE.repeat(PIECES);
  const whole = { ...item, content: [{ type: "output_text", text, annotations: [] }] };
  yield event({ type: "response.output_text.done", ...at, text });
  yield event({ type: "response.output_item.done", output_index: 0, item: whole });
  yield event({ type: "response.completed", response: { status: "completed", output: [whole] } });
}

async function* anthropic(): AsyncGenerator<string> {
  yield event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } });
  for (let at = 0; at < PIECES; at++)
    yield event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: PIECE } });
  yield event({ type: "message_delta", delta: { stop_reason: "end_turn" } }) + event({ type: "message_stop" });
}

/** The most memory of a run whose answer is there and not read to its end yet, beyond what it had at its request. */
async function peakOf(api: Api, answer: () => AsyncGenerator<string>): Promise<{ mb: number; texts: number }> {
  using box = sandbox();
  let pid = 0;
  let before = 0;
  const peak = () => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
  await using server = Bun.serve({
    port: 0,
    idleTimeout: 0,
    fetch() {
      before = peak();
      const iterator = answer();
      const body = new ReadableStream({
        async pull(controller) {
          const { value, done } = await iterator.next();
          if (done) controller.close();
          else controller.enqueue(new TextEncoder().encode(value));
        },
      });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    },
  });
  box.write(
    "home/.config/buddy/buddy.toml",
    `[agent]\nmodel = "m"\n[models.m]\napi_base_url = "http://127.0.0.1:${server.port}/v1"\napi = "${api}"\nmodel = "m1"\ncontext_limit = 100000000\n`,
  );
  await using child = Bun.spawn([await buddyBinary(), "exec", "--no-tmux", "--json", "hi"], {
    cwd: box.cwd,
    env: { ...box.env, TMPDIR: box.dir },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "ignore",
  });
  pid = child.pid;
  let mb = 0;
  let bytes = 0;
  for await (const chunk of child.stdout) {
    bytes += chunk.length;
    // More is to come than a pipe takes, so that it is still there.
    if (bytes < 40 * MB) mb = peak() - before;
  }
  expect(await child.exited).toBe(0);
  return { mb, texts: Math.floor(bytes / (PIECE.length * PIECES)) };
}

test.each<[string, number, Api, () => AsyncGenerator<string>, number]>([
  ["an answer", 90, "completions", () => completions("content"), 3],
  ["reasoning", 90, "completions", () => completions("reasoning_content"), 3],
  // Its line and its value are there beside the text.
  ["one event", 180, "completions", oneEvent, 3],
  // The closing events repeat the text, and are read whole.
  ["an answer over Responses", 220, "responses", responses, 4],
  ["an answer over Anthropic Messages", 120, "anthropic", anthropic, 4],
])(
  "%s of 32 MB takes at most %i MB",
  async (_, most, api, answer, texts) => {
    const run = await peakOf(api, answer);
    expect(run.texts).toBe(texts);
    // Of which 25 to 35 are those of any run that is not over at once.
    expect(run.mb).toBeLessThan(most);
  },
  360_000,
);
