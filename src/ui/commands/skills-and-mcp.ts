/** /skills, /run and /mcp: skills, runbooks and MCP servers, and running a runbook. */
import { BuddyError } from "../../lib/errors.ts";
import { showLine } from "../../policy/screen/terminal-text.ts";
import type { ReplHost } from "../repl/host.ts";
import type { ArgumentValues, CommandScreen, SlashCommand } from "./slash-commands.ts";

export const extendCommands: readonly SlashCommand[] = [
  {
    name: "run",
    args: "RUNBOOK [KEY=VALUE]…",
    summary: "run a runbook; /skills lists them",
    anytime: true,
    words: Infinity,
    run,
    complete: runWords,
  },
  { name: "skills", args: "", summary: "skills and runbooks, and where they come from", anytime: true, run: skills },
  {
    name: "mcp",
    args: "",
    summary: "MCP servers: their tools, resources and prompts",
    anytime: true,
    run: async (screen) => screen.say(shown(await screen.host.mcp())),
  },
];

async function skills(screen: CommandScreen): Promise<void> {
  screen.say(shown(await screen.host.skills()));
}

/** Made safe, each line by itself. */
function shown(lines: readonly string[]): string[] {
  return lines.map(showLine);
}

async function run(screen: CommandScreen, args: string): Promise<void> {
  if (args === "") {
    await skills(screen);
    return;
  }
  try {
    let runbook = await screen.host.runbook(args);
    if (runbook.on !== undefined) {
      await workOn(screen, runbook.on);
      runbook = await screen.host.runbook(args);
      if (runbook.on !== undefined) throw new BuddyError("usage", `"${runbook.on}" is not the name of one machine`);
    }
    const { run: work } = runbook;
    screen.task(`/run ${args}`, (signal) => work(signal));
  } catch (error) {
    if (!(error instanceof BuddyError)) throw error;
    screen.fail(error.message, error.hint);
  }
}

/** As /on does: a runbook that names its machine runs there. */
async function workOn(screen: CommandScreen, machine: string): Promise<void> {
  const { running } = screen.tasks;
  if (running !== undefined)
    throw new BuddyError(
      "usage",
      `the runbook is for ${machine}; buddy cannot switch machines while task ${running.id} runs`,
    );
  await screen.interruptible(async (signal) => {
    screen.waiting(`connecting: ${showLine(machine)}`);
    screen.say(await screen.host.workOn(machine, signal));
  });
}

async function runWords(host: ReplHost, _tasks: unknown, words: readonly string[]): Promise<ArgumentValues> {
  const runbooks = await host.runbooks();
  if (words.length < 2)
    return runbooks.map(({ name, description, parameters }) => ({
      value: parameters.length === 0 ? name : `${name} `,
      hint: showLine(description),
      complete: parameters.every(({ required }) => !required),
    }));
  const chosen = runbooks.find(({ name }) => name === words[0]);
  const given = new Set(words.slice(1, -1).map((word) => word.split("=", 1)[0]));
  const machines = (await host.targetNames()).map(({ name }) => name);
  return (chosen?.parameters ?? [])
    .filter(({ name }) => !given.has(name))
    .flatMap(({ name, description, choices, target }) =>
      (choices.length > 0 ? choices : ["", ...(target ? machines : [])]).map((value) => ({
        value: `${name}=${value}`,
        hint: showLine(description),
        complete: value !== "",
      })),
    );
}
