/** `buddy help [COMMAND]`. */
import { closestMatch } from "../../../lib/text.ts";
import { BuddyError, EXIT } from "../../../lib/errors.ts";
import { defineCommand } from "../../command.ts";
import { COMMANDS } from "../../commands.ts";
import { commandHelp, rootHelp } from "../../args/help.ts";

export const command = defineCommand({
  name: "help",
  args: {
    command: { type: "positional", required: false, description: "the command to explain" },
  },
  examples: [["buddy help exec", "the same as buddy exec --help"]],
  async run({ args }) {
    const name = args.command;
    if (name === undefined) {
      console.log(rootHelp());
      return EXIT.ok;
    }
    const entry = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
    if (entry === undefined) {
      const meant = closestMatch(name, Object.keys(COMMANDS));
      throw new BuddyError("usage", `unknown command "${name}"`, {
        hint: meant === undefined ? "commands are listed by: buddy --help" : `did you mean ${meant}?`,
      });
    }
    console.log(commandHelp(await entry.load()));
    return EXIT.ok;
  },
});
