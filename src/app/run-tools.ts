/** The tools of a run, and what decides on their calls: policy, approvals and target. */
import { defined } from "../lib/values.ts";
import type { CallHooks } from "../agent/calls/call-hooks.ts";
import type { Recorder } from "../agent/calls/call-record.ts";
import type { FleetParts } from "../agent/fleet/fleet-parts.ts";
import type { Desk } from "../agent/calls/desk.ts";
import type { PlanRevert } from "../agent/permit/permission.ts";
import { type CallParts, CallRunner } from "../agent/calls/tool-calls.ts";
import type { ChangeStore } from "../changes/change-store.ts";
import type { LoadedConfig } from "../config/load.ts";
import { formatDuration } from "../lib/durations.ts";
import type { Privacy } from "../policy/privacy/privacy.ts";
import { Registry } from "../tools/registry.ts";
import type { Extensions } from "./extensions/extensions.ts";
import type { WriteJudge } from "./machines/judge-write.ts";
import type { RunTarget } from "./machines/lazy-target.ts";
import type { Config } from "../config/schema.ts";
import { type EffectiveRules, NO_RULES } from "../policy/machine-rules.ts";
import type { ShellJudgement, ShellRules } from "../policy/verdict.ts";
import type { MachineRules } from "./machines/machine-rules.ts";
import { calledNames, type Place } from "../targets/place.ts";
import type { Target } from "../targets/target.ts";

export function toolRegistry({ config: { tools, network }, env }: LoadedConfig, { source, mcp }: Extensions): Registry {
  const shell = { timeoutMs: tools.shell_timeout, slowTimeoutMs: tools.shell_timeout_slow };
  return new Registry({
    enabled: (name) => {
      if (name === "time") return true;
      if (name === "skill") return source !== undefined;
      if (name === "plan") return tools.shell_enabled || tools.files_enabled;
      if (name === "fetch_url") return tools.fetch_enabled;
      if (name === "web_search") return tools.search_enabled;
      return name.endsWith("_file") ? tools.files_enabled : tools.shell_enabled;
    },
    values: { wait: formatDuration(shell.timeoutMs), slow: formatDuration(shell.slowTimeoutMs) },
    more: mcp?.tools,
    load: async () => {
      const [{ builtinTools }, { safeFetch }] = await Promise.all([
        import("../tools/builtin.ts"),
        import("../policy/web/safe-fetch.ts"),
      ]);
      const { fetch_allowed_domains: allow, fetch_blocked_domains: deny } = tools;
      const endpoint = env["BUDDY_SEARCH_URL"];
      return builtinTools({
        shell,
        fetch: { fetch: safeFetch, rules: { allow, deny }, timeoutMs: network.fetch_timeout },
        search: {
          fetch: safeFetch,
          blockedDomains: deny,
          timeoutMs: network.fetch_timeout,
          ...defined({ endpoint }),
        },
        skills: source,
      });
    },
  });
}

export interface CallRunnerParts {
  readonly loaded: LoadedConfig;
  readonly registry: Registry;
  readonly target: RunTarget;
  /** The machine; the first of several. */
  readonly place: Place;
  /** Where the run has several machines. */
  readonly fleet?: FleetParts | undefined;
  readonly privacy: Privacy;
  readonly recorder: Recorder;
  readonly hooks: CallHooks | undefined;
  readonly desk: Desk;
  readonly rules: MachineRules;
  /** What the operator wrote about the machine. */
  about(): string | undefined;
  readonly dryRun: boolean;
  /** The target is this machine: buddy's own files are on it. */
  readonly local: boolean;
  /** Where files are kept before they are changed; undefined: this run keeps none. */
  changes(): Promise<ChangeStore | { readonly none: string } | undefined>;
}

export function callRunner(parts: CallRunnerParts): CallRunner {
  const { loaded, registry, target, desk, privacy, recorder, hooks, rules, about, dryRun, local, changes } = parts;
  const { config } = loaded;
  const { fetch_confirm: fetch } = config.tools;
  return new CallRunner({
    registry,
    facts: () => target.facts(),
    limits: config.limits,
    approvals: desk.approvals,
    recorder,
    hooks,
    desk,
    about,
    fleet: parts.fleet,
    ...machineParts({ loaded, target, place: parts.place, rules, local }),
    confirm: {
      shell: config.tools.shell_confirm,
      fetch: fetch === "new-domain" ? fetch : fetch ? "always" : "never",
    },
    privacy,
    maskOutput: config.privacy.mask_output,
    urlRules: { allow: config.tools.fetch_allowed_domains, deny: config.tools.fetch_blocked_domains },
    shellRoots: config.tools.shell_roots,
    secondLock: config.safety.read_only_namespace,
    dryRun,
    around: async (call, run) => {
      const store = await changes();
      const { revert } = call.permission;
      const guarded = async () =>
        revert === undefined ? run() : (await import("./changes/guard-lockout.ts")).guardLockout(call, revert, run);
      if (store === undefined) return guarded();
      const hasSecret = (text: string) => privacy.maskKnown(text) !== text;
      return (await import("./changes/keep-changes.ts")).keepChanges({ store, hasSecret }, call, guarded);
    },
    ...(config.safety.lockout === "guard" ? { planRevert: revertPlanner(config.safety.lockout_revert) } : {}),
  });
}

