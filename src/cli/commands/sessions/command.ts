/** `buddy sessions`: what was saved in this directory, or in all of them. */
import { defined } from "../../../lib/values.ts";
import { alignColumns, clip } from "../../../lib/text.ts";
import { dirname } from "node:path";
import type { StoredSession } from "../../../session/store.ts";
import { BuddyError, EXIT } from "../../../lib/errors.ts";
import { log } from "../../../lib/log.ts";
import { isTerminal } from "../../../lib/terminal.ts";
import { jsonText, print } from "../../../lib/output.ts";
import { stateDirectory } from "../../../lib/user-directories.ts";
import { defineCommand } from "../../command.ts";
import { localTime } from "../../../lib/durations.ts";

export const command = defineCommand({
  name: "sessions",
  args: {
    action: {
      type: "positional",
      required: false,
      choices: ["list", "export", "output", "rm"],
      description: "list (default), export as Markdown or another form, print a command's full output, or remove",
    },
    id: { type: "positional", required: false, description: "the session's id, the beginning of it, or last" },
    output: {
      type: "positional",
      required: false,
      description: "for output: its id, such as out-7; without it, list the ids",
    },
    all: { type: "boolean", description: "list sessions of all directories" },
    json: { type: "boolean", description: "list or export as JSON" },
    html: { type: "boolean", description: "export one self-contained HTML page instead of Markdown" },
    script: { type: "boolean", description: "export a shell script of the commands that ran, for review" },
    cast: { type: "boolean", description: "export a recording of the pane (asciicast), for asciinema" },
    runbook: { type: "boolean", description: "export the draft of a runbook (SKILL.md) to edit" },
  },
  examples: [
    ["buddy sessions", "id, last used, target, model, first words"],
    ["buddy sessions --all", "sessions of all directories"],
    ["buddy sessions export 7b2f > run.md", "a readable transcript"],
    ["buddy sessions export 7b2f --script > run.sh", "its commands, for review"],
    ["buddy sessions export 7b2f --cast > run.cast", "then: asciinema play run.cast"],
    ["buddy sessions output 7b2f", "the ids of its outputs"],
    ["buddy sessions rm 7b2f", "remove one"],
  ],
  async run({ args }) {
    const { action = "list", id, output, all, json } = args;
    const formats = (["json", "html", "script", "cast", "runbook"] as const).filter((name) => args[name] === true);
    const [format, other] = formats;
    if (other !== undefined)
      throw new BuddyError("usage", `--${format} and --${other} cannot be combined`, { hint: "Give one of them" });
    if (all && action !== "list") throw new BuddyError("usage", `--all cannot be combined with ${action}`);
    if (format !== undefined && format !== "json" && action !== "export")
      throw new BuddyError("usage", `--${format} cannot be combined with ${action}`);
    if (json && (action === "rm" || action === "output"))
      throw new BuddyError("usage", `--json cannot be combined with ${action}`);
    if (output !== undefined && action !== "output") throw new BuddyError("usage", `too many arguments: "${output}"`);
    const { savedSessions } = await import("../../../session/store.ts");
    const store = savedSessions();
    if (action === "list") {
      if (id !== undefined) throw new BuddyError("usage", `too many arguments: "${id}"`);
      await print([await listing(all ? store.listAll() : store.list(), json === true, all === true)]);
      return EXIT.ok;
    }
    if (id === undefined)
      throw new BuddyError("usage", `buddy sessions ${action} needs the id of a session`, {
        hint: "buddy sessions lists them",
      });
    if (action === "rm") {
      log.info(`removed session ${(await store.remove(id)).id}`);
      return EXIT.ok;
    }
    const session = store.readable(id);
    const { exportSession, storedOutputs } = await import("../../../app/export-session.ts");
    if (action === "output") {
      await print(await storedOutputs(stateDirectory(), session.id, output));
      return EXIT.ok;
    }
    await print(await exportSession(session, format ?? "markdown", stateDirectory()));
    return EXIT.ok;
  },
});

async function listing(sessions: readonly StoredSession[], json: boolean, all: boolean): Promise<string> {
  if (json)
    return jsonText(
      sessions.map(({ id, lastUsed, target, profile, model, title, bytes, path, problem, foreign }) => ({
        id,
        last_used: lastUsed,
        target,
        profile,
        model,
        title,
        bytes,
        path,
        ...defined({ problem, foreign }),
      })),
      2,
    );
  if (sessions.length === 0) return all ? "no saved sessions\n" : "no saved sessions in this directory\n";
  const { showLine } = await import("../../../policy/screen/terminal-text.ts");
  const rows = sessions.map(({ id, lastUsed, target, model, title, problem, foreign, path }) => {
    const place = all ? `${showLine(dirname(dirname(dirname(path))))}  ` : "";
    const words = showLine(problem === undefined ? `${foreign ? "(foreign) " : ""}${title}` : `(${problem})`);
    const start = `${id}  ${localTime(new Date(lastUsed)).slice(0, 16)}`;
    return [start, showLine(target || "-"), showLine(model || "-"), place + words];
  });
  // In a pipe nothing is left out.
  const columns = isTerminal(1) ? (process.stdout.columns ?? 80) : Infinity;
  return alignColumns(rows, 24)
    .map((line) => `${clip(line, columns)}\n`)
    .join("");
}
