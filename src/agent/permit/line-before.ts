/** What is in the line that keys continue: the line at a prompt, and what earlier keys left in an inner shell's. */
import { namedMachines } from "../../policy/shell/named-machines.ts";
import type { JudgedCommand, ShellJudgement } from "../../policy/verdict.ts";
import type { ShellPlace, Target } from "../../targets/target.ts";
import { type KeysInput, typedLines } from "../../tools/panes.ts";

export interface LineBefore {
  /** What it may be: which one is not always known. */
  readonly candidates: readonly string[];
  /** For people; "" if it is empty. */
  readonly shown: string;
  /** Entered into this program before: an inner shell may be on a machine that they name. */
  readonly entered: readonly JudgedCommand[];
}

interface Typed {
  readonly inProgram: boolean;
  readonly line: string;
  readonly entered: readonly JudgedCommand[];
}

/** What was approved last, by pane. */
const typed = new WeakMap<Target["transport"], Map<string, Typed>>();

export function lineBefore({ transport }: Target, place: ShellPlace): LineBefore {
  const last = typed.get(transport)?.get(place.pane ?? "");
  const inProgram = place.program !== undefined;
  // The name of the program may change: sudo becomes a shell.
  const { line, entered } = last?.inProgram === inProgram ? last : { line: "", entered: [] };
  if (!inProgram) {
    const whole = (CONTINUED.test(line) ? line : "") + place.typed;
    // A space at the end of the line cannot be seen.
    return {
      candidates: whole === "" ? [""] : [whole, `${whole} `],
      shown: whole.trim() === "" ? "" : whole,
      entered: [],
    };
  }
  const row = place.row ?? "";
  const isAll = line.trim() !== "" && row.trimEnd().endsWith(line.trim());
  const visible = isAll ? [] : behindPrompts(row);
  const candidates = [line, "", ...visible.flatMap((text) => [text, `${text} `])];
  const behindLast = row.slice((PROMPT_END.exec(row)?.index ?? -1) + 1).trim();
  return { candidates: [...new Set(candidates)], shown: isAll ? line.trim() : behindLast || line.trim(), entered };
}

/** The last sign that ends prompts, followed by a space or nothing. */
const PROMPT_END = /[#$%>❯»](?=\s|$)(?!.*[#$%>❯»](?:\s|$))/s;

/** The lines that the keys enter, and what stays in the line. */
export function linesAfter(before: string, input: KeysInput): ReturnType<typeof typedLines> {
  const { lines, rest, unknown } = typedLines(before, input);
  const whole: string[] = [];
  let open = "";
  for (const line of lines) {
    open += line;
    if (CONTINUED.test(`${line}\n`)) open += "\n";
    else {
      whole.push(open);
      open = "";
    }
  }
  return { lines: whole, rest: open + rest, unknown };
}

/** They were approved. */
export function keysApproved(
  { transport }: Target,
  place: ShellPlace,
  input: KeysInput,
  { candidates: [before = ""], entered }: LineBefore,
  judged: readonly ShellJudgement[],
): void {
  const panes = typed.get(transport) ?? new Map<string, Typed>();
  typed.set(transport, panes);
  const reaching = judged.flatMap(({ commands }) => commands).filter((one) => namedMachines([one]).length > 0);
  panes.set(place.pane ?? "", {
    inProgram: place.program !== undefined,
    line: linesAfter(before, input).rest,
    entered: place.program === undefined ? [] : [...entered, ...reaching].slice(-MAX_ENTERED),
  });
}

/** Where the prompt ends is not known: what follows each word or sign that may be its end. */
function behindPrompts(row: string): string[] {
  const text = row.slice(-MAX_ROW);
  const ends = [...text.matchAll(/[#$%>❯»)\]:]\s*|\s+/g)].map((match) => text.slice(match.index + match[0].length));
  const signs = [...text.matchAll(/[#$%>❯»]\s/g)].map((match) => text.slice(match.index + 2));
  return [...new Set([...signs.slice(-1), ...ends, text])].filter((one) => one.trim() !== "").slice(0, MAX_ENDS);
}

/** A line that goes on after a backslash and Enter. */
const CONTINUED = /(?:^|[^\\])(?:\\\\)*\\\n$/;
const MAX_ROW = 1_000;
const MAX_ENDS = 24;
const MAX_ENTERED = 100;