/** An adopted shell may be on another machine, which is known only by the name that it reports. */
export function calledAt({ identity, isAdopted }: Target, place: Place): readonly string[] {
  return isAdopted === true ? [identity.host || identity.label] : calledNames(place, identity.host);
}

/** What decides on calls for one machine. */
export function machineParts({
  loaded,
  target,
  place,
  rules,
  local,
}: Pick<CallRunnerParts, "loaded" | "target" | "place" | "rules" | "local">): Pick<
  CallParts,
  "target" | "rules" | "called" | "rulesNamed" | "rulesHere" | "judgeShell" | "judgeWrite"
> {
  const { config } = loaded;
  let judge: typeof import("../policy/shell/judge.ts").judgeShell | undefined;
  let judgeWrite: WriteJudge | undefined;
  return {
    target: () => target.get(),
    rules: (opened) => rules.of(opened, place),
    called: (opened) => calledAt(opened, place),
    rulesNamed: (name) => rules.named(name, target.opened?.transport),
    rulesHere: () => rules.here(),
    judgeShell: async (command, cwd, machine) => {
      const judgeShell = (judge ??= (await import("../policy/shell/judge.ts")).judgeShell);
      const opened = target.opened;
      const facts = opened?.transport.facts;
      // Until the target is known, the strictest.
      const shell = opened?.locks.shell ?? "sh";
      const pane = opened?.identity.shellName ?? "sh";
      const context = { shell, pane, cwd, ...defined({ user: facts?.user, home: facts?.home }) };
      return judgeOnce(config, [command, machine, context], () =>
        judgeShell(command, shellRules(config, machine), context),
      );
    },
    judgeWrite: async (path, asked, sudo) => {
      const { ownPaths, writeJudge } = await import("./machines/judge-write.ts");
      judgeWrite ??= writeJudge(
        { resolve: async (root) => (await target.get()).files.resolve(root) },
        {
          allowedPaths: config.tools.files_allowed_paths,
          ownPaths: local ? ownPaths(loaded) : [],
          lockout: config.safety.lockout,
        },
      );
      return judgeWrite(path, asked, sudo);
    },
  };
}

/** Kept for a moment: the machines of one call judge the same command. */
function judgeOnce(config: Config, about: unknown, judge: () => ShellJudgement): ShellJudgement {
  const key = JSON.stringify(about);
  const now = performance.now();
  if (last === undefined || last.config !== config || last.key !== key || now - last.at > MOMENT_MS)
    last = { config, key, at: now, judgement: judge() };
  return last.judgement;
}

const MOMENT_MS = 1000;
let last: Judged | undefined;

interface Judged {
  readonly config: Config;
  readonly key: string;
  readonly at: number;
  readonly judgement: ShellJudgement;
}

function revertPlanner(revertMs: number): PlanRevert {
  const seconds = Math.max(1, Math.round(revertMs / 1000));
  return async (lockouts, command, target) =>
    (await import("./changes/guard-lockout.ts")).planRevert(lockouts, command, target, seconds);
}

// The settings the shell judge needs, taken from the configuration.

export function shellRules(
  { tools, safety }: Pick<Config, "tools" | "safety">,
  machine: EffectiveRules = NO_RULES,
): ShellRules {
  return {
    autoApprove: machine.autoApprove ?? tools.shell_auto_approve,
    hosts: tools.fetch_allowed_domains,
    allow: machine.allow ?? tools.shell_allow,
    denylist: [...tools.shell_denylist, ...machine.deny],
    safety: {
      gitAdd: safety.git_add,
      forcePush: safety.force_push,
      dangerousRm: safety.dangerous_rm,
      disk: safety.disk,
      forkBomb: safety.fork_bomb,
      lockout: safety.lockout,
      data: safety.data,
    },
  };
}
