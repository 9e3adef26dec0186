/** Session ids: four groups of four hex digits from the system's random source. */
import { randomBytes } from "node:crypto";

export function newSessionId(): string {
  return (randomBytes(8).toString("hex").match(/.{4}/g) ?? []).join("-");
}

export function isSessionId(text: string): boolean {
  return /^[0-9a-f]{4}(-[0-9a-f]{4}){3}$/.test(text);
}
