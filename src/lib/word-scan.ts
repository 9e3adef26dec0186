/** Where words of several lists may begin in a long text: one pass for all of them, and no regular expression. */

export class WordScan {
  /** By the first three characters: a bit for each list, and whether one of its words ends there. */
  readonly #heads = new Uint8Array(1 << (3 * BITS));
  /** By the first four, as a hash. */
  readonly #more = new Uint8Array(MORE);
  readonly #lists: number;

  /** Words of three characters or more; small and large letters count as the same. */
  constructor(lists: readonly (readonly string[])[]) {
    this.#lists = lists.length;
    for (const [list, words] of lists.entries())
      for (const word of words) {
        let head = 0;
        for (let at = 0; at < 3; at++) head = (head << BITS) | classOf(word.charCodeAt(at));
        const d = word.length > 3 ? classOf(word.charCodeAt(3)) : undefined;
        const bit = 1 << list;
        this.#heads[head] = (this.#heads[head] ?? 0) | bit | (d === undefined ? bit << SHORT : 0);
        if (d !== undefined) this.#more[hash(head, d)] = (this.#more[hash(head, d)] ?? 0) | bit;
      }
  }

  /** For each list the places, in order; some of them are none. */
  places(text: string): number[][] {
    const found = Array.from({ length: this.#lists }, (): number[] => []);
    const heads = this.#heads;
    let head = 0;
    for (let at = 0; at < text.length; at++) {
      head = ((head << BITS) | classOf(text.charCodeAt(at))) & MASK;
      const bits = heads[head] as number;
      if (bits !== 0) this.#note(bits, head, text, at, found);
    }
    return found;
  }

  #note(bits: number, head: number, text: string, at: number, found: number[][]): void {
    const more = this.#more[hash(head, at + 1 < text.length ? classOf(text.charCodeAt(at + 1)) : 0)] as number;
    const sure = (bits >> SHORT) | (bits & more);
    for (let list = 0; list < found.length; list++) if ((sure & (1 << list)) !== 0) found[list]?.push(at - 2);
  }
}

const BITS = 6;
const MASK = (1 << (3 * BITS)) - 1;
const SHORT = 4;
const MORE = 1 << 16;

const hash = (head: number, next: number) => ((head * 31) ^ (next << 9)) & (MORE - 1);

const CLASSES = new Uint8Array(128);
for (const [index, characters] of [...'abcdefghijklmnopqrstuvwxyz0123456789_-.$/:"\\'].entries())
  for (const one of new Set([characters, characters.toUpperCase()])) CLASSES[one.charCodeAt(0)] = index + 1;

function classOf(code: number): number {
  return code < 128 ? (CLASSES[code] as number) : 0;
}
