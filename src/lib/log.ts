/** Status, warnings and errors for people: the one way to stderr, except for the screens of `exec` and the REPL. */
import { createConsola, type LogObject } from "consola/core";
import { stderrLine } from "./terminal.ts";

/** `info` and `error` print what they get; `warn` says whose warning it is. */
export const log = createConsola({
  level: 3,
  // Lines that repeat are said again, and at once.
  throttle: 0,
  reporters: [{ log: ({ type, args }: LogObject) => stderrLine(lineOf(type, args.map(String).join(" "))) }],
});

function lineOf(type: LogObject["type"], text: string): string {
  return type === "warn" ? `buddy: warning: ${text}` : text;
}
