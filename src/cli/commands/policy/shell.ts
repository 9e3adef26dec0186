/** `buddy policy shell`: what the judge says about a command, with the rules of the configuration. */
import { defined } from "../../../lib/values.ts";
import { currentDirectory } from "../../../lib/byte-names.ts";
import { BuddyError, EXIT } from "../../../lib/errors.ts";
import { homeDirectory } from "../../../lib/local-directories.ts";
import { shorten, collapseSpaces, printable } from "../../../lib/text.ts";
import { judgeShell } from "../../../policy/shell/judge.ts";
import { rulesOfText } from "../../../agent/permit/machine-modes.ts";
import type { EffectiveRules } from "../../../policy/machine-rules.ts";
import type { Lockout } from "../../../policy/shell/dangers/lockout.ts";
import type { Condition, NamedEffect, ShellJudgement, Verdict } from "../../../policy/verdict.ts";
import { loadConfiguration } from "../../../app/configuration.ts";
import type { Explainer, PolicyOptions } from "./command.ts";
import { onMachine, ruleFacts } from "./rule-facts.ts";
import { MachineRules, rulesByName } from "../../../app/machines/machine-rules.ts";
import { chosenPlace, placeSources } from "../../../app/machines/places.ts";
import { shellRules } from "../../../app/run-tools.ts";
import type { GlobalOptions } from "../../args/options.ts";
import { askProgram } from "../../../lib/start-child.ts";
import { gitRepositoryScript, readGitRepository } from "../../../policy/shell/read-only/git-repository.ts";

interface ShellAnswer extends Pick<ShellJudgement, "risk" | "mutation" | "privesc" | "uncertain" | "conditions"> {
  readonly verdict: "allow" | "ask" | "block";
  readonly why: string;
  readonly instead: string | null;
  readonly read_only: boolean;
  readonly commands: readonly {
    words: readonly string[];
    verdict: string;
    why: string;
    read_only: boolean;
    effects: readonly NamedEffect[];
  }[];
  /** The rules of the machine, if any match. */
  readonly rules?: object;
  /** The checks of [safety] that found something, by their names in the file. */
  readonly dangers: readonly string[];
  /** Who must answer: null = as the approval mode says. */
  readonly answer: "in-person" | "typed" | null;
  readonly lockouts: readonly Pick<Lockout, "kind" | "program" | "file">[];
}

export async function explainer(globals: GlobalOptions, options: PolicyOptions = {}): Promise<Explainer> {
  const loaded = await loadConfiguration(globals, { create: false });
  const here = await rulesByName(loaded.config, await chosenPlace(globals, loaded), placeSources(loaded));
  const named = new MachineRules(loaded.config, () => [], placeSources(loaded));
  const home = homeDirectory();
  const user = process.env.USER || process.env.LOGNAME || (process.getuid?.() === 0 ? "root" : undefined);
  const local = new LocalConditions();
  return {
    async explain(value): Promise<ShellAnswer> {
      const asked = readQuestion(value);
      const shell = shellName(asked.shell ?? options.shell);
      const context = { home, ...defined({ user, shell, cwd: asked.cwd }) };
      const judgedBy = (rules: EffectiveRules) => judgeShell(asked.command, shellRules(loaded.config, rules), context);
      const judgedHere = judgedBy(here);
      const machine = await rulesOfText({ rulesNamed: (name) => named.named(name) }, here, judgedHere.commands);
      const judged = machine === here ? judgedHere : judgedBy(machine);
      const holds = judged.verdict.kind === "allow" || (machine.mode === "read-only" && judged.readOnly);
      const doubt = holds ? local.doubt(judged.conditions, asked.cwd ?? currentDirectory()) : undefined;
      const plain: Verdict = doubt === undefined ? judged.verdict : { kind: "ask", why: doubt };
      const verdict = onMachine(plain, judged.risk, judged.readOnly && doubt === undefined, machine);
      return {
        verdict: said(verdict.kind),
        why: verdict.why,
        instead: verdict.kind === "deny" ? (verdict.instead ?? null) : null,
        read_only: judged.readOnly && doubt === undefined,
        risk: judged.risk,
        mutation: judged.mutation,
        privesc: judged.privesc,
        commands: judged.commands.map((command) => ({
          words: command.words,
          verdict: said(command.verdict),
          why: command.why,
          read_only: command.readOnly,
          effects: command.effects ?? [],
        })),
        uncertain: judged.uncertain,
        ...ruleFacts(machine),
        dangers: judged.dangers.map((name) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)),
        answer: verdict.kind === "ask" ? (verdict.answer ?? null) : null,
        lockouts: judged.lockouts.map(({ kind, program, file }) => ({
          kind,
          program,
          ...(file === undefined ? {} : { file }),
        })),
        conditions: judged.conditions,
      };
    },
    words: (answer) => inWords(answer as ShellAnswer),
    exitCode: (answer) => ENDS_WITH[(answer as ShellAnswer).verdict],
  };
}

