/** `buddy completion`: a completion script for the shell. */
import { defineCommand } from "../command.ts";
import { notAvailable } from "../not-available.ts";

export const command = defineCommand({
  name: "completion",
  summary: "print a completion script for bash, zsh or fish",
  args: {
    shell: { type: "positional", choices: ["bash", "zsh", "fish"], description: "the shell to complete in" },
  },
  examples: [['eval "$(buddy completion bash)"', "in ~/.bashrc"]],
  async run() {
    throw notAvailable("buddy completion");
  },
});
