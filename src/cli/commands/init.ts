/** `buddy init`: writes the configuration file. */
import { defineCommand } from "../command.ts";
import { notAvailable } from "../not-available.ts";

export const command = defineCommand({
  name: "init",
  summary: "write the configuration file",
  args: {
    force: { type: "boolean", description: "replace an existing file; it is kept as buddy.toml.SECONDS.bak" },
  },
  examples: [["buddy init", "asks a few questions in a terminal"]],
  async run() {
    throw notAvailable("buddy init");
  },
});
