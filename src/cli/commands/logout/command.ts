/** `buddy logout`: the opposite of `buddy login`. */
import { EXIT } from "../../../lib/errors.ts";
import { log } from "../../../lib/log.ts";
import { defineCommand } from "../../command.ts";

export const command = defineCommand({
  name: "logout",
  args: {
    profile: {
      type: "positional",
      required: false,
      description: "the profile to sign out of (default: the active one)",
    },
  },
  examples: [["buddy logout", "revoke and remove the sign-in"]],
  async run({ args, globals }) {
    const { signOut } = await import("../../../app/model/sign-in.ts");
    await signOut(args.profile, globals, (line) => log.info(line));
    return EXIT.ok;
  },
});
