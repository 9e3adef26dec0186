/** tmux-create-session, tmux-kill-session, tmux-create-pane and tmux-kill-pane, for panes besides the shared one. */
import { z } from "zod";
import type { Panes } from "../targets/target.ts";
import { declaredFields, NoTmux } from "./run-shell.ts";
import type { Tool } from "./tool.ts";

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
