/** `buddy demo`: a short guided run on the built-in scripted model. */
import { defineCommand } from "../command.ts";
import { notAvailable } from "../not-available.ts";

export const command = defineCommand({
  name: "demo",
  summary: "a short guided run: no key, no network",
  args: {
    yes: { type: "boolean", alias: "y", description: "answer every question with yes (for scripts)" },
  },
  examples: [["buddy demo", "real tmux, real commands, a scripted model"]],
  async run() {
    throw notAvailable("buddy demo");
  },
});
