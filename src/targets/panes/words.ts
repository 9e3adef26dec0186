/**
 * The words of a pane: what the stream says (marks), what a pane is (state), what happens (events), what is done
 * (effects). Moments come from a clock that stands still while the machine sleeps.
 */
import type { Line } from "./line.ts";
import type { ShellName, ShellProfile } from "./profiles.ts";

// --- What comes out of the stream -------------------------------------------------------------------------------

/** Written by the hooks of a shell, with its key. The scanner hides them from everyone else. */
export type Mark =
  /** A prompt is about to be drawn. `tag`: the command that ended with `code`; 0: not one of buddy's. */
  | {
      readonly kind: "prompt";
      readonly id: number;
      readonly code: number;
      readonly tag: number;
      readonly cwd: string;
      readonly typed?: boolean;
    }
  | { readonly kind: "drawn"; readonly cwd?: string }
  /**
   * The line editor took the command with this tag; `aside`: what was in the line. Tag 0: there was nothing to
   * take.
   */
  | { readonly kind: "taken"; readonly tag: number; readonly aside: string }
  /**
   * `hidden`: so many marks of the shell's own greeting (PS0) come before output begins. `line`: what the operator
   * entered, if the shell says it.
   */
  | { readonly kind: "started"; readonly tag: number; readonly hidden: number; readonly line?: string }
  | { readonly kind: "output-begins"; readonly tag: number }
  | { readonly kind: "ended"; readonly tag: number; readonly code: number }
  | { readonly kind: "incomplete" }
  | { readonly kind: "shell-ended"; readonly code: number; readonly cwd: string }
  | { readonly kind: "start-up-skipped"; readonly code: number }
  | { readonly kind: "gave-up"; readonly code: number }
  | { readonly kind: "shell-kind"; readonly name: ShellName }
  /** An adopted shell reads the rest without showing it. */
  | { readonly kind: "reads-unseen" };

// --- State ------------------------------------------------------------------------------------------------------

export interface Pane {
  readonly owner: "buddy" | "operator";
  readonly width: number;
  readonly link: Link;
  /** Outermost first. Commands go into the last one. Empty: a pane of the operator in which nothing is adopted. */
  readonly shells: readonly Shell[];
  /** Of the innermost shell. */
  readonly command: Command | undefined;
  readonly queue: readonly Wanted[];
  /** Outcomes that nobody waited for. */
  readonly last: readonly Ended[];
  /** From when on the foreground must be seen before anything is delivered: it is not certain which shell reads. */
  readonly unproven: number | undefined;
  /** For the next command: what happened in the pane that the model does not know. */
  readonly notes: readonly string[];
  /** The look at the foreground that is under way. */
  readonly look:
    { readonly id: number; readonly why: "watch" | "free" | "prove" | "password"; readonly until: number } | undefined;
  readonly password: Password | undefined;
  readonly count: number;
}

/** One stream at a time: whatever comes from another generation is not heard. */
export type Link =
  | { readonly kind: "up"; readonly generation: number }
  /** Something is missing: marks are kept and text is not counted until the screen has been read. */
  | {
      readonly kind: "gap";
      readonly generation: number;
      readonly round: number;
      readonly why: string;
      readonly until: number;
      /** How often the screen was asked for. */
      readonly asked: number;
      readonly marks: readonly Heard[];
    }
  | { readonly kind: "down"; readonly generation: number; readonly marks: readonly Heard[] }
  /** `making`: another pane was asked for; what answers another round is closed again. */
  | {
      readonly kind: "gone";
      readonly why: string;
      readonly making?: { readonly round: number; readonly until: number };
    };

/** Heard in a gap: whose mark it is decides for which shell it counts once the screen has been read. */
export interface Heard {
  readonly key: string;
  readonly mark: Mark;
}

export interface Shell {
  /** Whose marks are its own. */
  readonly key: string;
  readonly profile: ShellProfile;
  readonly phase: Phase;
  /** "" if unknown, or if two prompts without a line between them disagree. */
  readonly cwd: string;
  readonly promptId: number;
  /** The operator's half-typed line, to be given back at the next free prompt; and the one that was given back. */
  readonly aside: string;
  readonly givenBack: string;
  /** How long a prompt without the mark of its end may take: short where one never came. */
  readonly drawnMs: number;
  /** A command asked the terminal something: replies that it did not read are in the line. */
  readonly hasReplies: boolean;
  /** It was reported that it runs without its start-up files. */
  readonly wasSkipped: boolean;
  /** Its own command, such as `ssh other`, while a shell inside it is in front. */
  readonly suspended: Command | undefined;
  /** Keys of the model: lines that they entered, and what they left in the line (undefined: only the screen knows). */
  readonly model: { readonly entered: readonly string[]; readonly line: string | undefined };
}

