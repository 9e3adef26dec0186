/** `buddy demo`: a short guided run on the built-in scripted model. */
import { defineCommand } from "../../command.ts";

export const command = defineCommand({
  name: "demo",
  args: {
    yes: { type: "boolean", alias: "y", description: "answer every question with yes (for scripts)" },
  },
  examples: [
    ["buddy demo", "real tmux, real commands, a scripted model"],
    ["buddy demo --yes --no-tmux", "without questions and without a pane"],
  ],
  async run({ args, globals }) {
    const { demo } = await import("./guided-run.ts");
    const code = await demo({ yes: args.yes === true }, globals).catch(async (error: unknown) => {
      const { reportError } = await import("../../report-error.ts");
      return reportError(error, { verbose: globals.verbose, ...(globals.color === false ? { color: false } : {}) });
    });
    // Waiting for a key on the terminal must not delay the exit.
    process.exit(code);
  },
});
