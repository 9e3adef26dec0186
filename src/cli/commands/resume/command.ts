/** `buddy resume`: the REPL on a saved session. */
import { BuddyError, EXIT } from "../../../lib/errors.ts";
import { isTerminal } from "../../../lib/terminal.ts";
import { defineCommand } from "../../command.ts";

export const command = defineCommand({
  name: "resume",
  args: {
    id: {
      type: "positional",
      required: false,
      description: "the session's id or the beginning of it; without one, choose from a list",
    },
    last: { type: "boolean", description: "the session used last in this directory" },
    fork: { type: "boolean", description: "continue in a copy, for example while another buddy uses the session" },
  },
  examples: [
    ["buddy resume --last", "the last session of this directory"],
    ["buddy resume 7b2f", "the session whose id begins with 7b2f"],
  ],
  async run({ args, globals }) {
    if (args.last && args.id !== undefined) throw new BuddyError("usage", "give an id or --last, not both");
    const resume = args.last ? "last" : (args.id ?? (await chosen()));
    if (resume === undefined) return EXIT.ok;
    const { repl } = await import("../repl/run-repl.ts");
    return await repl({ resume, fork: args.fork === true }, globals);
  },
});

/** Undefined when nothing was chosen. */
async function chosen(): Promise<string | undefined> {
  if (!isTerminal(0) || !isTerminal(1) || process.env.TERM === "dumb") {
    throw new BuddyError("usage", "no session given, and there is no terminal to choose one on", {
      hint: "buddy resume ID, or buddy resume --last; buddy sessions lists them",
    });
  }
  const { savedSessions } = await import("../../../session/store.ts");
  const { pickWithClack } = await import("../../../ui/questions/clack-on-terminal.ts");
  const { sessionChoices } = await import("../../../ui/commands/session.ts");
  const sessions = savedSessions()
    .list()
    .filter(({ problem, bytes }) => problem === undefined && bytes > 0);
  if (sessions.length === 0)
    throw new BuddyError("usage", "no saved sessions in this directory", {
      hint: "buddy sessions --all lists those of other directories",
    });
  return pickWithClack("Continue which session?", sessionChoices(sessions));
}
