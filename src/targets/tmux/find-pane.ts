/** Finds the pane of the operator's own tmux that `--pane` names, on the server that buddy was started from. */
import { BuddyError } from "../../lib/errors.ts";
import type { Transport } from "../target.ts";

export interface OperatorPaneRow {
  readonly id: string;
  /** tmux's number of its session, `$1`. */
  readonly session: string;
  readonly pid: number;
  readonly tty: string;
  readonly dead: boolean;
  readonly fullScreen: boolean;
  readonly synchronized: boolean;
  readonly inputOff: boolean;
  /** buddy made it. */
  readonly managed: boolean;
}

const FIELDS = [
  "pane_id",
  "session_id",
  "pane_pid",
  "pane_tty",
  "pane_dead",
  "alternate_on",
  "pane_synchronized",
  "pane_input_off",
  "@buddy_managed",
];

export const OPERATOR_PANE = FIELDS.map((name) => `#{${name}}`).join("|");

export function parseOperatorPane(line: string): OperatorPaneRow {
  const [id = "", session = "", pid, tty = "", dead, fullScreen, synchronized, inputOff, managed = ""] =
    line.split("|");
  return {
    id,
    session,
    pid: Number(pid),
    tty,
    dead: dead === "1",
    fullScreen: fullScreen === "1",
    synchronized: synchronized === "1",
    inputOff: inputOff === "1",
    managed: managed !== "",
  };
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Of the server that buddy was started from; otherwise of the default one. */
export function operatorSocket(env: Environment = process.env): string {
  const inside = env["TMUX"]?.split(",")[0];
  if (inside) return inside;
  return `${env["TMUX_TMPDIR"] || "/tmp"}/tmux-${process.getuid?.() ?? 0}/default`;
}

export async function findPane(
  transport: Transport,
  socket: string,
  id: string,
  env: Environment = process.env,
): Promise<OperatorPaneRow> {
  const { tmux = "tmux" } = transport.facts.programs;
  const script = '"$1" -u -S "$2" list-panes -a -F "$3"';
  const listed = await transport.run(script, { args: [tmux, socket, OPERATOR_PANE], timeoutMs: LIST_MS });
  if (listed.code !== 0) {
    const why = listed.stderr.trim().split("\n")[0] || "it did not answer";
    throw new BuddyError("target", `the tmux server ${socket} cannot be asked for pane ${id}: ${why}`, { hint: OTHER });
  }
  const rows = listed.stdout.toString().split("\n").map(parseOperatorPane);
  const row = rows.find((one) => one.id === id);
  if (row === undefined) {
    throw new BuddyError("target", `there is no pane ${id} on the tmux server ${socket}`, {
      hint: `See them with: tmux list-panes -a -F '#{pane_id} #{session_name} #{pane_current_command}'\n${OTHER}`,
    });
  }
  const isOwn = env["TMUX"]?.split(",")[0] === socket && env["TMUX_PANE"] === id;
  if (isOwn) throw refused(id, "buddy itself was started in it", "Name another pane.");
  if (row.managed) throw refused(id, "it is one of buddy's own", "Leave --pane out: buddy works in its own panes.");
  if (row.dead) throw refused(id, "the program in it has ended", "Name another pane.");
  return row;
}

function refused(id: string, why: string, hint: string): BuddyError {
  return new BuddyError("target", `pane ${id} cannot be worked in: ${why}`, { hint });
}

const LIST_MS = 5000;
const OTHER = "Panes of another tmux server are reached by starting buddy inside that one.";
