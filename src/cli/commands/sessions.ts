/** `buddy sessions`: what is stored for this directory. */
import { defineCommand } from "../command.ts";
import { notAvailable } from "../not-available.ts";

export const command = defineCommand({
  name: "sessions",
  summary: "list, export or remove stored sessions",
  args: {
    action: {
      type: "positional",
      required: false,
      choices: ["list", "export", "rm"],
      description: "list (default), export as Markdown or HTML, or remove",
    },
    id: { type: "positional", required: false, description: "the session's id, or the beginning of it" },
    json: { type: "boolean", description: "list as JSON" },
    html: { type: "boolean", description: "export one self-contained HTML page instead of Markdown" },
  },
  examples: [
    ["buddy sessions", "id, last used, target, model, first words"],
    ["buddy sessions export 7k2m > run.md", "a readable transcript"],
  ],
  async run() {
    throw notAvailable("buddy sessions");
  },
});
