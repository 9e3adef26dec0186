/**
 * A pane as data: `step(pane, event)` says what the pane is afterwards and what is to be done. No I/O, no timers, no
 * promises: time comes with each event, and `wakeAt` says when the next one is due. The same machine for a pane that
 * buddy made, for shells adopted in it (a stack of shells) and for a pane of the operator's own tmux (`owner`).
 */
import { shownName } from "../../lib/byte-names.ts";
import { OWN_SCRIPT } from "../tmux/typed-line.ts";
import { addToLine, textOf } from "./line.ts";
import { profileOf, type ShellName, type ShellProfile } from "./profiles.ts";
import {
  ANSWERS,
  type Command,
  type Effect,
  type Ended,
  type Event,
  type Heard,
  type Link,
  type Mark,
  type Outcome,
  type Pane,
  type Phase,
  type Screen,
  type Seen,
  type Shell,
  type Stage,
  type Waiter,
  type Wanted,
} from "./words.ts";

export type * from "./words.ts";

// --- How long ---------------------------------------------------------------------------------------------------

export const MS = {
  drawn: 1000,
  drawnUnmarked: 60,
  untaken: 700,
  free: 1500,
  pause: 1000,
  typing: 15_000,
  press: 400,
  quiet: 300,
  quietMost: 1200,
  again: 100,
  fullScreen: 1000,
  unstarted: 1500,
  untakenLook: 1200,
  unanswered: 10_000,
  interrupt: 350,
  read: 3000,
  answer: 5000,
  leave: 700,
} as const;
const MAX = {
  presses: 10,
  replies: 2,
  attempts: 3,
  rounds: 12,
  prompts: 20,
  marks: 1000,
  before: 64 * 1024,
  prompt: 4096,
  line: 400,
  screens: 3,
  notes: 50,
  entered: 50,
  last: 20,
} as const;
const NEVER = Number.POSITIVE_INFINITY;
const INTERRUPTED = 130;
const UNDELIVERED = "the connection was lost before the command was delivered";
const UNTAKEN = "the shell in the pane did not accept the command";
/** Nothing else ends the shell, and its message goes to the terminal. */
const EXITS = /^(?!.*(?:\b(?:exec|kill)\b|2>|&>)).*\bexit\b/s;
/** Device attributes, position of the cursor, colours: the terminal replies as if someone typed. */
// oxlint-disable-next-line no-control-regex
const QUERY = /\x1b\[[0-?]*[cn]|\x1b\]1[0-2];\?/;
/** What follows a line that was entered. */
// oxlint-disable-next-line no-control-regex
const ENTERED = /\r?\n|\x1b\[\?1049h/;
/** Such a reply in a line, of which the editor may have removed parts. */
const REPLY = /^(?=.*\d[cRnty])[\d;?>=cRntyGP^[\]\\\s]+$/;

// --- The machine ------------------------------------------------------------------------------------------------

export interface Step {
  readonly pane: Pane;
  readonly effects: readonly Effect[];
}

/** What a transition works on: the fields of the next pane may be replaced, never what they hold. */
type Next = { -readonly [Field in keyof Pane]: Pane[Field] } & { readonly at: number; readonly effects: Effect[] };

export function newPane(
  owner: Pane["owner"],
  width: number,
  first?: { readonly key: string; readonly name: ShellName; readonly cwd: string },
): Pane {
  const shells =
    first === undefined ? [] : [newShell(first.key, profileOf(first.name, "files"), first.cwd, { kind: "starting" })];
  return {
    owner,
    width,
    link: { kind: "up", generation: 1 },
    shells,
    command: undefined,
    queue: [],
    last: [],
    unproven: undefined,
    notes: [],
    look: undefined,
    password: undefined,
    count: 0,
  };
}

function newShell(key: string, profile: ShellProfile, cwd: string, phase: Phase): Shell {
  return {
    key,
    profile,
    phase,
    cwd,
    promptId: 0,
    aside: "",
    givenBack: "",
    drawnMs: MS.drawn,
    hasReplies: false,
    wasSkipped: false,
    suspended: undefined,
    model: { entered: [], line: "" },
  };
}

export function step(before: Pane, event: Event): Step {
  const next: Next = { ...before, at: event.at, effects: [] };
  handle(next, event);
  passTime(next);
  sendNext(next);
  const { at: _, effects, ...pane } = next;
  return { pane, effects };
}

function handle(next: Next, event: Event): void {
  switch (event.kind) {
    case "text":
      return isHeard(next, event.generation) ? onText(next, event.text) : undefined;
    case "mark":
      return isHeard(next, event.generation) ? onMark(next, event.key, event.mark) : undefined;
    case "screen-switched":
      if (isHeard(next, event.generation) && next.command?.stage.kind === "started")
        change(next, { fullScreenSince: event.alternate ? next.at : undefined });
      return;
    case "dropped":
      if (next.link.kind !== "gone")
        next.link = { kind: "down", generation: generationOf(next.link), marks: marksOf(next.link) };
      next.look = undefined;
      return dropPassword(next);
    case "attached":
      return openGap(next, event.generation, "Output was missed while the connection was down");
    case "paused":
      next.effects.push({ kind: "continue-output" });
      return openGap(next, generationOf(next.link), "tmux dropped output that came faster than it could be read");
    case "screen":
      return onScreen(next, event.round, event.screen);
    case "refused":
      if (isSent(next, event.tag)) again(next, event.why);
      return;
    case "claimed":
      return onClaimed(next, event.tag, event.by);
    case "resized":
      next.width = event.width;
      return;
    case "gone":
      if (next.link.kind === "gone") return;
      next.link = { kind: "gone", why: event.why };
      next.look = undefined;
      endInside(next, next.shells[0]);
      return finish(next, { kind: "lost", why: event.why });
    case "made":
      return remade(next, event.round, event.key, event.generation);
    case "seen":
      return onSeen(next, event.id, event.seen);
    case "run":
      next.queue = [...next.queue, { ...event.wanted, since: next.at, wasDelayed: false, wasWoken: false }];
      return;
    case "wait":
      return onWait(next, event.id, event.tag, event.deadline);
    case "cancel":
      return onCancel(next, event.tag);
    case "keys":
      if (next.command !== undefined) change(next, { sentAt: next.at });
      return setShell(next, top(next), (shell) => ({
        model: { entered: [...shell.model.entered, ...event.entered].slice(-MAX.entered), line: event.line },
      }));
    case "password":
      return onPassword(next, event.request, event.given);
    case "adopt":
      return adopt(next, event.key);
    case "leave":
      return onLeave(next);
    case "time":
      return;
  }
}

// --- The stream -------------------------------------------------------------------------------------------------

function onText(next: Next, text: string): void {
  const { command } = next;
  if (next.link.kind === "gap") return command && change(next, { lastActivity: next.at });
  if (command !== undefined) commandText(next, command, text);
  const shell = inFront(next);
  const phase = shell?.phase;
  if (shell === undefined || phase === undefined) return;
  if (phase.kind === "drawing") setPhase(next, shell, { ...phase, prompt: (phase.prompt + text).slice(-MAX.prompt) });
  else if (phase.kind === "continuation") setPhase(next, shell, { kind: "continuation", typedAt: next.at });
  else if (phase.kind === "ready") {
    // A prompt that a theme draws again begins with a carriage return.
    const isTyping = shell.profile.redraws || !text.includes("\r");
    const entered = shell.profile.starts === "line" && ENTERED.test(text);
    // A shell without a mark for the start of a line runs something from here on.
    const typed = entered ? text.slice(0, text.search(ENTERED)) : text;
    const line = addToLine(phase.line, typed, next.at, isTyping);
    setPhase(next, shell, entered ? { kind: "running", line: textOf(line, next.width) } : { kind: "ready", line });
  }
}

function commandText(next: Next, command: Command, text: string): void {
  const { stage } = command;
  if (stage.kind === "sent") return;
  const lastLine = (text.includes("\n") ? text.slice(text.lastIndexOf("\n") + 1) : command.lastLine + text).slice(
    -MAX.line,
  );
  change(next, { lastActivity: next.at, lastLine, asked: command.asked || QUERY.test(text) });
  if (stage.code !== undefined) return;
  if (stage.kind === "taken") change(next, { stage: { ...stage, before: (stage.before + text).slice(0, MAX.before) } });
  else if (stage.hidden === 0) record(next, command, text);
}

/** Holds back what the shell prints when the command ends it, until something else follows. */
function record(next: Next, command: Command, text: string): void {
  const farewell = EXITS.test(command.text)
    ? (next.shells.find(({ key }) => key === command.shell)?.profile.farewell ?? "")
    : "";
  const all = command.held + text;
  const line = farewell.slice(0, farewell.indexOf("\n") + 1);
  const starts = line === "" ? [] : [all.lastIndexOf(line), all.lastIndexOf(line.slice(0, 1))];
  const start = starts.find((at) => at >= 0 && farewell.startsWith(all.slice(at))) ?? all.length;
  change(next, { held: all.slice(start) });
  if (start > 0) next.effects.push({ kind: "record", tag: command.tag, text: all.slice(0, start) });
}

function onMark(next: Next, key: string, mark: Mark): void {
  if (next.link.kind === "gap") {
    next.link = { ...next.link, marks: [...next.link.marks, { key, mark }].slice(-MAX.marks) };
    return;
  }
  const shell = next.shells.find((one) => one.key === key);
  if (shell === undefined) return;
  if (shell !== top(next)) {
    if (!isBack(shell, mark)) return;
    endInside(next, shell);
  }
  const { command } = next;
  const ours = command !== undefined && "tag" in mark && mark.tag === command.delivered;
  const { phase, profile } = shell;
  switch (mark.kind) {
    case "prompt":
      // Not the end of the command: printed by a program that read the key.
      if (command?.stage.kind === "started" && !ours) return;
      // The editor of mksh and busybox draws the same prompt again: nothing has run since.
      if (!ours && phase.kind === "ready" && mark.id !== 0 && mark.id === shell.promptId)
        return setPhase(next, shell, { kind: "drawing", prompt: "", until: next.at + MS.drawn });
      return promptBegins(next, shell, mark, ours);
    case "drawn":
      if (phase.kind === "breaking") return;
      setShell(next, shell, () => ({ drawnMs: MS.drawn }));
      if (command?.stage.kind === "started" && command.shell === key)
        return promptInside(next, shell, command, command.stage);
      return promptDrawn(next, shell, mark.cwd);
    case "taken":
      return onTaken(next, shell, mark.tag, mark.aside, ours);
    case "started":
      if (!ours && mark.tag !== 0) return lateTake(next, shell, mark.tag);
      setPhase(next, shell, { kind: "running", line: ours ? undefined : (mark.line ?? lineOf(next, shell)) });
      if (!ours) return;
      begun(next, command.stage);
      return change(next, {
        stage: { kind: "started", hidden: mark.hidden + Number(command.showsText), code: undefined, prompts: 0 },
        lastActivity: next.at,
      });
    case "output-begins":
      if (ours && command.stage.kind === "started")
        change(next, { stage: { ...command.stage, hidden: Math.max(0, command.stage.hidden - 1) } });
      return;
    case "ended":
      // What follows is output of the shell, not of the command.
      if (ours && command.stage.kind !== "sent")
        change(next, { stage: { ...command.stage, code: command.stage.code ?? mark.code } });
      return;
    case "incomplete":
      if (command?.stage.kind === "taken" && command.shell === key) return abandon(next, shell);
      if (phase.kind !== "running") setPhase(next, shell, { kind: "continuation", typedAt: next.at });
      return;
    case "shell-ended":
      return shellEnded(next, shell, mark.code, mark.cwd);
    case "start-up-skipped":
      if (shell.wasSkipped) return;
      setShell(next, shell, () => ({ wasSkipped: true }));
      return tell(
        next,
        "warning",
        `${profile.name} ended before its first prompt (exit code ${mark.code}): the pane runs without its start-up files.`,
      );
    case "gave-up":
      setPhase(next, shell, { kind: "stuck" });
      return finish(next, { kind: "lost", why: `${profile.name} does not start in the pane` });
    case "shell-kind":
      if (phase.kind !== "adopting") return;
      setShell(next, shell, () => ({
        profile: profileOf(mark.name, "typed"),
        phase: { kind: "adopting", stage: "typed-hooks", until: next.at + MS.answer },
      }));
      return void next.effects.push({ kind: "type", shell: key, what: "hooks", name: mark.name });
    case "reads-unseen":
      if (phase.kind === "adopting") {
        setPhase(next, shell, { ...phase, stage: "typed-key" });
        next.effects.push({ kind: "type", shell: key, what: "key" });
      } else if (command?.stage.kind === "sent" && command.stage.unseen)
        next.effects.push({ kind: "type-unseen", tag: command.tag });
      return;
  }
}

function promptBegins(next: Next, shell: Shell, mark: Mark & { readonly kind: "prompt" }, ours: boolean): void {
  const { phase, profile } = shell;
  const takes = mark.typed === true ? { ...profile, takes: "line" as const } : profileOf(profile.name, profile.hooks);
  // At a prompt where nothing ran no directory can have changed: another program printed that.
  const isQuiet = phase.kind === "ready" && profile.starts === "hook";
  const adopted = profile.hooks === "typed";
  setShell(next, shell, () => ({
    profile: takes,
    promptId: mark.id || shell.promptId,
    cwd: adopted ? mark.cwd : isQuiet ? shell.cwd : mark.cwd || shell.cwd,
    phase: { kind: "drawing", prompt: "", until: next.at + shell.drawnMs },
  }));
  const { command } = next;
  if (ours && command !== undefined)
    finish(next, {
      kind: "exited",
      code: (command.stage.kind === "sent" ? undefined : command.stage.code) ?? mark.code,
    });
  else operatorRan(next, shell, mark.code);
}

/** The prompt is there and keys are read: what was set aside goes back; a command that was not taken is sent again. */
function promptDrawn(next: Next, shell: Shell, cwd: string | undefined): void {
  const { phase } = shell;
  if (phase.kind === "leaving") return removed(next, shell);
  const prompt = phase.kind === "drawing" ? phase.prompt : "";
  const isFirst = phase.kind === "adopting";
  // Two prompts in two directories with no line between them: one of the marks is not from the shell.
  const disputed = phase.kind === "ready" && cwd !== undefined && cwd !== shell.cwd;
  setShell(next, shell, (now) => ({
    cwd: disputed ? "" : (cwd ?? now.cwd),
    phase: { kind: "ready", line: { prompt, drawn: "", typedAt: 0 } },
  }));
  if (isFirst) next.effects.push({ kind: "adopted", key: shell.key });
  const { command } = next;
  if (command?.stage.kind === "sent") {
    change(next, {
      stage: {
        ...command.stage,
        prompted: command.stage.atPrompt ? undefined : (command.stage.prompted ?? next.at),
        atPrompt: false,
      },
    });
    return command.stage.atPrompt ? deliver(next, true) : undefined;
  }
  if (command === undefined && shell.hasReplies) {
    setShell(next, shell, () => ({ hasReplies: false }));
    return breakLine(next, shell, MAX.replies);
  }
  if (shell.aside === "" || command !== undefined) return;
  next.effects.push({ kind: "give-back", line: shell.aside, by: shell.profile.aside === "shell" ? "key" : "typing" });
  setShell(next, shell, () => ({ aside: "", givenBack: shell.aside.trim() }));
}

/** A prompt in the middle of a command: it removed the hooks, or just printed something like it. */
function promptInside(next: Next, shell: Shell, command: Command, stage: Stage & { readonly kind: "started" }): void {
  // An adopted shell marks each prompt: this one has no end, so it was Ctrl-C or a syntax error.
  if (shell.profile.hooks === "typed") {
    finish(next, { kind: "exited", code: INTERRUPTED });
    return promptDrawn(next, shell, undefined);
  }
  if (stage.prompts >= MAX.prompts)
    return finish(next, { kind: "lost", why: "the shell shows a prompt, but no longer reports how commands end" });
  change(next, { stage: { ...stage, prompts: stage.prompts + 1 } });
  next.effects.push({
    kind: "deliver",
    id: command.tag,
    shell: shell.key,
    tag: command.delivered,
    text: "",
    shown: undefined,
    by: "key",
    restoreFiles: false,
  });
}

function onTaken(next: Next, shell: Shell, tag: number, aside: string, ours: boolean): void {
  const { command } = next;
  if (ours && command?.stage.kind === "sent") {
    if (command.stage.gaveUpLines && aside === "")
      note(next, "The operator had started to type a command of several lines; it was discarded.");
    begun(next, command.stage);
    change(next, { stage: { kind: "taken", before: "", code: undefined }, lastActivity: next.at });
    return setAside(next, shell, aside);
  }
  if (tag !== 0) return ours ? undefined : lateTake(next, shell, tag);
  if (command?.stage.kind === "sent" && command.stage.attempt === 0) {
    return change(next, { stage: { ...command.stage, attempt: 1, gaveUpLines: true, atPrompt: true } });
  }
  if (shell.phase.kind === "breaking") setPhase(next, shell, atLine);
}

/** A shell took what nobody counts on any more: the pane is not free, and someone has to know. */
function lateTake(next: Next, shell: Shell, tag: number): void {
  setPhase(next, shell, { kind: "running", line: undefined });
  if (next.command !== undefined) return;
  follow(next, shell, tag);
  next.effects.push({ kind: "follow", tag });
  tell(next, "warning", "A command that was given up runs in the pane now.");
}

function shellEnded(next: Next, shell: Shell, code: number, cwd: string): void {
  if (!shell.profile.restarts) return promptDrawn(next, shell, undefined);
  endInside(next, shell);
  setShell(next, shell, () => ({
    phase: { kind: "starting" },
    cwd: cwd || shell.cwd,
    aside: "",
    givenBack: "",
    wasSkipped: false,
  }));
  const text = `The shell in the pane ended (exit code ${code}); a new one was started in ${shownName(cwd || shell.cwd)}: variables, functions and aliases are lost.`;
  if (next.command === undefined) return tell(next, "lost-state", text);
  note(next, text);
  // A command that was not taken runs in the new shell.
  if (next.command.stage.kind !== "sent") finish(next, { kind: "shell-ended", code });
}

/** Whether this mark of an outer shell can only come when those inside it have ended. */
function isBack({ suspended }: Shell, mark: Mark): boolean {
  if (mark.kind === "prompt" || mark.kind === "ended")
    return suspended === undefined ? mark.kind === "prompt" : mark.tag === suspended.delivered;
  return mark.kind === "shell-ended" || mark.kind === "gave-up" || (mark.kind === "drawn" && suspended === undefined);
}

/** Shells inside this one are over, and with them what runs or waits there. */
function endInside(next: Next, outer: Shell | undefined): void {
  for (let inner = top(next); inner !== undefined && inner.key !== outer?.key; inner = top(next)) {
    if (inner.phase.kind === "adopting") next.effects.push({ kind: "not-adopted", key: inner.key, why: "it ended" });
    else next.effects.push({ kind: "left", key: inner.key });
    pop(next);
    // A program in the inner shell may have read the key and printed that.
    next.unproven = next.at;
  }
}

function adopt(next: Next, key: string): void {
  const refused = next.shells.some((shell) => shell.key === key)
    ? "this shell is adopted already"
    : next.shells.some(({ phase }) => phase.kind === "adopting")
      ? "another shell is just being adopted"
      : undefined;
  if (refused !== undefined) return void next.effects.push({ kind: "not-adopted", key, why: refused });
  // What holds the inner shell goes on without anyone who waits.
  letGo(next, { kind: "running", why: "no-wait" });
  setShell(next, top(next), () => ({ suspended: next.command }));
  next.command = undefined;
  next.shells = [
    ...next.shells,
    newShell(key, profileOf("posix", "typed"), "", {
      kind: "adopting",
      stage: "asked-kind",
      until: next.at + MS.answer,
    }),
  ];
  next.effects.push({ kind: "type", shell: key, what: "ask-kind" });
}

/** The shell around the innermost one is in front again, with its own command. */
function pop(next: Next): void {
  finish(next, { kind: "lost", why: "the adopted shell ended before the command" });
  next.shells = next.shells.slice(0, -1);
  next.command = top(next)?.suspended;
  setShell(next, top(next), () => ({ suspended: undefined }));
}

/** The prompt is back and no command of buddy ended: who entered the line? */
function operatorRan(next: Next, shell: Shell, code: number): void {
  const { phase, model } = shell;
  if (phase.kind === "breaking" || phase.kind === "starting" || phase.kind === "drawing") return;
  // A shell that marks each start has run nothing where there was none.
  const atPrompt = shell.profile.starts === "hook" ? "" : lineOf(next, shell);
  const line = (phase.kind === "running" ? (phase.line ?? "") : atPrompt).trim();
  const exact = model.entered.indexOf(line);
  // "" where the keys had an effect that only the screen shows.
  const known = exact >= 0 ? exact : model.entered.indexOf("");
  setShell(next, shell, () => ({ model: { entered: known < 0 ? [] : model.entered.slice(known + 1), line: "" } }));
  if (line === "" || REPLY.test(line) || OWN_SCRIPT.test(line)) return;
  if (known >= 0) return remember(next, `${JSON.stringify(line)}, typed with send-keys, ended with exit code ${code}.`);
  const text = `The operator ran ${JSON.stringify(line)} in the pane (exit code ${code}).`;
  remember(next, text);
  next.effects.push({ kind: "notice", level: "operator", text });
}

// --- The connection ---------------------------------------------------------------------------------------------

function isHeard(next: Next, generation: number): boolean {
  return (next.link.kind === "up" || next.link.kind === "gap") && next.link.generation === generation;
}

const generationOf = (link: Link) => (link.kind === "gone" ? 0 : link.generation);
const marksOf = (link: Link) => (link.kind === "gap" || link.kind === "down" ? link.marks : []);

function openGap(next: Next, generation: number, why: string): void {
  // A generation that was left is never heard again: a second client changes nothing.
  if (next.link.kind === "gone" || generation < generationOf(next.link)) return;
  dropPassword(next);
  readScreen(next, { generation, why, marks: marksOf(next.link) }, 1);
}

function readScreen(
  next: Next,
  gap: Pick<Link & { kind: "gap" }, "generation" | "why" | "marks">,
  asked: number,
): void {
  const round = (next.count += 1);
  next.link = { ...gap, kind: "gap", round, asked, until: next.at + ANSWERS["read-screen"].ms };
  next.effects.push({ kind: "read-screen", round });
}

/** Nobody knows the screen: what was heard in the gap has to do. */
const NO_SCREEN: Screen = { mark: undefined, cwd: "", ended: () => undefined };

function onScreen(next: Next, round: number, screen: Screen): void {
  const { link, command } = next;
  // Another gap began meanwhile.
  if (link.kind !== "gap" || link.round !== round) return;
  next.link = { kind: "up", generation: link.generation };
  const outer = next.shells[0];
  if (outer === undefined) return;
  // tmux remembers marks of the pane's own shell: hooks that were typed tell it nothing.
  const remembered = outer.profile.hooks === "files" ? screen.mark : undefined;
  const own = link.marks.filter(({ key }) => key === outer.key).map(({ mark }) => mark);
  const isNew = remembered !== undefined && isNews(remembered, own, outer.suspended ?? command);
  const marks: readonly Heard[] = isNew ? [...link.marks, { key: outer.key, mark: remembered }] : link.marks;
  const isOurs = ({ key, mark }: Heard) =>
    command !== undefined &&
    key === command.shell &&
    "tag" in mark &&
    mark.tag === command.delivered &&
    mark.kind !== "taken";
  if (command !== undefined && command.stage.kind !== "started" && marks.some(isOurs)) {
    begun(next, command.stage);
    change(next, { stage: { kind: "started", hidden: 0, code: undefined, prompts: 0 } });
  }
  if (next.command?.stage.kind === "started") {
    next.effects.push({ kind: "fill-gap", tag: next.command.tag, screen, why: link.why });
    change(next, { stage: { ...next.command.stage, hidden: 0 }, lastActivity: next.at });
    note(next, `${link.why}; it was read back from the pane.`);
    const isReported = marks.some(
      (one) => one.mark.kind === "shell-ended" || (one.mark.kind === "prompt" && isOurs(one)),
    );
    if (next.command.shell === outer.key && !isReported) endedUnheard(next, screen, remembered);
  } else if (next.command === undefined && remembered?.kind === "started" && remembered.tag !== 0) {
    follow(next, outer, remembered.tag);
    next.effects.push({ kind: "follow", tag: remembered.tag, screen });
    next.effects.push({ kind: "notice", level: "info", text: "An earlier command still runs in the pane." });
  }
  for (const { key, mark } of marks) onMark(next, key, mark);
  const last = marks.at(-1);
  if (last?.mark.kind === "prompt") onMark(next, last.key, { kind: "drawn" });
  // An inner shell may have ended unheard, or another one may be in front of it.
  if (next.shells.length > 1) next.unproven = next.at;
  // Whether it arrived is unknown: it must never run now.
  if (next.command?.stage.kind === "sent") {
    change(next, { stage: { ...next.command.stage, withdrawn: undefined } });
    withdraw(next);
  }
}

/** The command ended during the gap and others ran since: no mark shows its end, the visible prompts may. */
function endedUnheard(next: Next, screen: Screen, remembered: Mark | undefined): void {
  const { command } = next;
  if (command === undefined) return;
  const code = screen.ended(command.promptId);
  const another =
    (remembered?.kind === "prompt" || remembered?.kind === "started") && remembered.tag !== command.delivered;
  if (code !== undefined && (another || remembered === undefined)) finish(next, { kind: "exited", code });
  else if (another)
    finish(next, { kind: "lost", why: "it ended while the connection was down, and its exit code is unknown" });
}

function isNews(mark: Mark, heard: readonly Mark[], command: Command | undefined): boolean {
  if (mark.kind === "prompt")
    return !heard.some((one) => one.kind === "prompt" && one.id === mark.id && one.tag === mark.tag);
  if (mark.kind === "started") return !heard.some((one) => one.kind === "started" && one.tag === mark.tag);
  if (mark.kind === "shell-ended")
    return command?.stage.kind === "started" && !heard.some((one) => one.kind === "shell-ended");
  return mark.kind === "gave-up" && !heard.some((one) => one.kind === "gave-up");
}

/** It runs, and nobody waits for it: an earlier buddy started it, or it was given up. */
function follow(next: Next, shell: Shell, tag: number): void {
  const wanted: Wanted = {
    tag,
    spareTag: 0,
    text: "",
    shell: shell.key,
    deadline: NEVER,
    since: next.at,
    patience: 0,
    wasDelayed: false,
    wasWoken: false,
  };
  next.command = {
    ...commandOf(next, wanted, shell, "key"),
    stage: { kind: "started", hidden: 0, code: undefined, prompts: 0 },
    waiters: [],
  };
}

function remade(next: Next, round: number, key: string, generation: number): void {
  const { link } = next;
  const first = next.shells[0];
  if (first === undefined || link.kind !== "gone" || link.making?.round !== round)
    return void next.effects.push({ kind: "close-pane", key });
  next.link = { kind: "up", generation };
  next.unproven = undefined;
  next.shells = [newShell(key, profileOf(first.profile.name, "files"), first.cwd, { kind: "starting" })];
  // Commands that wait go into the new shell; what was approved for an inner one does not.
  next.queue = next.queue.map((one) => (one.shell === first.key ? { ...one, shell: key, since: next.at } : one));
  tell(
    next,
    "lost-state",
    "The pane was gone and has been recreated: its directory, variables and running programs are lost.",
  );
}

// --- Sending ----------------------------------------------------------------------------------------------------

/** Sends the first command that waits, as soon as the shell can take it, or reports why it cannot. */
function sendNext(next: Next): void {
  const [wanted, ...rest] = next.queue;
  if (wanted === undefined || (next.command !== undefined && !isOld(next, next.command, wanted))) return;
  const drop = (outcome: Outcome, ...notes: string[]) => {
    next.queue = rest;
    next.effects.push({ kind: "ended", id: wanted.tag, ended: { tag: wanted.tag, outcome, notes } });
    sendNext(next);
  };
  const { link } = next;
  if (next.at >= wanted.deadline) return drop({ kind: "stopped", by: "deadline" }, "It had not started.");
  if (link.kind === "gone") {
    if (next.owner === "operator") return drop({ kind: "lost", why: `${link.why}; it did not run`, notRun: true });
    if (link.making !== undefined) return;
    const round = (next.count += 1);
    next.link = { ...link, making: { round, until: next.at + ANSWERS["make-pane"].ms } };
    return void next.effects.push({ kind: "make-pane", round });
  }
  if (link.kind !== "up") return;
  const shell = top(next);
  if (shell === undefined || shell.key !== wanted.shell) {
    const isInside = next.shells.some(({ key }) => key === wanted.shell);
    const why = isInside ? "another shell was adopted in the pane" : "the adopted shell has ended";
    return drop({ kind: "lost", why: `${why}; it did not run`, notRun: true });
  }
  const { phase, profile } = shell;
  if (phase.kind === "stuck")
    return drop({
      kind: "lost",
      why: `${profile.name} does not start in the pane; the command did not run`,
      notRun: true,
    });
  const isAtLine = phase.kind === "ready" || phase.kind === "continuation";
  if (isAtLine && next.command === undefined) {
    if (next.unproven !== undefined) {
      if (next.look === undefined && next.at >= next.unproven) look(next, "prove");
      return;
    }
    if (next.at < quietAt(next, shell) && next.at < wanted.since + wanted.patience) {
      if (!wanted.wasDelayed) next.effects.push({ kind: "delayed", tag: wanted.tag });
      next.queue = [{ ...wanted, wasDelayed: true }, ...rest];
      return;
    }
    if (wanted.onlyIn !== undefined && wanted.onlyIn !== shell.cwd)
      return drop({
        kind: "lost",
        why: `the shell is now in ${shell.cwd}; the command was approved for ${wanted.onlyIn}. It did not run`,
        notRun: true,
      });
    if (phase.kind === "continuation" && profile.unfinished === "interrupt") {
      note(next, "The operator had started to type a command of several lines; it was discarded.");
      return breakLine(next, shell);
    }
    next.queue = rest;
    return send(next, wanted, shell);
  }
  if (phase.kind === "starting" || phase.kind === "adopting" || phase.kind === "drawing" || phase.kind === "breaking")
    return;
  // Something is in the foreground: it has a moment to end, then a look decides what to report.
  if (next.look === undefined && next.at >= wanted.since + MS.free) look(next, "free");
}

/**
 * A command that is being watched is waited for; one that was let go has the foreground, and the next one is
 * told so.
 */
function isOld(next: Next, command: Command, wanted: Wanted): boolean {
  return command.waiters.length === 0 && next.at >= Math.max(command.sentAt, wanted.since) + MS.free;
}

function send(next: Next, wanted: Wanted, shell: Shell): void {
  const by = shell.profile.takes;
  next.command = commandOf(next, wanted, shell, by);
  next.notes = [];
  // The shell reports what was in its line when it takes the command; where a line is typed, the screen shows it.
  if (by === "line") setAside(next, shell, lineOf(next, shell));
  if (by === "line" && shell.phase.kind === "ready") setPhase(next, shell, { kind: "running", line: undefined });
  deliver(next, false);
}

function commandOf(next: Next, wanted: Wanted, shell: Shell, by: "key" | "line"): Command {
  const unseen = shell.profile.hooks === "typed" && (wanted.shown !== undefined || wanted.text.length > 1000);
  return {
    ...wanted,
    delivered: wanted.tag,
    stage: {
      kind: "sent",
      by,
      attempt: 0,
      woken: 0,
      resumed: false,
      prompted: undefined,
      gaveUpLines: false,
      unseen,
      atPrompt: false,
      withdrawn: undefined,
    },
    sentAt: next.at,
    showsText: false,
    promptId: shell.promptId,
    lastActivity: next.at,
    lastLine: "",
    held: "",
    fullScreenSince: undefined,
    asked: false,
    notes: next.notes,
    watch: { pause: MS.quiet, lookedAt: 0, before: undefined, reported: undefined },
    waiters: [{ id: wanted.tag, deadline: wanted.deadline }],
    stopping: undefined,
  };
}

function deliver(next: Next, restoreFiles: boolean): void {
  const { command } = next;
  if (command?.stage.kind !== "sent" || command.stage.withdrawn !== undefined) return;
  const { tag: id, delivered: tag, text, shown, shell, stage } = command;
  change(next, { showsText: stage.by === "key" && (shown !== undefined || top(next)?.profile.isLine(text) === false) });
  next.effects.push({ kind: "deliver", id, shell, tag, text, shown, by: stage.by, restoreFiles });
}

/** It was not taken: once more with the files made anew, then as a typed line, then never. It runs at most once. */
function again(next: Next, why = UNTAKEN): void {
  const { command } = next;
  if (command?.stage.kind !== "sent" || command.stage.withdrawn !== undefined) return;
  const attempt = command.stage.attempt + 1;
  change(next, { stage: { ...command.stage, attempt, prompted: undefined } });
  // Before it is delivered in another way, or given up, it is claimed: a key that arrives late must run nothing.
  if (attempt === 1) deliver(next, true);
  else withdraw(next, why, attempt < MAX.attempts ? "type" : "end");
}

/** Keeps what the operator had typed; what the model typed, or what came back from buddy before, is not theirs. */
function setAside(next: Next, shell: Shell, line: string): void {
  const isTheirs =
    line.trim() !== "" &&
    shell.model.line !== undefined &&
    line.trim() !== shell.model.line.trim() &&
    !REPLY.test(line);
  if (!isTheirs) return setShell(next, shell, () => ({ aside: "" }));
  if (shell.profile.aside === "discard") {
    note(next, `The operator had typed ${JSON.stringify(line)} without running it; it was discarded.`);
    return void next.effects.push({
      kind: "notice",
      level: "info",
      text: `Your half-typed line was discarded: ${line}`,
    });
  }
  setShell(next, shell, () => ({ aside: line }));
  if (line.trim() !== shell.givenBack)
    note(next, `The operator had typed ${JSON.stringify(line)} without running it; it was set aside and restored.`);
}

// --- Watching ---------------------------------------------------------------------------------------------------

function look(next: Next, why: NonNullable<Pane["look"]>["why"]): void {
  const id = (next.count += 1);
  next.look = { id, why, until: next.at + ANSWERS.look.ms };
  next.effects.push({ kind: "look", id, prompting: (next.command?.lastLine.trim() ?? "") !== "" });
}

function onSeen(next: Next, id: number, seen: Seen | undefined): void {
  const asked = next.look;
  if (asked === undefined || asked.id !== id) return;
  next.look = undefined;
  const { command } = next;
  if (asked.why === "free") return seenBusy(next, seen);
  if (asked.why === "prove") return seenProof(next, seen);
  if (asked.why === "password") return seenPrompt(next, seen);
  if (command === undefined) return;
  if (command.stage.kind === "sent") return seenUntaken(next, command, command.stage, seen);
  const { watch } = command;
  const waiting = seen && waitsFor(command, watch.before, seen);
  const isNew = watch.before?.doing !== seen?.doing;
  const isDoubtful = isNew && (seen?.doing === "line" || seen?.doing === "raw");
  change(next, {
    watch: {
      ...watch,
      lookedAt: next.at,
      before: seen,
      pause: isDoubtful ? MS.again : Math.min(Math.max(watch.pause, MS.quiet) * 1.5, MS.quietMost),
    },
  });
  if (waiting === undefined) {
    if (seen !== undefined) dropPassword(next);
    if (seen?.doing === "working") change(next, { watch: { ...next.command!.watch, reported: undefined } });
    return;
  }
  if (waiting.for !== "password") {
    next.effects.push({ kind: "waiting", tag: command.tag, outcome: waiting });
    return letGo(next, waiting);
  }
  askPassword(next, command, waiting.program);
  if (watch.reported !== waiting.program) next.effects.push({ kind: "waiting", tag: command.tag, outcome: waiting });
  change(next, { watch: { ...next.command!.watch, reported: waiting.program, pause: MS.quietMost } });
}

/** What a silent program waits for. A REPL is one only twice in a row without CPU time in between. */
function waitsFor(
  command: Command,
  before: Seen | undefined,
  seen: Seen,
): (Outcome & { readonly kind: "waiting" }) | undefined {
  const { program } = seen;
  const waiting = (what: "password" | "line" | "repl" | "full-screen") =>
    ({ kind: "waiting", for: what, program }) as const;
  if (command.fullScreenSince !== undefined) return waiting("full-screen");
  if (seen.doing === "working") return undefined;
  if (seen.doing === "password" || (seen.doing === "raw" && /passw(?:ord|ort)|passphrase/i.test(command.lastLine)))
    return waiting("password");
  if (seen.doing === "line")
    return seen.shellItself && before?.doing !== "line"
      ? undefined
      : waiting(
          /^(?:python|node|psql|mysql|(?:ba|z|fi|da|a|mk|k)?sh$)/.test(program) && !seen.shellItself ? "repl" : "line",
        );
  return before?.doing === "raw" && before.program === program && before.cpu === seen.cpu ? waiting("repl") : undefined;
}

/** The shell reads keys but has not taken the command: a search, half a key, Ctrl-S, or no editor at all. */
function seenUntaken(
  next: Next,
  command: Command,
  stage: Stage & { readonly kind: "sent" },
  seen: Seen | undefined,
): void {
  change(next, { watch: { ...command.watch, lookedAt: next.at } });
  const silence = next.at - command.lastActivity;
  const isIdle = seen !== undefined && seen.shellItself && seen.doing !== "working";
  if (silence <= MS.untakenLook || seen?.shellItself !== true) return;
  if (seen.stoppable && !stage.resumed) {
    change(next, { stage: { ...stage, resumed: true } });
    return void next.effects.push({ kind: "press", key: "resume-output" });
  }
  if (!isIdle) return;
  if (stage.woken < 3) {
    change(next, { stage: { ...stage, woken: stage.woken + 1, by: seen.doing === "line" ? "line" : stage.by } });
    if (stage.woken === 2) next.effects.push({ kind: "press", key: "interrupt" });
    else {
      if (stage.woken === 1) next.effects.push({ kind: "press", key: "end-search" });
      deliver(next, seen.doing === "line");
    }
  } else if (silence > MS.unanswered) withdraw(next, "the shell in the pane does not report what happens to commands");
}

/** Whether the shell that commands are for is the one that reads. */
function seenProof(next: Next, seen: Seen | undefined): void {
  const shell = top(next);
  const isOwn = shell?.profile.hooks === "files";
  const isThere =
    seen !== undefined && seen.doing !== "working" && (next.owner === "operator" || seen.shellItself === isOwn);
  next.unproven = isThere ? undefined : next.at + MS.free;
  if (!isThere && seen !== undefined) seenBusy(next, { ...seen, shellItself: false });
}

function seenBusy(next: Next, seen: Seen | undefined): void {
  const [wanted, ...rest] = next.queue;
  const shell = top(next);
  if (wanted === undefined || shell === undefined) return;
  if (shell.phase.kind === "ready" && next.command === undefined && next.unproven === undefined) return;
  const isAtPrompt = seen?.shellItself === true && seen.doing !== "working" && next.command === undefined;
  if (seen === undefined || (isAtPrompt && !wanted.wasWoken)) {
    next.queue = [{ ...wanted, since: next.at, wasWoken: isAtPrompt }, ...rest];
    if (isAtPrompt) breakLine(next, shell);
    return;
  }
  const doing =
    next.command?.fullScreenSince !== undefined ? "full-screen" : seen.doing === "raw" ? "repl" : seen.doing;
  const outcome: Outcome =
    doing === "working"
      ? { kind: "running", why: "busy" }
      : { kind: "waiting", for: doing, program: seen.program, earlier: true };
  next.queue = rest;
  next.effects.push({
    kind: "ended",
    id: wanted.tag,
    ended: {
      tag: wanted.tag,
      outcome,
      notes: [`Nothing was typed: ${seen.program} is still in the foreground of this pane.`],
    },
  });
}

function askPassword(next: Next, command: Command, program: string): void {
  const activity = command.lastActivity;
  const known = next.password;
  if (known?.activity === activity && (known.kind !== "settled" || next.at < known.until)) return;
  dropPassword(next);
  const request = (next.count += 1);
  next.password = { kind: "asking", request, program, activity };
  next.effects.push({ kind: "ask-password", request, program, prompt: command.lastLine.trim() });
}

/** Typed only into the prompt for which it was asked, which a look at that moment must show. No bytes come here. */
function onPassword(next: Next, request: number, given: boolean): void {
  const { password, command } = next;
  if (password?.kind !== "asking" || password.request !== request) return;
  if (!given) return void (next.password = { kind: "settled", activity: password.activity, until: NEVER });
  if (next.link.kind !== "up" || command === undefined || command.stopping !== undefined) return notTyped(next);
  next.password = { ...password, kind: "given" };
  look(next, "password");
}

function seenPrompt(next: Next, seen: Seen | undefined): void {
  const { password, command } = next;
  if (password?.kind !== "given") return;
  const isSame =
    command?.lastActivity === password.activity &&
    command.stopping === undefined &&
    seen?.silent === true &&
    seen.program === password.program;
  if (!isSame) return notTyped(next);
  next.password = { kind: "settled", activity: password.activity, until: next.at + MS.read };
  next.effects.push({ kind: "type-password", request: password.request });
}

function notTyped(next: Next): void {
  dropPassword(next);
  next.effects.push({
    kind: "notice",
    level: "warning",
    text: "The password was not typed: its prompt is no longer there.",
  });
}

function dropPassword(next: Next): void {
  const { password } = next;
  if (password === undefined || password.kind === "settled") return;
  next.effects.push({ kind: "drop-password", request: password.request });
  next.password = undefined;
}

// --- Ending -----------------------------------------------------------------------------------------------------

function finish(next: Next, outcome: Outcome): void {
  const { command } = next;
  if (command === undefined) return;
  dropPassword(next);
  next.password = undefined;
  next.look = next.look?.why === "watch" ? undefined : next.look;
  if (command.held !== "" && outcome.kind !== "shell-ended")
    next.effects.push({ kind: "record", tag: command.tag, text: command.held });
  // It never started: what the shell printed after the line is its error message.
  const { stage } = command;
  if (stage.kind === "taken" && stage.before.includes("\n"))
    next.effects.push({ kind: "record", tag: command.tag, text: stage.before.slice(stage.before.indexOf("\n") + 1) });
  const isStopped = command.stopping !== undefined && outcome.kind === "exited";
  const ended: Ended = {
    tag: command.tag,
    outcome: isStopped ? { kind: "stopped", by: "user" } : outcome,
    notes: command.notes,
  };
  next.command = undefined;
  if (command.asked) setShell(next, top(next), () => ({ hasReplies: true }));
  tellWaiters(next, command, ended);
  if (command.waiters.length === 0) next.last = [...next.last, ended].slice(-MAX.last);
}

function tellWaiters(next: Next, { waiters }: Command, ended: Ended): void {
  for (const { id } of waiters) next.effects.push({ kind: "ended", id, ended });
}

/** Reports where the command stands; it goes on without those who waited, or those whose time is over. */
function letGo(next: Next, outcome: Outcome, isOver: (waiter: Waiter) => boolean = () => true): void {
  const { command } = next;
  const waiters = command?.waiters.filter(isOver) ?? [];
  if (command === undefined || waiters.length === 0) return;
  tellWaiters(next, { ...command, waiters }, { tag: command.tag, outcome, notes: command.notes });
  change(next, { waiters: command.waiters.filter((waiter) => !isOver(waiter)), notes: [] });
}

/** One answer for each request: now, if the command has ended or is not known. */
function onWait(next: Next, id: number, tag: number, deadline: number): void {
  const { command } = next;
  if (command?.tag === tag) return change(next, { waiters: [...command.waiters, { id, deadline }] });
  const known = next.last.findLast((one) => one.tag === tag);
  const why = next.queue.some((one) => one.tag === tag)
    ? "it has not started yet"
    : "no such command has been run here";
  const ended: Ended = known ?? { tag, outcome: { kind: "lost", why, notRun: true }, notes: [] };
  next.effects.push({ kind: "ended", id, ended });
}

function onCancel(next: Next, tag: number): void {
  const queued = next.queue.find((one) => one.tag === tag);
  if (queued !== undefined) {
    next.queue = next.queue.filter((one) => one !== queued);
    return void next.effects.push({
      kind: "ended",
      id: tag,
      ended: { tag, outcome: { kind: "stopped", by: "user" }, notes: ["It had not started."] },
    });
  }
  if (next.command?.tag !== tag || next.command.stopping !== undefined) return;
  dropPassword(next);
  change(next, { stopping: { round: 0, next: next.at } });
  if (next.command.stage.kind === "sent") withdraw(next);
}

/** Asks who has claimed the delivery. Until that is known, nothing is said of it and nothing else is delivered. */
function withdraw(next: Next, why = UNDELIVERED, then: "end" | "type" = "end"): void {
  const { command } = next;
  if (command?.stage.kind !== "sent" || command.stage.withdrawn !== undefined) return;
  const until = next.at + ANSWERS.withdraw.ms;
  change(next, { stage: { ...command.stage, withdrawn: { until, why, next: then } } });
  next.effects.push({ kind: "withdraw", tag: command.delivered });
}

function onClaimed(next: Next, tag: number, by: "buddy" | "shell"): void {
  const { command } = next;
  if (command?.stage.kind !== "sent" || command.delivered !== tag || command.stage.withdrawn === undefined) return;
  const { withdrawn } = command.stage;
  if (by === "shell") {
    begun(next, command.stage);
    return change(next, { stage: { kind: "taken", before: "", code: undefined }, lastActivity: next.at });
  }
  if (withdrawn.next === "type" && command.stopping === undefined && next.at < deadlineOf(command)) {
    change(next, { delivered: command.spareTag, stage: { ...command.stage, by: "line", withdrawn: undefined } });
    return deliver(next, true);
  }
  if (command.stopping !== undefined) finish(next, { kind: "stopped", by: "user" });
  else if (next.at >= deadlineOf(command)) finish(next, { kind: "stopped", by: "deadline" });
  else finish(next, { kind: "lost", why: `${withdrawn.why}; it did not run`, notRun: true });
}

/** Nobody says who has claimed it: then nobody knows whether it ran. */
function unclaimed(next: Next, why: string): void {
  note(next, "The target does not answer: the command may have run.");
  finish(next, { kind: "lost", why });
}

const deadlineOf = ({ waiters }: Command) => Math.min(NEVER, ...waiters.map(({ deadline }) => deadline));

/** The shell took a line and waits for its rest. */
function abandon(next: Next, shell: Shell): void {
  finish(next, { kind: "incomplete" });
  if (shell.profile.incomplete === "before") setPhase(next, shell, atLine);
  else breakLine(next, shell);
}

function breakLine(next: Next, shell: Shell, most: number = MAX.presses): void {
  setPhase(next, shell, { kind: "breaking", presses: 1, most, again: next.at + MS.press });
  next.effects.push({ kind: "press", key: shell.profile.abandon === "key" ? "empty" : "interrupt" });
}

function onLeave(next: Next): void {
  const shell = top(next);
  if (shell === undefined || shell.profile.hooks !== "typed" || shell.phase.kind !== "ready") return;
  setPhase(next, shell, { kind: "leaving", line: lineOf(next, shell), until: next.at + MS.leave });
  next.effects.push({ kind: "type", shell: shell.key, what: "take-out" });
}

function removed(next: Next, shell: Shell): void {
  if (shell.phase.kind === "leaving" && shell.phase.line !== "" && !REPLY.test(shell.phase.line))
    next.effects.push({ kind: "give-back", line: shell.phase.line, by: "typing" });
  pop(next);
  next.effects.push({ kind: "left", key: shell.key });
}

// --- Time -------------------------------------------------------------------------------------------------------

/** Everything that is due by now. `wakeAt` names the same moments. */
function passTime(next: Next): void {
  for (const shell of next.shells) {
    const { phase } = shell;
    if (phase.kind === "drawing" && next.at >= phase.until) {
      setShell(next, shell, () => ({ drawnMs: MS.drawnUnmarked }));
      promptDrawn(next, shell, undefined);
    } else if (phase.kind === "adopting" && next.at >= phase.until) notAdopted(next, shell);
    else if (phase.kind === "leaving" && next.at >= phase.until) removed(next, shell);
    else if (phase.kind === "breaking" && next.at >= phase.again) {
      // It ignores Ctrl-C: it is still at its line.
      if (phase.presses >= phase.most) setPhase(next, shell, atLine);
      else {
        setPhase(next, shell, { ...phase, presses: phase.presses + 1, again: next.at + MS.press });
        next.effects.push({ kind: "press", key: "interrupt" });
      }
    }
  }
  unanswered(next);
  const { command } = next;
  if (command === undefined || next.link.kind === "gone") return;
  const { stage, stopping } = command;
  if (next.link.kind === "down") return whileDown(next, command);
  if (stage.kind === "sent" && stage.withdrawn !== undefined) {
    if (next.at >= stage.withdrawn.until) unclaimed(next, stage.withdrawn.why);
    return;
  }
  if (stopping !== undefined && stage.kind !== "sent") return stop(next, stopping);
  if (stage.kind === "sent" && stage.unseen && next.at >= command.sentAt + MS.answer) {
    next.effects.push({ kind: "press", key: "interrupt" });
    return withdraw(next, "the shell could not read the command without showing it");
  }
  if (stage.kind === "sent" && stage.prompted !== undefined && next.at >= stage.prompted + MS.untaken)
    return again(next, undefined);
  if (stage.kind === "taken" && next.at >= command.lastActivity + MS.unstarted) {
    const shell = next.shells.find((one) => one.key === command.shell);
    return shell && abandon(next, shell);
  }
  if (command.waiters.length === 0) return;
  if (command.noWait === true && stage.kind !== "sent") return letGo(next, { kind: "running", why: "no-wait" });
  if (next.at >= deadlineOf(command)) {
    if (stage.kind === "sent") return withdraw(next);
    const { reported } = command.watch;
    const outcome: Outcome =
      reported === undefined
        ? { kind: "running", why: "deadline" }
        : { kind: "waiting", for: "password", program: reported };
    return letGo(next, outcome, ({ deadline }) => next.at >= deadline);
  }
  if (next.look === undefined && next.link.kind === "up" && next.at >= nextLook(command)) look(next, "watch");
}

/** What was asked and not answered in time (`ANSWERS`): the pane goes on without. */
function unanswered(next: Next): void {
  const { look: asked, link } = next;
  if (asked !== undefined && next.at >= asked.until) onSeen(next, asked.id, undefined);
  if (link.kind === "gap" && next.at >= link.until) {
    if (link.asked < MAX.screens) readScreen(next, link, link.asked + 1);
    else onScreen(next, link.round, NO_SCREEN);
  }
  if (link.kind === "gone" && link.making !== undefined && next.at >= link.making.until) {
    next.link = { kind: "gone", why: link.why };
    const outcome: Outcome = {
      kind: "lost",
      why: `${link.why}, and no other could be made; it did not run`,
      notRun: true,
    };
    for (const { tag } of next.queue) next.effects.push({ kind: "ended", id: tag, ended: { tag, outcome, notes: [] } });
    next.queue = [];
  }
}

/** A reconnect may take long: a deadline and Ctrl-C count meanwhile. */
function whileDown(next: Next, command: Command): void {
  if (command.stopping !== undefined) unreachable(next);
  else if (next.at >= deadlineOf(command))
    letGo(next, { kind: "running", why: "deadline" }, ({ deadline }) => next.at >= deadline);
}

function unreachable(next: Next): void {
  note(next, "The target does not answer: the program may still run there.");
  letGo(next, { kind: "stopped", by: "user" });
}

/** Ctrl-C, TERM, KILL, Ctrl-C, KILL, … until the prompt is back. */
function stop(next: Next, { round, next: due }: { readonly round: number; readonly next: number }): void {
  if (next.at < due) return;
  if (round >= MAX.rounds) {
    note(next, "The program could not be ended; it may still run in the pane.");
    return letGo(next, { kind: "stopped", by: "user" });
  }
  next.effects.push(
    round === 0 || round === 3
      ? { kind: "press", key: "interrupt" }
      : { kind: "signal", name: round === 1 ? "TERM" : "KILL" },
  );
  change(next, { stopping: { round: round + 1, next: next.at + (round === 0 ? MS.interrupt : MS.interrupt / 2) } });
}

/** When a silent program is looked at next; a full-screen one also while it draws. */
function nextLook({ fullScreenSince, lastActivity, watch }: Command): number {
  const quiet = Math.max(lastActivity, watch.lookedAt) + watch.pause;
  return fullScreenSince === undefined
    ? quiet
    : Math.min(quiet, Math.max(fullScreenSince + MS.fullScreen, watch.lookedAt + MS.quiet));
}

/** When the operator has paused in a half-typed line; at once where there is none, or only what buddy gave back. */
function quietAt(next: Next, { phase, givenBack, model }: Shell): number {
  if (phase.kind === "continuation") return phase.typedAt + MS.pause;
  if (phase.kind !== "ready") return 0;
  const line = textOf(phase.line, next.width);
  const isTheirs = line !== "" && line !== givenBack && line !== model.line?.trim() && !REPLY.test(line);
  return isTheirs ? phase.line.typedAt + MS.pause : 0;
}

/** The next moment after `at` in which something is due; what was due before has been dealt with. */
export function wakeAt(pane: Pane, at: number): number | undefined {
  const due: number[] = [];
  for (const { phase } of pane.shells) {
    if (phase.kind === "drawing" || phase.kind === "adopting" || phase.kind === "leaving") due.push(phase.until);
    else if (phase.kind === "breaking") due.push(phase.again);
  }
  const { command, link } = pane;
  if (command !== undefined && link.kind !== "gone") {
    const { stage, stopping } = command;
    if (stage.kind === "sent" && stage.withdrawn !== undefined) due.push(stage.withdrawn.until);
    else if (stopping !== undefined) due.push(stopping.next);
    else {
      if (stage.kind === "sent" && stage.unseen) due.push(command.sentAt + MS.answer);
      if (stage.kind === "sent" && stage.prompted !== undefined) due.push(stage.prompted + MS.untaken);
      if (stage.kind === "taken") due.push(command.lastActivity + MS.unstarted);
      if (command.waiters.length > 0)
        due.push(deadlineOf(command), ...(pane.look === undefined ? [nextLook(command)] : []));
    }
  }
  if (pane.look !== undefined) due.push(pane.look.until);
  if (link.kind === "gap") due.push(link.until);
  if (link.kind === "gone" && link.making !== undefined) due.push(link.making.until);
  const [wanted] = pane.queue;
  if (wanted !== undefined) {
    if (pane.unproven !== undefined) due.push(pane.unproven);
    const shell = pane.shells.at(-1);
    const quiet = shell === undefined ? 0 : quietAt({ ...pane, at: 0, effects: [] }, shell);
    due.push(wanted.deadline, wanted.since + MS.free, wanted.since + wanted.patience, quiet);
  }
  const first = Math.min(...due.filter((moment) => moment > at));
  return Number.isFinite(first) ? first : undefined;
}

// --- Small parts ------------------------------------------------------------------------------------------------

const atLine: Phase = { kind: "ready", line: { prompt: "", drawn: "", typedAt: 0 } };
const top = (next: Pick<Pane, "shells">) => next.shells.at(-1);
/** The shell whose line or prompt the text belongs to: the innermost one that is not waiting for another. */
const inFront = (next: Pick<Pane, "shells">) => next.shells.findLast(({ phase }) => phase.kind !== "running");
const isSent = (next: Next, tag: number) => next.command?.delivered === tag && next.command.stage.kind === "sent";

function lineOf(next: Next, { phase, profile }: Shell): string {
  if (phase.kind !== "ready") return "";
  return profile.hooks === "files" || phase.line.drawn !== "" ? textOf(phase.line, next.width) : "";
}

function change(next: Next, fields: Partial<Command>): void {
  if (next.command !== undefined) next.command = { ...next.command, ...fields };
}

function setShell(next: Next, which: Shell | undefined, fields: (shell: Shell) => Partial<Shell>): void {
  next.shells = next.shells.map((shell) => (shell.key === which?.key ? { ...shell, ...fields(shell) } : shell));
}

function setPhase(next: Next, shell: Shell, phase: Phase): void {
  setShell(next, shell, () => ({ phase }));
}

function begun(next: Next, stage: Stage): void {
  if (stage.kind === "sent" && next.command !== undefined) next.effects.push({ kind: "begun", tag: next.command.tag });
}

/** To the command that runs, or to the next one. */
function remember(next: Next, text: string): void {
  note(next, text);
}

function note(next: Next, text: string): void {
  if (next.command === undefined) next.notes = [...next.notes, text].slice(-MAX.notes);
  else if (!next.command.notes.includes(text)) change(next, { notes: [...next.command.notes, text].slice(-MAX.notes) });
}

function tell(next: Next, level: "warning" | "lost-state", text: string): void {
  next.notes = [...next.notes, text].slice(-MAX.notes);
  next.effects.push({ kind: "notice", level, text });
}

function notAdopted(next: Next, shell: Shell): void {
  pop(next);
  next.effects.push(
    { kind: "press", key: "interrupt" },
    { kind: "not-adopted", key: shell.key, why: "the program in the pane does not respond like a shell at its prompt" },
  );
}
