/**
 * The playbook of `buddy demo`: looks at the machine, asks for a small change, is blocked once, starts a background
 * shell, and says what to do next.
 */
import type { Playbook } from "./demo-client.ts";
import { follow, type Plan, roundsOf, type Round, shellCall } from "./plan.ts";

export const tour: Playbook = (request) => follow([PLAN], roundsOf(request), request);

/** In /tmp, so that no file of the operator's is touched. */
export const TOUR_FILE = `/tmp/buddy-demo-${process.pid}.txt`;

/** The policy blocks its text; if that is switched off, it still does nothing. */
const FORBIDDEN = "false && rm -rf /";

const PLAN: Plan = {
  stages: [
    () => ({
      say: "Hello. This is a short tour. I am a script, not a language model; the tools, the commands and your machine are real.\n\n**1. Looking around.** Commands that only read run without a question.\n",
      calls: [shellCall("uname -sr", "which system this is"), shellCall("df -hP /", "how full the disk is")],
    }),
    ([system, disk]) => ({
      say: `${lookAround(system, disk)}\n\n**2. A small change.** buddy asks before it makes a change. Answer \`y\` or \`n\`, or \`e\` to edit it.\n`,
      calls: [
        shellCall(`echo "written by buddy demo" > ${TOUR_FILE}`, "show how an approval works", {
          risk: "medium",
          mutation: true,
        }),
      ],
    }),
    ([, , change]) => ({
      say: `${changeWords(change)}\n\n**3. A dangerous command.** I now ask for \`rm -rf /\`, behind a \`false &&\` to be safe; the policy blocks it before any question, and nothing is run.\n`,
      calls: [shellCall(FORBIDDEN, "show that the policy blocks it")],
    }),
    ([, , , blocked]) => ({
      say: `${blockedWords(blocked)}\n\n**4. In the background.** Long work runs detached and can be looked at later.\n`,
      calls: [
        shellCall("for i in 1 2 3; do echo step $i; sleep 1; done", "show a background shell", {
          mode: "background",
          risk: "low",
          mutation: false,
        }),
      ],
    }),
    ([, , , , started]) => {
      const id = started?.value["shell_id"];
      return { calls: typeof id === "string" ? [{ tool: "shell_output", args: { shell_id: id } }] : [] };
    },
    ([, , change]) => ({
      calls: wroteFile(change) ? [shellCall(`cat ${TOUR_FILE}`, "check what was written")] : [],
    }),
  ],
  answer: (seen) => `${backgroundWords(seen)}\n\n${cleanUp(seen)}${NEXT}`,
};

function lookAround(system: Round | undefined, disk: Round | undefined): string {
  const name = system?.outcome === "ok" ? system.text.trim() : "a system that did not report its name";
  const full = /(\d+)%\s+\/\s*$/m.exec(disk?.text ?? "")?.[1];
  return `This is ${name}${full === undefined ? "" : `, and its root file system is ${full} % full`}.`;
}

function changeWords(round: Round | undefined): string {
  const edited = editedCommand(round);
  if (edited !== undefined && (round?.outcome === "ok" || round?.outcome === "failed"))
    return `You edited it; what ran was \`${edited}\`${round.outcome === "ok" ? "" : `, which failed with exit code ${round.exitCode}`}.`;
  switch (round?.outcome) {
    case "ok":
      return `You said yes: \`${TOUR_FILE}\` is written.`;
    case "refused":
      return "It was not approved, so nothing was written.";
    case "dry-run":
      return "This is a dry run: nothing was written.";
    default:
      return `That did not work: ${round?.text.split("\n")[0] ?? "no result"}`;
  }
}

/** What ran instead, if the operator edited the command. */
function editedCommand(round: Round | undefined): string | undefined {
  return /what ran was: (.*?)\]?\s*$/m.exec(round?.text ?? "")?.[1];
}

/** The command of step 2 ran as proposed. */
function wroteFile(round: Round | undefined): boolean {
  return round?.outcome === "ok" && editedCommand(round) === undefined;
}

function blockedWords(round: Round | undefined): string {
  if (round?.outcome === "blocked") return "It was blocked. The model also learns what to do instead.";
  if (round?.outcome === "refused") return "It was refused.";
  return `The answer was: ${round?.text.split("\n")[0] ?? "no result"}`;
}

function backgroundWords(seen: readonly Round[]): string {
  const started = seen[4];
  const id = started?.value["shell_id"];
  if (typeof id !== "string") return `No background shell was started: ${started?.text.split("\n")[0] ?? "no result"}`;
  const look = seen.find((round) => round.tool === "shell_output");
  const printed = look?.value["stdout"];
  const lines =
    typeof printed === "string" && printed.trim() !== ""
      ? `; so far it printed “${printed.trim().replaceAll("\n", ", ")}”`
      : "";
  return `${id} runs as pid ${String(started?.value["pid"])}${lines}. It ends on its own.`;
}

function cleanUp(seen: readonly Round[]): string {
  return wroteFile(seen[2]) ? `To clean up: \`rm ${TOUR_FILE}\`\n\n` : "";
}

const NEXT = `**What next**

- \`buddy login\`: sign in with an OpenAI account, or set BUDDY_API_KEY
- \`buddy init\`: write a configuration and choose a model; \`buddy doctor\` checks it
- \`buddy\`: start talking; \`buddy exec "why is the disk full?"\` in scripts
- \`buddy --ssh user@host\` or \`--container NAME\`: the same on another machine
- \`buddy --model demo\`: this script again, with \`run: <command>\` and a few questions`;
