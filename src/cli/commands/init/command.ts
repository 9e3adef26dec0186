/** `buddy init`: writes the configuration file, with a few questions on a terminal. */
import { currentDirectory } from "../../../lib/byte-names.ts";
import { EXIT } from "../../../lib/errors.ts";
import { defineCommand } from "../../command.ts";

export const command = defineCommand({
  name: "init",
  args: {
    force: { type: "boolean", description: "replace an existing file; the old one is kept as buddy.toml.SECONDS.bak" },
  },
  examples: [
    ["buddy init", "asks a few questions in a terminal"],
    ["buddy init --force < /dev/null", "no questions: a key that is set, or the defaults"],
  ],
  notes: "The file is ~/.config/buddy/buddy.toml, or the one that --config names.",
  async run({ args, globals }) {
    const { initConfig } = await import("./init-config.ts");
    const { env } = process;
    const { lines } = await initConfig({
      path: globals.config,
      force: args.force === true,
      env,
      cwd: currentDirectory(),
    });
    for (const line of lines) console.log(line);
    return EXIT.ok;
  },
});
