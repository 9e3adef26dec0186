/**
 * `buddy exec`: one prompt in, the answer on stdout, everything else on stderr, and an exit code that says how it went.
 */
import type { Front } from "../../../agent/calls/desk.ts";
import type { AgentEvent } from "../../../agent/events.ts";
import type { TurnOptions } from "../../../agent/loop.ts";
import { loadConfiguration } from "../../../app/configuration.ts";
import { chosenPlaces, readsStdin } from "../../../app/machines/places.ts";
import { composeRun, type Run, type RunOptions } from "../../../app/run.ts";
import { BuddyError, type ErrorCode, EXIT, type ExitCode } from "../../../lib/errors.ts";
import type { Output } from "../../../lib/output.ts";
import { isTerminal } from "../../../lib/terminal.ts";
import { once } from "../../../lib/values.ts";
import { boundText } from "../../../tools/bound-output.ts";
import { terminalFront } from "../../../ui/approval/terminal-front.ts";
import type { Printer, RowStream } from "../../../ui/exec-output/print.ts";
import type { ThemeName } from "../../../ui/theme.ts";
import { type GlobalOptions, withSsh } from "../../args/options.ts";
import { approvalNeeded, colorOf, type OneShot, oneShot } from "../../one-shot.ts";
import { execInput, imageFrom, processStdin, type Stdin, withAttachment } from "./exec-input.ts";
import type { OutputSchema } from "./final-answer.ts";

export interface ExecOptions {
  readonly prompt?: string | undefined;
  /** A runbook in place of a prompt. */
  readonly run?: { readonly name: string; readonly words: readonly string[] } | undefined;
  readonly json: boolean;
  readonly outputSchema?: string | undefined;
  readonly lastMessage?: string | undefined;
  /** Image files on this machine. */
  readonly images?: readonly string[];
  readonly resume?: string | undefined;
  readonly fork?: boolean;
  readonly maxIterations?: number | undefined;
  readonly timeoutMs?: number | undefined;
  /** --parallel, --canary, --max-fail. */
  readonly fleet?: RunOptions["fleet"];
}

export async function exec(
  options: ExecOptions,
  globals: GlobalOptions,
  { out, err, stdin }: Partial<Streams> = {},
): Promise<ExitCode> {
  const explain = async (error: unknown) => (await import("../../../app/model/first-model.ts")).withNoModelHint(error);
  return oneShot({ globals, timeoutMs: options.timeoutMs, out, err, explain }, (around) =>
    answerPrompt(options, globals, { ...around, stdin: stdin ?? processStdin() }),
  );
}

interface Streams {
  readonly out: Output;
  readonly err: Output;
  readonly stdin: Stdin;
}

interface Surroundings extends OneShot {
  readonly stdin: Stdin;
}

