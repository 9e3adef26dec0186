/**
 * How many characters a tool may put into the conversation: a floor for small models, more as the context grows, or
 * what [limits] says.
 */
export function outputBudget(kind: BudgetKind, contextLimit: number, override = 0): number {
  if (override > 0) return Math.min(override, MOST_CONFIGURED);
  const scaled = Math.floor(contextLimit * CHARS_PER_TOKEN * SHARE_OF_CONTEXT);
  return Math.min(MOST, Math.max(FLOOR[kind], scaled));
}

/** As in [limits]. */
export type BudgetKind = "shell" | "capture" | "file" | "page" | "search";

const FLOOR: Readonly<Record<BudgetKind, number>> = {
  shell: 4_000,
  capture: 4_000,
  file: 8_000,
  page: 8_000,
  search: 8_000,
};
const MOST = 30_000;
const MOST_CONFIGURED = 128 * 1024;
const CHARS_PER_TOKEN = 4;
const SHARE_OF_CONTEXT = 0.04;
