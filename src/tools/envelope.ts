/** The form in which every tool result reaches the model. */
export function envelope(result: unknown, unixMillis: number = Date.now()): string {
  return JSON.stringify({ harness_timestamp: { source: "harness", unix_millis: unixMillis }, result: result ?? null });
}

/** Adds a remark to a payload of whatever shape. */
export function withNote(result: unknown, note: string): unknown {
  if (typeof result === "string") return `${result}\n\n[${note}]`;
  if (typeof result === "object" && result !== null && !Array.isArray(result)) return { ...result, note };
  return { value: result, note };
}
