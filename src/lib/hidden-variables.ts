/** Variables that no child of buddy gets; apart from start-child.ts, which an answer without a tool does not need. */

/** Variables of buddy itself; those that hold the keys of profiles are added when the configuration is read. */
const hidden = new Set(["BUN_OPTIONS", "BUN_BE_BUN", "BUDDY_API_KEY", "AGENT_API_KEY"]);

/** No child started from now on gets these variables. */
export function hideFromChildren(names: Iterable<string>): void {
  for (const name of names) hidden.add(name);
}

export function isHidden(name: string): boolean {
  return hidden.has(name);
}
