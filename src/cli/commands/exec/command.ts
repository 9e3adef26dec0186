/** `buddy exec`: one prompt, the answer on stdout, everything else on stderr. */
import { BuddyError } from "../../../lib/errors.ts";
import { defineCommand } from "../../command.ts";
import { LIMIT_ARGS, readCount, readLimits } from "../../args/options.ts";

export const command = defineCommand({
  name: "exec",
  args: {
    prompt: {
      type: "positional",
      required: false,
      description: "what to do; without it, or with -, read from stdin. Piped text is attached to the prompt",
    },
    parameters: {
      type: "positional",
      required: false,
      rest: "run",
      description: "with --run: the parameters of the runbook, key=value",
    },
    run: {
      type: "string",
      valueHint: "RUNBOOK",
      description: "run this runbook instead of a prompt (buddy skills lists them)",
    },
    json: { type: "boolean", description: "print events, one JSON object per line (buddy help events)" },
    "output-schema": {
      type: "string",
      valueHint: "FILE",
      path: true,
      description: "the answer is JSON valid against this JSON Schema",
    },
    "last-message": { type: "string", valueHint: "FILE", path: true, description: "also write the answer to FILE" },
    image: {
      type: "string",
      valueHint: "FILE",
      path: true,
      repeats: true,
      description: "attach this image, for a model that reads images; may be repeated",
    },
    resume: { type: "string", valueHint: "ID|last", description: "continue a saved session" },
    fork: { type: "boolean", description: "with --resume: continue in a copy of the session" },
    "max-iterations": {
      type: "string",
      valueHint: "N",
      check: readCount,
      description: "at most N model turns (default: agent.max_iterations, 50)",
    },
    ...LIMIT_ARGS,
  },
  examples: [
    ['buddy exec "what listens on port 80?"', "one answer"],
    ["buddy exec --ssh web1 --approve 10m - < task.txt", "a longer task"],
    ["buddy exec --run disk-full path=/var", "a runbook with a parameter"],
    ['buddy exec --on web --canary 1 "reload nginx"', "on many machines, on one of them first"],
    ["cat app.log | buddy exec 'why does it crash?' | head -1", "in a pipeline"],
  ],
  notes: `
Exit codes:
    0  answered
    1  the model or a tool failed
    2  usage or configuration
    3  approval required, but there was no terminal to ask on
    4  not signed in, or no key
  124  --timeout
  130  interrupted (129 hangup, 143 terminated)`,
  async run({ args, globals }) {
    if (args.fork && args.resume === undefined) throw new BuddyError("usage", "--fork requires --resume ID");
    const { exec } = await import("./run-exec.ts");
    const code = await exec(
      {
        prompt: args.prompt,
        run: args.run === undefined ? undefined : { name: args.run, words: args._ },
        json: args.json === true,
        outputSchema: args["output-schema"],
        lastMessage: args["last-message"],
        images: args.image?.split("\0") ?? [],
        resume: args.resume,
        fork: args.fork === true,
        maxIterations:
          args["max-iterations"] === undefined ? undefined : readCount(args["max-iterations"], "--max-iterations"),
        ...readLimits(args),
      },
      globals,
    );
    // Everything is written; what is still open (a silent stdin, a connection kept alive) must not hold the exit.
    process.exit(code);
  },
});
