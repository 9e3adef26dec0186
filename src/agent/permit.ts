/** May this call happen? Joins what the policy says, what the model declared, the dry run and the operator's answer into "run it" or a result for the model. */
import type { ApprovalRequest, Approvals, Decision, RequestPlace, Stated } from "../policy/approvals.ts";
import { isListedHost, namesHost } from "../policy/domain-list.ts";
import { fileKind, outputKind, type OutputKind } from "../policy/output-kind.ts";
import type { Privacy } from "../policy/privacy.ts";
import { prefixesOf } from "../policy/shell/command-prefix.ts";
import { holdsSecrets } from "../policy/secret-files.ts";
import { outsideRoots } from "../policy/shell/shell-roots.ts";
import { judgeUrl, type UrlRules } from "../policy/urls.ts";
import type { ShellJudgement, Verdict } from "../policy/verdict.ts";
import type { ResolvedPath, SecondLock, Shell, ShellPlace, Target, Unasked } from "../targets/target.ts";
import { boundDiff, diffSize } from "../tools/diff.ts";
import { paneFor, shellFor } from "../tools/select-shell.ts";
import type { Declared, Intent, Tool, ToolContext, ToolResult } from "../tools/tool.ts";
import type { AgentEventBody, Risk } from "./events.ts";
import { judgeKeys } from "./permit-keys.ts";
import { conditionDoubt, unaskedRun } from "./unasked.ts";

export interface PermitParts {
  readonly approvals: Approvals;
  target(): Promise<Target>;
  /** `cwd`: where the shell is; relative names count from it. */
  judgeShell(command: string, cwd: string): Promise<ShellJudgement>;
  /** `asked` is the path before it was resolved. */
  judgeWrite(path: ResolvedPath, asked: string): Promise<Verdict>;
  /** shell_confirm and fetch_confirm. */
  readonly confirm: { readonly shell: boolean; readonly fetch: "always" | "new-domain" | "never" };
  readonly privacy: Privacy;
  /** [privacy] mask_output. */
  readonly maskOutput: readonly string[];
  /** fetch_allowed_domains and fetch_blocked_domains. */
  readonly urlRules: UrlRules;
  /** What the operator wrote in prompts of this session. */
  readonly prompts: readonly string[];
  readonly shellRoots: readonly string[];
  /** [safety] second_lock. */
  readonly secondLock: SecondLock;
  readonly dryRun: boolean;
}

export interface PermitCall {
  readonly tool: Tool;
  readonly input: unknown;
  readonly intent: Intent;
  readonly call: string;
  readonly context: ToolContext;
  /** Names of secrets in the arguments: they are shown, and nothing approves such a call by itself. */
  readonly secrets: readonly string[];
  /** The arguments with values in the place of names. */
  reveal(input: unknown): unknown;
  /** Before the tool looks at a file: what is in it decides how its text is masked. */
  expect(output: OutputKind): void;
  publish(body: AgentEventBody): void;
}

export type Permission =
  /** `note` is for the model: the operator changed the command, for example; `path` is where a write was permitted. */
  | {
      readonly kind: "run";
      readonly input: unknown;
      readonly note?: string;
      readonly path?: string;
      /** Nobody was asked, because the policy proved that the text only reads. */
      readonly unasked?: Unasked;
      /** The directory it was approved for. */
      readonly onlyIn?: string;
      /** The program keys were approved for; "" = the shell itself. */
      readonly onlyInto?: string;
      /** What it will print. */
      readonly output?: OutputKind;
      /** The command with names in the place of secrets, where `input` has the secrets themselves. */
      readonly shown?: string;
    }
  /** `nobody` names what was refused because there was no terminal to ask on. */
  | { readonly kind: "result"; readonly result: ToolResult; readonly nobody?: string };

export async function permit(parts: PermitParts, call: PermitCall): Promise<Permission> {
  const { intent, input } = call;
  switch (intent.kind) {
    case "read":
      return intent.path === undefined ? { kind: "run", input } : permitRead(parts, call, intent.path);
    case "own":
      return parts.dryRun ? dryRun(`would do: ${intent.title}`, undefined) : { kind: "run", input };
    case "shell":
      return permitShell(parts, call, intent);
    case "keys":
      return permitKeys(parts, call, intent);
    case "control":
      return permitControl(parts, call, intent);
    case "write":
      return permitWrite(parts, call, intent);
    case "fetch":
      return permitFetch(parts, call, intent);
  }
}

