/** How an answer is sent: correctly, or with the fault that the reply asks for. */
import type { Fault, ScriptedReply } from "./playbook.ts";
import { eventBytes, type Rendered } from "./render.ts";

export interface Sending {
  /** What happens before the headers. */
  readonly before: "nothing" | "wait" | "never" | "reset";
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
  readonly after: "end" | "hang" | "cut" | "reset";
}

const STREAM = { "content-type": "text/event-stream" };
const JSON_TYPE = { "content-type": "application/json" };

export function bodyOf(reply: ScriptedReply, rendered: Rendered, stream: boolean): Sending {
  const whole = wholeBody(reply, rendered, stream);
  const normal: Sending = { before: "nothing", status: 200, ...whole, after: "end" };
  return reply.fault === undefined ? normal : faulty(reply.fault, normal, reply, rendered);
}

function wholeBody(reply: ScriptedReply, rendered: Rendered, stream: boolean): Pick<Sending, "headers" | "body"> {
  if (reply.raw)
    return { headers: { "content-type": reply.raw.type ?? "text/event-stream" }, body: [bytesOf(reply.raw.body)] };
  if (!stream || reply.quirks?.plainJson)
    return { headers: JSON_TYPE, body: [bytesOf(JSON.stringify(rendered.document))] };
  const newline = reply.quirks?.newline ?? "\n";
  const parts = rendered.events.map(
    (event) => `${reply.quirks?.pings ? `: ping${newline}${newline}` : ""}${eventBytes(event, newline)}`,
  );
  // With a delay, each event is a separate write; without, everything is one write, as fast servers do it.
  return { headers: STREAM, body: reply.delayMs === undefined ? [bytesOf(parts.join(""))] : parts.map(bytesOf) };
}

function faulty(fault: Fault, normal: Sending, reply: ScriptedReply, rendered: Rendered): Sending {
  const half = (after: Sending["after"]): Sending => ({ ...normal, body: [firstHalf(normal.body)], after });
  const events = (...parts: string[]): Sending => ({ ...normal, headers: STREAM, body: parts.map(bytesOf) });
  // Without the closing events of any protocol: the last of these is a delta.
  const some = rendered.events.slice(0, -3).map((event) => eventBytes(event, "\n"));
  if (typeof fault === "object") {
    const body = fault.body ?? { error: { message: `scripted status ${fault.status}` } };
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const type = typeof body === "string" ? "text/html" : "application/json";
    return {
      ...normal,
      status: fault.status,
      headers: { "content-type": type, ...fault.headers },
      body: [bytesOf(text)],
    };
  }
  switch (fault) {
    case "silence":
      return { ...normal, before: "never" };
    case "slow-headers":
      return { ...normal, before: "wait" };
    case "reset-before-headers":
      return { ...normal, before: "reset" };
    case "reset-after-headers":
      return { ...normal, body: [], after: "reset" };
    case "reset-midway":
      return half("reset");
    case "truncated":
      return half("cut");
    case "stall":
      return half("hang");
    case "malformed-event":
      return events(...some.slice(0, 2), 'data: {"choices":[{"delta":{"content":"x"\n\n', ...some.slice(2));
    case "html":
      return { ...normal, headers: { "content-type": "text/html" }, body: [bytesOf(PAGE)] };
    case "error-object":
      return {
        ...normal,
        headers: JSON_TYPE,
        body: [bytesOf(JSON.stringify({ error: { message: "scripted error", code: 502 } }))],
      };
    case "error-event":
      return events(...some, eventBytes(rendered.errorEvent, "\n"));
    case "failed":
      return events(...some, eventBytes(rendered.failedEvent, "\n"));
    case "never-ends":
      return {
        ...normal,
        headers: STREAM,
        body: forever(some.slice(0, 4).join(""), some.at(-1) ?? ": ping\n\n"),
        after: "hang",
      };
    case "pings-forever":
      return { ...normal, headers: STREAM, body: forever(some.join(""), ": ping\n\n"), after: "hang" };
  }
}

const PAGE =
  "<!doctype html><html><head><title>Welcome to nginx!</title></head><body><h1>Welcome to nginx!</h1></body></html>";

function bytesOf(text: string | Uint8Array): Uint8Array {
  return typeof text === "string" ? Buffer.from(text) : text;
}

function firstHalf(body: Sending["body"]): Uint8Array {
  const all = Buffer.concat([...(body as Iterable<Uint8Array>)]);
  return all.subarray(0, Math.ceil(all.length / 2));
}

async function* forever(first: string, again: string): AsyncGenerator<Uint8Array> {
  yield bytesOf(first);
  for (const bytes = bytesOf(again); ;) {
    yield bytes;
    await Bun.sleep(2);
  }
}
