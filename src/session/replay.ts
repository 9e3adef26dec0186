/** Rebuilds the state of a session from its events: the messages as the model saw them, its target and its model. */
import { type AgentEvent, type StoredPlace, summaryMessage } from "../agent/events.ts";
import type { AssistantMessage, Message } from "../model/types.ts";

export class Replay {
  readonly messages: Message[] = [];
  profile = "";
  model = "";
  target = "";
  cwd = "";
  /** Empty for this machine, and in logs of older versions. */
  places: readonly StoredPlace[] = [];
  host = "";
  machine = "";
  firstPrompt = "";
  turns = 0;
  totals = { input: 0, output: 0, costUsd: 0 };
  contextUsed = 0;
  /** Tool calls whose result was never written; a note replaces it. */
  repaired = 0;
  #open: { message: AssistantMessage; results: Map<string, string> } | undefined;

  add(event: AgentEvent): void {
    switch (event.type) {
      case "session":
        this.profile = event.profile;
        this.model = event.model;
        this.target = event.target;
        this.cwd = event.cwd;
        this.places = event.places ?? [];
        this.host = event.host ?? this.host;
        this.machine = event.machine ?? this.machine;
        break;
      case "turn":
        this.#settle();
        this.turns += 1;
        this.firstPrompt ||= event.prompt;
        this.messages.push({ role: "user", content: event.prompt });
        break;
      case "message":
        this.#settle();
        this.messages.push(event.message);
        if (event.message.toolCalls.length > 0) this.#open = { message: event.message, results: new Map() };
        break;
      case "tool_finished":
        this.#open?.results.set(event.call, event.result);
        break;
      case "compacted":
        this.#settle();
        this.messages.splice(0, event.replaced, summaryMessage(event.summary));
        this.contextUsed = event.after_tokens;
        break;
      case "usage":
        this.totals = {
          input: event.total_input,
          output: event.total_output,
          costUsd: event.total_cost_usd ?? 0,
        };
        this.contextUsed = event.context_used;
        break;
      case "done":
        this.#settle();
        break;
    }
  }

  /** To be called after the last event: a crash may have left tool calls without a result. */
  finish(): this {
    this.#settle();
    return this;
  }

  /** For a session of someone else, which must not choose the machine or the model. */
  forgetChoices(): void {
    this.profile = this.model = this.target = this.cwd = this.host = this.machine = "";
    this.places = [];
  }

  #settle(): void {
    if (this.#open === undefined) return;
    for (const call of this.#open.message.toolCalls) {
      const result = this.#open.results.get(call.id);
      if (result === undefined) this.repaired += 1;
      this.messages.push({ role: "tool", callId: call.id, name: call.name, content: result ?? LOST_RESULT });
    }
    this.#open = undefined;
  }
}

const LOST_RESULT = JSON.stringify({
  result:
    "[result lost: buddy stopped before it was stored. The call may or may not have taken effect; check before repeating it]",
});
