/** Small functions for values of any kind, and a type that many use. */

/** Environment variables. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The names of the variables in a text such as "Bearer ${TOKEN}". */
export function variablesIn(text: string): string[] {
  return [...text.matchAll(VARIABLE)].map(([, name = ""]) => name);
}

const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** The text with the values of its variables; `missing` is the error for one that is not set. */
export function withVariables(text: string, env: Environment, missing: (name: string) => Error): string {
  return text.replace(VARIABLE, (_, name: string) => {
    const value = env[name];
    if (value === undefined || value === "") throw missing(name);
    return value;
  });
}

/** Whether an unknown value is an object with keys: neither null nor an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The object that a JSON text is; undefined if it is anything else. */
export function jsonObject(text: string): Record<string, unknown> | undefined {
  try {
    const value = parseJson(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The fields that have a value: an optional property must be left out rather than undefined. */
export function defined<T extends object>(fields: T): Defined<T> {
  const kept: Record<string, unknown> = {};
  for (const key of Object.keys(fields)) {
    const value = fields[key as keyof T];
    if (value !== undefined) kept[key] = value;
  }
  return kept as Defined<T>;
}

type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** A value that is made on first use: a long regular expression would cost every start half a millisecond. */
export function once<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

export function sha256(data: string | Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(data).digest("hex");
}

/** A copy of the value with every string in it replaced, at any depth. */
export function mapTexts(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === "string") return map(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, map));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapTexts(item, map)]));
}

/** JSON.parse that refuses what is nested so deeply that a walk through it could exhaust the stack. */
export function parseJson(text: string, reviver?: (key: string, value: unknown) => unknown): unknown {
  const value: unknown = JSON.parse(text, reviver);
  if (text.length > 2 * MOST_DEPTH && isDeep(value)) throw new SyntaxError(`more than ${MOST_DEPTH} levels`);
  return value;
}

/** Level by level, without recursion. */
export function isDeep(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MOST_DEPTH) return true;
    level = level.flatMap((one) => (typeof one === "object" && one !== null ? Object.values(one) : []));
  }
  return false;
}

const MOST_DEPTH = 100;

/** About how many characters of JSON it takes; counts only up to `most`. */
export function textIn(value: unknown, most = Infinity): number {
  if (typeof value === "string") return Math.min(value.length, most);
  if (typeof value !== "object" || value === null) return LITERAL;
  let chars = 0;
  // Not `for in`: the runtime would build a list of names for each shape of object.
  for (const item of Array.isArray(value) ? value : Object.values(value)) {
    chars += LITERAL + textIn(item, most - chars);
    if (chars >= most) return most;
  }
  return chars;
}

const LITERAL = 8;
