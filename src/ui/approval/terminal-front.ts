/** The controlling terminal of a one-shot run, as far as it is asked: questions and passwords, one at a time. */
import type { Front } from "../../agent/calls/desk.ts";
import { lendTerminal } from "../../lib/terminal.ts";
import { OneAtATime } from "../../lib/waiting.ts";
import type { ThemeName } from "../theme.ts";

interface TerminalLook {
  readonly color: boolean;
  readonly theme: ThemeName | "auto";
  /** Aborted when the run is over. */
  readonly signal: AbortSignal;
  /** As if Ctrl-C had been pressed. */
  interrupt(): void;
  /** What else writes to the terminal makes room. */
  lend?<T>(work: () => Promise<T>): Promise<T>;
}

export function terminalFront({
  color,
  theme,
  signal,
  interrupt,
  lend = lendTerminal,
}: TerminalLook): Required<Pick<Front, "name" | "ask" | "password" | "stop">> {
  const turns = new OneAtATime();
  return {
    name: "the terminal",
    ask: async (request, until, behind) => {
      const { askOnTerminal } = await import("./tty-question.ts");
      const look = { color, theme, behind, env: process.env, interrupt };
      return (await turns.take(() => lend(() => askOnTerminal(request, until, look)), until)) ?? { kind: "cancelled" };
    },
    password: async (question, until) => {
      const { passwordOnTerminal } = await import("./tty-question.ts");
      const given = AbortSignal.any([until, signal]);
      return turns.take(() => lend(() => passwordOnTerminal(question, given, { color, theme })), given);
    },
    stop: interrupt,
  };
}
