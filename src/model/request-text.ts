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
    const pieces: string[] = [];
    for (const [key, value] of Object.entries(body)) {
      if (value === undefined) continue;
      pieces.push(pieces.length === 0 ? "{" : ",", JSON.stringify(key), ":");
      if (!Array.isArray(value)) pieces.push(json(value));
      else if (!this.#addList(key, value, pieces)) return undefined;
    }
    pieces.push(pieces.length === 0 ? "{}" : "}");
    return pieces.join("");
  }

  /** Not joined before all is: the text of a conversation would be made twice for each request. */
  #addList(name: string, elements: readonly unknown[], pieces: string[]): boolean {
    const before = this.#lists.get(name) ?? { elements: [], texts: [] };
    let same = 0;
    while (same < before.elements.length && elements[same] === before.elements[same]) same++;
    const texts = before.texts.slice(0, same);
    let chars = 0;
    for (const text of texts) chars += text.length;
    const rest = elements.slice(same);
    if (chars + textIn(rest, LARGE) >= LARGE) {
      this.#lists.delete(name);
      return false;
    }
    for (const element of rest) texts.push(json(element));
    this.#lists.set(name, { elements, texts });
    for (const [at, text] of texts.entries()) pieces.push(at === 0 ? "[" : ",", text);
    pieces.push(texts.length === 0 ? "[]" : "]");
    return true;
  }
}

/** The elements of a list, and the JSON of each. */
interface WrittenList {
  readonly elements: readonly unknown[];
  readonly texts: readonly string[];
}

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