async function answerPrompt(options: ExecOptions, given: GlobalOptions, around: Surroundings): Promise<ExitCode> {
  const { signal, out, err } = around;
  const lastMessage =
    options.lastMessage === undefined
      ? undefined
      : (await import("./final-answer.ts")).lastMessageTo(options.lastMessage);
  const schema =
    options.outputSchema === undefined
      ? undefined
      : await (await import("./final-answer.ts")).loadOutputSchema(options.outputSchema);
  const images = await Promise.all((options.images ?? []).map(imageFrom));
  const input = await execInput(
    options.run === undefined ? options.prompt : `/run ${[options.run.name, ...options.run.words].join(" ")}`,
    readsStdin(given.on) ? { ...around.stdin, kind: "none" } : around.stdin,
    signal,
  );
  const loaded = await loadConfiguration(given);
  const runbook = options.run === undefined ? undefined : await runbookFor(options.run, given, loaded);
  const globals = runbook?.globals ?? given;
  const { display } = loaded.config;
  const look = { color: colorOf(globals, err, display.color), theme: display.theme };
  const problems: string[] = [];
  let problem = (message: string): void => void problems.push(message);
  const run = await composeRun({
    globals,
    loaded,
    maxIterations: options.maxIterations,
    resume: options.resume,
    fork: options.fork,
    fleet: options.fleet,
    stdin: async () => new TextDecoder().decode(await around.stdin.read({ signal })),
    problem: (message) => problem(message),
  });
  // Not `await using`: its first use takes 100 µs.
  try {
    signal.addEventListener("abort", () => run.hurry());
    // Made for the first event: by then the request has left, and this fills the time until its answer.
    const printer = once(async () => {
      const { Printer } = await import("../../../ui/exec-output/print.ts");
      return new Printer({
        out,
        err,
        stream: isTerminal(out.fd) && !options.json,
        live: isTerminal(err.fd),
        columns: isTerminal(err.fd) ? () => Math.max(20, (process.stdout.columns || 80) - 1) : undefined,
        ...look,
        quiet: globals.quiet,
        verbose: globals.verbose,
        showToolCalls: display.show_tool_calls,
        showReasoning: display.show_reasoning,
        showTokens: display.show_tokens,
        rows:
          isTerminal(out.fd) && display.markdown
            ? await markdownRows(colorOf(globals, out, display.color), display.theme)
            : undefined,
        holdAnswer: schema !== undefined || options.json,
        redact: run.secrets.redact,
        hideSecrets: run.secrets.hide,
      });
    });
    problem = (message) => void printer().then((to) => to.note(message, "warning"));
    for (const message of problems) problem(message);
    if (globals.debug === true)
      (await import("../../../app/tracing.ts")).showTraceBy((line) => void printer().then((to) => to.note(line)));
    const { redact, redactedStream } = run.secrets;
    const lines = options.json
      ? new (await import("../../../ui/exec-output/jsonl.ts")).JsonLines(out, redact, redactedStream)
      : undefined;
    for (const note of run.notes) await (await printer()).note(note);
    const limit = run.agent.contextLimit;
    const attached =
      input.attached === undefined
        ? undefined
        : boundText(input.attached, attachmentRoom(limit), () => "left out of the attached text");
    const words = runbook?.prompt ?? input.prompt;
    const prompt = attached === undefined ? words : withAttachment(words, attached);
    const show = async (event: AgentEvent) => {
      await lines?.aside(event);
      // A reader may end buddy after the first line it gets: the log must have that event by then.
      if (lines !== undefined) await run.sessions.stored();
      await lines?.show(event);
      await (await printer()).show(event);
    };
    // Everything before a question is shown first, which removes the live line.
    const front = { ...terminalFront({ ...look, signal, interrupt: around.interrupt }), setsPace: true, show };
    const { info, profile } = run.agent.client;
    const attach = { ...runbook?.turn };
    if (images.length > 0 || words.includes("@")) {
      const { attaching, noImages } = await import("../../../app/attachments.ts");
      if (images.length > 0 && info.images !== true)
        throw new BuddyError("usage", `the image cannot be sent: ${noImages(profile.model, profile.name)}`);
      Object.assign(attach, attaching(run, words, images));
    }
    const outcome =
      schema === undefined
        ? await oneTurn(run, prompt, signal, front, {
            ...attach,
            ownWords: words,
            ...(prompt === input.prompt ? {} : { shown: input.prompt }),
          })
        : await validTurn(run, prompt, signal, front, schema, { ...attach, ownWords: words, shown: input.prompt });
    return await conclude(outcome, options, run, await printer(), around, lastMessage);
  } finally {
    await run[Symbol.asyncDispose]();
  }
}

/** The runbook as a prompt, on the machine that its parameters name. */
async function runbookFor(
  { name, words }: NonNullable<ExecOptions["run"]>,
  given: GlobalOptions,
  loaded: Awaited<ReturnType<typeof loadConfiguration>>,
) {
  const { prepareRunbook, targetNames } = await import("../../../app/extensions/runbooks.ts");
  const { prompt, turn, target, requireTarget } = await prepareRunbook(loaded, name, words, true);
  const chosen = [given.on, given.ssh, given.container].some((one) => one !== undefined);
  let globals = target === undefined || chosen ? given : { ...given, on: target };
  const places = await chosenPlaces(globals, loaded).catch((error: unknown) => {
    // Not a name that buddy knows: perhaps a host.
    if (globals === given || target === undefined || !/^[\w.@:-]+$/.test(target)) throw error;
    return chosenPlaces((globals = withSsh(given, target)), loaded);
  });
  for (const place of places) {
    const names = targetNames(place);
    if (target !== undefined && chosen && !names.includes(target))
      throw new BuddyError("usage", `the parameters name the machine ${target}, but the target is ${place.name}`, {
        hint: "Leave out one of them.",
      });
    requireTarget(names);
  }
  return { prompt, turn, globals };
}

async function conclude(
  outcome: Outcome,
  options: ExecOptions,
  run: Run,
  printer: Printer,
  { stopped }: OneShot,
  writeAnswer: ((answer: string) => Promise<void>) | undefined,
): Promise<ExitCode> {
  const { done, error, answer, shown } = outcome;
  switch (done.status) {
    case "answered":
    case "approval_needed":
      break;
    case "cancelled":
    case "timeout":
      throw stopped();
    case "failed":
    case "max_iterations":
      throw new BuddyError((error?.code ?? "tool") as ErrorCode, error?.message ?? "the run failed", {
        hint: error?.hint,
      });
  }
  if (!shown && !options.json) await printer.answer(run.secrets.hide(answer));
  await writeAnswer?.(run.secrets.hide(answer));
  if (run.target.error !== undefined) throw run.target.error;
  if (done.status === "answered") return EXIT.ok;
  throw approvalNeeded(run.calls.turn, run.approvals.mode);
}

