/** What to do about an error, with the commands of the REPL. */
/** Hints are written for the command line; inside the REPL its own commands do the same. */
export function replHint(hint: string, profile: string): string {
  return (
    hint
      .replace(/\bbuddy login(?= [\w.-]+)/g, "/login")
      .replace(/\bbuddy login\b/g, `/login ${profile}`)
      .replace(/\bbuddy models( [\w.-]+)?/g, (_, name = ` ${profile}`) => `/model${name}:`)
      .replace(/\bbuddy sessions\b(?! --| (?:export|output|rm)\b)/g, "/session")
      .replace(/\bbuddy resume\b/g, "/resume")
      .replace(/`?\bbuddy (targets|skills|changes|logout|mcp)\b(?! --| (?:check|add|remove|login|logout)\b)`?/g, "/$1")
      // Its argument is taken as it is, without a shell.
      .replace(/\/targets '([^']*)'/g, "/targets $1")
      .replace(/(?<![\w-])--on(?= \S)/g, "/on")
      .replace(/(?:, )?(?<![\w-])--model(?: \S+)?(?=[\s,.;)]|$)/g, (flag) => (flag.startsWith(",") ? "" : "/model"))
  );
}
