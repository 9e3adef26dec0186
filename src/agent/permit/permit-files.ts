/** May this file be read or written? Its path is resolved on the target first. */
import { defined } from "../../lib/values.ts";
import { holdsSecrets } from "../../policy/files/secret-files.ts";
import { fileKind } from "../../policy/privacy/output-kind.ts";
import { isDeviceToRead } from "../../policy/shell/dangers/protected-paths.ts";
import type { Verdict } from "../../policy/verdict.ts";
import type { Target } from "../../targets/target.ts";
import { diffSize } from "../../tools/bound-output.ts";
import { filesFor, needsRoot } from "../../tools/text-file.ts";
import type { Intent } from "../../tools/tool.ts";
import { confirms, decide, withSecrets } from "./ask-operator.ts";
import { patchCommand, removeCommand, underGuard, withheld } from "./machine-modes.ts";
import {
  denied,
  dryRun,
  type Permission,
  type PermitCall,
  type PermitParts,
  refused,
  refusedByPolicy,
} from "./permission.ts";

/** Reading needs no approval, except as root, of a device, and of files with keys (also behind a link). */
export async function permitRead(
  parts: PermitParts,
  call: PermitCall,
  path: string,
  sudo = false,
): Promise<Permission> {
  const target = await parts.target();
  const resolved = await target.files.resolve(path).catch(() => undefined);
  const privesc = sudo && target.transport.facts.uid !== 0 && (await needsRoot(target.files, path));
  const kinds = [fileKind(path), fileKind(resolved?.path ?? "")];
  const output = kinds.find((kind) => kind !== "ordinary") ?? "ordinary";
  // What the user may read is read without root, even if that changes before it runs.
  const input = sudo && !privesc ? { ...(call.input as object), sudo: false } : call.input;
  // Where it could not be resolved, only the name itself is read.
  const run: Permission = { kind: "run", input, output, path: resolved?.path ?? path };
  const keys = holdsSecrets(path) || holdsSecrets(resolved?.path ?? "");
  const disturbs = isDeviceToRead(path) || isDeviceToRead(resolved?.path ?? "");
  const rules = await parts.rules(target);
  const isGuarded = rules.mode === "guarded";
  if (!(keys || privesc || disturbs) || (!confirms(parts, rules) && !isGuarded)) return run;
  const action = `read ${onOneLine(resolved?.path ?? path)}${privesc ? " as root (sudo)" : ""}`;
  const decision = await decide(parts, call, target, {
    action,
    risk: "high",
    privesc,
    policy: keys
      ? "it contains keys, which the model would see"
      : disturbs
        ? "reading a device may disturb it"
        : "only root may read it",
    ...(isGuarded ? { answer: "typed" as const } : {}),
  });
  return decision.kind === "approved" ? run : refused(decision, action);
}

export async function permitWrite(
  parts: PermitParts,
  call: PermitCall,
  intent: Intent & { kind: "write" },
): Promise<Permission> {
  const target = await parts.target();
  const sudo = intent.sudo === true;
  const undoes = intent.undoes !== undefined;
  // An undo puts back the name itself, also where it is a link now.
  const resolved = await filesFor(target, sudo, call.context).resolve(intent.path, { follow: !undoes });
  const asRoot = sudo && target.transport.facts.uid !== 0;
  const found = await parts.judgeWrite(resolved, intent.path, sudo || (undoes && target.transport.facts.uid === 0));
  // What was approved once may be taken back: where a write would be refused, an undo asks.
  const judged: Verdict = undoes && found.kind === "deny" ? { kind: "ask", why: found.why } : found;
  if (judged.kind === "deny") return refusedByPolicy(judged);
  const rules = await parts.rules(target);
  const revert = await revertOfWrite(parts.planRevert, resolved.path, target);
  if (revert !== undefined && "problem" in revert) return denied(revert.problem);
  const risk = judged.kind === "ask" || sudo || revert !== undefined ? "high" : "medium";
  const inPerson = revert === undefined ? judged : onlyInPerson(judged, revert.says);
  const verdict = underGuard(withSecrets(inPerson, call.secrets, parts.privacy), risk, rules);
  // `prepare` and `run` get the same object, by which the tool recognises the call.
  const input = call.reveal(call.input);
  const output = fileKind(resolved.path);
  call.expect(output);
  const prepared = await call.tool.prepare?.(input, call.context);
  if (prepared?.kind === "failed") return { kind: "result", result: prepared.result };
  const diff = parts.privacy.maskKnown(prepared?.diff ?? "");
  const removes = prepared?.removes === true;
  if (rules.mode === "read-only")
    return withheld(parts, target, rules, {
      command: removes ? removeCommand(resolved.path, asRoot) : patchCommand(resolved.path, diff, asRoot),
      ...defined({ why: intent.why }),
    });
  // A write needs approval also where the path is allowed.
  const needed: Verdict =
    verdict.kind === "allow" && confirms(parts, rules) ? { kind: "ask", why: "a write needs approval" } : verdict;
  if (parts.dryRun) return dryRun(`would write: ${resolved.path}`, needed, diff);
  const run: Permission = {
    kind: "run",
    input,
    path: resolved.path,
    diff,
    output,
    ...defined({ revert }),
  };
  if (!confirms(parts, rules) && verdict.kind === "allow") return run;
  const verb = removes ? "remove" : "write";
  const action = `${verb} ${onOneLine(resolved.path)}${asRoot ? " as root (sudo)" : ""}`;
  const decision = await decide(parts, call, target, {
    action,
    write: { path: resolved.path, creates: !resolved.exists, ...(removes ? { removes } : {}), ...diffSize(diff) },
    diff,
    risk,
    mutation: true,
    privesc: asRoot,
    why: intent.why ?? "",
    policy: verdict.kind === "allow" ? "" : verdict.why,
    ...(verdict.kind === "ask" && verdict.answer !== undefined ? { answer: verdict.answer } : {}),
  });
  return decision.kind === "approved" ? run : refused(decision, action);
}

/** Only a command has several lines in a question: those of a name would look like a part of buddy's text. */
function onOneLine(path: string): string {
  return path.replaceAll("\n", "\\n");
}

/** How a file that can lock the operator out is reverted. */
async function revertOfWrite(planRevert: PermitParts["planRevert"], path: string, target: Target) {
  if (planRevert === undefined) return undefined;
  const { lockoutFile } = await import("../../policy/shell/dangers/lockout.ts");
  const found = lockoutFile(path, target.transport.facts.home);
  return found && planRevert([{ ...found, program: "", words: [], file: path }], { text: "" }, target);
}

/** As for a command that can lock the operator out: never approved automatically. */
function onlyInPerson(verdict: Exclude<Verdict, { kind: "deny" }>, says: string): Verdict {
  if (verdict.kind === "allow") return { kind: "ask", why: says, answer: "in-person" };
  return { kind: "ask", why: `${verdict.why}; ${says}`, answer: verdict.answer ?? "in-person" };
}
