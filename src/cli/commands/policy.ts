/** `buddy policy`: what the policy says of a command, URL, path or text; nothing is done. */
import { defineCommand } from "../command.ts";
import { notAvailable } from "../not-available.ts";

export const command = defineCommand({
  name: "policy",
  summary: "explain what the policy says, without doing anything",
  args: {
    kind: {
      type: "positional",
      choices: ["shell", "url", "path", "text"],
      description: "a command, an address to fetch, a path to write, or text to show",
    },
    value: { type: "positional", required: false, description: "the value; without it, read from stdin" },
    json: { type: "boolean", description: "print one JSON object" },
    batch: { type: "boolean", description: "one JSON value a line on stdin, one JSON object a line on stdout" },
  },
  examples: [
    ["buddy policy shell 'git push --force'", "blocked: why, and what to do instead"],
    ["buddy policy url http://169.254.169.254/", "blocked: link-local"],
  ],
  async run() {
    throw notAvailable("buddy policy");
  },
});
