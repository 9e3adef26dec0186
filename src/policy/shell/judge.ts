/** Judges a shell command. Import it lazily: it loads the bash parser. */
import { words as wordList } from "../../lib/text.ts";
import { type Effect, effectsOf } from "../effects/effects.ts";
import { namesBuddy } from "../files/secret-files.ts";
import { listsSecrets, takesApart } from "../privacy/output-kind.ts";
import type { Condition, JudgedCommand, NamedEffect, ShellJudgement, ShellRules, Verdict } from "../verdict.ts";
import { allowedBy, allowedForDevelopers, deniedBy, outsideProject, textDeniedBy } from "./allow-deny-lists.ts";
import { type Danger, FORK_BOMB } from "./dangers/danger.ts";
import { dataDanger, overwrittenStore } from "./dangers/data.ts";
import { diskDanger, writeDanger } from "./dangers/disk.ts";
import { gitDanger } from "./dangers/git.ts";
import { asDanger, type Lockout, lockouts, lockoutWrites } from "./dangers/lockout.ts";
import { otherReadings } from "./dangers/other-shells.ts";
import { startingAt } from "./dangers/protected-paths.ts";
import { rmDanger } from "./dangers/rm.ts";
import { mayBe, pathsOf, redirected } from "../effects/file-changes.ts";
import type { Preset } from "./read-only/operator.ts";
import { conditionsOf, unproven } from "./read-only/prove.ts";
import { escalates, isHighRisk, onlyReads, touchesSystem, whatItDoes } from "./risk.ts";
import { secretInput, secretPassedOn, secretRead } from "./secret-reads.ts";
import { isBash, outsideCommonGrammar } from "./syntax/parse.ts";
import { field, HOME, isGlob, isUnknown, programName, readable, shown } from "./syntax/field.ts";
import type { FoundCommand, Walked } from "./syntax/findings.ts";
import { walkText } from "./syntax/walk.ts";

/** What is known about the machine and the shell a text would run on. */
export interface ShellContext {
  /** The shell that runs unasked commands: `bash` by default. Any other name means a machine without bash. */
  readonly shell?: string;
  /** The operator's shell, in which everything else runs: what a list allows must mean the same in it. */
  readonly pane?: string;
  /** The directory of the shell, absolute, if known. */
  readonly cwd?: string;
  /** The home directory, to recognise it when it is written out. */
  readonly home?: string;
  /** The value of `$USER`. */
  readonly user?: string;
}

export function judgeShell(command: string, rules: ShellRules, context: ShellContext = {}): ShellJudgement {
  const walked = walkText(command, context);
  const uncertain = [...walked.uncertain];
  if (namesBuddy(command)) note(uncertain, "it touches buddy's own variables or marks");
  const cwd = startOf(context);
  const judged = walked.commands.map((found) => judgeCommand(found, rules, uncertain, cwd));
  const commands = judged.map((item) => item.command);
  const plain = walked.effects.length === 0 && walked.writes.length === 0 && uncertain.length === 0;
  const readOnly = plain && commands.every((item) => item.readOnly);
  const isBlocked = ({ check }: Danger) => rules.safety[check] === "block";
  const elsewhere = judged.some((item) => item.dangers.some(isBlocked))
    ? undefined
    : dangerElsewhere(walked, context, cwd);
  const own = readOnly || isBash(context.pane) ? undefined : outsideCommonGrammar(command);
  const locking = [...judged.flatMap((item) => item.locking), ...lockoutWrites(walked.writes, cwd)];
  const dangers = [
    ...judged.flatMap((item) => item.dangers),
    ...[
      writeDanger(walked.writes),
      overwrittenStore(walked.writes, cwd),
      walked.forkBomb ? FORK_BOMB : undefined,
      elsewhere,
    ].filter(isFound),
    ...locking.map(asDanger),
  ];
  const isHigh =
    dangers.length > 0 ||
    walked.commands.some((found) => isHighRisk(found, cwd)) ||
    walked.writes.some((write) => touchesSystem(redirected(write), cwd));
  const changes =
    dangers.length > 0 ||
    walked.writes.length > 0 ||
    walked.commands.some(
      (found, at) => found.writes.length > 0 || (commands[at]?.readOnly === false && whatItDoes(found) !== undefined),
    );
  const verdict = overall(command, walked, judged, { uncertain, rules, readOnly, cwd, dangers, own });
  return {
    verdict,
    readOnly,
    risk: readOnly ? "low" : isHigh ? "high" : "medium",
    mutation:
      !readOnly &&
      !(plain && walked.commands.every((found, index) => commands[index]?.readOnly === true || onlyReads(found))),
    unsure: !changes && !isHigh,
    privesc: walked.commands.some(escalates),
    commands,
    uncertain,
    dangers: [...new Set(dangers.map(({ check }) => check))],
    lockouts: locking,
    outlives: walked.unwaited || walked.commands.some(detaches),
    conditions: conditions(walked.commands, judged),
  };
}

