/** The effect of keys on a line at a shell's prompt: which lines they enter, and what stays in the line. */
import { shownName } from "../../lib/byte-names.ts";
import { words } from "../../lib/text.ts";
import { BuddyError } from "../../lib/errors.ts";
import type { ShellPlace } from "../target.ts";

export interface KeysInput {
  readonly keys?: string | readonly string[] | undefined;
  readonly literal_text?: string | undefined;
  readonly enter?: boolean | undefined;
}

export interface TypedLines {
  /** Entered with Enter, in this order. */
  readonly lines: readonly string[];
  /** The line afterwards. */
  readonly rest: string;
  /** A key with an unknown effect in the shell's editor: history, completion, a move of the cursor. */
  readonly unknown: string | undefined;
}

/** `before`: the text that is already in the line. */
export function typedLines(before: string, input: KeysInput): TypedLines {
  const lines: string[] = [];
  let rest = before;
  let unknown: string | undefined;
  const enter = () => {
    lines.push(rest);
    rest = "";
  };
  const type = (text: string) => {
    for (const char of text) {
      if (char === "\n" || char === "\r") enter();
      // oxlint-disable-next-line no-control-regex
      else if (/[\0-\x1f\x7f]/.test(char)) unknown ??= "a control character";
      else rest += char;
    }
  };
  type(input.literal_text ?? "");
  for (const key of keyList(input.keys)) {
    if (!isKeyName(key)) type(key);
    else if (/^(?:Enter|KPEnter|C-m|C-j|\^M|\^J)$/.test(key)) enter();
    else if (key === "Space") rest += " ";
    else if (/^(?:C-[cu]|\^[CU])$/.test(key)) rest = "";
    else if (/^(?:BSpace|C-h|\^H)$/.test(key)) rest = [...rest].slice(0, -1).join("");
    else unknown ??= key;
  }
  if (input.enter === true) enter();
  return { lines: lines.filter((line) => line.trim() !== ""), rest: rest.trim() === "" ? "" : rest, unknown };
}

export function keyList(keys: KeysInput["keys"]): readonly string[] {
  if (keys === undefined) return [];
  return (typeof keys === "string" ? keys.split(/\s+/) : keys).filter((key) => key !== "");
}

/** Anything else is typed letter by letter. */
export function isKeyName(key: string): boolean {
  return /^(?:[CMS]-)+.+$|^\^.$|^F\d+$|^KP.+$|^0x[\da-f]+$|^User\d+$|^Mouse/i.test(key) || NAMES.has(key.toLowerCase());
}

/** Whether a printable character would reach the program: buddy types none at a password prompt. */
export function hasPrintable(keys: readonly string[], text: string): boolean {
  // oxlint-disable-next-line no-control-regex
  if (/[^\0-\x1f\x7f]/.test(text)) return true;
  return keys.some((key) => !isKeyName(key) || !(/^(?:C-.|\^.)$/.test(key) || SILENT.has(key.toLowerCase())));
}

/** Keys that send no printable character. */
const SILENT = new Set(
  words(`enter kpenter escape bspace tab btab up down left right home end ic insert dc delete npage ppage pagedown pageup
    pgdn pgup`),
);
const NAMES = new Set([...SILENT, ...words("space any")]);

/** Why a command that was approved for one directory does not run in another. */
export function movedAway(now: string, approved: string): string {
  return `the shell is now in ${shownName(now)}; the command was approved for ${shownName(approved)}. It did not run`;
}

/** Throws if program, user, directory or line are not those that the keys were approved for. */
export function stillThere(now: ShellPlace, then: ShellPlace): void {
  const moved = difference(now, then);
  if (moved === undefined) return;
  throw new BuddyError("tool", `${moved}: nothing was typed`, { advice: "Look at the pane with capture-pane first." });
}

function difference(now: ShellPlace, then: ShellPlace): string | undefined {
  // A tmux target such as `{last}` may mean another pane than when it was approved.
  if (now.pane !== then.pane) return `it would now be typed into ${now.pane ?? "the shared pane"}`;
  const [program, before] = [now, then].map((place) => place.program ?? "the shell");
  if (program !== before) return `${program} is now in the foreground of the pane, not ${before}`;
  if (now.user !== then.user) return `the foreground program now runs as ${now.user || "another user"}`;
  if (now.cwd !== then.cwd)
    return `the shell is now in ${shownName(now.cwd) || "another directory"}, not in ${shownName(then.cwd)}`;
  if (now.typed.trim() !== then.typed.trim()) return "the text in the line has changed";
  return undefined;
}
