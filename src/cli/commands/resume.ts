/** `buddy resume`: the REPL on a stored session. */
import { defineCommand } from "../command.ts";
import { notAvailable } from "../not-available.ts";

export const command = defineCommand({
  name: "resume",
  summary: "go on with a stored session in the REPL",
  args: {
    id: { type: "positional", required: false, description: "the session's id, or the beginning of it" },
    last: { type: "boolean", description: "the session used last in this directory" },
  },
  examples: [
    ["buddy resume --last", "where you left off"],
    ["buddy resume 7k2m", "the session whose id begins with 7k2m"],
  ],
  async run() {
    throw notAvailable("buddy resume");
  },
});
