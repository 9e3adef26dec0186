/** Session ids: four groups of four random hex digits. */

export function newSessionId(): string {
  // Not all digits in the middle of a UUID are random.
  const id = crypto.randomUUID();
  return [id.slice(0, 4), id.slice(4, 8), id.slice(-8, -4), id.slice(-4)].join("-");
}

export function isSessionId(text: string): boolean {
  return /^[0-9a-f]{4}(-[0-9a-f]{4}){3}$/.test(text);
}
