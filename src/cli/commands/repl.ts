/** `buddy` without a command: the REPL. */
import { defineCommand } from "../command.ts";
import { notAvailable } from "../not-available.ts";

export const command = defineCommand({
  name: "",
  summary: "talk to it",
  args: {},
  examples: [["buddy", "the REPL on this machine"]],
  async run() {
    throw notAvailable("the REPL");
  },
});
