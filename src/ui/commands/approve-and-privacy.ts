/** /approve: how much is done without a question; /privacy: the secrets that were kept from the model. */
import { formatDuration, parseApproveMode } from "../../lib/durations.ts";
import type { SlashCommand, CommandScreen } from "./slash-commands.ts";
import { approvalWords } from "./status.ts";
import { clip } from "../../lib/text.ts";
import { showText } from "../../policy/screen/terminal-text.ts";
import { oneLine, timeOfDay } from "../words.ts";

export const approve: SlashCommand = {
  name: "approve",
  args: "[ask|all|none|DURATION]",
  summary: "when buddy asks before it makes a change",
  anytime: true,
  complete: () => [
    { value: "ask", hint: "ask before a change", complete: true },
    { value: "10m", hint: "approve everything for ten minutes, then ask again", complete: true },
    { value: "all", hint: "approve everything in this session", complete: true },
    { value: "none", hint: "deny what needs approval", complete: true },
  ],
  run(screen, args) {
    const { approvals } = screen.host;
    if (args !== "") {
      const mode = parseApproveMode(args);
      if (mode === undefined) {
        return screen.fail(
          `/approve takes ask, all, none or a duration, not "${oneLine(args)}"`,
          "For example /approve 10m; at most 24d",
        );
      }
      approvals.setMode(mode);
      const { longestMs } = approvals;
      const asked = mode.kind === "all" ? Number.POSITIVE_INFINITY : mode.kind === "duration" ? mode.ms : 0;
      if (longestMs !== undefined && asked > longestMs)
        screen.say([
          screen.style.warning(
            longestMs === 0
              ? "the rules of this machine do not allow approving in advance (approve_max)"
              : `the rules of this machine allow ${formatDuration(longestMs)} at most (approve_max)`,
          ),
        ]);
    }
    const { mode } = approvals;
    const words = `approvals: ${approvalWords(mode, Date.now())}`;
    const until = mode.kind === "until" ? ` (until ${moment(mode.at)})` : "";
    screen.say([mode.kind === "all" || mode.kind === "until" ? screen.style.warning(words + until) : words]);
  },
};

/** The time of day, with the date when that is another day. */
function moment(at: number): string {
  const time = new Date(at);
  const today = time.toDateString() === new Date().toDateString();
  return `${today ? "" : `${time.toDateString().slice(4, 10)} `}${timeOfDay(at)}`;
}

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
    if (word !== "show" && word !== "drop")
      return screen.fail(`/privacy takes show N or drop N, not "${oneLine(word)}"`, "/privacy alone lists the names");
    const number = Number(/^(?:secret-)?(\d{1,6})$/.exec(which)?.[1] ?? Number.NaN);
    const secret = screen.host.privacy.list().find((one) => one.number === number);
    if (secret === undefined) {
      const problem = Number.isNaN(number) ? `/privacy ${word} needs the number of a secret` : `no secret ${number}`;
      return screen.fail(problem, "/privacy lists them");
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
  if (!host.privacy.enabled)
    return screen.say([style.warning('secrets are sent to the model as they are: [privacy] to_model = "off"')]);
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