async function markdownRows(color: boolean, chosen: ThemeName | "auto"): Promise<() => RowStream> {
  const [{ MarkdownStream }, { supportsLinks, theme }] = await Promise.all([
    import("../../../ui/markdown/markdown-stream.ts"),
    import("../../../ui/theme.ts"),
  ]);
  const style = theme(color, chosen);
  return () => new MarkdownStream(style, supportsLinks(process.env, color), () => process.stdout.columns || 80);
}

/** Half of the window: the rest is for instructions, tools and the answer. */
function attachmentRoom(contextLimit: number): number {
  return Math.max(8_000, Math.floor(contextLimit * 4 * 0.5));
}

// ── One turn of `buddy exec`; with an output schema, further ones while the answer is not valid.

async function oneTurn(
  run: Run,
  prompt: string,
  signal: AbortSignal,
  front: Front,
  options: TurnOptions,
): Promise<Outcome> {
  let done: Outcome["done"] | undefined;
  let error: Outcome["error"];
  // The request leaves first; the target opens while the model thinks. An answer that comes at once needs no target.
  const opening = setTimeout(() => run.prepareForTools(), OPEN_AFTER_MS);
  let isOver = false;
  // `done` is the last thing that is shown, whatever is still being opened or closed.
  const show = (event: AgentEvent) => {
    if (isOver) return undefined;
    isOver = event.type === "done";
    return front.show(event);
  };
  const seat = run.desk.attach({ ...front, show });
  try {
    for await (const event of run.agent.runTurn(prompt, signal, options)) {
      if (event.type === "done") done = event;
      if (event.type === "error") error = event;
    }
    await seat.caughtUp();
  } finally {
    clearTimeout(opening);
    seat.leave();
  }
  if (done === undefined) throw new BuddyError("internal", "the turn ended without an outcome");
  return { done, ...(error === undefined ? {} : { error }), answer: done.text, shown: true };
}

async function validTurn(
  run: Run,
  prompt: string,
  signal: AbortSignal,
  front: Front,
  schema: OutputSchema,
  first: TurnOptions,
): Promise<Outcome> {
  let question = `${prompt}\n\n${schema.instruction}`;
  for (let round = 0; ; round++) {
    const found: { judged?: ReturnType<OutputSchema["check"]>; misfit?: BuddyError } = {};
    // With --json, `done` must hold what is printed without it: the JSON alone, or a failure.
    const show = async (event: AgentEvent) => front.show(event);
    const judge: Front["show"] = async (event) => {
      if (event.type !== "done" || !hasAnswer(event)) return show(event);
      const judged = (found.judged = schema.check(event.text));
      if (judged.ok) return show({ ...event, text: judged.json });
      if (round < REPAIR_ROUNDS) return show(event);
      const { v, ts, session, target } = event;
      const { code, message, hint } = (found.misfit = unfit(judged.problem, event.text));
      await show({ type: "error", code, message, ...(hint !== undefined && { hint }), v, ts, session, target });
      return show({ ...event, status: "failed" });
    };
    const { shown: _, attach: __, ...again } = first;
    const own = round === 0 ? first : again;
    const outcome = await oneTurn(
      run,
      question,
      signal,
      { ...front, show: judge },
      { outputSchema: schema.schema, ...own },
    );
    const { judged, misfit } = found;
    if (judged === undefined) return outcome;
    if (judged.ok) return { ...outcome, answer: judged.json, shown: false };
    if (misfit !== undefined) throw misfit;
    question = `Your answer is not valid: ${judged.problem}. Answer again with the corrected JSON only.`;
  }
}

interface Outcome {
  readonly done: AgentEvent & { type: "done" };
  readonly error?: AgentEvent & { type: "error" };
  /** The answer as it is printed and stored: with a schema, the JSON alone. */
  readonly answer: string;
  /** Printed already, while it came. */
  readonly shown: boolean;
}

function hasAnswer({ status }: Outcome["done"]): boolean {
  return status === "answered" || status === "approval_needed";
}

function unfit(problem: string, answer: string): BuddyError {
  const message = `the answer is not valid against the output schema, even after ${REPAIR_ROUNDS} corrections: ${problem}`;
  return new BuddyError("model", message, {
    hint: `The last answer was: ${boundText(answer, 500, () => "left out")}`,
  });
}

const REPAIR_ROUNDS = 2;

/** Longer than the quickest answer takes, even on a busy machine; shorter than any model thinks. */
const OPEN_AFTER_MS = 100;
