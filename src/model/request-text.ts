/** The JSON of a request: a conversation grows at its end, so what was written of its beginning is used again. */
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
    const fields: string[] = [];
    for (const [key, value] of Object.entries(body)) {
      if (value === undefined) continue;
      fields.push(fields.length === 0 ? "{" : ",", JSON.stringify(key), ":");
      const text = Array.isArray(value) ? this.#list(key, value) : json(value);
      if (text === undefined) return undefined;
      if (Array.isArray(value)) fields.push("[", text, "]");
      else fields.push(text);
    }
    fields.push(fields.length === 0 ? "{}" : "}");
    return fields.join("");
  }

  #list(name: string, elements: readonly unknown[]): string | undefined {
    const before = this.#lists.get(name) ?? NOTHING;
    let same = 0;
    while (same < before.elements.length && elements[same] === before.elements[same]) same++;
    const ends = before.ends.slice(0, same);
    const pieces = [before.text.slice(0, ends.at(-1) ?? 0)];
    const rest = elements.slice(same);
    let length = pieces[0]!.length;
    if (length + textIn(rest, LARGE) >= LARGE) {
      this.#lists.delete(name);
      return undefined;
    }
    for (const element of rest) {
      const piece = length === 0 ? json(element) : `,${json(element)}`;
      pieces.push(piece);
      ends.push((length += piece.length));
    }
    const text = pieces.join("");
    this.#lists.set(name, { elements, ends, text });
    return text;
  }
}

/** The elements of a list, their JSON, and where in it each of them ends. */
interface WrittenList {
  readonly elements: readonly unknown[];
  readonly ends: readonly number[];
  readonly text: string;
}

const NOTHING: WrittenList = { elements: [], ends: [], text: "" };
/** No window of a model is that large. */
const LARGE = 8 * 1024 * 1024;

function json(value: unknown): string {
  return wellFormed((JSON.stringify(value) as string | undefined) ?? "null");
}

/** Half of a surrogate pair, left by a cut inside a character, is an escape here, and an error for many servers. */
export function wellFormed(text: string): string {
  if (!text.includes("\\ud")) return text;
  return text.replace(/(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g, "$1\ufffd");
}
