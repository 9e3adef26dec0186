/** Reads a command line in its plainest form; the build gives it to citty in place of parseArgs of node:util. */

interface PlainLine {
  readonly values: Record<string, string | true>;
  readonly positionals: string[];
}

/** `--name`, `--name=value`, then `--` and every word: as `plainLine` in run-command-line.ts writes it. */
export function readPlainLine({ args }: { readonly args: readonly string[] }): PlainLine {
  const values: Record<string, string | true> = {};
  const positionals: string[] = [];
  let literal = false;
  for (const arg of args) {
    if (literal || !arg.startsWith("--")) positionals.push(arg);
    else if (arg === "--") literal = true;
    else {
      const equals = arg.indexOf("=");
      if (equals === -1) values[arg.slice(2)] = true;
      else values[arg.slice(2, equals)] = arg.slice(equals + 1);
    }
  }
  return { values, positionals };
}
