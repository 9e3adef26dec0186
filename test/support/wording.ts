/**
 * What the product says where a test has only the screen, each text once: a new wording is a change here. A test that
 * can look at a code, an event, a file, a number or a name looks at that.
 */
import type { TaskEnd } from "../../src/agent/tasks.ts";
import { END_WORDS } from "../../src/ui/repl/task-view.ts";

/** The question before a change, in the REPL and on the terminal of a one-shot run. */
export const QUESTION = {
  asked: "-- approve?",
  keep: "-- keep?",
  /** A line that is typed for an answer. */
  reason: "Reason (optional):",
  notCounted: "did not count",
  edit: "edit: ",
  plainEdit: "New command",
  name: (machine: string) => `Type ${machine} to approve:`,
  machines: "Machines (",
  /** They are asked about next; nothing is approved yet. */
  chooses: "Enter chooses these",
  /** What the help of `?` says about two of its letters. */
  yesHelp: "yes, this once",
  editHelp: "edit the command",
  always: "a always",
  /** Above the line, while the operator types or went to it. */
  highChange: "high risk, makes changes",
  waits: "asks when you stop typing",
  aside: "Esc: back to the question",
  /** A letter or a name that approves nothing. */
  notAlways: "this can only be approved on its own",
  notEditable: "this cannot be edited",
  nothingApproved: "nothing was approved",
  hidden: (lines: number) => `${lines} lines not shown: v`,
  withdrawn: "withdrawn",
} as const;

/** The REPL, on either screen. */
export const REPL = {
  ended: (task: number, how: TaskEnd) => `task ${task} ${END_WORDS[how]}`,
  queued: (task: number) => `queued as task ${task}`,
  notNow: (command: string, task: number) => `/${command} is not available while task ${task} runs`,
  unknown: (command: string) => `unknown command /${command}`,
  /** Below the first lines. */
  ready: "lists commands",
  /** Ctrl-C on an empty line; Ctrl-D or /quit while something runs. */
  pressAgain: "press Ctrl-C again",
  quitAgain: "quit again",
  survivors: "still running in the background",
  /** Of a profile: how it signs in. */
  signsIn: "signs in with an account",
  usesKey: "uses an API key, not a sign-in",
  /** Another buddy has the session: asked before the REPL, and as a list in it. */
  copy: "Continue in a copy of it?",
  pickCopy: "continue in a copy",
  number: "number (empty: none): ",
  whichSession: "Continue which session?",
} as const;

/** The questions of `buddy init`, in their order; `again`: the key was refused. */
export const INIT = {
  model: "Which model should buddy use?",
  number: "A number from 1 to",
  address: "Its address",
  notAddress: "not an http or https address",
  protocol: "Which protocol does it speak?",
  key: "Paste the key",
  ownKey: "Paste its key",
  again: "Paste another key",
  pasted: "Paste a key",
  offered: "Which of its models?",
  name: "The name of its model",
  answered: "answered in",
  notAnswered: "did not answer",
  next: "What should buddy do?",
  approve: "Which commands may buddy run without asking?",
  session: "tmux session name",
} as const;

/** Whether a configuration file that was found in the working directory may have its say. */
export const TRUST = { asked: "Trust this file?", ignored: "is ignored" } as const;

/** What a model gets as the result of a call; the first line says how it ended. */
export const RESULT = {
  failed: (code: number) => `[command failed: exit code ${code}]`,
  timedOut: (after: string) => `[command timed out after ${after}]`,
  sent: "[command sent, not waited for]",
  shellEnded: (code: number) => `[the shell ended with exit code ${code}]`,
  waiting: "[waiting for input",
  notAllowed: "Not allowed: ",
  cancelled: "operation cancelled by user",
  refused: "The operator refused this",
  dryRun: "[dry run] would ",
  notFetched: "Not fetched: ",
  /** After the same failure again and again. */
  again: "change your approach",
  leftOut: "bytes left out here;",
} as const;

/** The tour of `buddy demo`, and its script. */
export const DEMO = {
  begin: "Press Enter to begin",
  change: "A small change",
  background: "In the background",
  notWritten: "nothing was written",
  end: "What next",
  isScript: "a script, not a language model",
} as const;
