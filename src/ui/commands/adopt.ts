/** /adopt: buddy works in the shell that the operator started in the shared pane, as the user and machine in it. */
import type { SlashCommand } from "./slash-commands.ts";

export const adopt: SlashCommand = {
  name: "adopt",
  args: "",
  summary: "work in the shell you started in the pane (sudo -i, ssh, docker exec)",
  anytime: false,
  async run(screen) {
    await screen.interruptible(async () => screen.say(await screen.host.adopt()));
  },
};
