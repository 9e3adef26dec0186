/** Keeps copies of files before a permitted call changes them, and records what they are afterwards. */
import type { PermittedCall } from "../../agent/permit/permission.ts";
import type { Change, ChangeStore } from "../../changes/change-store.ts";
import { BuddyError, messageOf } from "../../lib/errors.ts";
import type { FileAccess, FilePlace, SeenFile, Target } from "../../targets/target.ts";
import { filesFor } from "../../tools/text-file.ts";
import { type KeysInput, typedLines } from "../../tools/panes.ts";
import { paneFor, shellFor } from "../../tools/run-shell.ts";
import { noted } from "../../tools/notes.ts";
import type { ToolResult } from "../../tools/tool.ts";

export interface KeepOptions {
  /** `none`: why nothing can be kept. */
  readonly store: ChangeStore | { readonly none: string };
  hasSecret(text: string): boolean;
}

export async function keepChanges(
  { store, hasSecret }: KeepOptions,
  call: PermittedCall,
  run: () => Promise<ToolResult>,
): Promise<ToolResult> {
  const target = await call.target();
  const { places, skipped, privileged = false } = await changedPlaces(call, target);
  if (places.length === 0) return notKept(await run(), skipped);
  // Files that a command changes as root are read as the user: sudo would ask for a password.
  const files = filesFor(target, call.intent.kind === "write" && call.intent.sudo, call.context);
  let kept: readonly Change[] = [];
  const notes = [...skipped];
  try {
    if ("none" in store) throw new BuddyError("session", store.none);
    const seen = await look(files, places, call.context.signal);
    const states = seen.flatMap(({ path, state }) => {
      if (state.kind !== "unread") return [{ path, state }];
      notes.push(`${path} (${UNREAD[state.why]})`);
      return [];
    });
    if (states.length > 0) kept = store.keep(describe(call, target, privileged), states);
  } catch (error) {
    if (call.context.signal.aborted) throw error;
    const why = messageOf(error);
    const refused = await call.askAgain(`it could not be undone: ${why}`);
    if (refused !== undefined) return refused;
    return notKept(
      await run(),
      places.map(({ path }) => path),
      why,
    );
  }
  let result: ToolResult | undefined;
  try {
    result = await run();
  } finally {
    // A command that keys started may still be running.
    if (kept.length > 0 && call.intent.kind !== "keys" && !UNFINISHED.has(result?.outcome ?? "")) {
      notes.push(...(await settle(store as ChangeStore, files, kept, hasSecret)));
    }
  }
  return notKept(result, notes);
}

/** The files that the call changes, and which others cannot be known before it runs. */
async function changedPlaces(
  call: PermittedCall,
  target: Target,
): Promise<{ places: readonly FilePlace[]; skipped: readonly string[]; privileged?: boolean }> {
  const { intent, permission } = call;
  const { home, user, uid } = target.transport.facts;
  if (intent.kind === "write") {
    // The place that was judged; an undo means the name itself, even if it is a link.
    const place = intent.undoes === undefined ? { path: permission.path ?? intent.path, follow: true } : undefined;
    const privileged = intent.sudo === true && uid !== 0;
    return { places: [place ?? { path: intent.path, follow: false }], skipped: [], privileged };
  }
  // Keys for a program other than the shell itself are not a command.
  const { onlyWhere } = permission;
  if (intent.kind !== "shell" && (onlyWhere === undefined || onlyWhere.program !== undefined))
    return { places: [], skipped: [] };
  const input = permission.input as Typed;
  const entered = onlyWhere === undefined ? "" : typedLines(onlyWhere.typed, input).lines.join("\n");
  const { changedFiles } = await import("../../policy/shell/file-changes.ts");
  const { cwd } = await (intent.kind === "keys" ? paneFor(target, input) : shellFor(target, input));
  const { places, unknown, elsewhere, privileged } = changedFiles(input.command ?? entered, {
    cwd,
    home,
    user,
    shell: target.locks.shell,
  });
  const skipped = unknown.map((word) => `${word} (known only when it runs)`);
  if (elsewhere && places.length + unknown.length > 0) skipped.push("what runs elsewhere (ssh, a container)");
  // Files are read over buddy's own connection, which does not lead into that shell.
  if (target.isElsewhere === true && places.length > 0)
    return { places: [], skipped: [...skipped, ...places.map((place) => `${place.path} (in an adopted shell)`)] };
  return { places, skipped, privileged: privileged && uid !== 0 };
}

