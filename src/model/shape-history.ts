/**
 * The conversation as the server that gets it next wants it: ids, roles, unknown fields, whoever wrote its messages.
 */
import { isRecord } from "../lib/values.ts";
import type { Adjustment } from "./adjustments.ts";
import type { Dialect } from "./endpoint.ts";
import type { AssistantMessage, ImagePart, Message, ToolCall, ToolMessage, UserMessage } from "./types.ts";

interface ShapeOptions {
  /** Protocol, host and model that get it. */
  readonly to: string;
  readonly dialect: Dialect;
  readonly adjusted: ReadonlySet<Adjustment>;
  /**
   * Where images of tool results go: into the result, or into a user message after it. False: the model reads none, so
   * all are left out.
   */
  readonly images: "in-results" | "behind-results" | false;
}

/** A conversation grows at its end: the part that was right as it is, in the request before, is not looked at again. */
export class HistoryShaper {
  #right: readonly Message[] = [];
  #options = "";

  shape(messages: readonly Message[], options: ShapeOptions): readonly Message[] {
    const { to, adjusted, dialect, images } = options;
    const joins = JOINS.some((shape) => adjusted.has(shape) || (dialect.shapes as ReadonlySet<Adjustment>).has(shape));
    const key = `${to} ${adjusted.size} ${images}`;
    const known = !joins && key === this.#options && startsWith(messages, this.#right) ? this.#right.length : 0;
    const rest = messages.slice(known);
    const shaped = shapeHistory(rest, options);
    if (!joins && shaped.length === rest.length && startsWith(shaped, rest)) {
      this.#right = messages;
      this.#options = key;
      return messages;
    }
    return known === 0 ? shaped : shapeHistory(messages, options);
  }
}

/** A loop: `every` took three times as long for each call of a long conversation. */
function startsWith(messages: readonly Message[], start: readonly Message[]): boolean {
  for (let at = 0; at < start.length; at++) if (messages[at] !== start[at]) return false;
  return true;
}

/** What makes a message depend on the one before it. */
const JOINS: readonly Adjustment[] = ["assistant_after_tool", "no_system_role", "alternate_roles"];

/**
 * Deterministic: the same history gives the same bytes, so that a prefix stays a prefix. A message that is right as it
 * is stays the same object.
 */
function shapeHistory(messages: readonly Message[], options: ShapeOptions): readonly Message[] {
  const has = (shape: Adjustment) =>
    options.adjusted.has(shape) || (options.dialect.shapes as ReadonlySet<Adjustment>).has(shape);
  const ids = new Map<string, string>();
  let shaped: Message[] = [];
  for (const message of withImages(answered(messages), options)) {
    switch (message.role) {
      case "system":
        shaped.push(message);
        break;
      case "user":
        if (has("assistant_after_tool") && shaped.at(-1)?.role === "tool") shaped.push(FILLER);
        shaped.push(message);
        break;
      case "assistant":
        // An empty turn says nothing, and many servers refuse it.
        if (!message.content?.trim() && message.toolCalls.length === 0) break;
        shaped.push(assistant(message, options, has, ids));
        break;
      case "tool": {
        const id = ids.get(message.callId);
        shaped.push(id === undefined ? message : { ...message, callId: id });
      }
    }
  }
  if (has("no_system_role")) shaped = systemAsUser(shaped);
  return has("alternate_roles") ? joinedRoles(shaped) : shaped;
}

/** For an assistant that was interrupted after its tools had run. */
const FILLER: AssistantMessage = { role: "assistant", content: "(interrupted)", toolCalls: [] };
const NO_RESULT = "no result: the call was interrupted";

/** Every call is followed by its result, and every result has its call: otherwise servers refuse the conversation. */
function answered(messages: readonly Message[]): readonly Message[] {
  if (isAnswered(messages)) return messages;
  const whole: Message[] = [];
  for (let at = 0; at < messages.length; at++) {
    const message = messages[at]!;
    if (message.role === "tool") continue;
    whole.push(message);
    if (message.role !== "assistant") continue;
    const results = new Map<string, ToolMessage>();
    for (let next = messages[at + 1]; next?.role === "tool"; next = messages[++at + 1]) results.set(next.callId, next);
    for (const { id, name } of message.toolCalls)
      whole.push(results.get(id) ?? { role: "tool", callId: id, name, content: NO_RESULT });
  }
  return whole;
}

/** The results of each message follow it, in the order of its calls. */
function isAnswered(messages: readonly Message[]): boolean {
  for (let at = 0; at < messages.length;) {
    const message = messages[at++]!;
    if (message.role === "tool") return false;
    if (message.role !== "assistant") continue;
    for (const { id } of message.toolCalls) {
      const result = messages[at++];
      if (result?.role !== "tool" || result.callId !== id) return false;
    }
  }
  return true;
}

