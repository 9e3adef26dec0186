/** What a tmux pane shows, typing into it (capture-pane, send-keys), and panes besides the shared one. */
import { z } from "zod";
import { formatDuration } from "../lib/durations.ts";
import { defined } from "../lib/values.ts";
import type { CaptureOptions, Panes } from "../targets/target.ts";
import { keyList, typedLines } from "../targets/tmux/typed-keys.ts";
import { boundTail } from "./bound-output.ts";
import { declaredFields, durationText, millisOf, NoTmux, paneFor } from "./run-shell.ts";
import type { Tool, ToolResult } from "./tool.ts";

const delay = z
  .union([z.number().nonnegative(), durationText('"2s"')])
  .optional()
  .describe('seconds or "2s", before');

const place = {
  target: z.string().optional().describe("raw tmux -t"),
  session: z.string().optional(),
  pane: z.string().optional(),
};

const line = z.union([z.int(), z.literal("-")]).optional();

const captureInput = z.strictObject({
  ...place,
  start: line.describe("0 = top of screen, negative = history, - = all"),
  end: line,
  join_wrapped_lines: z.boolean().optional(),
  preserve_trailing_spaces: z.boolean().optional(),
  include_escape_sequences: z.boolean().optional(),
  escape_non_printable: z.boolean().optional(),
  include_alternate_screen: z.boolean().optional(),
  delay,
});

export const capturePaneTool: Tool<z.infer<typeof captureInput>> = {
  name: "capture-pane",
  onTarget: true,
  description: "Text of a tmux pane; default: the visible screen of the shared pane.",
  input: captureInput,
  needs: "pane",
  budget: "capture",
  intent: (args) => ({ kind: "read", title: named(args) }),
  async run(args, context) {
    const pane = await paneFor(await context.target(), args);
    const lines: CaptureOptions = {
      ...defined({ start: args.start, end: args.end, includeAlternateScreen: args.include_alternate_screen }),
      signal: context.signal,
    };
    const seen = await pane.capture({
      ...lines,
      ...defined({
        joinWrappedLines: args.join_wrapped_lines,
        preserveTrailingSpaces: args.preserve_trailing_spaces,
        includeEscapeSequences: args.include_escape_sequences,
        escapeNonPrintable: args.escape_non_printable,
      }),
      ...delayed(args.delay),
    });
    // Colours and the edge of the pane cut a secret into pieces that are not recognised.
    const whole = await pane.capture({ ...lines, joinWrappedLines: true });
    const { text, notice } =
      context.mask(whole.text) === whole.text
        ? seen
        : { ...whole, notice: "The screen contains secrets: shown without colours, in whole lines" };
    // The empty rest of a screen would push its text out of the budget.
    const filled = args.preserve_trailing_spaces === true ? text : text.replace(/\n\s*$/, "");
    const shown = boundTail(filled, context.budget, "narrow it with start and end", context.mask);
    return {
      ok: true,
      outcome: "done",
      result: notice === undefined ? shown || "(empty screen)" : `[${notice}]\n${shown}`,
    };
  },
};

const keysInput = z
  .strictObject({
    ...place,
    keys: z
      .union([z.string(), z.array(z.string()).max(100)])
      .optional()
      .describe("tmux key names: C-c, Enter, Up"),
    literal_text: z.string().max(10_000).optional(),
    enter: z.boolean().optional(),
    delay,
    ...declaredFields,
  })
  .refine(
    (args) => keyList(args.keys).length > 0 || (args.literal_text ?? "") !== "" || args.enter === true,
    "nothing to send: give keys, literal_text or enter=true",
  );

export const sendKeysTool: Tool<z.infer<typeof keysInput>> = {
  name: "send-keys",
  onTarget: true,
  description: "Type into a tmux pane. Never a password.",
  input: keysInput,
  needs: "pane",
  secretFields: ["literal_text"],
  shell: (args, target) => paneFor(target, args),
  intent: (args) => {
    const typed = [
      ...(args.literal_text ? [JSON.stringify(args.literal_text)] : []),
      ...keyList(args.keys),
      ...(args.enter === true ? ["Enter"] : []),
    ];
    const { risk, mutation, privesc, why } = args;
    const { delayMs = 0 } = delayed(args.delay);
    const later = delayMs === 0 ? "" : `, after ${formatDuration(delayMs)}`;
    return {
      kind: "keys",
      title: `type ${typed.join(" ")} into ${named(args)}${later}`,
      declared: { risk, mutation, privesc, why },
    };
  },
  async run(args, context) {
    const pane = await paneFor(await context.target(), args);
    const { unasked, onlyIn, onlyWhere } = context;
    if (unasked !== undefined) {
      const [line = ""] = typedLines("", args).lines;
      const { outcome } = await pane.run(line, {
        noWait: true,
        unasked,
        signal: context.signal,
        ...defined({ onlyIn }),
      });
      return outcome.kind === "lost" ? { ok: false, outcome: "failed", result: `Not sent: ${outcome.why}` } : SENT;
    }
    const keys = keyList(args.keys);
    await pane.keys({
      ...(keys.length === 0 ? {} : { keys }),
      ...(args.literal_text ? { literalText: args.literal_text } : {}),
      ...defined({ enter: args.enter }),
      ...delayed(args.delay),
      ...defined({ onlyWhere }),
      signal: context.signal,
    });
    return SENT;
  },
};

