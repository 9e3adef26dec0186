/** Secrets that arrive in pieces: no way of cutting an answer lets one through, and no other text is lost or moved. */
import { expect, test } from "bun:test";
import { HiddenSecrets, redactedStream, HeldDeltas, type TextFilter } from "../../../src/lib/secrets/redact.ts";

interface Event {
  readonly type: string;
  readonly delta?: string;
}

const KEY = "k3y-of-the-operator";
const text = (delta: string): Event => ({ type: "text", delta });
const shown = (events: readonly Event[], type = "text") =>
  events.map((event) => (event.type === type ? (event.delta ?? "") : "")).join("");

function through(events: readonly Event[], filter: () => TextFilter = () => new HiddenSecrets([KEY])): Event[] {
  const held = new HeldDeltas<Event>(filter);
  return events.flatMap((event) => held.through(event));
}

test("a key cut anywhere, once or twice, never passes", () => {
  const answer = `it is ${KEY}, k3y-of-the-sea and ${KEY}`;
  for (let a = 0; a <= answer.length; a++)
    for (let b = a; b <= answer.length; b += 3) {
      const pieces = [answer.slice(0, a), answer.slice(a, b), answer.slice(b)].map(text);
      const out = shown(through([...pieces, { type: "message" }]));
      expect(out).toBe("it is [redacted], k3y-of-the-sea and [redacted]");
    }
});

test("news in the middle of a text do not let its end go, the end of the text does", () => {
  const out = through([text("a k3y-of"), { type: "notice" }, text("-the-operator"), text(" k3y"), { type: "done" }]);
  expect(out.map(({ type, delta }) => delta ?? type)).toEqual(["a ", "notice", "[redacted]", " ", "k3y", "done"]);
});

test("text and reasoning keep their order, and what is discarded is dropped", () => {
  const out = through([{ type: "reasoning", delta: "hm k3y" }, text("yes k3"), { type: "discard" }, text("no")]);
  expect(out.map(({ type, delta }) => [type, delta])).toEqual([
    ["reasoning", "hm "],
    ["reasoning", "k3y"],
    ["text", "yes "],
    ["discard", undefined],
    ["text", "no"],
  ]);
});

test("events of --json hide well-known shapes as well", () => {
  const token = `ghp_${"a1B2".repeat(9)}`;
  for (let at = 1; at < token.length; at++) {
    const out = through(
      [text(`see ${token.slice(0, at)}`), text(`${token.slice(at)} there`), { type: "message" }],
      () => redactedStream([]),
    );
    expect(shown(out)).toBe("see [redacted] there");
  }
});

test("without secrets nothing is touched", () => {
  const held = new HeldDeltas<Event>(() => undefined);
  expect(held.through(text("k3y"))).toEqual([text("k3y")]);
  expect(new HiddenSecrets([]).push("abc")).toBe("abc");
});
