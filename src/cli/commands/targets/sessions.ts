/** `buddy targets --sessions`: lists buddy's tmux sessions on a machine; with --end, ends those that are not in use. */
import type { LoadedConfig } from "../../../config/load.ts";
import { BuddyError, EXIT, type ExitCode } from "../../../lib/errors.ts";
import { formatDuration } from "../../../lib/durations.ts";
import { jsonText, print } from "../../../lib/output.ts";
import { alignColumns, printable, plural } from "../../../lib/text.ts";
import { log } from "../../../lib/log.ts";
import type { Place } from "../../../targets/place.ts";
import { type ListedSession, openSessions } from "../../../targets/tmux/list-sessions.ts";

interface SessionsOptions {
  readonly end?: boolean | undefined;
  readonly yes?: boolean | undefined;
  readonly json?: boolean | undefined;
}

export async function targetSessions(place: Place, loaded: LoadedConfig, args: SessionsOptions): Promise<ExitCode> {
  await using sessions = await openSessions({
    place,
    tmuxSocket: loaded.config.tmux.socket,
  });
  const list = await sessions.list();
  const unused = list.filter(({ inUse }) => inUse === undefined);
  const ending = args.end === true && unused.length > 0;
  if (args.json !== true || !ending) await print([args.json === true ? json(list) : table(list, sessions.label)]);
  if (args.end !== true) return EXIT.ok;
  if (!ending) {
    log.info("no session to end");
    return EXIT.ok;
  }
  if (args.yes !== true) {
    const { yesOnTerminal } = await import("../../../ui/questions/confirm-on-terminal.ts");
    const count = plural(unused.length, "session");
    const answer = await yesOnTerminal(`End ${count} not in use on ${printable(sessions.label)}?`);
    if (answer === undefined) {
      throw new BuddyError("approval", "ending sessions needs an answer, and there is no terminal to ask on", {
        hint: "Add --yes to end them without a question.",
      });
    }
    if (!answer) return EXIT.ok;
  }
  const ended = await sessions.end(unused);
  if (args.json === true) await print([jsonText({ ended }, 2)]);
  else log.info(`ended: ${ended.length === 0 ? "none" : ended.map(printable).join(", ")}`);
  return EXIT.ok;
}

const STATES = { buddy: "in use by buddy", attached: "a client is attached", program: "" } as const;

function table(sessions: readonly ListedSession[], label: string): string {
  if (sessions.length === 0) return `no sessions of buddy on ${printable(label)}\n`;
  const now = Date.now() / 1000;
  const rows = sessions.map((session) => {
    const programs = session.programs.length === 0 ? "background jobs" : session.programs.join(", ");
    const idle = formatDuration(Math.max(60, Math.floor((now - session.lastUsed) / 60) * 60) * 1000);
    const state =
      session.inUse === undefined
        ? `not in use (last ${idle} ago)`
        : session.inUse === "program"
          ? `runs ${programs}`
          : STATES[session.inUse];
    return [session.name, state, session.directory].map(printable);
  });
  return alignColumns(rows)
    .map((line) => `${line}\n`)
    .join("");
}

function json(sessions: readonly ListedSession[]): string {
  const iso = (seconds: number) => new Date(seconds * 1000).toISOString();
  const rows = sessions.map(({ name, directory, created, lastUsed, inUse, programs }) => ({
    name,
    directory,
    created: iso(created),
    last_used: iso(lastUsed),
    in_use: inUse ?? null,
    programs,
  }));
  return jsonText(rows, 2);
}
