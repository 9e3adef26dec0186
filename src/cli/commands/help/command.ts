/** `buddy help [COMMAND|TOPIC]`. */
import { BuddyError, EXIT } from "../../../lib/errors.ts";
import { print } from "../../../lib/output.ts";
import { closestMatch } from "../../../lib/text.ts";
import { commandHelp, rootHelp, shortHelp } from "../../args/help.ts";
import { COMMANDS, defineCommand, loadCommand } from "../../command.ts";

/** Topic → what its page is about. */
export const TOPICS = {
  keys: "the REPL: keys, slash commands, questions",
  config: "every setting: values, default, meaning",
  policy: "what may run, be written, be fetched, be shown",
  targets: "local, ssh, containers; the shared pane",
  undo: "undoing changes; what can lock you out",
  events: "the JSON events of exec --json",
  connect: "connect your model, provider by provider",
  providers: "how to configure each endpoint",
  troubleshooting: "messages and what to do; where files are; bug reports",
  security: "boundaries and guardrails",
} as const;
export type Topic = keyof typeof TOPICS;

export const command = defineCommand({
  name: "help",
  args: {
    command: {
      type: "positional",
      required: false,
      description: "the command or the topic to explain; all: every command and option",
    },
  },
  examples: [
    ["buddy help exec", "the same as buddy exec --help"],
    ["buddy help keys", "a page of the documentation; no network is needed"],
  ],
  notes: `Topics:\n${Object.entries(TOPICS)
    .map(([name, about]) => `  ${name.padEnd(15)}  ${about}`)
    .join("\n")}`,
  async run({ args, globals }) {
    const name = args.command;
    if (name === undefined || name === "all") {
      await print([`${name === "all" ? rootHelp() : shortHelp()}\n`]);
      return EXIT.ok;
    }
    const isCommand = Object.hasOwn(COMMANDS, name);
    const topic = Object.hasOwn(TOPICS, name) ? (name as Topic) : undefined;
    if (!isCommand && topic === undefined) {
      const meant = closestMatch(name, [...Object.keys(COMMANDS), ...Object.keys(TOPICS)]);
      throw new BuddyError("usage", `unknown command or topic "${name}"`, {
        hint:
          meant === undefined
            ? "buddy help all lists the commands, buddy help --help the topics"
            : `Did you mean ${meant}?`,
      });
    }
    const help = isCommand ? `${commandHelp(await loadCommand(name))}\n` : undefined;
    if (topic === undefined) await print([help ?? ""]);
    else {
      const { showPage, topicPage } = await import("./topics.ts");
      const page = await topicPage(topic, globals.color);
      // A command may have a page, too.
      await showPage(help === undefined ? page : `${help}\n${page}`);
    }
    return EXIT.ok;
  },
});
