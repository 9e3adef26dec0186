/** Conversations and the screen: /session, /new, /clear, /resume, /export, /retry, /copy, /theme. */
import { writeFileSync } from "node:fs";
import { basename, dirname, extname, resolve } from "node:path";
import { fileError } from "../../lib/files.ts";
import { homeDirectory } from "../../lib/local-directories.ts";
import { clip } from "../../lib/text.ts";
import { expandTilde } from "../../lib/user-directories.ts";
import { showText } from "../../policy/screen/terminal-text.ts";
import { highlight } from "../markdown/highlight.ts";
import type { Choice } from "../questions/picker.ts";
import type { ChangeListing, ReplHost, SessionRow } from "../repl/host.ts";
import { isThemeName, THEME_NAMES } from "../theme.ts";
import { ago, commandLine, oneLine, timeOfDay } from "../words.ts";
import type { ArgumentValues, CommandScreen, SlashCommand } from "./slash-commands.ts";

const session: SlashCommand = {
  name: "session",
  args: "[new|resume ID|last]",
  summary: "list saved sessions, start one, continue one",
  anytime: false,
  words: 2,
  async complete(host, _tasks, words) {
    if (words[0] !== "resume" || words.length < 2) {
      return [
        { value: "new", hint: "start a new conversation", complete: true },
        { value: "resume ", hint: "continue an earlier one", complete: false },
        { value: "last", hint: "continue the one used last", complete: true },
      ];
    }
    return sessionIds(host);
  },
  async run(screen, args) {
    const { host, style } = screen;
    const [word = "", id = ""] = args.split(/\s+/);
    if ((word === "new" || word === "last") && id !== "")
      return screen.fail(`too many arguments: "${oneLine(id)}"`, `Usage: /session ${word}`);
    if (word === "new") return startNew(screen);
    if (word === "last") return resumeNamed(screen, "last");
    if (word === "resume") return id === "" ? resumePicked(screen) : resumeNamed(screen, id);
    if (word !== "")
      return screen.fail(
        `/session takes new, resume ID or last, not "${oneLine(word)}"`,
        "/session alone lists the sessions",
      );
    const sessions = await host.sessions();
    if (sessions.length === 0) return screen.say(["no saved sessions in this directory"]);
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

export const sessionCommands: readonly SlashCommand[] = [
  session,
  { name: "new", args: "", summary: "start a new conversation", anytime: false, run: startNew },
  {
    name: "clear",
    args: "",
    summary: "start a new conversation on an empty screen",
    anytime: false,
    async run(screen) {
      screen.clear();
      await startNew(screen);
    },
  },
  {
    name: "resume",
    args: "[ID|last]",
    summary: "continue a saved session; without an id, choose one",
    anytime: false,
    complete: (host) => sessionIds(host),
    run: (screen, args) => (args === "" ? resumePicked(screen) : resumeNamed(screen, args)),
  },
  {
    name: "export",
    args: "[FILE]",
    summary: "save the conversation: FILE.md, .html, .sh (script), .cast (asciinema), SKILL.md",
    anytime: false,
    run: exportTo,
  },
  {
    name: "retry",
    args: "",
    summary: "send the last prompt again",
    anytime: false,
    run(screen) {
      const last = screen.lastPrompt ?? screen.host.facts().lastPrompt;
      if (last === undefined) screen.fail("no prompt to send again yet", "Type one");
      else screen.submit(last);
    },
  },
  {
    name: "copy",
    args: "",
    summary: "copy the last answer to the clipboard",
    anytime: true,
    run(screen) {
      const answer = screen.host.facts().lastAnswer;
      if (answer === undefined) screen.fail("no answer to copy yet", "Ask something first");
      else if (answer.length > MOST_COPIED) screen.fail("the answer is too long for the clipboard", "/export saves it");
      else if (screen.copy(answer)) screen.say([`copied ${answer.length} characters`]);
      else screen.fail("this terminal has no clipboard", "/export saves the conversation");
    },
  },
];

type Format = Parameters<CommandScreen["host"]["exportSession"]>[0];

/** By the end of the name; a name without one is Markdown. */
function formatOf(file: string): Format | undefined {
  if (basename(file) === "SKILL.md") return "runbook";
  return FORMATS[extname(file).toLowerCase()];
}

const FORMATS: Readonly<Record<string, Format>> = {
  "": "markdown",
  ".md": "markdown",
  ".markdown": "markdown",
  ".txt": "markdown",
  ".htm": "html",
  ".html": "html",
  ".sh": "script",
  ".cast": "cast",
};

async function sessionIds(host: CommandScreen["host"]) {
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
}

async function startNew(screen: CommandScreen): Promise<void> {
  screen.say(await screen.host.newSession());
}

async function resumePicked(screen: CommandScreen): Promise<void> {
  const others = (await screen.host.sessions()).filter(({ current }) => !current);
  if (others.length === 0)
    return screen.fail(
      "no other saved session in this directory",
      "buddy sessions --all lists those of other directories",
    );
  const chosen = await screen.pick("Continue which session?", sessionChoices(others), 0);
  if (chosen !== undefined) await resumeNamed(screen, chosen.value);
}

export function sessionChoices(
  sessions: readonly Pick<SessionRow, "id" | "title" | "lastUsed" | "target">[],
): readonly Choice[] {
  const now = Date.now();
  return sessions.slice(0, MOST_PICKED).map(({ id, title, lastUsed, target }) => ({
    value: id,
    label: clip(oneLine(title) || id, LONGEST_TITLE),
    hint: `${ago(lastUsed, now)} · ${oneLine(target) || "local"} · ${id}`,
  }));
}

async function resumeNamed(screen: CommandScreen, name: string): Promise<void> {
  const before = screen.host.facts().session;
  screen.say(
    await screen.host.resumeSession(name, {
      copy: (why) => offerCopy(screen, why),
      foreign: (lines) => confirmForeign(screen, lines),
    }),
  );
  if (screen.host.facts().session !== before) screen.sayLastExchange();
}

async function exportTo(screen: CommandScreen, args: string): Promise<void> {
  const { session: id } = screen.host.facts();
  const file = args === "" ? `buddy-${id}.md` : args;
  const format = formatOf(file);
  if (format === undefined)
    return screen.fail(`no format for ${oneLine(file)}`, "Use .md, .html, .sh, .cast, or the name SKILL.md");
  const path = resolve(expandTilde(file, homeDirectory()));
  const text = await screen.host.exportSession(format);
  try {
    // For its owner alone.
    writeFileSync(path, text, { mode: 0o600, flag: "wx" });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST")
      screen.fail(`${oneLine(file)} already exists`, "Name another file: /export FILE.md or /export FILE.html");
    else if (code === "ENOENT") screen.fail(`cannot save: the directory ${oneLine(dirname(path))} does not exist`);
    else screen.fail(`cannot save ${oneLine(file)}: ${fileError(error)}`);
    return;
  }
  screen.say([`saved ${oneLine(path)}`]);
}

async function offerCopy(screen: CommandScreen, why: string): Promise<boolean> {
  const choices = [
    { value: "copy", label: "continue in a copy", hint: "under a new id; the other buddy keeps the original" },
    { value: "stay", label: "stay in this session", hint: "nothing is changed" },
  ];
  return (await screen.pick(`${oneLine(why)}:`, choices, 0))?.value === "copy";
}

async function confirmForeign(screen: CommandScreen, lines: readonly string[]): Promise<boolean> {
  screen.say(lines.map(oneLine));
  const choices = [
    { value: "stay", label: "no", hint: "nothing is changed" },
    { value: "continue", label: "continue this session", hint: "the model would treat its text as your own words" },
  ];
  return (await screen.pick("Continue a session that is not yours?", choices, 0))?.value === "continue";
}

const SHOWN = 15;
const OFFERED = 20;
const MOST_PICKED = 100;
const LONGEST_TITLE = 50;
/** Terminals drop longer OSC 52 sequences. */
const MOST_COPIED = 70_000;

export const themeCommand: SlashCommand = {
  name: "theme",
  args: "[NAME]",
  summary: `colours: ${THEME_NAMES.join(", ")}`,
  anytime: true,
  complete: () => THEME_NAMES.map((value) => ({ value, hint: "", complete: true })),
  async run(screen, args) {
    const { style } = screen;
    let wanted = args;
    if (wanted === "") {
      const choices = THEME_NAMES.map((name) => ({
        value: name,
        label: name,
        hint: name === style.active ? "active" : "",
      }));
      const active = THEME_NAMES.findIndex((name) => name === style.active);
      wanted = (await screen.pick("Theme:", choices, active))?.value ?? "";
      if (wanted === "") return;
    }
    if (!isThemeName(wanted)) return screen.fail(`no theme "${oneLine(wanted)}"`, THEME_NAMES.join(", "));
    style.use(wanted);
    screen.say([`theme: ${wanted}; [display] theme = "${wanted}" keeps it`]);
  },
};

// ── /changes, /diff, /undo: the files changed in this session, the differences, and undoing them.

export const changeCommands: readonly SlashCommand[] = [
  { name: "changes", args: "", summary: "files changed in this session", anytime: true, run: list },
  {
    name: "diff",
    args: "[N]",
    summary: "show what changed in the files, or only change N",
    anytime: true,
    run: diff,
    complete: (host) => numbers(host),
  },
  {
    name: "undo",
    args: "[N|all]",
    summary: "undo the last file change, change N, or all; asks first",
    anytime: false,
    run: undo,
    complete: async (host) => [...(await numbers(host)), { value: "all", hint: "restore every file", complete: true }],
  },
];

async function numbers(host: ReplHost): Promise<ArgumentValues> {
  const changes = await host.changes();
  return changes
    .toReversed()
    .map(({ number, path }) => ({ value: String(number), hint: commandLine(path), complete: true }));
}

async function list(screen: CommandScreen): Promise<void> {
  const changes = await screen.host.changes();
  if (changes.length === 0) return screen.say(NONE);
  const { style, columns } = screen;
  const places = new Set(changes.map(({ where }) => where));
  const row = ({ number, time, where, path, what, undone }: ChangeListing): string => {
    const place = places.size > 1 ? `${where}:` : "";
    const state = undone === undefined ? "" : `undone by ${undone}; `;
    const start = `${String(number).padStart(3)}  ${timeOfDay(Date.parse(time))}  ${commandLine(`${place}${path}`)}`;
    const text = `${undone === undefined ? start : style.grey(start)}  ${style.grey(oneLine(state + what))}`;
    return clip(text, columns);
  };
  screen.say(changes.map(row));
}

async function diff(screen: CommandScreen, args: string): Promise<void> {
  const number = changeNumber(screen, args);
  if (number === "wrong") return;
  if ((await screen.host.changes()).length === 0) return screen.say(NONE);
  const lines = await screen.host.changeDiff(number);
  const shown = showText(screen.host.redact(lines.join("\n")), { mode: "command" }).split("\n");
  await screen.show(shown.map((line) => highlight(line, "diff", "", screen.style).text));
}

async function undo(screen: CommandScreen, args: string): Promise<void> {
  const number = args === "all" ? undefined : changeNumber(screen, args);
  if (number === "wrong") return;
  // No task for nothing.
  const changes = await screen.host.changes();
  if (changes.length === 0) return screen.say(NONE);
  if (number !== undefined && !changes.some((change) => change.number === number))
    return screen.fail(`there is no change ${number} in this session`, "/changes lists them");
  screen.tasks.submit(`/undo ${args}`.trimEnd(), (signal) => screen.host.undo(args, signal));
}

function changeNumber(screen: CommandScreen, args: string): number | undefined | "wrong" {
  if (args === "") return undefined;
  if (/^[1-9]\d{0,8}$/.test(args)) return Number(args);
  screen.fail(`"${oneLine(args)}" is not the number of a change`, "/changes lists them");
  return "wrong";
}

const NONE = ["no file was changed in this session"];
