/** `buddy doctor`: what works on this machine, and what to do about the rest. */
import { defineCommand } from "../command.ts";
import { notAvailable } from "../not-available.ts";

export const command = defineCommand({
  name: "doctor",
  summary: "check configuration, key, model, tmux, ssh, containers",
  args: {
    json: { type: "boolean", description: "print the findings as JSON" },
  },
  examples: [
    ["buddy doctor", "this machine; exit code 1 if something needed is broken"],
    ["buddy doctor --ssh web1", "also the host"],
  ],
  async run() {
    throw notAvailable("buddy doctor");
  },
});
