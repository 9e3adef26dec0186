/** What buddy adds to the result of a tool for the model and for people. */
import { NO_OUTPUT, type ToolResult, withNote } from "./tool.ts";

export function noted(result: ToolResult, note: string): ToolResult {
  return { ...result, notes: [...(result.notes ?? []), note] };
}

/** With the notes in what the model and people read. */
export function withNotes({ notes = [], ...result }: ToolResult): ToolResult {
  return notes.reduce<ToolResult>((all, note) => {
    const text = typeof all.result === "string" ? all.result : JSON.stringify(all.result);
    const shown = all.display ?? (text === NO_OUTPUT ? "" : text);
    return { ...all, result: withNote(all.result, note), display: `${shown === "" ? "" : `${shown}\n`}[${note}]` };
  }, result);
}
