/** `buddy resume`: the REPL on a stored session. */
import { BuddyError } from "../../../lib/errors.ts";
import { defineCommand } from "../../command.ts";

export const command = defineCommand({
  name: "resume",
  args: {
    id: { type: "positional", required: false, description: "the session's id, or the beginning of it" },
    last: { type: "boolean", description: "the session used last in this directory" },
    fork: { type: "boolean", description: "go on in a copy, such as while another buddy has the session" },
  },
  examples: [
    ["buddy resume --last", "where you left off"],
    ["buddy resume 7b2f", "the session whose id begins with 7b2f"],
  ],
  async run({ args, globals }) {
    if (args.last && args.id !== undefined) throw new BuddyError("usage", "give an id or --last, not both");
    if (!args.last && args.id === undefined) {
      throw new BuddyError("usage", "which session? buddy resume ID, or buddy resume --last", {
        hint: "buddy sessions lists them",
      });
    }
    const { repl } = await import("../repl/run-repl.ts");
    return await repl({ resume: args.last ? "last" : args.id, fork: args.fork === true }, globals);
  },
});
