/** `buddy` without a command: the REPL. */
import { defineCommand } from "../../command.ts";

export const command = defineCommand({
  name: "",
  args: { prompt: { type: "positional", required: false, description: "the first prompt" } },
  examples: [["buddy", "the REPL on this machine"]],
  async run({ args, globals }) {
    const { repl } = await import("./run-repl.ts");
    return await repl({ prompt: args.prompt }, globals);
  },
});
