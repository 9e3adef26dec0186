/** /targets and /on: which machines have names, and work on others without leaving the conversation. */
import { BuddyError } from "../../lib/errors.ts";
import { labelled } from "../labelled.ts";
import { oneLine } from "../transcript/tool-view.ts";
import type { ArgumentValues, SlashCommand } from "./slash-commands.ts";
import type { ReplHost } from "../repl/host.ts";

const targets: SlashCommand = {
  name: "targets",
  args: "[WHAT]",
  summary: "the machines by name, and what the names lead to",
  anytime: true,
  complete: names,
  async run(screen, what) {
    const { style, columns } = screen;
    const rows = await screen.host.targets(what === "" ? undefined : what);
    const shown = rows.map(({ name, meaning, current }) => ({
      label: oneLine(name),
      value: style.grey(`${oneLine(meaning)}${current ? " · in use" : ""}`),
    }));
    screen.say(labelled(shown, columns, (text) => text));
    if (what === "") screen.say([style.grey("/on NAME works there; +NAME adds machines to those in use")]);
  },
};

const on: SlashCommand = {
  name: "on",
  args: "[WHAT|+WHAT]",
  summary: "work on other machines; +WHAT adds them",
  anytime: false,
  complete: names,
  async run(screen, what) {
    if (what === "") {
      const current = (await screen.host.targets()).filter((row) => row.current);
      screen.say([
        ...current.map(({ name, meaning }) => `on ${oneLine(name)}: ${oneLine(meaning)}`),
        screen.style.grey("/on NAME works there; /targets lists the names"),
      ]);
      return;
    }
    await screen.interruptible(async (signal) => {
      try {
        screen.waiting(`connecting: ${oneLine(what)}`);
        screen.say(await screen.host.workOn(what, signal));
      } catch (error) {
        if (!(error instanceof BuddyError)) throw error;
        screen.fail(error.message, error.hint);
      }
    });
  },
};

export const targetCommands: readonly SlashCommand[] = [targets, on];

/** The last of a list is the one being typed. */
async function names(host: ReplHost, _tasks: unknown, words: readonly string[]): Promise<ArgumentValues> {
  const begun = /^(?:.*,|\+)?/.exec(words.at(-1) ?? "")?.[0] ?? "";
  const known = await host.targetNames();
  return known.map(({ name, meaning }) => ({ value: `${begun}${name}`, hint: oneLine(meaning), complete: true }));
}