export type Phase =
  /** No prompt yet; `replaced`: a shell ended here before. */
  | { readonly kind: "starting" }
  | { readonly kind: "adopting"; readonly stage: "asked-kind" | "typed-hooks" | "typed-key"; readonly until: number }
  /** `until`: then it counts as drawn. */
  | { readonly kind: "drawing"; readonly prompt: string; readonly until: number }
  | { readonly kind: "ready"; readonly line: Line }
  /** The operator is in the middle of a command of several lines. */
  | { readonly kind: "continuation"; readonly typedAt: number }
  /** A command of buddy, a line of the operator (`line`), or a shell inside this one. */
  | { readonly kind: "running"; readonly line: string | undefined }
  /** Ctrl-C is pressed at a line until the next prompt. */
  | { readonly kind: "breaking"; readonly presses: number; readonly most: number; readonly again: number }
  /** Every shell ends before its first prompt; the operator has to correct something. */
  | { readonly kind: "stuck" }
  /** The hooks are being removed. */
  | { readonly kind: "leaving"; readonly line: string; readonly until: number };

/** A command that waits for its turn. */
export interface Wanted {
  /** Of the request, and in the marks of its first delivery. From a clock or random: none of an earlier buddy. */
  readonly tag: number;
  /** In the marks of another way of delivery, once it is certain that the first one was not taken. */
  readonly spareTag: number;
  readonly text: string;
  /** The text without its secrets. */
  readonly shown?: string;
  /** It was approved for this shell and this directory. */
  readonly shell: string;
  readonly onlyIn?: string;
  readonly noWait?: boolean;
  readonly deadline: number;
  readonly since: number;
  /** How long it waits for a pause in the operator's typing. */
  readonly patience: number;
  readonly wasDelayed: boolean;
  /** The shell reads keys although no prompt was marked: a key made it draw one. */
  readonly wasWoken: boolean;
}

export interface Command extends Wanted {
  /** In the marks of the delivery that counts. */
  readonly delivered: number;
  readonly stage: Stage;
  readonly sentAt: number;
  /** The pane shows its text before its output, with a mark between them: it is sourced from a file. */
  readonly showsText: boolean;
  readonly promptId: number;
  readonly lastActivity: number;
  /** The last line of its output so far: an unfinished one may be a question. */
  readonly lastLine: string;
  readonly fullScreenSince: number | undefined;
  /** The end of its output so far, if that may be the farewell of its shell. */
  readonly held: string;
  /** It sent a query to the terminal. */
  readonly asked: boolean;
  readonly notes: readonly string[];
  readonly watch: Watch;
  /** Who waits for its outcome; without any it goes on alone. */
  readonly waiters: readonly Waiter[];
  /** Ctrl-C, then TERM and KILL: which round, and when the next. */
  readonly stopping: { readonly round: number; readonly next: number } | undefined;
}

export type Stage =
  | {
      readonly kind: "sent";
      readonly by: "key" | "line";
      readonly attempt: number;
      readonly woken: number;
      readonly resumed: boolean;
      readonly prompted: number | undefined;
      readonly gaveUpLines: boolean;
      readonly unseen: boolean;
      readonly atPrompt: boolean;
      /** Asked for: the delivery is claimed, by buddy or by its shell. */
      readonly withdrawn: { readonly until: number; readonly why: string; readonly next: "end" | "type" } | undefined;
    }
  | { readonly kind: "taken"; readonly before: string; readonly code: number | undefined }
  /**
   * `hidden`: marks still to come before output begins. `code`: reported before the prompt. `prompts`: without a
   * mark.
   */
  | { readonly kind: "started"; readonly hidden: number; readonly code: number | undefined; readonly prompts: number };

/** A request, and when it is told where the command stands. */
export interface Waiter {
  readonly id: number;
  readonly deadline: number;
}

export interface Watch {
  readonly pause: number;
  readonly lookedAt: number;
  readonly before: Seen | undefined;
  /** The program whose password prompt was reported. */
  readonly reported: string | undefined;
}

export type Password =
  | { readonly kind: "asking"; readonly request: number; readonly program: string; readonly activity: number }
  /** Given: typed once a look shows that the same prompt is there. */
  | { readonly kind: "given"; readonly request: number; readonly program: string; readonly activity: number }
  /** Answered, or left to the operator: buddy does not ask again for this prompt. */
  | { readonly kind: "settled"; readonly activity: number; readonly until: number };

export type Outcome =
  | { readonly kind: "exited"; readonly code: number }
  | {
      readonly kind: "waiting";
      readonly for: "password" | "line" | "repl" | "full-screen";
      readonly program: string;
      readonly earlier?: true;
    }
  | { readonly kind: "running"; readonly why: "deadline" | "no-wait" | "busy" }
  | { readonly kind: "stopped"; readonly by: "user" | "deadline" }
  | { readonly kind: "incomplete" }
  | { readonly kind: "shell-ended"; readonly code: number }
  | { readonly kind: "lost"; readonly why: string; readonly notRun?: true };

export interface Ended {
  readonly tag: number;
  readonly outcome: Outcome;
  readonly notes: readonly string[];
}

/** What the program in the foreground does. */
export interface Seen {
  readonly doing: "working" | "password" | "line" | "raw";
  readonly program: string;
  readonly cpu: number;
  readonly shellItself: boolean;
  readonly silent: boolean;
  readonly stoppable: boolean;
}

