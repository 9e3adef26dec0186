/** How many characters a tool may put into the conversation: a floor for small models, more as the context grows, or what [limits] says. */
export function outputBudget(kind: "shell" | "text", contextLimit: number, override = 0): number {
  if (override > 0) return Math.min(override, MOST_CONFIGURED);
  const scaled = Math.floor(contextLimit * CHARS_PER_TOKEN * SHARE_OF_CONTEXT);
  return Math.min(MOST, Math.max(FLOOR[kind], scaled));
}

const FLOOR = { shell: 4_000, text: 8_000 } as const;
const MOST = 30_000;
const MOST_CONFIGURED = 128 * 1024;
const CHARS_PER_TOKEN = 4;
const SHARE_OF_CONTEXT = 0.04;
