/** Where every part reports what happens, for bug reports; without --trace and -vv it costs one comparison. */

/** The kinds of lines in a trace; docs/troubleshooting.md describes them. */
export type TraceKind = "start" | "request" | "headers" | "response" | "failure" | "decision" | "event" | "end";

export type TraceData = Readonly<Record<string, unknown>>;

let sink: ((kind: TraceKind, data: TraceData) => void) | undefined;

/** `data` is called only if there is a trace. */
export function trace(kind: TraceKind, data: () => TraceData): void {
  sink?.(kind, data());
}

export function tracing(): boolean {
  return sink !== undefined;
}

/** One trace per process; undefined ends it. */
export function traceTo(next: typeof sink): void {
  sink = next;
}
