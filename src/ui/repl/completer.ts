/** What the drop-down offers: commands after a slash, their arguments, and paths of the target after @. */
import type { Tasks } from "../../agent/tasks.ts";
import { showText } from "../../policy/terminal-text.ts";
import type { Completer, Offer, Suggestion } from "../editor/completion.ts";
import type { ReplHost } from "./host.ts";
import { type ArgumentValues, findCommand, SLASH_COMMANDS } from "../commands/slash-commands.ts";

export function completer(host: ReplHost, tasks: Tasks): Completer {
  return (before, signal) => {
    if (before.length > LONGEST) return undefined;
    if (/^\/[a-zA-Z]*$/.test(before)) return commands(before.slice(1), tasks.running !== undefined);
    const slash = /^\/([a-zA-Z]+)\s+(.*)$/.exec(before);
    if (slash !== null) return commandArguments(slash[1]!, slash[2]!, host, tasks);
    const path = /(?:^|\s)@((?:\\.|[^\s\\])*)$/.exec(before);
    return path === null ? undefined : paths(path[1]!, host, signal);
  };
}

function commands(begun: string, busy: boolean): Offer {
  const items = SLASH_COMMANDS.filter(({ name, aliases = [] }) =>
    [name, ...aliases].some((word) => word.startsWith(begun)),
  ).map(({ name, args, summary, anytime }): Suggestion => {
    const wait = busy && !anytime ? "waits for the task · " : "";
    return {
      value: `/${name}${args === "" ? "" : " "}`,
      label: `/${name}${args === "" ? "" : ` ${args}`}`,
      hint: wait + summary,
      complete: args === "" || args.startsWith("["),
    };
  });
  return { replaces: begun.length + 1, items };
}

function commandArguments(
  word: string,
  text: string,
  host: ReplHost,
  tasks: Tasks,
): Offer | undefined | Promise<Offer | undefined> {
  const words = text.split(/\s+/);
  const begun = words.at(-1) ?? "";
  const values = findCommand(word)?.complete?.(host, tasks, words);
  if (values === undefined) return undefined;
  const offer = (found: ArgumentValues): Offer | undefined => {
    const items = found
      .filter(({ value }) => value.startsWith(begun))
      .map(({ value, hint, complete }): Suggestion => ({ value, label: value.trim(), hint, complete }));
    return items.length === 0 ? undefined : { replaces: begun.length, items };
  };
  return values instanceof Promise ? values.then(offer) : offer(values);
}

async function paths(begun: string, host: ReplHost, signal: AbortSignal): Promise<Offer | undefined> {
  const typed = begun.replace(/\\(.)/g, "$1");
  const cut = typed.lastIndexOf("/") + 1;
  const directory = typed.slice(0, cut);
  const start = typed.slice(cut);
  const entries = await host.listDirectory(directory === "" ? "." : directory, signal);
  const items = entries
    .filter(({ name }) => name.startsWith(start) && (start.startsWith(".") || !name.startsWith(".")))
    // A name with control characters cannot be typed, and must not be shown as it is.
    .filter(({ name }) => showText(name, { mode: "line" }) === name)
    .toSorted((a, b) => Number(b.directory) - Number(a.directory) || (a.name < b.name ? -1 : 1))
    .slice(0, OFFERED)
    .map(({ name, directory: isDirectory }): Suggestion => {
      const end = isDirectory ? "/" : " ";
      return {
        value: `@${(directory + name).replace(/[\s\\]/g, "\\$&")}${end}`,
        label: name + (isDirectory ? "/" : ""),
        hint: "",
        complete: false,
      };
    });
  return items.length === 0 ? undefined : { replaces: begun.length + 1, items };
}

const LONGEST = 4096;
const OFFERED = 200;
