/** The operator's own commands: `commands/NAME.md` is the prompt that `/NAME words` sends. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { readFrontMatter } from "./skills/skill.ts";
import { splitWords } from "../lib/quote.ts";
import { messageOf } from "../lib/errors.ts";
import { collapseSpaces } from "../lib/text.ts";
import { readTextFile } from "../lib/files.ts";

export interface CustomCommand {
  readonly name: string;
  readonly path: string;
  /** What it takes, as the file says: "SERVICE [SINCE]". */
  readonly args: string;
  readonly summary: string;
  readonly body: string;
}

export interface CustomCommands {
  readonly commands: readonly CustomCommand[];
  /** Files that cannot be used, and why. */
  readonly problems: readonly string[];
}

/** Read each time, so that a file that was just saved counts. */
export function customCommands(directory: string | undefined): CustomCommands {
  const problems: string[] = [];
  const commands: CustomCommand[] = [];
  for (const file of directory === undefined ? [] : filesIn(directory)) {
    const path = join(directory ?? "", file);
    const read = readCommand(path, file.slice(0, -EXTENSION.length));
    if (typeof read === "string") problems.push(`${path} is not used: ${read}`);
    else commands.push(read);
  }
  return { commands, problems };
}

function filesIn(directory: string): string[] {
  try {
    return readdirSync(directory)
      .filter((name) => name.endsWith(EXTENSION) && !name.startsWith("."))
      .toSorted()
      .slice(0, MOST_COMMANDS);
  } catch {
    // No such directory: no commands.
    return [];
  }
}

function readCommand(path: string, name: string): CustomCommand | string {
  if (!NAME.test(name)) return "its name must be lower-case letters, digits, - and _, and begin with a letter";
  let text: string;
  try {
    text = readTextFile(path, MOST_BYTES);
  } catch (error) {
    return messageOf(error);
  }
  const matter = readFrontMatter(text);
  if (matter.kind === "damaged") return matter.problem;
  if (matter.body === "") return "it is empty";
  const { description, "argument-hint": hint } = matter.data;
  const first = matter.body.split("\n", 1)[0]?.replace(/^#+\s*/, "") ?? "";
  return {
    name,
    path,
    args: line(hint) || (PLACEHOLDER.test(matter.body) ? "[ARGUMENTS]" : ""),
    summary: line(description) || line(first),
    body: matter.body,
  };
}

function line(value: unknown): string {
  return typeof value === "string" ? collapseSpaces(value).slice(0, MOST_LINE) : "";
}

/** $ARGUMENTS is all that was typed, $1 to $9 its words; a text that has neither gets what was typed at its end. */
export function expandCommand({ body }: Pick<CustomCommand, "body">, args: string): string {
  const words = splitWords(args) ?? args.split(/\s+/);
  let placed = false;
  const text = body.replaceAll(PLACEHOLDERS, (whole, escaped: string, number: string | undefined) => {
    if (escaped !== "") return whole.slice(1);
    placed = true;
    return number === undefined ? args : (words[Number(number) - 1] ?? "");
  });
  return placed || args === "" ? text : `${text}\n\n${args}`;
}

const EXTENSION = ".md";
const NAME = /^[a-z][a-z0-9_-]{0,31}$/;
const PLACEHOLDER = /(?<!\\)\$(?:ARGUMENTS\b|[1-9](?!\d))/;
const PLACEHOLDERS = /(\\?)\$(?:ARGUMENTS\b|([1-9])(?!\d))/g;
const MOST_COMMANDS = 200;
const MOST_BYTES = 64 * 1024;
const MOST_LINE = 100;
