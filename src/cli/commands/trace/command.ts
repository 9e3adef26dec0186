/** `buddy trace summary FILE`: what happened in the runs of a trace, and where the time went. */
import { EXIT } from "../../../lib/errors.ts";
import { print } from "../../../lib/output.ts";
import { defineCommand } from "../../command.ts";

export const command = defineCommand({
  name: "trace",
  args: {
    action: {
      type: "positional",
      choices: ["summary"],
      description: "what to print: requests, tools, decisions, time",
    },
    file: { type: "positional", path: true, description: "a file written with --trace" },
    json: { type: "boolean", description: "print as JSON, one object per run" },
  },
  examples: [
    ['buddy exec --trace t.jsonl "…"', "keep a trace; BUDDY_TRACE_FILE does the same"],
    ["buddy trace summary t.jsonl", "what it shows"],
  ],
  notes:
    "A trace holds prompts, commands and answers. Keys, and text that looks like\n" +
    "one, are masked; still, read it before you attach it to a bug report.",
  async run({ args: { file, json } }) {
    const { readTrace, summarize, summaryText } = await import("./summary.ts");
    const { runs, damaged } = await readTrace(file ?? "");
    const summaries = runs.map(summarize);
    if (json === true) await print(summaries.map((one) => `${JSON.stringify(one)}\n`));
    else await print([summaryText(summaries, damaged)]);
    return EXIT.ok;
  },
});
