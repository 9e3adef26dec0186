/**
 * Recognises stream events that differ from an earlier one only in their text, and in the number they have in the
 * stream, so that they need no JSON parser: two thirds of its time.
 */
export class RepeatedText {
  #prefix = "";
  /** Between the number and the text, where events are numbered. */
  #middle = "";
  #suffix = "";
  #misses = 0;

  /** The text of an event, here a part of `data`, that is otherwise equal to the one learnt; undefined: parse it. */
  textIn(data: string, from = 0, to = data.length): string | undefined {
    const prefix = this.#prefix;
    if (prefix === "" || !data.startsWith(prefix, from)) return undefined;
    const start = this.#middle === "" ? from + prefix.length : afterNumber(data, from + prefix.length, this.#middle);
    const end = to - this.#suffix.length;
    if (start < 0 || end < start || !data.startsWith(this.#suffix, end)) return undefined;
    return stringText(data.slice(start, end));
  }

  /** `data` was parsed and is nothing but this text. */
  learn(data: string, text: string): void {
    // Text of another part of the answer: what follows must not count as the first part's.
    if (!data.startsWith(this.#prefix) || afterNumber(data, this.#prefix.length, this.#middle) < 0) this.#prefix = "";
    if (text === "" || data.length > LONGEST || text.length > LONGEST || this.#misses > MOST_MISSES) return;
    const quoted = JSON.stringify(text);
    const at = data.indexOf(quoted);
    // Twice the same string: either could be the text.
    if (at < 0 || at !== data.lastIndexOf(quoted)) return;
    const before = data.slice(0, at + 1);
    const after = data.slice(at + quoted.length - 1);
    // With an escape elsewhere, what was found may be the end of another string.
    if (before.includes("\\") || after.includes("\\")) return;
    this.#misses++;
    const [whole = before, prefix = before] = (before.includes("sequence_number") && NUMBER.exec(before)) || [];
    this.#prefix = prefix;
    this.#middle = before.slice(whole.length);
    this.#suffix = after;
  }
}

/** The text of what stands between the quotes of a JSON string; undefined: it is not valid. */
export function stringText(raw: string): string | undefined {
  if (!NEEDS_PARSING.test(raw)) return raw;
  try {
    return JSON.parse(`"${raw}"`) as string;
  } catch {
    return undefined;
  }
}

/** Where what follows the number ends, or -1 where something else follows it. */
function afterNumber(data: string, from: number, middle: string): number {
  let at = from;
  while (isDigit(data.charCodeAt(at))) at++;
  return data.startsWith(middle, at) ? at + middle.length : -1;
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

/** A longer one is not worth a copy. */
const LONGEST = 64 * 1024;
/** A server that changes more from event to event never repeats one: learning stops. */
const MOST_MISSES = 32;
const NUMBER = /^(.*?"sequence_number": ?)\d+/s;
// oxlint-disable-next-line no-control-regex -- JSON forbids them raw
const NEEDS_PARSING = /["\\\u0000-\u001f]/;
