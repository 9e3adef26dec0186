/** A scripted model and a real client on it, for the tests of every part. */
import { createModelClient, type ModelOptions } from "../../src/model/client.ts";
import { script, type Playbook, type Turn } from "./scripted-model/playbook.ts";
import { startScripted, type ScriptedOptions, type ScriptedServer } from "./scripted-model/server.ts";
import type { ModelClient, ModelEvent, ModelRequest } from "../../src/model/types.ts";

export interface TestModel extends AsyncDisposable {
  readonly server: ScriptedServer;
  readonly client: ModelClient;
  readonly url: string;
  /** Every model request so far. */
  readonly requests: ScriptedServer["requests"];
}

/** `await using model = startModel([{ text: "hi" }])`: turns in order, one a request. */
export function startModel(
  turns: readonly Turn[] | Playbook,
  options: Partial<ModelOptions> = {},
  scripted: ScriptedOptions = {},
): TestModel {
  const server = startScripted("reply" in turns ? turns : script(turns), scripted);
  const client = createModelClient(modelOptions(server.url, options));
  return { server, client, url: server.url, requests: server.requests, [Symbol.asyncDispose]: server.close };
}

/** Options with short waits; nothing of the environment. */
export function modelOptions(baseUrl: string, options: Partial<ModelOptions> = {}): ModelOptions {
  return {
    name: "test",
    baseUrl,
    api: "completions",
    auth: "api-key",
    model: "scripted-model",
    backoffMs: 1,
    env: {},
    ...options,
  };
}

/** The events of one turn. */
export async function collect(
  client: ModelClient,
  request: ModelRequest = ask("hello"),
  signal: AbortSignal = new AbortController().signal,
): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  for await (const event of client.stream(request, signal)) events.push(event);
  return events;
}

export type DoneEvent = Extract<ModelEvent, { type: "done" }>;

/** The closing event of one turn. */
export async function done(
  client: ModelClient,
  request: ModelRequest = ask("hello"),
  signal?: AbortSignal,
): Promise<DoneEvent> {
  const last = (await collect(client, request, signal)).at(-1);
  if (last?.type !== "done") throw new Error("the turn did not end with `done`");
  return last;
}

export function ask(prompt: string, tools: ModelRequest["tools"] = []): ModelRequest {
  return { messages: [{ role: "user", content: prompt }], tools };
}
