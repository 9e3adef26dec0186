/** `buddy run`: one command on one machine or many, without a model. */
import { BuddyError } from "../../../lib/errors.ts";
import { LIMIT_ARGS, readLimits } from "../../args/options.ts";
import { defineCommand } from "../../command.ts";

export const command = defineCommand({
  name: "run",
  args: {
    command: {
      type: "positional",
      rest: true,
      verbatim: true,
      description: "the command; everything after its first word belongs to it",
    },
    json: { type: "boolean", description: "print events, one JSON object per line (buddy help events)" },
    diff: { type: "boolean", description: "show differing outputs as a diff against the most common one" },
    ...LIMIT_ARGS,
  },
  examples: [
    ["buddy run --on web uptime", "on all machines called web, grouped"],
    ["buddy run --on prod 'df -h / | tail -1'", "a pipeline is one quoted word"],
    ["buddy run --on prod --dry-run systemctl reload nginx", "what would be asked, and where"],
    ["buddy run --ssh web1 -- printf '%s\\n' 'a  b'", "after --, words are not changed"],
  ],
  notes: `
Several words are joined with spaces, as ssh does, and the machine's shell
interprets the result; after -- each word reaches the command unchanged.
Commands that only read run at once; all others need approval, as for the model:
without a terminal they are refused with exit code 3, unless --approve allows
them.

With one machine you see its output as it arrives. With several, equal outputs
with the same exit code are printed once, under the names of their machines.

Exit codes: the highest of all machines; 255 for one that was not reached, 1 for
one where the command did not start (denied, --canary, --max-fail); 2 usage or
configuration; 3 approval required, but there was no terminal to ask on; 124
--timeout; 130 interrupted.`,
  async run({ args, globals, literal }) {
    const words = args._;
    if (words.every((word) => word.trim() === ""))
      throw new BuddyError("usage", "buddy run needs a command", { hint: "For example: buddy run --on web uptime" });
    const { runCommand } = await import("./run-command.ts");
    const code = await runCommand(
      {
        words,
        literal: literal === words.length,
        json: args.json === true,
        diff: args.diff === true,
        ...readLimits(args),
      },
      globals,
    );
    process.exit(code);
  },
});