export { keyList, type KeysInput, typedLines } from "../targets/tmux/typed-keys.ts";
export { holdsShell } from "../targets/tmux/watch-command.ts";

interface Place {
  readonly target?: string | undefined;
  readonly session?: string | undefined;
  readonly pane?: string | undefined;
}

function named(args: Place): string {
  if (args.target !== undefined) return `pane ${args.target}`;
  if (args.session === undefined && args.pane === undefined) return "the shared pane";
  return `pane ${[args.session, args.pane].filter((part) => part !== undefined).join(":")}`;
}

function delayed(value: string | number | undefined): { delayMs?: number } {
  return value === undefined ? {} : { delayMs: Math.min(millisOf(value), LONGEST_DELAY) };
}

const SENT: ToolResult = {
  ok: true,
  outcome: "done",
  result: "sent; see what it did with capture-pane",
  display: "sent",
};
const LONGEST_DELAY = 10 * 60 * 1000;

// ── tmux-create-session, tmux-kill-session, tmux-create-pane and tmux-kill-pane, for panes besides the shared one.

const sessionInput = z.strictObject({ session: z.string().min(1), ...declaredFields });
const paneInput = z.strictObject({ pane: z.string().min(1), session: z.string().optional(), ...declaredFields });

type SessionInput = z.infer<typeof sessionInput>;
type PaneInput = z.infer<typeof paneInput>;

/** What was done, and what else the model should know. */
type Act<In> = (panes: Panes, args: In) => Promise<string | readonly [done: string, advice: string]>;

export const tmuxObjectTools: readonly Tool[] = [
  sessionTool(
    "tmux-create-session",
    "Create or reuse a managed tmux session.",
    "create session",
    async (panes, { session }) => {
      const made = await panes.createSession(session);
      return `${made.created ? "created" : "already exists"}: session ${made.session}`;
    },
  ),
  sessionTool("tmux-kill-session", "End a managed tmux session.", "end session", async (panes, { session }) => {
    await panes.killSession(session);
    return `ended: session ${session}`;
  }),
  paneTool("tmux-create-pane", "Create or reuse a managed pane.", "create pane", async (panes, { pane, session }) => {
    const made = await panes.createPane(pane, session);
    return [
      `${made.created ? "created" : "already exists"}: pane ${made.pane} in session ${made.session}`,
      `; use it with run_shell pane="${made.pane}"`,
    ];
  }),
  paneTool("tmux-kill-pane", "End a managed pane.", "end pane", async (panes, { pane, session }) => {
    await panes.killPane(pane, session);
    return `ended: pane ${pane}`;
  }),
];

function sessionTool(name: string, description: string, verb: string, act: Act<SessionInput>): Tool<SessionInput> {
  return controlTool(name, description, sessionInput, (args) => `${verb} ${args.session}`, act);
}

function paneTool(name: string, description: string, verb: string, act: Act<PaneInput>): Tool<PaneInput> {
  return controlTool(
    name,
    description,
    paneInput,
    (args) => `${verb} ${args.pane}${args.session === undefined ? "" : ` in session ${args.session}`}`,
    act,
  );
}

function controlTool<In extends SessionInput | PaneInput>(
  name: string,
  description: string,
  input: z.ZodType<In>,
  title: (args: In) => string,
  act: Act<In>,
): Tool<In> {
  return {
    name,
    description,
    input,
    onTarget: true,
    needs: "tmux",
    intent: (args) => {
      const { risk, mutation, privesc, why } = args;
      return { kind: "control", title: title(args), declared: { risk, mutation, privesc, why } };
    },
    async run(args, context) {
      const { panes } = await context.target();
      if (panes === undefined) throw new NoTmux();
      const done = await act(panes, args);
      if (typeof done === "string") return { ok: true, outcome: "done", result: done };
      const [display, advice] = done;
      return { ok: true, outcome: "done", result: display + advice, display };
    },
  };
}
