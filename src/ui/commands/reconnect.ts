/** /reconnect: connects to the target again on the operator's request, with whatever ssh has to ask. */
import { BuddyError } from "../../lib/errors.ts";
import type { SlashCommand } from "./slash-commands.ts";

export const reconnect: SlashCommand = {
  name: "reconnect",
  args: "",
  summary: "connect to the target again; may ask for a password",
  anytime: false,
  async run(screen) {
    await screen.interruptible(async (signal) => {
      try {
        screen.say(await screen.host.reconnect(signal));
      } catch (error) {
        if (!(error instanceof BuddyError)) throw error;
        screen.fail(error.message, error.hint);
      }
    });
  },
};
