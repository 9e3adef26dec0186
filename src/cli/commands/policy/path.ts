/** `buddy policy path`: may this path be written? Resolved on this machine the way the tools resolve it. */
import { currentDirectory } from "../../../lib/byte-names.ts";
import { BuddyError } from "../../../lib/errors.ts";
import { showLine } from "../../../policy/screen/terminal-text.ts";
import { fileAccess } from "../../../targets/files/files.ts";
import type { FileAccess, ResolvedPath } from "../../../targets/target.ts";
import { LocalTransport } from "../../../targets/connection/local.ts";
import { loadConfiguration } from "../../../app/configuration.ts";
import { ownPaths, writeJudge, type WriteRules } from "../../../app/machines/judge-write.ts";
import { rulesByName } from "../../../app/machines/machine-rules.ts";
import { type EffectiveRules, NO_RULES } from "../../../policy/machine-rules.ts";
import { LOCAL } from "../../../targets/place.ts";
import { onMachine } from "./rule-facts.ts";
import type { GlobalOptions } from "../../args/options.ts";
import type { Explainer } from "./command.ts";

export async function explainer(globals: GlobalOptions): Promise<Explainer> {
  const loaded = await loadConfiguration(globals, { create: false });
  const transport = new LocalTransport();
  const files = fileAccess(transport, { cwd: () => currentDirectory() });
  const { tools, safety } = loaded.config;
  const explain = pathExplainer(
    files,
    { allowedPaths: tools.files_allowed_paths, ownPaths: ownPaths(loaded), lockout: safety.lockout },
    await rulesByName(loaded.config, LOCAL),
  );
  return {
    explain,
    words(answer) {
      const { verdict, why, resolved } = answer as PathExplanation;
      return `${verdict}: ${why}\nresolved: ${showLine(resolved)}`;
    },
    [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
  };
}

export interface PathExplanation {
  readonly verdict: "allow" | "ask" | "block";
  readonly why: string;
  readonly resolved: string;
  /** Only a person answers the question; `typed`: with the name of the machine. */
  readonly answer?: "in-person" | "typed";
}

/** One function for a whole batch: the allowed roots are resolved once. */
export function pathExplainer(
  files: FileAccess,
  rules: WriteRules,
  machine: EffectiveRules = NO_RULES,
): (value: unknown) => Promise<PathExplanation> {
  const judge = writeJudge(files, rules);
  return async (value) => {
    const { path, sudo } = question(value);
    let resolved: ResolvedPath;
    try {
      resolved = await files.resolve(path);
    } catch (error) {
      if (!(error instanceof BuddyError)) throw error;
      return { verdict: "block", why: error.message, resolved: showLine(path) };
    }
    const judged = await judge(resolved, path, sudo);
    const verdict = onMachine(judged, judged.kind === "ask" || sudo ? "high" : "medium", false, machine);
    const instead = verdict.kind === "deny" && verdict.instead !== undefined ? `; ${verdict.instead}` : "";
    return {
      verdict: verdict.kind === "deny" ? "block" : verdict.kind,
      why: verdict.why + instead,
      resolved: resolved.path,
      ...(verdict.kind === "ask" && verdict.answer !== undefined ? { answer: verdict.answer } : {}),
    };
  };
}

function question(value: unknown): { path: string; sudo: boolean } {
  if (typeof value === "string") return { path: value, sudo: false };
  if (typeof value === "object" && value !== null && "path" in value && typeof value.path === "string")
    return { path: value.path, sudo: "sudo" in value && value.sudo === true };
  throw new BuddyError("usage", 'give a path as a JSON string or as {"path": "…", "sudo": true}');
}
