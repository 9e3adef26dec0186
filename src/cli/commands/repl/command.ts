/** `buddy` without a command: the REPL. */
import { defineCommand } from "../../command.ts";

export const command = defineCommand({
  name: "",
  args: {},
  examples: [["buddy", "the REPL on this machine"]],
  async run({ globals }) {
    const { repl } = await import("./run-repl.ts");
    return await repl({}, globals);
  },
});
