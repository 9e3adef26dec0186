/** /privacy: the secrets that were kept from the model, where they came from; shows one after a question, drops one. */
import { clip } from "../../lib/text.ts";
import { showText } from "../../policy/terminal-text.ts";
import { oneLine } from "../transcript/tool-view.ts";
import type { CommandScreen, SlashCommand } from "./slash-commands.ts";

export const privacy: SlashCommand = {
  name: "privacy",
  args: "[show N|drop N]",
  summary: "secrets that were kept from the model",
  anytime: true,
  words: 2,
  complete: (host, _tasks, words) =>
    words.length < 2
      ? [
          { value: "show ", hint: "show the value of one, after a question", complete: false },
          { value: "drop ", hint: "forget the value of one", complete: false },
        ]
      : host.privacy.list().map(({ number, kind }) => ({ value: String(number), hint: kind, complete: true })),
  async run(screen, args) {
    const [word = "", which = ""] = args.split(/\s+/);
    if (word === "") return list(screen);
    if (word !== "show" && word !== "drop") {
      screen.fail(`/privacy takes show N or drop N, not "${oneLine(word)}"`, "/privacy alone lists the names");
      return;
    }
    const number = Number(/^(?:secret-)?(\d{1,6})$/.exec(which)?.[1] ?? Number.NaN);
    const secret = screen.host.privacy.list().find((one) => one.number === number);
    if (secret === undefined) {
      const problem = Number.isNaN(number) ? `/privacy ${word} needs the number of a secret` : `no secret ${number}`;
      screen.fail(problem, "/privacy lists them");
      return;
    }
    const { privacy: secrets } = screen.host;
    if (word === "show") {
      const value = (await confirmed(screen, secret.name)) ? secrets.value(number) : undefined;
      if (value !== undefined) screen.verbatim(showText(value).split("\n"));
    } else if (secrets.drop(number)) screen.say([`${secret.name} is forgotten; the model can no longer use this name`]);
  },
};

function list(screen: CommandScreen): void {
  const { host, style, columns } = screen;
  if (!host.privacy.enabled) {
    screen.say([style.warning('secrets are sent to the model as they are: [privacy] to_model = "off"')]);
    return;
  }
  const secrets = host.privacy.list();
  if (secrets.length === 0) screen.say(["no secrets found in this session"]);
  screen.say(secrets.map(({ name, from }) => clip(`${name}  ${style.grey(oneLine(from))}`, columns)));
}

async function confirmed(screen: CommandScreen, name: string): Promise<boolean> {
  const choices = [
    { value: "no", label: "no", hint: "it stays hidden" },
    { value: "yes", label: "yes, show it", hint: "it stays in the scrollback of this terminal" },
  ];
  return (await screen.pick(`Show the value of ${name} on this screen?`, choices, 0))?.value === "yes";
}
