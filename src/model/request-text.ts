/** The JSON of a request: a conversation grows at its end, so the bytes of its beginning are used again. */
import { gathered, jsonPieces } from "../lib/large-texts.ts";
import { textIn } from "../lib/values.ts";

export class RequestText {
  #made = new WeakMap<object, object>();
  /** What was written, in order: texts as they are, and elements of lists, which never change. */
  #parts: unknown[] = [];
  /** Where each of them ends in `#bytes`. */
  #ends: number[] = [];
  #bytes = new Uint8Array(FIRST_BYTES);

  /** The server wants something else from now on. */
  forget(): void {
    this.#made = new WeakMap();
  }

  /** What was made of a message or tool before, or is made now. Neither ever changes. */
  readonly once = <K extends object, V extends object>(key: K, make: (key: K) => V): V => {
    let made = this.#made.get(key) as V | undefined;
    if (made === undefined) this.#made.set(key, (made = make(key)));
    return made;
  };

  /**
   * The conversation is written last, because everything after what has changed is written again. Valid until the next
   * call; undefined if it would be megabytes.
   */
  of(body: Readonly<Record<string, unknown>>): Uint8Array | undefined {
    const given = Object.entries(body).filter(([, value]) => value !== undefined);
    const conversation = given.filter(([key]) => key === "messages" || key === "input");
    const parts: unknown[] = ["{"];
    for (const [key, value] of [...given.filter((entry) => !conversation.includes(entry)), ...conversation]) {
      const name = `${parts.length > 1 ? "," : ""}${JSON.stringify(key)}:`;
      if (!Array.isArray(value)) parts.push(`${name}${json(value)}`);
      else addList(parts, `${name}[`, value);
    }
    parts.push("}");
    return this.#write(parts);
  }

  #write(parts: readonly unknown[]): Uint8Array | undefined {
    let same = 0;
    while (same < parts.length && parts[same] === this.#parts[same]) same++;
    this.#parts.length = same;
    this.#ends.length = same;
    let end = this.#ends[same - 1] ?? 0;
    for (const part of parts.slice(same)) {
      if (end + textIn(part, LARGE) >= LARGE) return this.#dropped();
      const text = typeof part === "string" ? part : json(part);
      const room = end + 3 * text.length;
      if (room > this.#bytes.length) {
        const larger = new Uint8Array(2 * room);
        larger.set(this.#bytes.subarray(0, end));
        this.#bytes = larger;
      }
      end += ENCODER.encodeInto(text, this.#bytes.subarray(end)).written;
      this.#parts.push(part);
      this.#ends.push(end);
    }
    return this.#bytes.subarray(0, end);
  }

  #dropped(): undefined {
    this.#parts = [];
    this.#ends = [];
    this.#bytes = new Uint8Array(FIRST_BYTES);
  }
}

function addList(parts: unknown[], begin: string, elements: readonly unknown[]): void {
  let before = begin;
  for (const element of elements) {
    parts.push(before, typeof element === "object" && element !== null ? element : json(element));
    before = ",";
  }
  parts.push(elements.length === 0 ? `${begin}]` : "]");
}

const ENCODER = new TextEncoder();
const FIRST_BYTES = 32 * 1024;

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