function assistant(
  message: AssistantMessage,
  { to, dialect, adjusted }: ShapeOptions,
  has: (shape: Adjustment) => boolean,
  ids: Map<string, string>,
): AssistantMessage {
  const own = message.from === undefined || message.from === to;
  const plain = !own || dialect.strict || adjusted.has("message_extra");
  const toolCalls = message.toolCalls.map((call) => {
    const id = has("short_ids") ? nineCharacters(call.id) : own ? call.id : acceptableId(call.id);
    if (id === call.id) ids.delete(id);
    else ids.set(call.id, id);
    const given = own ? call.extra : undefined;
    const extra = plain ? signatureOf(given) : given;
    if (id === call.id && extra === call.extra) return call;
    return { id, name: call.name, arguments: call.arguments, ...(extra && { extra }) };
  });
  const extra = plain ? undefined : message.extra;
  const isSame = own && extra === message.extra && toolCalls.every((call, at) => call === message.toolCalls[at]);
  if (isSame && !(message.items && has("short_ids")) && !has("thought_signatures") && !has("echo_reasoning"))
    return message;
  const { reasoning, items } = message;
  return {
    role: "assistant",
    content: message.content,
    toolCalls: has("thought_signatures") ? signed(toolCalls) : toolCalls,
    ...(reasoning !== undefined && { reasoning }),
    ...(has("echo_reasoning") && !adjusted.has("message_extra")
      ? { extra: { ...extra, reasoning_content: extra?.["reasoning_content"] ?? reasoning ?? "" } }
      : extra && { extra }),
    // Items name their calls themselves: other ids would not match.
    ...(own && items && !has("short_ids") && { items }),
  };
}

/** Of unknown fields of a call, Google's signature alone: it checks it, and refuses any other. */
function signatureOf(extra: ToolCall["extra"]): ToolCall["extra"] {
  const content = extra?.["extra_content"];
  return content === undefined ? undefined : { extra_content: content };
}

/** Google documents this value for calls that another model wrote. */
const ANY_SIGNATURE = { extra_content: { google: { thought_signature: "skip_thought_signature_validator" } } };

/** The first call of a turn carries the signature; one that another model wrote has none. */
function signed(calls: readonly ToolCall[]): readonly ToolCall[] {
  const hasOne = calls.some((call) => isRecord(call.extra?.["extra_content"]));
  return hasOne ? calls : calls.map((call, at) => (at === 0 ? { ...call, extra: ANY_SIGNATURE } : call));
}

/** Nine letters and digits, always the same for the same id. */
function nineCharacters(id: string): string {
  return /^[A-Za-z0-9]{9}$/.test(id) ? id : digest(id).slice(0, 9);
}

/** What every server takes: letters, digits, _ and -, at most 40. */
function acceptableId(id: string): string {
  return /^[A-Za-z0-9_-]{1,40}$/.test(id) ? id : `call_${digest(id)}`;
}

function digest(id: string): string {
  return (Bun.hash(id).toString(36) + Bun.hash(`${id}-`).toString(36)).slice(0, 20);
}

function withImages(messages: readonly Message[], { images, adjusted }: ShapeOptions): readonly Message[] {
  if (images === "in-results" || !messages.some((message) => "images" in message)) return messages;
  if (images === "behind-results") return withImagesBehind(messages);
  const why = adjusted.has("images") ? "the server does not accept it" : "this model does not read images";
  return messages.map((message) => ("images" in message ? withoutImages(message, why) : message));
}

function withoutImages<M extends UserMessage | ToolMessage>(message: M, why: string): M {
  if (message.images === undefined) return message;
  const { images, ...rest } = message;
  const note = `[${images.length === 1 ? "an image was" : `${images.length} images were`} left out: ${why}]`;
  return { ...rest, content: rest.content === "" ? note : `${rest.content}\n\n${note}` } as M;
}

/** Chat completions takes images from the user alone: those of results follow the last result. */
function withImagesBehind(messages: readonly Message[]): Message[] {
  const moved: Message[] = [];
  let images: ImagePart[] = [];
  const flush = () => {
    if (images.length > 0) moved.push({ role: "user", content: "The images of these results:", images });
    images = [];
  };
  for (const message of messages) {
    if (message.role !== "tool") flush();
    if (message.role !== "tool" || message.images === undefined) moved.push(message);
    else {
      const { images: own, ...rest } = message;
      images.push(...own);
      moved.push(rest);
    }
  }
  flush();
  return moved;
}

function systemAsUser(messages: readonly Message[]): Message[] {
  const system = messages.filter((message) => message.role === "system").map((message) => message.content);
  const rest = messages.filter((message) => message.role !== "system");
  if (system.length === 0) return rest;
  const [first, ...others] = rest;
  const words = system.join("\n\n");
  return first?.role === "user"
    ? [{ ...first, content: `${words}\n\n${first.content}` }, ...others]
    : [{ role: "user", content: words }, ...rest];
}

function joinedRoles(messages: readonly Message[]): Message[] {
  const joined: Message[] = [];
  for (const message of messages) {
    const last = joined.at(-1);
    if (last?.role === "user" && message.role === "user") {
      const images = [...(last.images ?? []), ...(message.images ?? [])];
      joined[joined.length - 1] = {
        role: "user",
        content: `${last.content}\n\n${message.content}`,
        ...(images.length > 0 && { images }),
      };
    } else if (last?.role === "assistant" && message.role === "assistant" && last.toolCalls.length === 0) {
      joined[joined.length - 1] = {
        ...message,
        content: [last.content, message.content].filter(Boolean).join("\n\n") || null,
      };
    } else joined.push(message);
  }
  return joined;
}
