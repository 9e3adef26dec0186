/** Session ids: four groups of four hex digits from the system's random source. */

export function newSessionId(): string {
  return (crypto.getRandomValues(new Uint8Array(8)).toHex().match(/.{4}/g) ?? []).join("-");
}

export function isSessionId(text: string): boolean {
  return /^[0-9a-f]{4}(-[0-9a-f]{4}){3}$/.test(text);
}
