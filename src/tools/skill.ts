/** skill: loads the instructions of a skill, or a file beside them. */
import { z } from "zod";
import { boundText } from "./bound-output.ts";
import type { Tool, ToolContext, ToolResult } from "./tool.ts";

/** Where skills come from; undefined: there are none. */
export interface SkillSource {
  load(name: string, file: string | undefined): Promise<LoadedSkill>;
}

export type LoadedSkill =
  | {
      readonly kind: "loaded";
      /** One line that says what it is. */
      readonly heading: string;
      readonly text: string;
      /** What the model must know in addition: the files, and whether they are on the target. */
      readonly notes: readonly string[];
    }
  | { readonly kind: "refused"; readonly why: string };

const input = z.strictObject({
  name: z.string().min(1).max(64).describe("as listed in the instructions"),
  file: z.string().min(1).max(500).optional().describe("a file of the skill, relative to its folder"),
});

export function skillTool(source: SkillSource | undefined): Tool<z.infer<typeof input>> {
  return {
    name: "skill",
    description: "Load the instructions of a skill, or with `file` a file beside them.",
    input,
    intent: ({ name, file }) => ({ kind: "read", title: file === undefined ? name : `${name}: ${file}` }),
    async run({ name, file }, context) {
      const loaded = (await source?.load(name, file)) ?? ({ kind: "refused", why: "there are no skills" } as const);
      if (loaded.kind === "refused") return { ok: false, outcome: "failed", result: `Not loaded: ${loaded.why}.` };
      return present(loaded, context);
    },
  };
}

function present(
  { heading, text, notes }: LoadedSkill & { kind: "loaded" },
  { budget, mask }: ToolContext,
): ToolResult {
  const before = [heading, ...notes].join("\n");
  const room = Math.max(budget - before.length, budget >> 1);
  const shown = boundText(
    text,
    room,
    () => "the skill is too long to be read at once; ask the operator to split it",
    mask,
  );
  return { ok: true, outcome: "done", result: `${before}\n\n${shown}`, display: heading };
}
