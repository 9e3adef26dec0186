/**
 * Answers as servers send them, one a line in stream-shapes.jsonl, cut into pieces of every kind: what comes out, and
 * what is shown.
 */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { explain, type Situation } from "../../src/model/explain.ts";
import { Answer } from "../../src/model/http/answer.ts";
import { anthropic } from "../../src/model/protocols/anthropic.ts";
import { completions } from "../../src/model/protocols/completions.ts";
import type { Protocol } from "../../src/model/protocols/protocol.ts";
import { responses } from "../../src/model/protocols/responses.ts";
import type { ModelEvent } from "../../src/model/types.ts";

interface Shape {
  readonly name: string;
  readonly api: keyof typeof PROTOCOLS;
  readonly body: string;
  readonly want: { readonly text?: string; readonly reasoning?: string; readonly error?: string };
}

const PROTOCOLS = {
  completions: completions as Protocol,
  responses: responses as Protocol,
  anthropic: anthropic as Protocol,
};

const shapes = readFileSync(join(import.meta.dir, "stream-shapes.jsonl"), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Shape);

const WHOLE = Number.MAX_SAFE_INTEGER;

/** What the answer is when it comes in pieces of this size, and what was shown of it. */
function read({ api, body }: Shape, size: number): { got: object; shown: string } {
  const answer = new Answer(PROTOCOLS[api]);
  const bytes = Buffer.from(body);
  const events: ModelEvent[] = [];
  try {
    for (let at = 0; at < bytes.length && !answer.complete; at += size) {
      answer.push(bytes.subarray(at, at + size));
      events.push(...answer.takeBatch());
    }
    const { message, finish, writtenCall } = answer.end();
    events.push(...answer.takeBatch());
    return {
      got: {
        text: message.content ?? "",
        ...(message.reasoning !== undefined && { reasoning: message.reasoning }),
        calls: message.toolCalls.map((call) => `${call.name} ${call.arguments}`),
        finish,
        ...(writtenCall && { written: true }),
      },
      shown: events
        .slice(events.findLastIndex(({ type }) => type === "discard") + 1)
        .flatMap((event) => (event.type === "text" ? event.delta : []))
        .join(""),
    };
  } catch (error) {
    return { got: { error: explain(error, { redact: (text) => text } as Situation).reason }, shown: "" };
  }
}

describe.each(["completions", "responses", "anthropic"] as const)("%s", (api) => {
  const mine = shapes.filter((shape) => shape.api === api);
  test.each(mine.map((shape) => [shape.name, shape] as const))("%s", (_name, shape) => {
    for (const size of [WHOLE, 1, 2, 7, 64]) {
      const { got, shown } = read(shape, size);
      expect({ size, ...got }).toEqual({ size, ...shape.want });
      expect(shown).toBe(shape.want.text ?? "");
    }
  });
});