/** The conditions of all commands that are proven read-only, each once. */
function conditions(found: readonly FoundCommand[], judged: readonly Judged[]): Condition[] {
  const all = found.flatMap((command, index) =>
    judged[index]?.command.readOnly === true ? conditionsOf(command) : [],
  );
  const key = (one: Condition) => `${one.directory}\0${one.entered === true}`;
  // What git needs in a directory includes what the shell needs there.
  const read = new Set(all.flatMap((one) => (one.stays === true ? [] : one.directory)));
  const needed = all.filter((one) => one.stays !== true || !read.has(one.directory));
  return [...new Map(needed.map((one) => [key(one), one])).values()];
}

/** It starts something and does not wait for it. */
function detaches({ argv, unwaited }: FoundCommand): boolean {
  return unwaited || DETACHING.has(programName(argv[0]?.value ?? ""));
}

const DETACHING = new Set(
  wordList("at batch crontab daemon daemonize disown screen setsid start-stop-daemon systemd-run tmux"),
);

const isFound = (danger: Danger | undefined): danger is Danger => danger !== undefined;

interface Judged {
  readonly command: JudgedCommand;
  readonly dangers: readonly Danger[];
  readonly locking: readonly Lockout[];
  readonly denied: string | undefined;
}

function wordsOf({ argv }: FoundCommand): string[] {
  return argv.filter((word) => word.source !== "" || word.value === "").map(shown);
}

/** Every command that a text would run, without a verdict. */
export function commandsIn(text: string): Pick<JudgedCommand, "words" | "effects">[] {
  return walkText(text, {}).commands.map((found) => ({
    words: wordsOf(found),
    effects: effectsOf(found).flatMap(named),
  }));
}

function named(effect: Effect): NamedEffect[] {
  const { does } = effect;
  if (does === "reaches") return [{ does, what: effect.machine }];
  return pathsOf(effect).map((path) => ({ does, what: readable(path) }));
}

/** Where the shell is, with the home directory as the walk writes it. */
function startOf({ cwd, home }: ShellContext): string | undefined {
  if (cwd === undefined || !cwd.startsWith("/")) return undefined;
  return home !== undefined && home !== "/" && `${cwd}/`.startsWith(`${home}/`) ? HOME + cwd.slice(home.length) : cwd;
}

