/** What values of a file plainly are, told without a schema; zod decides about everything else. */

export function isYesNo(raw: unknown): boolean {
  return typeof raw === "boolean";
}

export function isText(raw: unknown): raw is string {
  return typeof raw === "string";
}

export function isFullText(raw: unknown): boolean {
  return isText(raw) && raw !== "";
}

export function isWithin(raw: unknown, min: number, max: number): boolean {
  return typeof raw === "number" && raw >= min && raw <= max;
}

export function isList(raw: unknown): boolean {
  return Array.isArray(raw) && raw.every(isFullText);
}

export function isListOf(raw: unknown, item: (one: unknown) => boolean): boolean {
  return Array.isArray(raw) && raw.length > 0 && raw.every(item);
}

export function isCommand(raw: unknown): boolean {
  return isListOf(raw, isFullText);
}

export function isPlainTable(raw: unknown): boolean {
  return typeof raw === "object" && raw !== null && raw.constructor === Object;
}

export function isTextTable(raw: unknown): boolean {
  return isPlainTable(raw) && Object.values(raw as object).every(isText);
}