/** Reading changes nothing and is not asked, except for files of keys, also behind a link. */
async function permitRead(parts: PermitParts, call: PermitCall, path: string): Promise<Permission> {
  const target = await parts.target();
  const resolved = await target.files.resolve(path).catch(() => undefined);
  const kinds = [fileKind(path), fileKind(resolved?.path ?? "")];
  const output = kinds.find((kind) => kind !== "ordinary") ?? "ordinary";
  const run: Permission = { kind: "run", input: call.input, output };
  if (!parts.confirm.shell || !(holdsSecrets(path) || holdsSecrets(resolved?.path ?? ""))) return run;
  const action = `read ${resolved?.path ?? path}`;
  const decision = await decide(parts, call, target, {
    action,
    risk: "high",
    mutation: false,
    privesc: false,
    why: "",
    policy: "it shows keys to the model",
    understated: false,
    editable: false,
  });
  return decision.kind === "approved" ? run : refused(decision, action);
}

async function permitShell(
  parts: PermitParts,
  call: PermitCall,
  intent: Intent & { kind: "shell" },
): Promise<Permission> {
  const target = await parts.target();
  const shell = await shellFor(target, call.input as { session?: string; pane?: string });
  let { command } = intent;
  let edited = false;
  let moved = "";
  for (;;) {
    const { names } = parts.privacy.used(command);
    // Judged as it will run: the value of a secret may be a path or an option.
    const real = names.length === 0 ? command : parts.privacy.revealCommand(command, target.identity.shellName);
    const judged = await parts.judgeShell(real, shell.cwd);
    let verdict = withSecrets(await shellVerdict(parts, call, intent, target, judged), names, parts.privacy);
    if (verdict.kind === "deny") return refusedByPolicy(verdict);
    let unasked: Unasked | undefined;
    if (verdict.kind === "allow" && judged.readOnly && !edited) {
      const how = await unaskedRun(target, real, judged, shell.cwd, parts.secondLock);
      if ("ask" in how) verdict = { kind: "ask", why: how.ask };
      else unasked = how.unasked;
    } else if (verdict.kind === "allow" && !edited) {
      const doubt = await conditionDoubt(target.transport, judged.conditions, shell.cwd);
      if (doubt !== undefined) verdict = { kind: "ask", why: doubt };
    }
    const readOnly =
      judged.readOnly && !intent.declared.mutation && !intent.declared.privesc && intent.detached !== true;
    if (parts.dryRun && !(readOnly && names.length === 0)) return dryRun(`would run: ${command}`, verdict);
    const run: Permission = {
      kind: "run",
      input: real === intent.command ? call.input : { ...(call.input as object), command: real },
      output: outputKind(printing(judged, real), parts.maskOutput),
      ...(unasked === undefined ? {} : { unasked }),
      ...(edited ? { note: `the operator changed the command; what ran was: ${command}` } : {}),
      ...(real === command ? {} : { shown: command }),
    };
    // An edited command was typed by the operator: the policy may still refuse it, but it is not asked about twice.
    if (verdict.kind === "allow" || edited || (!parts.confirm.shell && names.length === 0)) return run;
    const derived = { risk: judged.risk, mutation: judged.mutation, privesc: judged.privesc };
    const prefixes = names.length === 0 ? prefixesOf(command, judged) : undefined;
    const where = new LookedAt(target, shell);
    const decision = await decide(parts, call, where, {
      action: command,
      ...stricter(intent.declared, derived),
      why: intent.declared.why,
      policy: `${moved}${verdict.why}`,
      understated: understates(intent.declared, derived),
      declared: intent.declared,
      found: derived,
      editable: call.tool.name === "run_shell",
      ...(prefixes === undefined ? {} : { prefixes }),
    });
    if (decision.kind === "denied") return refused(decision, command);
    if (await where.changed()) {
      moved = "the shell has moved since you were asked; ";
      continue;
    }
    if (decision.kind === "approved") return where.known ? { ...run, onlyIn: shell.cwd } : run;
    command = decision.command;
    edited = true;
  }
}

/** Nothing approves a secret's use by itself, and the question names it. */
function withSecrets(verdict: Verdict, names: readonly string[], privacy: Privacy): Verdict {
  if (names.length === 0) return verdict;
  const uses = `it uses ${names.join(", ")}`;
  if (verdict.kind === "allow") return { kind: "ask", why: uses };
  const why = privacy.maskKnown(verdict.why);
  return verdict.kind === "ask" ? { kind: "ask", why: `${uses}; ${why}` } : { ...verdict, why };
}