function judgeCommand(found: FoundCommand, rules: ShellRules, uncertain: string[], cwd: string | undefined): Judged {
  const words = wordsOf(found);
  const effects = effectsOf(found).flatMap(named);
  const locking = lockouts(found, cwd);
  const dangers = dangersOf(found, cwd, locking);
  const denied = deniedBy(found, rules.denylist);
  const done = (kind: Verdict["kind"], why: string, readOnly = false): Judged => ({
    command: { words, effects, verdict: kind, why, readOnly },
    dangers,
    locking,
    denied: denied?.certain === true ? denied.entry : undefined,
  });
  const blocked = dangers.find(({ check }) => rules.safety[check] === "block");
  if (blocked !== undefined) return done("deny", blocked.why);
  if (denied?.certain === true) return done("deny", `your configuration denies “${denied.entry}”`);
  const own = unproven(found);
  const preset = own === undefined ? undefined : presetOf(rules);
  const why = preset === undefined ? own : unproven(found, preset);
  if (why !== undefined && found.argv.some((word) => isUnknown(word.value)))
    note(uncertain, `what ${words[0] ?? ""} gets is only known when it runs`);
  const asked = dangers.find(({ check }) => rules.safety[check] !== "off");
  if (asked !== undefined) return done("ask", asked.why);
  if (denied !== undefined) {
    note(uncertain, `it may be “${denied.entry}”, which your configuration denies`);
    return done("ask", `it may be “${denied.entry}”, which your configuration denies`);
  }
  const secret = why === undefined ? secretRead(found, cwd) : undefined;
  if (secret !== undefined && allowedBy(found, rules.allow) === undefined) return done("ask", secret, true);
  if (why === undefined && preset !== undefined) {
    const judged = done("allow", "an operator's read", true);
    return { ...judged, command: { ...judged.command, preset: preset.name } };
  }
  if (why === undefined)
    return done(
      rules.autoApprove === "none" ? "ask" : "allow",
      rules.autoApprove === "none" ? "read-only, but shell_auto_approve is none" : "read-only",
      true,
    );
  const entry = allowedBy(found, rules.allow);
  if (entry !== undefined) return done("allow", `shell_allow contains “${entry}”`);
  if (rules.autoApprove === "developer" && allowedForDevelopers(found)) {
    const other = secretRead(found, cwd) ?? outsideProject(found, cwd);
    return other === undefined ? done("allow", "an everyday developer command") : done("ask", other);
  }
  // If the preset has rows for the program, its reason is the better one.
  return done("ask", why === own ? (whatItDoes(found) ?? why) : why);
}

function presetOf({ autoApprove, hosts = [] }: ShellRules): Preset | undefined {
  return autoApprove === "operator" ? { name: "operator", hosts } : undefined;
}

function note(list: string[], why: string): void {
  if (list.length < 20 && !list.includes(why)) list.push(why);
}

function dangersOf(
  found: FoundCommand,
  cwd: string | undefined,
  [locking]: readonly Lockout[] = lockouts(found, cwd),
): readonly Danger[] {
  const directories = startingAt(found.directories, cwd);
  const first =
    possible(found.argv)
      .map((argv) => gitDanger(argv, directories) ?? rmDanger(argv, directories) ?? diskDanger(argv, directories))
      .find(isFound) ?? writeDanger(found.writes);
  return [first, dataDanger(found, cwd), locking && asDanger(locking)].filter(isFound);
}

/** With each program that a pattern (`/bin/r?`) may match. */
function possible(argv: FoundCommand["argv"]): readonly FoundCommand["argv"][] {
  const [program, ...rest] = argv;
  const name = programName(program?.value ?? "");
  return isGlob(name) ? DESTRUCTIVE.filter((one) => mayBe(name, one)).map((one) => [field(one), ...rest]) : [argv];
}
const DESTRUCTIVE = wordList("rm git dd find chmod chown mv tee cp shred wipefs mkfs rsync");

/** A danger that fish, zsh or a plain POSIX shell would find in the text although bash does not. */
function dangerElsewhere(known: Walked, context: ShellContext, cwd: string | undefined): Danger | undefined {
  const key = ({ argv }: FoundCommand) => argv.map((word) => word.value).join("\0");
  let judged: Set<string> | undefined;
  let work = 0;
  for (const reading of known.texts.flatMap((text) => otherReadings(text)).slice(0, MOST_READINGS)) {
    // Nested texts are found again in every reading of the outer ones.
    if (work > MOST_WORK) break;
    const walked = walkText(reading, context);
    work += walked.work;
    if (walked.forkBomb) return FORK_BOMB;
    for (const found of walked.commands) {
      // What bash also runs was already judged, with the directory it runs in.
      judged ??= new Set(known.commands.map(key));
      const [danger] = judged.has(key(found)) ? [] : dangersOf(found, cwd);
      if (danger !== undefined) return danger;
    }
  }
  return undefined;
}

