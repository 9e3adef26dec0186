/**
 * How much the model client costs: `bun bench/stream.ts` prints its time and memory beside a bare `fetch` and line
 * splitter.
 */
import { readFileSync } from "node:fs";
import { createModelClient } from "../src/model/client.ts";
import { startScripted } from "../test/support/scripted-model/server.ts";
import { figure } from "./support/figures.ts";

const EVENTS = 20_000;
const ROUNDS = 12;
const SHAPES = { "one write": undefined, "4 kB writes": 4096, "one event a write": "event" } as const;

const [mode, url = "", api] = process.argv.slice(2);
const protocol = api === "responses" ? "responses" : "completions";
if (mode === "time") await time(url);
else if (mode === "bare" || mode === "client") await memory(mode, url);
else await parent();

async function parent(): Promise<void> {
  for (const name of ["completions", "responses"]) {
    for (const [shape, write] of Object.entries(SHAPES)) {
      const reply = {
        text: "word ".repeat(EVENTS),
        pieceChars: 5,
        ...(typeof write === "number" && { chunkBytes: write }),
        ...(write === "event" && { delayMs: 0 }),
      };
      await using server = startScripted({ reply: () => reply });
      const times = await child<{ bare: number; client: number; wire: number }>("time", server.url, name);
      const bareMb = await child<number>("bare", server.url, name);
      const clientMb = await child<number>("client", server.url, name);
      figure(`${name}, ${shape}: time`, times.client / times.bare, "× bare");
      figure(`${name}, ${shape}: memory`, clientMb / bareMb, "× bare");
      figure(`${name}, ${shape}: asked for to on the wire`, times.wire, "ms");
    }
  }
}

async function child<T>(...args: string[]): Promise<T> {
  const running = Bun.spawn([process.execPath, import.meta.path, ...args], { stdout: "pipe", stderr: "inherit" });
  return (await new Response(running.stdout).json()) as T;
}

async function time(base: string): Promise<void> {
  const viaClient = clientRun(base);
  const best = { bare: Infinity, client: Infinity, wire: Infinity };
  for (let round = 0; round <= ROUNDS; round++) {
    const start = performance.now();
    await bare(base);
    const middle = performance.now();
    const wire = await viaClient();
    const end = performance.now();
    best.bare = Math.min(best.bare, middle - start);
    best.client = Math.min(best.client, end - middle);
    best.wire = Math.min(best.wire, wire - middle);
  }
  console.log(JSON.stringify(best));
}

async function memory(which: "bare" | "client", base: string): Promise<void> {
  await (which === "bare" ? bare(base) : clientRun(base)());
  console.log(peakMegabytes());
}

/** Of this program alone: getrusage counts what the parent had before the exec. */
function peakMegabytes(): number {
  if (process.platform !== "linux") return process.resourceUsage().maxRSS / 1024 / 1024;
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? 0) / 1024;
}

/** The least a client can do: read, decode, split into lines. */
async function bare(base: string): Promise<void> {
  const path = protocol === "responses" ? "/responses" : "/chat/completions";
  const body = JSON.stringify({ model: "m", stream: true, messages: [{ role: "user", content: "x" }], input: [] });
  const response = await fetch(base + path, { method: "POST", body, headers: { "content-type": "application/json" } });
  const decoder = new TextDecoder();
  let rest = "";
  let lines = 0;
  for await (const chunk of response.body!) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = parts.pop() ?? "";
    for (const line of parts) if (line.startsWith("data: ")) lines++;
  }
  if (lines < EVENTS) throw new Error(`only ${lines} events`);
}

function clientRun(baseUrl: string): () => Promise<number> {
  const client = createModelClient({
    name: "bench",
    baseUrl,
    api: protocol,
    auth: "api-key",
    model: "gpt-5.3-codex",
    env: {},
  });
  const request = { messages: [{ role: "user" as const, content: "x" }], tools: [] };
  // The moment fetch is called is when the request leaves.
  let wire = 0;
  const real = globalThis.fetch;
  globalThis.fetch = Object.assign((...given: Parameters<typeof fetch>) => {
    wire = performance.now();
    return real(...given);
  }, real);
  return async () => {
    for await (const event of client.stream(request, new AbortController().signal)) {
      if (event.type === "done" && event.message.content?.length !== EVENTS * 5) throw new Error("text is missing");
    }
    return wire;
  };
}
