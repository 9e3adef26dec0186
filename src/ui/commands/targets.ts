/** The machines: /targets, /on, /attach, /reconnect, /adopt and /sudo. */
import { BuddyError } from "../../lib/errors.ts";
import { labelled, oneLine, timeOfDay } from "../words.ts";
import type { ArgumentValues, SlashCommand, CommandScreen } from "./slash-commands.ts";
import type { ReplHost, SudoState } from "../repl/host.ts";
import { startChild } from "../../lib/start-child.ts";
import { rulesWords } from "./status.ts";
import { formatDuration } from "../../lib/durations.ts";
import { surroundingTmux } from "../../lib/terminal.ts";

const targets: SlashCommand = {
  name: "targets",
  args: "[WHAT]",
  summary: "the machines by name, and where they are",
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
    if (what === "")
      screen.say([style.grey("/on NAME switches to it; /on +NAME adds it to those in use, /on -NAME removes it")]);
  },
};

const on: SlashCommand = {
  name: "on",
  args: "[WHAT|+WHAT|-WHAT]",
  summary: "work on other machines; +WHAT adds them, -WHAT removes them",
  anytime: false,
  complete: names,
  async run(screen, what) {
    if (what === "") {
      const current = (await screen.host.targets()).filter((row) => row.current);
      return screen.say([
        ...current.map(({ name, meaning }) => `on ${oneLine(name)}: ${oneLine(meaning)}`),
        screen.style.grey("/on NAME switches to it; /targets lists the names"),
      ]);
    }
    await screen.interruptible(async (signal) => {
      try {
        if (!what.startsWith("-")) screen.waiting(`connecting: ${oneLine(what)}`);
        screen.say(await screen.host.workOn(what, signal));
        const rules = rulesWords(screen.host.facts());
        if (rules !== undefined) screen.say([screen.style.warning(`rules: ${rules}`)]);
      } catch (error) {
        if (!(error instanceof BuddyError)) throw error;
        screen.fail(error.message, error.hint);
      }
    });
  },
};

export const targetCommands: readonly SlashCommand[] = [targets, on];

/** Completes the last item of a list; after a -, with the machines in use. */
async function names(host: ReplHost, _tasks: unknown, words: readonly string[]): Promise<ArgumentValues> {
  const word = words.at(-1) ?? "";
  const begun = /^(?:.*,|[+-])?/.exec(word)?.[0] ?? "";
  const all = await host.targetNames(word.slice(begun.length));
  const known = word.startsWith("-") ? all.filter(({ current }) => current) : all;
  return known.map(({ name, meaning }) => ({
    value: `${begun}${name}`,
    hint: oneLine(meaning),
    complete: !name.endsWith("/"),
  }));
}

/** /adopt: buddy works in the shell that the operator started in the shared pane, as the user and machine in it. */
export const adopt: SlashCommand = {
  name: "adopt",
  args: "",
  summary: "work in the shell you started in the pane (sudo -i, ssh, docker exec)",
  anytime: false,
  async run(screen) {
    await screen.interruptible(async () => screen.say(await screen.host.adopt()));
  },
};

/** /reconnect: connects to the target again on the operator's request, with whatever ssh has to ask. */
export const reconnect: SlashCommand = {
  name: "reconnect",
  args: "",
  summary: "connect to the target again; may ask for a password",
  anytime: false,
  async run(screen) {
    await screen.interruptible(async (signal) => {
      try {
        screen.say(await screen.host.reconnect(signal));
      } catch (error) {
        if (!(error instanceof BuddyError)) throw error;
        screen.fail(error.message, error.hint);
      }
    });
  },
};

/** /attach: how to watch the shared pane; inside tmux it opens beside this one. */
export const attach: SlashCommand = {
  name: "attach",
  args: "",
  summary: "watch the shared pane (a split, inside tmux)",
  anytime: true,
  async run(screen) {
    const { target } = screen.host.facts();
    if (target.kind === "fleet") {
      const lines = (target.machines ?? []).map(({ name, attach: how }) => `${oneLine(name)}: ${oneLine(how)}`);
      if (lines.length === 0)
        screen.fail(
          "no machine has a shared pane",
          "It is created with the first command that needs approval, but not with --no-tmux",
        );
      else screen.verbatim(["from another terminal:", ...lines]);
      return;
    }
    if (target.attach === undefined) {
      if (target.state === "opening") screen.fail("the target is still being opened", "Try again in a moment");
      else
        screen.fail(
          "there is no command to attach to a shared pane",
          "The target has no tmux, buddy was started with --no-tmux, or its via has no attach_via",
        );
      return;
    }
    const command = oneLine(target.attach);
    if (surroundingTmux() === undefined)
      return screen.verbatim([`from another terminal: ${screen.style.bold(command)}`]);
    const problem = await split(screen, target.attach);
    if (problem === undefined) screen.verbatim([`opened in a split: ${screen.style.bold(command)}`]);
    else screen.fail(`tmux could not open a split: ${oneLine(problem)}`, `From another terminal: ${command}`);
  },
};

/** tmux refuses to attach inside itself unless TMUX is unset. */
async function split(screen: CommandScreen, command: string): Promise<string | undefined> {
  const direction = screen.columns >= 160 ? "-h" : "-v";
  // The window buddy is in, not the one that is active now.
  const beside = process.env.TMUX_PANE === undefined ? [] : ["-t", process.env.TMUX_PANE];
  const child = startChild(["tmux", "split-window", direction, "-d", ...beside, `unset TMUX; exec ${command}`], {
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
  });
  const said = await child.stderr.text();
  return (await child.exited) === 0 ? undefined : said.trim() || "it gave no reason";
}

/** /sudo: whether sudo still works without a password in the target's shell, and the end of that. */
export const sudo: SlashCommand = {
  name: "sudo",
  args: "[drop]",
  summary: "show sudo status; drop forgets the cached password",
  anytime: false,
  complete: () => [{ value: "drop", hint: "sudo asks for the password again", complete: true }],
  async run(screen, args) {
    if (args !== "" && args !== "drop") return screen.fail(`/sudo takes drop or nothing, not "${oneLine(args)}"`);
    await screen.interruptible(async () => {
      if (args === "drop") await screen.host.dropSudo();
      screen.say(inWords(await screen.host.sudoState(), args === "drop"));
    });
  },
};

function inWords(state: SudoState, dropped: boolean): string[] {
  switch (state.kind) {
    case "root":
      return ["you are root on the target: sudo is not needed"];
    case "missing":
      return ["sudo is not installed on the target"];
    case "free":
      return ["sudo needs no password on the target (NOPASSWD): there is no ticket to drop"];
    case "none":
      return [
        dropped
          ? "the sudo ticket was dropped: sudo asks for the password"
          : "no sudo ticket: sudo asks for the password",
      ];
    case "alive": {
      const left =
        state.leftMs === undefined
          ? ""
          : `, for about ${formatDuration(Math.ceil(state.leftMs / 60_000) * 60_000)} more` +
            ` (until ${timeOfDay(Date.now() + state.leftMs).slice(0, 5)})`;
      return [
        `a sudo ticket is valid: sudo does not ask for a password${left}`,
        ...(state.renews ? ["(on this target, checking also renews the ticket)"] : []),
        "/sudo drop ends it. Commands that run without a question do not use it.",
      ];
    }
  }
}
