/** Session ids: four groups of four hex digits from the system's random source. */

export function newSessionId(): string {
  // Its digits in between are not all random.
  const id = crypto.randomUUID();
  return [id.slice(0, 4), id.slice(4, 8), id.slice(-8, -4), id.slice(-4)].join("-");
}

export function isSessionId(text: string): boolean {
  return /^[0-9a-f]{4}(-[0-9a-f]{4}){3}$/.test(text);
}
