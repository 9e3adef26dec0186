/** What the drop-down offers: commands after a slash, their arguments, and paths of the target after @. */
import type { Tasks } from "../../agent/tasks.ts";
import { showLine } from "../../policy/screen/terminal-text.ts";
import type { Completer, Offer, Suggestion } from "../editor/completion.ts";
import type { ReplHost } from "./host.ts";
import { type ArgumentValues, customCommands, findCommands, SLASH_COMMANDS } from "../commands/slash-commands.ts";

export function completer(host: ReplHost, tasks: Tasks): Completer {
  return (before, signal) => {
    if (before.length > LONGEST) return undefined;
    if (/^\/(?:[a-zA-Z][\w-]*)?$/.test(before)) return commands(before.slice(1), host, tasks.running !== undefined);
    const slash = /^\/([a-zA-Z][\w-]*)\s+(.*)$/.exec(before);
    if (slash !== null) return commandArguments(slash[1]!, slash[2]!, host, tasks, signal);
    const path = /(?:^|\s)@((?:\\.|[^\s\\])*)$/.exec(before);
    return path === null ? undefined : paths(path[1]!, host, signal);
  };
}

function commands(begun: string, host: ReplHost, busy: boolean): Offer {
  const items = [...SLASH_COMMANDS, ...customCommands(host)]
    .filter(({ name, aliases = [] }) => [name, ...aliases].some((word) => word.startsWith(begun)))
    .map(({ name, args, summary, anytime }): Suggestion => {
      const wait = busy && !anytime ? "not while a task runs · " : "";
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
  signal: AbortSignal,
): Offer | undefined | Promise<Offer | undefined> {
  const words = text.split(/\s+/);
  const begun = words.at(-1) ?? "";
  const found = findCommands(word, customCommands(host));
  const values = found.length === 1 ? found[0]!.complete?.(host, tasks, words) : undefined;
  // A command of the operator's own takes any words, @paths among them.
  if (values === undefined && found.length === 1 && begun.startsWith("@")) return paths(begun.slice(1), host, signal);
  if (values === undefined) return undefined;
  const offer = (found: ArgumentValues): Offer | undefined => {
    const items = found
      .filter(({ value }) => value.startsWith(begun))
      .map(({ value, hint, complete }): Suggestion => ({ value, label: value.trim(), hint, complete }));
    return items.length === 0 ? undefined : { replaces: begun.length, items };
  };
  return values instanceof Promise ? values.then(offer) : offer(values);
}

/** First the entries of the directory that was typed, then files anywhere below that match the letters in order. */
async function paths(begun: string, host: ReplHost, signal: AbortSignal): Promise<Offer | undefined> {
  const typed = begun.replace(/\\(.)/g, "$1");
  const cut = typed.lastIndexOf("/") + 1;
  const directory = typed.slice(0, cut);
  const start = typed.slice(cut);
  const [entries, files] = await Promise.all([
    host.listDirectory(directory === "" ? "." : directory, signal).catch(() => []),
    typed.length < FUZZY_FROM ? [] : host.listFiles(signal).catch(() => []),
  ]);
  const near = entries
    .filter(({ name }) => name.startsWith(start) && (start.startsWith(".") || !name.startsWith(".")))
    .toSorted((a, b) => Number(b.directory) - Number(a.directory) || (a.name < b.name ? -1 : 1))
    .map(({ name, directory: isDirectory }) => ({ path: directory + name, label: name, isDirectory }));
  const known = new Set(near.map(({ path }) => path));
  const far = bestMatches(typed, files)
    .filter((path) => !known.has(path))
    .map((path) => ({ path, label: path, isDirectory: false }));
  const items = [...near, ...far]
    // A name with control characters cannot be typed, and must not be shown as it is.
    .filter(({ path }) => showLine(path) === path)
    .slice(0, OFFERED)
    .map(({ path, label, isDirectory }): Suggestion => ({
      value: `@${path.replace(/[\s\\]/g, "\\$&")}${isDirectory ? "/" : " "}`,
      label: label + (isDirectory ? "/" : ""),
      hint: "",
      complete: false,
    }));
  return items.length === 0 ? undefined : { replaces: begun.length + 1, items };
}

/** Paths that hold the letters in their order; the closer together and the nearer to the name, the better. */
export function bestMatches(typed: string, files: readonly string[]): string[] {
  const wanted = typed.toLowerCase();
  return files
    .map((path) => ({ path, score: fuzzyScore(wanted, path.toLowerCase()) }))
    .filter(({ score }) => score !== undefined)
    .toSorted((a, b) => a.score! - b.score! || a.path.length - b.path.length || (a.path < b.path ? -1 : 1))
    .slice(0, MOST_FAR)
    .map(({ path }) => path);
}

function fuzzyScore(wanted: string, path: string): number | undefined {
  const name = path.lastIndexOf("/") + 1;
  const whole = path.indexOf(wanted, path.includes(wanted, name) ? name : 0);
  if (whole >= 0) return whole >= name ? whole - name : 100 + whole;
  let at = -1;
  let gaps = 0;
  for (const letter of wanted) {
    const next = path.indexOf(letter, at + 1);
    if (next < 0) return undefined;
    if (at >= 0) gaps += next - at - 1;
    at = next;
  }
  return 1000 + gaps;
}

const LONGEST = 4096;
const OFFERED = 200;
/** Letters from which files below are looked for, too. */
const FUZZY_FROM = 2;
const MOST_FAR = 20;