const MOST_READINGS = 48;
const MOST_WORK = 3_500;

function overall(
  text: string,
  walked: Walked,
  judged: readonly Judged[],
  {
    uncertain,
    rules,
    readOnly,
    cwd,
    dangers,
    own,
  }: {
    uncertain: readonly string[];
    rules: ShellRules;
    readOnly: boolean;
    cwd: string | undefined;
    dangers: readonly Danger[];
    /** Why the operator's shell may read it differently. */
    own: string | undefined;
  },
): Verdict {
  const blocked = dangers.find((danger) => rules.safety[danger.check] === "block");
  if (blocked !== undefined)
    return { kind: "deny", why: blocked.why, instead: blocked.instead, brief: briefly(blocked) };
  const denied = judged.find((item) => item.denied !== undefined)?.denied;
  const raw = textDeniedBy(text, rules.denylist);
  if (denied !== undefined || raw?.broken === false)
    return {
      kind: "deny",
      why: `permission denied: your configuration denies “${denied ?? raw?.entry}”`,
      brief: `your configuration denies “${denied ?? raw?.entry}”`,
      instead: "Do it another way, or let the operator do it by hand.",
    };
  if (raw !== undefined) return { kind: "ask", why: `the deny entry “${raw.entry}” is not a valid regular expression` };
  const asking = dangers.filter((danger) => rules.safety[danger.check] !== "off");
  const [asked] = asking;
  if (asked !== undefined) {
    const inPerson = asking.some(({ check }) => check === "lockout" || check === "data");
    return { kind: "ask", why: briefly(asked), ...(inPerson ? { answer: "in-person" as const } : {}) };
  }
  if (uncertain.length > 0) return { kind: "ask", why: `cannot be analysed: ${uncertain[0]}` };
  const write = walked.writes[0];
  if (write !== undefined) return { kind: "ask", why: `it writes to ${readable(write.file)}` };
  // The command inside a wrapper gives a better reason than the wrapper.
  const open = judged.filter((item) => item.command.verdict !== "allow");
  const inner = open.find((item) => walked.commands[judged.indexOf(item)]?.wrapped === undefined) ?? open[0];
  if (inner !== undefined) return { kind: "ask", why: inner.command.why };
  const effect = walked.effects[0];
  if (effect !== undefined) return { kind: "ask", why: effect };
  const variable = readOnly ? walked.secretVariable : undefined;
  if (variable !== undefined) return { kind: "ask", why: `$${variable} is a secret the model would see` };
  if (readOnly && passesVariablesOn(text, walked, judged))
    return { kind: "ask", why: "it builds text from variables that may be secret" };
  const secret = secretInput(walked, cwd) ?? secretPassedOn(walked, cwd);
  if (secret !== undefined) return { kind: "ask", why: secret };
  if (own !== undefined) return { kind: "ask", why: own };
  if (judged.length === 0 && rules.autoApprove === "none") return { kind: "ask", why: "shell_auto_approve is none" };
  return {
    kind: "allow",
    why: readOnly ? "read-only" : (judged.find((item) => !item.command.readOnly)?.command.why ?? "read-only"),
  };
}

/** Listed variables become words of another command, where their values cannot be told from other text. */
function passesVariablesOn(text: string, walked: Walked, judged: readonly Judged[]): boolean {
  const commands = judged.map(({ command }, at) => ({ ...command, grouped: walked.commands[at]?.grouped === true }));
  if (takesApart(commands)) return true;
  if (!judged.some(({ command }) => listsSecrets(command.words))) return false;
  return (
    /\$\(|`|<\(/.test(text) ||
    judged.some(({ command }) => /^(?:xargs|read|mapfile|readarray)$/.test(programName(command.words[0] ?? "")))
  );
}

/** A danger in words for people, without what is meant for the model. */
function briefly({ why, brief }: Danger): string {
  return brief ?? why.replace(/^permission denied: /, "");
}