const ENDS_WITH = { allow: EXIT.ok, ask: EXIT.approval, block: EXIT.blocked } as const;

interface ShellQuestion {
  readonly command: string;
  readonly shell?: string;
  readonly cwd?: string;
}

/** `value`: a command, or `{command, shell, cwd}`. */
function readQuestion(value: unknown): ShellQuestion {
  if (typeof value === "string") return { command: value };
  if (typeof value !== "object" || value === null || !("command" in value) || typeof value.command !== "string")
    throw new BuddyError("usage", 'give a command as a JSON string or as {"command": "…", "shell": "…", "cwd": "…"}');
  const { shell, cwd } = value as { shell?: unknown; cwd?: unknown };
  if ((shell !== undefined && typeof shell !== "string") || (cwd !== undefined && typeof cwd !== "string"))
    throw new BuddyError("usage", '"shell" and "cwd" must be strings');
  return {
    command: value.command,
    ...defined({ shell, cwd }),
  };
}

/** From a name or a path. */
function shellName(given: string | undefined): string | undefined {
  const name = given?.slice(given.lastIndexOf("/") + 1);
  if (name !== undefined && !/^[\w.+-]+$/.test(name))
    throw new BuddyError("usage", "--shell takes the name of a shell", { hint: "For example: --shell dash" });
  return name;
}

function said(kind: Verdict["kind"]): "allow" | "ask" | "block" {
  return kind === "deny" ? "block" : kind;
}

function inWords(answer: ShellAnswer): string {
  const lines = [`${answer.verdict}: ${answer.why}`];
  if (answer.instead !== null) lines.push(`instead: ${answer.instead}`);
  for (const command of answer.commands) {
    lines.push(`  ${command.verdict.padEnd(5)}  ${shorten(collapseSpaces(command.words.join(" ")), 200)}`);
    for (const [does, effects] of Map.groupBy(command.effects, (effect) => effect.does))
      lines.push(`         ${DOES[does]} ${shorten(collapseSpaces(effects.map(({ what }) => what).join(", ")), 200)}`);
  }
  for (const why of answer.uncertain) lines.push(`  unknown: ${why}`);
  if (answer.dangers.length > 0) lines.push(`danger: ${answer.dangers.join(", ")} ([safety])`);
  if (answer.answer !== null) lines.push(ANSWER_WORDS[answer.answer]);
  lines.push(
    `risk ${answer.risk}, ${answer.mutation ? "may change something" : "changes nothing"}${answer.privesc ? ", with other privileges" : ""}`,
  );
  return printable(lines.join("\n"));
}

const DOES: Readonly<Record<NamedEffect["does"], string>> = {
  removes: "removes",
  empties: "overwrites",
  writes: "writes to",
  replaces: "replaces",
  links: "links",
  mode: "changes mode, owner or times of",
  directory: "makes or removes the directory",
  fills: "changes files in",
  reaches: "reaches",
};

const ANSWER_WORDS = {
  "in-person": "only a person approves this: --approve all, a duration and always do not cover it",
  typed: "only a person approves this, by typing the name of the machine",
} as const;

// Whether the conditions of a verdict hold on this machine, each looked up once.

class LocalConditions {
  readonly #doubts = new Map<string, string | undefined>();

  /** Why one of them does not hold in this directory; undefined: all do. */
  doubt(conditions: readonly Condition[], cwd: string): string | undefined {
    for (const condition of conditions) {
      const key = JSON.stringify([cwd, condition]);
      if (!this.#doubts.has(key)) this.#doubts.set(key, doubtAbout(condition, cwd));
      const doubt = this.#doubts.get(key);
      if (doubt !== undefined) return doubt;
    }
    return undefined;
  }
}

function doubtAbout(condition: Condition, cwd: string): string | undefined {
  const script = `cd -- "$1" 2>/dev/null || { echo none; echo end; exit; }\n${gitRepositoryScript(condition)}`;
  const { stdout } = askProgram(["sh", "-c", script, "sh", cwd], { timeoutMs: 10_000 });
  return readGitRepository(stdout).doubt;
}
