/** Small questions about values of any kind. */

// Whether a value that came from outside is an object with keys: neither null nor a list.

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

// A value that is made when it is first asked for: a regular expression of a page costs a start half a millisecond.

export function once<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

export function sha256(data: string | Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(data).digest("hex");
}

// The same value with every text in it changed, however deep it lies.

export function mapTexts(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === "string") return map(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, map));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapTexts(item, map)]));
}

// About how many characters of JSON it takes, or `most` if that many or more.

export function textIn(value: unknown, most = Infinity): number {
  if (typeof value === "string") return Math.min(value.length, most);
  if (typeof value !== "object" || value === null) return LITERAL;
  let chars = 0;
  // Not `for in`: the runtime makes a list of names for each form of object that it meets.
  for (const item of Array.isArray(value) ? value : Object.values(value)) {
    chars += LITERAL + textIn(item, most - chars);
    if (chars >= most) return most;
  }
  return chars;
}

const LITERAL = 8;
