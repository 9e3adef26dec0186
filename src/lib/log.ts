/** Status, warnings and errors for people: the only way to stderr, except for the screens of `exec` and the REPL. */
import { createConsola, type LogObject } from "consola/core";
import { isTerminal, stderrLine } from "./terminal.ts";

/** `info` and `error` print the text as it is; `warn` puts "buddy: warning:" before it. */
export const log = createConsola({
  level: 3,
  // Repeated lines are printed at once, not combined.
  throttle: 0,
  reporters: [{ log: ({ type, args }: LogObject) => stderrLine(lineOf(type, args.map(String).join(" "))) }],
});

function lineOf(type: LogObject["type"], text: string): string {
  return type === "warn" ? wrapped(`buddy: warning: ${text}`) : text;
}

/** A terminal would break words; a word longer than a row, such as a path, stays whole so that it can be copied. */
function wrapped(text: string): string {
  if (!isTerminal(2)) return text;
  const columns = process.stderr.columns || 80;
  const [first = "", ...rest] = text.split("\n").flatMap((line) => Bun.wrapAnsi(line, columns - 2).split("\n"));
  return [first, ...rest.map((row) => `  ${row.trimEnd()}`)].join("\n");
}