/** Arguments of run_shell and send-keys. */
interface Typed extends KeysInput {
  readonly command?: string;
  readonly session?: string;
  readonly pane?: string;
  readonly target?: string;
}

function describe(
  { call, tool, intent, permission }: PermittedCall,
  { identity }: Target,
  privileged: boolean,
): Parameters<ChangeStore["keep"]>[0] {
  const { machine, user, host } = identity;
  return {
    machine,
    where: `${user}@${host}`,
    call,
    tool,
    ...(privileged ? { sudo: true } : {}),
    // For people: without the values of secrets.
    ...(intent.kind === "keys" ? { command: intent.title } : {}),
    ...(intent.kind === "shell" ? { command: permission.shown ?? commandOf(permission.input) } : {}),
    ...(intent.kind === "write" && intent.undoes !== undefined ? { undoes: intent.undoes } : {}),
  };
}

/** As it runs: the operator may have changed it. */
function commandOf(input: unknown): string {
  return (input as { readonly command: string }).command;
}

/** Each file once, however many words of the command lead to it. */
async function look(
  files: FileAccess,
  places: readonly FilePlace[],
  signal: AbortSignal,
): Promise<readonly SeenFile[]> {
  const seen = await files.look(places, { maxBytes: MOST_OF_A_FILE, maxTotal: MOST_OF_A_CALL, signal });
  return [...new Map(seen.map((file) => [file.path, file])).values()];
}

/** Returns what is a directory now. If the target no longer answers, the result of the change stays unknown. */
async function settle(
  store: ChangeStore,
  files: FileAccess,
  kept: readonly Change[],
  hasSecret: KeepOptions["hasSecret"],
): Promise<string[]> {
  const directories: string[] = [];
  const places = kept.map(({ path }) => ({ path, follow: false }));
  const seen = await look(files, places, AbortSignal.timeout(SETTLE_MS)).catch(() => []);
  for (const { number, path, before } of kept) {
    const state = seen.find((file) => file.path === path)?.state;
    if (state === undefined) continue;
    const isDirectory = state.kind === "unread" && state.why === "directory";
    if (isDirectory) directories.push(`${path} (${UNREAD.directory})`);
    // No file was made, so there is none to remove.
    if (isDirectory && before.kind === "missing") {
      store.settle(number, before);
      continue;
    }
    // A file with a secret in it is not stored: an undo needs only what was there before.
    const content = state.kind !== "file" || !hasSecret(Buffer.from(state.bytes).toString());
    store.settle(number, state, { content });
  }
  return directories;
}

function notKept(result: ToolResult, skipped: readonly string[], why?: string): ToolResult {
  if (skipped.length === 0) return result;
  const shown = skipped.slice(0, MOST_NAMED).join(", ");
  const more = skipped.length > MOST_NAMED ? ` and ${skipped.length - MOST_NAMED} more` : "";
  return noted(result, `not kept for undo: ${shown}${more}${why === undefined ? "" : `: ${why}`}`);
}

const UNREAD = {
  directory: "a directory",
  special: "not a regular file",
  large: "too large",
  unreadable: "not readable without root",
} as const;

/** The command may still be changing files. */
const UNFINISHED: ReadonlySet<string> = new Set(["running", "waiting", "background", "lost"]);
const MOST_OF_A_FILE = 8 * 1024 * 1024;
const MOST_OF_A_CALL = 32 * 1024 * 1024;
const MOST_NAMED = 5;
const SETTLE_MS = 10_000;
