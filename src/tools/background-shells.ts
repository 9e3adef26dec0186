/** shell_output, kill_shell and list_shells: background shells, and output that was left out of earlier results. */
import { z } from "zod";
import { defined } from "../lib/values.ts";
import type { BackgroundShell } from "../targets/target.ts";
import { boundText } from "./bound-output.ts";
import { durationText, millisOf, shellFor, waitAgain } from "./run-shell.ts";
import type { Tool, ToolResult } from "./tool.ts";

const outputInput = z
  .strictObject({
    shell_id: z.string().min(1).optional().describe("background shell: new output since the last look"),
    output_id: z.string().min(1).optional().describe("earlier result: output that was left out"),
    wait: z
      .union([z.number().positive(), durationText('"5m"')])
      .optional()
      .describe("wait this long again for the command still running in the shell"),
    pane: z.string().optional().describe("with wait"),
    session: z.string().optional(),
    offset: z.number().int().nonnegative().optional().describe("byte offset, with output_id"),
    limit: z.number().int().positive().optional().describe("bytes"),
    filter: z.string().optional().describe("regex: matching lines only"),
  })
  .refine(
    (args) => [args.shell_id, args.output_id, args.wait].filter((one) => one !== undefined).length === 1,
    "give exactly one of shell_id, output_id, wait",
  );

type OutputInput = z.infer<typeof outputInput>;

export const shellOutputTool: Tool<OutputInput> = {
  name: "shell_output",
  onTarget: true,
  description: "Read a background shell, output left out of an earlier result, or wait again for a running command.",
  input: outputInput,
  budget: "shell",
  shell: (args, target) => shellFor(target, args),
  shows: ({ shell_id, output_id }) => ({ id: output_id ?? shell_id, background: output_id === undefined }),
  intent: (args) => ({
    kind: "read",
    title:
      args.shell_id ??
      (args.wait === undefined ? `${args.output_id} from byte ${args.offset ?? 0}` : "wait for the running command"),
  }),
  async run(args, context): Promise<ToolResult> {
    const target = await context.target();
    if (args.wait !== undefined) return waitAgain(await shellFor(target, args), millisOf(args.wait), target, context);
    const limit = Math.min(args.limit ?? context.budget, context.budget);
    const filter = defined({ filter: args.filter });
    if (args.output_id !== undefined) {
      const offset = args.offset ?? 0;
      const page = await target.shell.readOutput(args.output_id, { offset, limit, ...filter });
      const text = context.mask(page.text, { start: offset > 0, end: !page.done });
      return {
        ok: true,
        outcome: "done",
        result: {
          output_id: args.output_id,
          text,
          total_bytes: page.totalBytes,
          ...(page.done ? { done: true } : { next_offset: page.nextOffset }),
          ...defined({ note: page.note }),
        },
        display: text,
      };
    }
    // Less than a line would cut secrets into pieces that are not recognised.
    const atLeast = Math.max(limit, LEAST_READ);
    const shell = await target.background.output(args.shell_id ?? "", { limit: atLeast, ...filter });
    const [stdout, stderr] = [shell.stdout, shell.stderr].map((text) =>
      context.mask(text, { end: shell.moreBytes > 0 }),
    );
    return {
      ok: true,
      outcome: shell.status,
      ...defined({ exitCode: shell.exitCode }),
      result: {
        ...status(shell),
        stdout,
        stderr,
        ...(shell.moreBytes > 0 ? { more_bytes: shell.moreBytes } : {}),
        ...defined({ note: shell.note }),
      },
      display: `${stdout}${stderr}` || "(nothing new)",
    };
  },
};

const LEAST_READ = 4_096;

const killInput = z.strictObject({ shell_id: z.string().min(1) });

export const killShellTool: Tool<z.infer<typeof killInput>> = {
  name: "kill_shell",
  onTarget: true,
  description: "End a running background shell and all it started.",
  input: killInput,
  intent: (args) => ({ kind: "end-shell", title: `end ${args.shell_id}`, shell: args.shell_id }),
  async run(args, context) {
    const target = await context.target();
    const known = (await target.background.list()).find((shell) => shell.id === args.shell_id);
    const ended = known !== undefined && known.status !== "running";
    const shell = await target.background.kill(args.shell_id);
    const left = shell.leftRunning?.join(", ");
    const running = left === undefined ? "" : `; what it left running was not stopped (pid ${left})`;
    const note = `it had already ended${running}`;
    return {
      ok: true,
      outcome: shell.status,
      result: { ...status(shell), ...(ended ? { note } : {}) },
      display: ended ? note : shell.status,
    };
  },
};

export const listShellsTool: Tool<Record<string, never>> = {
  name: "list_shells",
  onTarget: true,
  description: "List background shells.",
  input: z.strictObject({}),
  intent: () => ({ kind: "read", title: "background shells" }),
  async run(_, context) {
    const shells = await (await context.target()).background.list();
    const newest = [...shells].sort((a, b) => b.startedAt - a.startedAt).slice(0, MOST_LISTED);
    return {
      ok: true,
      outcome: "done",
      result: {
        shells: newest.map((shell) => ({
          ...status(shell),
          ...(shell.own ? {} : { started_by: "another session" }),
          command: boundText(shell.command, MOST_OF_A_COMMAND, () => "left out"),
          started: new Date(shell.startedAt).toISOString(),
        })),
        ...(shells.length > newest.length ? { older_left_out: shells.length - newest.length } : {}),
      },
      display: newest.map(({ id, status, command }) => `${id} ${status}: ${command}`).join("\n") || "none",
    };
  },
};

function status(shell: BackgroundShell): Record<string, unknown> {
  return {
    shell_id: shell.id,
    status: shell.status,
    ...defined({ exit_code: shell.exitCode }),
    pid: shell.pid,
    output_file: shell.outputFile,
  };
}

const MOST_LISTED = 50;
const MOST_OF_A_COMMAND = 200;
