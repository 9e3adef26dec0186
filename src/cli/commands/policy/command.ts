/** `buddy policy`: what the policy says of a command, URL, path or text; nothing is done. */
import { BuddyError, EXIT } from "../../../lib/errors.ts";
import { print } from "../../../lib/output.ts";
import { defineCommand } from "../../command.ts";
import { KINDS, type PolicyKind } from "./explainer.ts";

export const command = defineCommand({
  name: "policy",
  args: {
    kind: {
      type: "positional",
      choices: Object.keys(KINDS),
      description: "a command, an address to fetch, a path to write, or text to show",
    },
    value: { type: "positional", required: false, description: "the value; without it, read from stdin" },
    json: { type: "boolean", description: "print one JSON object" },
    shell: {
      type: "string",
      valueHint: "NAME",
      description: "the shell of the machine; all but bash: one without bash",
    },
    batch: { type: "boolean", description: "one JSON value a line on stdin, one JSON object a line on stdout" },
  },
  examples: [
    ["buddy policy shell 'git push --force'", "blocked: why, and what to do instead"],
    ["buddy policy url http://169.254.169.254/", "blocked: cloud metadata"],
  ],
  async run({ args: { kind, value, json, batch, shell }, globals }) {
    const load = KINDS[kind as PolicyKind];
    if (batch === true && value !== undefined)
      throw new BuddyError("usage", "--batch reads its values from stdin: leave out the one given", {
        hint: `One JSON value a line: echo '"value"' | buddy policy ${kind} --batch`,
      });
    if (shell !== undefined && kind !== "shell")
      throw new BuddyError("usage", `--shell belongs to buddy policy shell, not to buddy policy ${kind}`);
    const explainer = await (await load()).explainer(globals, shell === undefined ? {} : { shell });
    try {
      if (batch === true) {
        const { answerBatch } = await import("./batch.ts");
        await answerBatch(explainer, Bun.stdin.stream(), (text) => Bun.write(Bun.stdout, text));
        return EXIT.ok;
      }
      const given = value ?? (await Bun.stdin.text()).replace(/\r?\n$/, "");
      const answer = await explainer.explain(given);
      await print([`${json === true ? JSON.stringify(answer) : explainer.words(answer)}\n`]);
      return EXIT.ok;
    } finally {
      await explainer[Symbol.asyncDispose]?.();
    }
  },
});