/** The commands of a text, and the files it reads through a redirection. */
function printing(judged: ShellJudgement, command: string): readonly (readonly string[])[] {
  const read = [...command.matchAll(/<\s*["']?([^\s<>&|;()"']+)/g)].map(([, file = ""]) => ["cat", file]);
  return [...judged.commands.map(({ words }) => words), ...read];
}

async function shellVerdict(
  parts: PermitParts,
  call: PermitCall,
  intent: Intent & { kind: "shell" },
  target: Target,
  judged: ShellJudgement,
): Promise<Verdict> {
  if (judged.verdict.kind === "deny") return judged.verdict;
  if (parts.shellRoots.length > 0) {
    const shell = await shellFor(target, call.input as { session?: string; pane?: string });
    // Asked of the machine: what a mark said of the directory may be forged.
    const { cwd } = await shell.where();
    const outside = outsideRoots(judged, cwd || shell.cwd, parts.shellRoots);
    if (outside !== undefined) return outside;
  }
  const { declared } = intent;
  // What the operator allowed in the configuration holds whatever the model says of it; a proof by the parser does not.
  if (
    judged.verdict.kind === "allow" &&
    judged.readOnly &&
    (declared.mutation || declared.privesc || declared.risk === "high")
  ) {
    return { kind: "ask", why: "it looks read-only, but the model declares that it is not" };
  }
  return judged.verdict;
}

async function permitKeys(
  parts: PermitParts,
  call: PermitCall,
  intent: Intent & { kind: "keys" },
): Promise<Permission> {
  const target = await parts.target();
  const { verdict: keys, judged, unasked, place } = await judgeKeys(parts, call, intent);
  const verdict = withSecrets(keys, call.secrets, parts.privacy);
  if (verdict.kind === "deny") return refusedByPolicy(verdict);
  if (parts.dryRun) return dryRun(`would do: ${intent.title}`, verdict);
  const input = call.reveal(call.input);
  // What it prints stays on the screen, for capture-pane.
  const output = outputKind(
    judged.flatMap((one) => printing(one, "")),
    parts.maskOutput,
  );
  const run: Permission = { kind: "run", input, output, onlyInto: place.program ?? "" };
  if (verdict.kind === "allow") return unasked === undefined ? run : { kind: "run", input, output, unasked };
  if (!parts.confirm.shell && call.secrets.length === 0) return run;
  const derived = judged.reduce<Stated>((all, one) => stricter(all, one), {
    risk: "low",
    mutation: false,
    privesc: false,
  });
  const decision = await decide(parts, call, new LookedAt(target, await paneFor(target, input as object)), {
    action: intent.title,
    ...stricter(intent.declared, derived),
    why: intent.declared.why,
    policy: verdict.why,
    understated: understates(intent.declared, derived),
    declared: intent.declared,
    found: derived,
    editable: false,
  });
  return decision.kind === "approved" ? run : refused(decision, intent.title);
}

async function permitControl(
  parts: PermitParts,
  call: PermitCall,
  intent: Intent & { kind: "control" },
): Promise<Permission> {
  const target = await parts.target();
  const keys: Verdict = { kind: "ask", why: "what becomes of panes cannot be judged beforehand" };
  const verdict = withSecrets(keys, call.secrets, parts.privacy);
  if (parts.dryRun) return dryRun(`would do: ${intent.title}`, verdict);
  const run: Permission = { kind: "run", input: call.reveal(call.input) };
  if (!parts.confirm.shell && call.secrets.length === 0) return run;
  const { risk, mutation, privesc, why } = intent.declared;
  const decision = await decide(parts, call, target, {
    action: intent.title,
    risk,
    mutation,
    privesc,
    why,
    policy: verdict.why,
    understated: false,
    editable: false,
  });
  return decision.kind === "approved" ? run : refused(decision, intent.title);
}

async function permitWrite(
  parts: PermitParts,
  call: PermitCall,
  intent: Intent & { kind: "write" },
): Promise<Permission> {
  const target = await parts.target();
  const resolved = await target.files.resolve(intent.path);
  const judged = await parts.judgeWrite(resolved, intent.path);
  if (judged.kind === "deny") return refusedByPolicy(judged);
  const verdict = withSecrets(judged, call.secrets, parts.privacy);
  // The same object goes to `prepare` and `run`: the tool knows it again.
  const input = call.reveal(call.input);
  const output = fileKind(resolved.path);
  call.expect(output);
  const prepared = await call.tool.prepare?.(input, call.context);
  if (prepared?.kind === "failed") return { kind: "result", result: prepared.result };
  const diff = parts.privacy.maskKnown(prepared?.diff ?? "");
  if (parts.dryRun) return dryRun(`would write: ${resolved.path}`, verdict, diff);
  const run: Permission = { kind: "run", input, path: resolved.path, output };
  if (!parts.confirm.shell && verdict.kind === "allow") return run;
  const action = `write ${resolved.path}`;
  const decision = await decide(parts, call, target, {
    action,
    write: { path: resolved.path, creates: !resolved.exists, ...diffSize(diff) },
    diff,
    risk: judged.kind === "ask" ? "high" : "medium",
    mutation: true,
    privesc: false,
    why: "",
    policy: verdict.kind === "allow" ? "" : verdict.why,
    understated: false,
    editable: false,
  });
  return decision.kind === "approved" ? run : refused(decision, action);
}

async function permitFetch(
  parts: PermitParts,
  call: PermitCall,
  intent: Intent & { kind: "fetch" },
): Promise<Permission> {
  return (await permitUrl(parts, call, intent.url, intent.search === true)) ?? { kind: "run", input: call.input };
}

/** Whether a page may be asked for, at first and after every redirect; undefined: yes. */
export async function permitUrl(
  parts: PermitParts,
  call: PermitCall,
  url: string,
  search: boolean,
): Promise<(Permission & { kind: "result" }) | undefined> {
  const ask = parts.confirm.fetch;
  // What the policy refuses by its name needs no question: the tool refuses it.
  if (!search && ask !== "always" && (await judgeUrl(url, parts.urlRules)).kind === "deny") return undefined;
  const secret = parts.privacy.leaving(url);
  const host = URL.parse(url)?.hostname ?? "";
  const known =
    search || isListedHost(url, parts.urlRules.allow) || parts.prompts.some((prompt) => namesHost(prompt, url));
  if (secret === undefined && (ask === "never" || (ask === "new-domain" && known))) return undefined;
  const action = `fetch ${url}`;
  const decision = await decide(parts, call, undefined, {
    action,
    risk: secret === undefined ? "low" : "high",
    mutation: false,
    privesc: false,
    why: "",
    policy:
      secret === undefined
        ? known
          ? "fetch_confirm is on"
          : `${host} is new in this session`
        : `it sends ${secret} away`,
    understated: false,
    editable: false,
    // What is remembered is the host; a URL with a secret in it is asked about every time.
    ...(secret === undefined && ask === "new-domain" ? { prefixes: [{ words: ["fetch", host], open: true }] } : {}),
  });
  return decision.kind === "approved" ? undefined : refused(decision, action);
}

async function decide(
  parts: PermitParts,
  call: PermitCall,
  /** Undefined for what happens on this machine whatever the target is. */
  at: LookedAt | Target | undefined,
  what: Omit<ApprovalRequest, "id" | "call" | "tool" | "where" | "machine">,
): Promise<Decision> {
  const place = at === undefined || at instanceof LookedAt ? at : new LookedAt(at, at.shell);
  const identity = place?.target.identity;
  const asked: ApprovalRequest = {
    id: crypto.randomUUID(),
    call: call.call,
    tool: call.tool.name,
    where: identity === undefined ? "this machine" : `${identity.user}@${identity.host}`,
    machine: identity === undefined ? "" : identity.machine || identity.label,
    ...what,
  };
  const { id, action, diff, risk, mutation, privesc, why, policy, understated } = asked;
  const publish = (request: ApprovalRequest) =>
    call.publish({
      type: "approval_asked",
      approval: id,
      call: call.call,
      tool: request.tool,
      where: request.where,
      action,
      ...(diff === undefined ? {} : { diff: boundDiff(diff) }),
      risk,
      mutation,
      privesc,
      why,
      policy,
      understated,
    });
  const look = place && (() => place.look());
  const decision = await parts.approvals.decide(asked, call.context.signal, publish, look);
  call.publish({
    type: "approval_answered",
    approval: id,
    call: call.call,
    decision: decision.kind === "denied" ? "denied" : "approved",
    by: decision.kind === "edited" ? "operator" : decision.by,
    ...(decision.kind === "denied" && decision.reason !== undefined ? { reason: decision.reason } : {}),
    ...(decision.kind === "edited" ? { edited: decision.command } : {}),
  });
  return decision;
}

/** The shell a question is about, looked at when it is asked: who and where it is then. */
class LookedAt {
  readonly target: Target;
  readonly #shell: Shell;
  #seen: ShellPlace | undefined;

  constructor(target: Target, shell: Shell) {
    this.target = target;
    this.#shell = shell;
  }

  /** A person saw where it would happen. */
  get known(): boolean {
    return this.#seen !== undefined;
  }

  async look(): Promise<RequestPlace> {
    const { user, host } = this.target.identity;
    const seen = (this.#seen = await this.#now());
    return {
      where: `${seen.user || user}@${host}`,
      cwd: seen.cwd || "an unknown directory",
      ...(seen.pane === undefined ? {} : { pane: seen.pane }),
    };
  }

  /** The shell is in another directory, or belongs to another user, than the question said. */
  async changed(): Promise<boolean> {
    if (this.#seen === undefined) return false;
    const now = await this.#now();
    return now.cwd !== this.#seen.cwd || now.user !== this.#seen.user;
  }

  /** A target that does not answer is asked again when the command is sent; until then what is known of it counts. */
  async #now(): Promise<ShellPlace> {
    return this.#shell.where().catch(() => ({ cwd: this.#shell.cwd, user: "", typed: "" }));
  }
}

function refused(decision: Decision, action: string): Permission & { kind: "result" } {
  if (decision.kind !== "denied") throw new Error("only a denial is refused");
  const result = (text: string, display: string): ToolResult => ({
    ok: false,
    outcome: "denied",
    result: text,
    display,
  });
  switch (decision.by) {
    case "operator":
      return {
        kind: "result",
        result: result(
          decision.reason === undefined
            ? "The operator refused this. Do not try it again in another form; ask what they want instead."
            : `The operator refused this: ${decision.reason}`,
          decision.reason === undefined ? "denied" : `denied: ${decision.reason}`,
        ),
      };
    case "mode":
      return {
        kind: "result",
        result: result(
          "Refused: approvals are set to none, so nothing that needs one can run. Continue with read-only work, or answer with what you have.",
          "denied: approvals are set to none",
        ),
      };
    case "nobody":
      return {
        kind: "result",
        nobody: action,
        result: result(
          "Refused: this needs an approval, and there is no terminal to ask on. Do not retry it; answer with what you have and say what you would have done.",
          "approval required, but there is no terminal to ask on",
        ),
      };
    case "timeout":
      return {
        kind: "result",
        result: result("operation stopped: the time given for the task is over", "out of time"),
      };
    case "cancelled":
      return { kind: "result", result: result("operation cancelled by user", "stopped") };
  }
}

function refusedByPolicy(verdict: Verdict & { kind: "deny" }): Permission {
  const instead = verdict.instead === undefined ? "" : ` ${verdict.instead}`;
  const why = `Not allowed: ${verdict.why.replace(/\.$/, "")}.`;
  return { kind: "result", result: { ok: false, outcome: "denied", result: why + instead, display: why } };
}

function dryRun(what: string, verdict: Verdict | undefined, diff?: string): Permission {
  const lines = [`[dry run] ${what}`];
  if (verdict !== undefined) lines.push(`policy: ${verdict.kind} (${verdict.why})`);
  if (diff) lines.push(boundDiff(diff));
  return { kind: "result", result: { ok: true, outcome: "dry-run", result: lines.join("\n") } };
}

const ORDER: readonly Risk[] = ["low", "medium", "high"];

function stricter(declared: Stated, derived: Stated): Stated {
  return {
    risk: ORDER.indexOf(declared.risk) > ORDER.indexOf(derived.risk) ? declared.risk : derived.risk,
    mutation: declared.mutation || derived.mutation,
    privesc: declared.privesc || derived.privesc,
  };
}

/** Only what matters for the decision: one step of risk, or a change that is called one, is a matter of opinion. */
function understates(declared: Declared, derived: Stated): boolean {
  return (
    (derived.risk === "high" && declared.risk !== "high") ||
    (derived.privesc && !declared.privesc) ||
    (derived.mutation && !declared.mutation && derived.risk !== "low" && declared.risk === "low")
  );
}
