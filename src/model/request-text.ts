/** The JSON of a request: a conversation grows at its end, so the JSON of its beginning is used again. */
import { gathered, jsonPieces } from "../lib/large-texts.ts";
import { textIn } from "../lib/values.ts";

export class RequestText {
  #parts = new WeakMap<object, object>();
  readonly #lists = new Map<string, WrittenList>();

  /** The server wants something else from now on. */
  forget(): void {
    this.#parts = new WeakMap();
  }

  /** What was made of a message or tool before, or is made now. Neither ever changes. */
  readonly once = <K extends object, V extends object>(key: K, make: (key: K) => V): V => {
    let made = this.#parts.get(key) as V | undefined;
    if (made === undefined) this.#parts.set(key, (made = make(key)));
    return made;
  };

  /** As JSON.stringify writes it; undefined where that would be megabytes. */
  of(body: Readonly<Record<string, unknown>>): string | undefined {
    let whole = "";
    for (const [key, value] of Object.entries(body)) {
      if (value === undefined) continue;
      const text = Array.isArray(value) ? this.#list(key, value) : json(value);
      if (text === undefined) return undefined;
      whole += `${whole === "" ? "{" : ","}${JSON.stringify(key)}:${text}`;
    }
    return whole === "" ? "{}" : `${whole}}`;
  }

  /**
   * Only added to, never joined: the runtime makes one text of all pieces when the request leaves. Joining 400 of them
   * took 0.2 ms of each call.
   */
  #list(name: string, elements: readonly unknown[]): string | undefined {
    const before = this.#lists.get(name) ?? NOTHING;
    let same = 0;
    while (same < before.elements.length && elements[same] === before.elements[same]) same++;
    // What was the same in two requests stays the same; after it, a cache mark may move from one element to the next.
    const known = same < before.settled ? NOTHING : before;
    const settled = known === before ? same : 0;
    const text = listed(known.text, known.rest.slice(0, settled - known.settled));
    const added = elements.slice(settled);
    // Descriptions of tools are bounded; a message may hold megabytes.
    if (name !== "tools" && text.length + textIn(added, LARGE) >= LARGE) {
      this.#lists.delete(name);
      return undefined;
    }
    const rest = added.map(json);
    this.#lists.set(name, { elements, settled, text, rest });
    return `[${listed(text, rest)}]`;
  }
}

function listed(text: string, more: readonly string[]): string {
  for (const one of more) text = text === "" ? one : `${text},${one}`;
  return text;
}

/** A list as it was written. */
interface WrittenList {
  readonly elements: readonly unknown[];
  /** How many of its elements are in `text`. */
  readonly settled: number;
  readonly text: string;
  /** The JSON of each of the others. */
  readonly rest: readonly string[];
}

const NOTHING: WrittenList = { elements: [], settled: 0, text: "", rest: [] };

/** Larger than any model's window. */
const LARGE = 8 * 1024 * 1024;

function json(value: unknown): string {
  return wellFormed((JSON.stringify(value) as string | undefined) ?? "null");
}

/** Half of a surrogate pair, left by a cut inside a character, is an escape here, and an error for many servers. */
function wellFormed(text: string): string {
  if (!text.includes("\\ud")) return text;
  return text.replace(/(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g, "$1\ufffd");
}

/** The body of a request of megabytes, written while it is sent: as JSON and as bytes it would be in memory twice. */
export class StreamedBody {
  /** Not every server takes a body of unknown length. */
  readonly bytes: number;
  readonly #pieces: () => Iterable<string>;

  constructor(body: object) {
    this.#pieces = () => gathered(jsonPieces(body)).map(wellFormed);
    let bytes = 0;
    for (const piece of this.#pieces()) bytes += Buffer.byteLength(piece);
    this.bytes = bytes;
  }

  // oxlint-disable-next-line require-await -- fetch asks for one piece after another
  async *send(): AsyncGenerator<Uint8Array> {
    const encoder = new TextEncoder();
    for (const piece of this.#pieces()) yield encoder.encode(piece);
  }
}
