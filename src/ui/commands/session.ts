/** /session: the stored conversations here; start a new one, go on with an earlier one. */
import { clip } from "../../lib/graphemes.ts";
import type { CommandScreen, SlashCommand } from "./slash-commands.ts";
import { oneLine } from "../transcript/tool-view.ts";
import { ago } from "../words.ts";

export const session: SlashCommand = {
  name: "session",
  args: "[new|resume ID|last]",
  summary: "list sessions, start one, go on with one",
  anytime: false,
  async complete(host, _tasks, words) {
    if (words[0] !== "resume" || words.length < 2) {
      return [
        { value: "new", hint: "start a fresh conversation", complete: true },
        { value: "resume ", hint: "go on with an earlier one", complete: false },
        { value: "last", hint: "go on with the one used last", complete: true },
      ];
    }
    const others = (await host.sessions()).filter(({ current }) => !current).slice(0, OFFERED);
    const now = Date.now();
    return [
      { value: "last", hint: "the one used last", complete: true },
      ...others.map(({ id, title, lastUsed }) => ({
        value: id,
        hint: `${ago(lastUsed, now)} ${oneLine(title)}`,
        complete: true,
      })),
    ];
  },
  async run(screen, args) {
    const { host, style } = screen;
    const [word = "", id = ""] = args.split(/\s+/);
    if (word === "new") {
      screen.say(await host.newSession());
      return;
    }
    if (word === "last" || word === "resume") {
      if (word === "resume" && id === "") {
        screen.fail("which session? /session resume ID, or /session last", "/session lists them");
        return;
      }
      const before = host.facts().session;
      const ask = {
        copy: (why: string) => offerCopy(screen, why),
        foreign: (lines: readonly string[]) => confirmForeign(screen, lines),
      };
      screen.say(await host.resumeSession(word === "last" ? "last" : id, ask));
      const { session: now, lastPrompt } = host.facts();
      if (now !== before && lastPrompt !== undefined)
        screen.say([clip(style.grey(`the last prompt was “${oneLine(lastPrompt)}”`), screen.columns)]);
      return;
    }
    if (word !== "") {
      screen.fail(`/session takes new, resume ID or last, not "${oneLine(word)}"`, "/session alone lists the sessions");
      return;
    }
    const sessions = await host.sessions();
    if (sessions.length === 0) {
      screen.say(["no stored sessions here yet"]);
      return;
    }
    const now = Date.now();
    screen.say(
      sessions.slice(0, SHOWN).map((stored) => {
        const mark = stored.current ? "*" : " ";
        const row = `${mark} ${stored.id}  ${ago(stored.lastUsed, now).padEnd(11)}  ${style.grey(`${oneLine(stored.target)}  ${oneLine(stored.title)}`)}`;
        return clip(row, screen.columns);
      }),
    );
    if (sessions.length > SHOWN) screen.say([style.grey(`…${sessions.length - SHOWN} more: buddy sessions`)]);
  },
};

async function offerCopy(screen: CommandScreen, why: string): Promise<boolean> {
  const choices = [
    {
      value: "copy",
      label: "go on in a copy",
      hint: "under a new id; what the other one does from now on is not in it",
    },
    { value: "stay", label: "stay here", hint: "nothing is changed" },
  ];
  return (await screen.pick(`${oneLine(why)}:`, choices, 0))?.value === "copy";
}

async function confirmForeign(screen: CommandScreen, lines: readonly string[]): Promise<boolean> {
  screen.say(lines.map(oneLine));
  const choices = [
    { value: "stay", label: "no", hint: "nothing is changed" },
    { value: "continue", label: "continue this session", hint: "its text goes to the model as your own words" },
  ];
  return (await screen.pick("continue a session that is not yours?", choices, 0))?.value === "continue";
}

const SHOWN = 15;
const OFFERED = 20;
