/**
 * Streamed answers of the three protocols: the same events wherever the bytes are cut, and no crash whatever they are.
 */
import { Answer, SseParser } from "../../src/model/http/answer.ts";
import { Malformed, ProviderError } from "../../src/model/provider-error.ts";
import { anthropic } from "../../src/model/protocols/anthropic.ts";
import { completions } from "../../src/model/protocols/completions.ts";
import type { Protocol } from "../../src/model/protocols/protocol.ts";
import { responses } from "../../src/model/protocols/responses.ts";
import type { ModelEvent } from "../../src/model/types.ts";
import { bodyOf } from "../support/scripted-model/faults.ts";
import type { ScriptedReply } from "../support/scripted-model/playbook.ts";
import { readRequest } from "../support/scripted-model/read-request.ts";
import { renderAnthropic } from "../support/scripted-model/wire-anthropic.ts";
import { renderCompletions } from "../support/scripted-model/wire-completions.ts";
import { renderResponses } from "../support/scripted-model/wire-responses.ts";
import type { Seeded } from "../support/seeded.ts";
import type { Property } from "./property.ts";

const APIS = {
  completions: { protocol: completions as Protocol, path: "/v1/chat/completions", render: renderCompletions },
  responses: { protocol: responses as Protocol, path: "/v1/responses", render: renderResponses },
  anthropic: { protocol: anthropic as Protocol, path: "/v1/messages", render: renderAnthropic },
};
type Api = keyof typeof APIS;
const NAMES = Object.keys(APIS) as Api[];

const WORDS = ["a", "word ", '"', "\\", "\n", "ä", "🦊", "\u0000", "{", "}", "data: ", "\u2028", "content", "[DONE]"];
const LINES = [
  "data: ",
  "data:",
  "event: x",
  "id: 1",
  ": ping",
  "\n",
  "\r",
  "\r\n",
  "\n\n",
  "a",
  "ä",
  "🦊",
  "retry: 1",
  " ",
  "\ufeff",
];

function bytesOf(api: Api, reply: ScriptedReply): Buffer {
  const { path, render } = APIS[api];
  const rendered = render(reply, readRequest(path, {}, '{"stream":true}'));
  return Buffer.concat([...(bodyOf(reply, rendered, true).body as Iterable<Uint8Array>)]);
}

function randomReply(random: Seeded, text: string): ScriptedReply {
  const toolCalls = Array.from({ length: random.below(4) }, (_, at) => ({
    name: `tool-${at}`,
    id: `id-${at}`,
    args: { text: random.text(WORDS, 20) },
  }));
  return {
    ...(text !== "" && { text }),
    ...(random.below(2) === 0 && { reasoning: random.text(WORDS, 20) }),
    ...(toolCalls.length > 0 && { toolCalls }),
    pieceChars: 1 + random.below(9),
    quirks: {
      repeatRole: random.below(2) === 0,
      pings: random.below(2) === 0,
      newline: random.of(["\n", "\r\n", "\r"] as const),
      emptyOutput: random.below(2) === 0,
    },
  };
}

/** What came of it, as text: the answer, or why it was refused. Anything else that is thrown is thrown on. */
function outcome(api: Api, pieces: Iterable<Uint8Array>): string {
  const answer = new Answer(APIS[api].protocol);
  const events: ModelEvent[] = [];
  try {
    for (const piece of pieces) {
      answer.push(piece);
      events.push(...answer.takeBatch());
      if (answer.complete) break;
    }
    const { message } = answer.end();
    events.push(...answer.takeBatch());
    const streamed = events.flatMap((event) => (event.type === "text" ? event.delta : [])).join("");
    const said = JSON.stringify({ streamed, content: message.content, calls: message.toolCalls });
    // A call without an id gets a random one.
    return said.replace(/"call_[0-9a-f]{20}"/g, '"call_…"');
  } catch (error) {
    if (error instanceof Malformed || error instanceof ProviderError) return "refused";
    throw error;
  }
}

function cut(bytes: Uint8Array, random: Seeded, most: number): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < bytes.length;) {
    const size = 1 + random.below(most);
    pieces.push(bytes.subarray(at, at + size));
    at += size;
  }
  return pieces;
}

export const STREAM: readonly Property[] = [
  {
    name: "any cut of any answer gives that answer",
    usual: 600,
    make: (random) => random.text(WORDS, 60),
    wrong(text, random) {
      const api = random.of(NAMES);
      const reply = randomReply(random, text);
      const bytes = bytesOf(api, reply);
      const got = outcome(api, cut(bytes, random, 1 + random.below(200)));
      const whole = outcome(api, [bytes]);
      if (got !== whole) return `${api}: cut it gives ${got}, whole ${whole}`;
      if (got === "refused") return `${api}: a whole answer is refused`;
      const { content, streamed, calls } = JSON.parse(got) as {
        content: string | null;
        streamed: string;
        calls: { arguments: string }[];
      };
      if ((content ?? "") !== text || streamed !== text) return `${api}: another text arrived: ${got}`;
      const wanted = JSON.stringify((reply.toolCalls ?? []).map(({ args }) => args));
      return JSON.stringify(calls.map((call) => JSON.parse(call.arguments) as unknown)) === wanted
        ? undefined
        : `${api}: ${got}`;
    },
  },
  {
    name: "damaged bytes end in an answer or a refusal, the same for every cut",
    usual: 3000,
    make: (random) => random.text(WORDS, 30),
    wrong(text, random) {
      const api = random.of(NAMES);
      const bytes = Buffer.from(bytesOf(api, randomReply(random, text)));
      for (let hits = 1 + random.below(4); hits > 0; hits--) bytes[random.below(bytes.length)] = random.below(256);
      const [one, other] = [outcome(api, [bytes]), outcome(api, cut(bytes, random, 400))];
      return one === other ? undefined : `${api}: whole ${one}, cut ${other}`;
    },
  },
  {
    name: "lines of events are read alike however they are cut",
    usual: 5000,
    make: (random) => random.text(LINES, 30),
    wrong(text, random) {
      const bytes = Buffer.from(text);
      const read = (pieces: readonly Uint8Array[]): string => {
        const events: string[][] = [];
        const parser = new SseParser((data, event) => events.push([event, data]));
        for (const piece of pieces) parser.push(piece);
        parser.end();
        return JSON.stringify(events);
      };
      const [whole, pieces, single] = [[bytes], cut(bytes, random, 5), cut(bytes, random, 1)].map(read);
      return whole === pieces && whole === single ? undefined : `whole ${whole}, cut ${pieces}, byte by byte ${single}`;
    },
  },
];
