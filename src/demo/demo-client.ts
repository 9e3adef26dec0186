/** The client of the built-in `demo` profile: the real client, and a scripted server in this process. */
import { createModelClient } from "../model/client.ts";
import type { Playbook } from "./playbook.ts";
import type { ScriptedServer } from "./server/server.ts";
import type { Api, ModelClient, ModelInfo, ModelProfile } from "../model/types.ts";

export interface DemoOptions {
  /** `demo` answers requests; `tour` is the guided run of `buddy demo`. */
  readonly playbook?: "demo" | "tour";
  readonly api?: Api;
  readonly stream?: boolean;
}

export function createDemoClient({
  playbook = "demo",
  api = "completions",
  stream = true,
}: DemoOptions = {}): ModelClient & AsyncDisposable {
  const profile: ModelProfile = { name: "demo", model: playbook, api, auth: "api-key", baseUrl: "builtin:demo" };
  const info: ModelInfo = { contextLimit: CONTEXT_LIMIT, known: true };
  let running: Promise<{ client: ModelClient; server: ScriptedServer }> | undefined;

  async function start(): Promise<{ client: ModelClient; server: ScriptedServer }> {
    const [{ startScripted }, script] = await Promise.all([import("./server/server.ts"), load(playbook)]);
    // An abstract socket needs no network, not even a loopback interface; its name is secret.
    const unix = process.platform === "linux" ? `\0buddy-demo-${crypto.randomUUID()}` : undefined;
    const server = startScripted(script, { token: crypto.randomUUID(), ...(unix !== undefined && { unix }) });
    const client = createModelClient({
      name: "demo",
      model: playbook,
      baseUrl: server.url,
      api,
      auth: "api-key",
      stream,
      unix,
      contextLimit: CONTEXT_LIMIT,
      env: {},
    });
    return { client, server };
  }

  return {
    profile,
    info,
    async *stream(request, signal) {
      running ??= start();
      yield* (await running).client.stream(request, signal);
    },
    async [Symbol.asyncDispose]() {
      await (await running)?.server.close();
      running = undefined;
    },
  };
}

const CONTEXT_LIMIT = 128_000;

async function load(name: "demo" | "tour"): Promise<Playbook> {
  switch (name) {
    case "demo":
      return (await import("./playbooks/demo.ts")).demo;
    case "tour":
      return (await import("./playbooks/tour.ts")).tour;
  }
}
