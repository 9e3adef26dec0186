/** `buddy login`: sign in for profiles with `auth = "login"`. */
import { defineCommand } from "../command.ts";
import { notAvailable } from "../not-available.ts";

export const command = defineCommand({
  name: "login",
  summary: 'sign in, for profiles with auth = "login"',
  args: {
    profile: { type: "positional", required: false, description: "the profile to sign in for (default: the active)" },
    check: { type: "boolean", description: "tell whether you are signed in and until when" },
    reset: { type: "boolean", description: "sign out: revoke and remove what is stored" },
  },
  examples: [
    ["buddy login", "shows an address and a code to enter there"],
    ["buddy login --check", "exit code 4 when not signed in"],
  ],
  async run() {
    throw notAvailable("buddy login");
  },
});