/** The screen and the last mark that tmux remembers, read after a gap. `ended`: what the visible prompts say. */
export interface Screen {
  readonly mark: Mark | undefined;
  readonly cwd: string;
  readonly ended: (promptId: number) => number | undefined;
}

// --- Events -----------------------------------------------------------------------------------------------------

export type Event = { readonly at: number } &
  // From the pane's stream; the scanner gives whole characters and whole sequences.
  (
    | { readonly kind: "text"; readonly generation: number; readonly text: string }
    | { readonly kind: "mark"; readonly generation: number; readonly key: string; readonly mark: Mark }
    | { readonly kind: "screen-switched"; readonly generation: number; readonly alternate: boolean }
    // From tmux.
    | { readonly kind: "dropped"; readonly why: string }
    | { readonly kind: "attached"; readonly generation: number }
    | { readonly kind: "paused" }
    | { readonly kind: "screen"; readonly round: number; readonly screen: Screen }
    | { readonly kind: "refused"; readonly tag: number; readonly why: string }
    /** Who has claimed the delivery: buddy, and no shell will run it; or the shell, which has it. */
    | { readonly kind: "claimed"; readonly tag: number; readonly by: "buddy" | "shell" }
    | { readonly kind: "resized"; readonly width: number }
    | { readonly kind: "gone"; readonly why: string }
    | { readonly kind: "made"; readonly round: number; readonly key: string; readonly generation: number }
    // From a look at the foreground; undefined: nothing can be said.
    | { readonly kind: "seen"; readonly id: number; readonly seen: Seen | undefined }
    // From the rest of buddy.
    | { readonly kind: "run"; readonly wanted: Omit<Wanted, "since" | "wasDelayed" | "wasWoken"> }
    | { readonly kind: "wait"; readonly id: number; readonly tag: number; readonly deadline: number }
    | { readonly kind: "cancel"; readonly tag: number }
    | { readonly kind: "keys"; readonly entered: readonly string[]; readonly line: string | undefined }
    | { readonly kind: "password"; readonly request: number; readonly given: boolean }
    | { readonly kind: "adopt"; readonly key: string }
    | { readonly kind: "leave" }
    | { readonly kind: "time" }
  );

// --- Effects ----------------------------------------------------------------------------------------------------

export type Effect =
  | {
      readonly kind: "deliver";
      /** Of the request; `tag` is in the marks of this delivery. */
      readonly id: number;
      readonly shell: string;
      readonly tag: number;
      readonly text: string;
      readonly shown: string | undefined;
      readonly by: "key" | "line";
      readonly restoreFiles: boolean;
    }
  | { readonly kind: "press"; readonly key: "interrupt" | "end-search" | "resume-output" | "empty" }
  | { readonly kind: "give-back"; readonly line: string; readonly by: "key" | "typing" }
  /** A key or line that arrives late runs nothing; answered with `claimed`. */
  | { readonly kind: "withdraw"; readonly tag: number }
  | { readonly kind: "signal"; readonly name: "TERM" | "KILL" }
  | { readonly kind: "look"; readonly id: number; readonly prompting: boolean }
  | { readonly kind: "read-screen"; readonly round: number }
  | { readonly kind: "continue-output" }
  | { readonly kind: "make-pane"; readonly round: number }
  /** One that came too late. */
  | { readonly kind: "close-pane"; readonly key: string }
  // The output of a command.
  | { readonly kind: "record"; readonly tag: number; readonly text: string }
  | { readonly kind: "fill-gap"; readonly tag: number; readonly screen: Screen; readonly why: string }
  | { readonly kind: "follow"; readonly tag: number; readonly screen?: Screen }
  // To whoever waits for it.
  | { readonly kind: "begun"; readonly tag: number }
  | { readonly kind: "ended"; readonly id: number; readonly ended: Ended }
  | { readonly kind: "waiting"; readonly tag: number; readonly outcome: Outcome }
  | { readonly kind: "delayed"; readonly tag: number }
  | { readonly kind: "notice"; readonly level: "info" | "warning" | "operator" | "lost-state"; readonly text: string }
  | { readonly kind: "ask-password"; readonly request: number; readonly program: string; readonly prompt: string }
  | { readonly kind: "drop-password"; readonly request: number }
  | { readonly kind: "type-password"; readonly request: number }
  // Shells inside the pane.
  | {
      readonly kind: "type";
      readonly shell: string;
      readonly what: "ask-kind" | "hooks" | "key" | "take-out";
      readonly name?: ShellName;
    }
  | { readonly kind: "type-unseen"; readonly tag: number }
  | { readonly kind: "adopted"; readonly key: string }
  | { readonly kind: "not-adopted"; readonly key: string; readonly why: string }
  | { readonly kind: "left"; readonly key: string };

/** What is answered, by which event, and how long that may take: then the machine goes on without. */
export const ANSWERS = {
  look: { by: "seen", ms: 6000 },
  "read-screen": { by: "screen", ms: 10_000 },
  withdraw: { by: "claimed", ms: 5000 },
  "make-pane": { by: "made", ms: 20_000 },
} as const satisfies Partial<Record<Effect["kind"], { readonly by: Event["kind"]; readonly ms: number }>>;
