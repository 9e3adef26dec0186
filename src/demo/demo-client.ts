/** The client of the built-in `demo` profile: a playbook in this process answers, without a server or a network. */
import type { AssistantMessage, ModelClient, ModelInfo, ModelRequest } from "../model/types.ts";
import { usageOf } from "../model/usage.ts";

/** What the demo model says to a request. */
export type Playbook = (request: ModelRequest) => PlaybookReply;

export interface PlaybookReply {
  readonly text?: string;
  readonly toolCalls?: readonly { readonly name: string; readonly args: unknown }[];
}

/** `demo` answers requests; `tour` is the guided run of `buddy demo`. */
export function createDemoClient(name: "demo" | "tour" = "demo"): ModelClient {
  return {
    profile: { name: "demo", model: name, api: "completions", auth: "api-key", baseUrl: "builtin:demo" },
    info: INFO,
    async *stream(request, signal) {
      const playbook = name === "demo" ? (await import("./demo.ts")).demo : (await import("./tour.ts")).tour;
      const { text, toolCalls = [] } = playbook(request);
      for (const delta of text?.match(PIECES) ?? []) {
        signal.throwIfAborted();
        yield { type: "text", delta };
      }
      const message: AssistantMessage = {
        role: "assistant",
        content: text ?? null,
        toolCalls: toolCalls.map((call) => ({
          id: `call_${crypto.randomUUID()}`,
          name: call.name,
          arguments: JSON.stringify(call.args),
        })),
      };
      const usage = usageOf(undefined, request, message, INFO);
      yield { type: "done", message, usage, finish: toolCalls.length > 0 ? "tool-calls" : "stop" };
    },
  };
}

const INFO: ModelInfo = { contextLimit: 128_000, known: true };
/** As a model streams its text. */
const PIECES = /.{1,24}/gsu;
