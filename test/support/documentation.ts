/** What the Markdown pages of the repository hold: commands, fenced blocks, code spans and links, with their places. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { COMMANDS, loadCommand } from "../../src/cli/command.ts";
import { rootHelp } from "../../src/cli/args/help.ts";

export const ROOT = join(import.meta.dir, "../..");
export const PAGES = [
  "README.md",
  "CONTRIBUTING.md",
  "AGENTS.md",
  "CHANGELOG.md",
  ...[...new Bun.Glob("docs/**/*.md").scanSync(ROOT)].sort(),
];

export interface Found {
  /** `README.md:46`, or `buddy exec --help`. */
  readonly place: string;
  readonly text: string;
}

export interface Block extends Found {
  readonly language: string;
  /** All that stands behind the fence: `sh hook=notify-chat`. */
  readonly info: string;
}

export function page(name: string): string {
  return readFileSync(join(ROOT, name), "utf8");
}

/** Fenced blocks; the place is that of the first line inside. */
export function blocks(name: string): Block[] {
  const found: Block[] = [];
  let open: { language: string; info: string; line: number; lines: string[] } | undefined;
  for (const [index, line] of page(name).split("\n").entries()) {
    const fence = /^\s*```(\S*)(.*)/.exec(line);
    if (fence === null) open?.lines.push(line);
    else if (open === undefined) {
      const [, language = "", more = ""] = fence;
      open = { language, info: `${language}${more}`.trim(), line: index + 2, lines: [] };
    } else {
      found.push({
        place: `${name}:${open.line}`,
        language: open.language,
        info: open.info,
        text: open.lines.join("\n"),
      });
      open = undefined;
    }
  }
  return found;
}

/** `code` in running text; a span may go over the end of a line. */
export function spans(name: string): Found[] {
  // Fenced blocks are emptied, not removed: line numbers stay right.
  const prose = page(name).replace(/^\s*```[\s\S]*?^\s*```/gm, (block) => block.replace(/[^\n]/g, ""));
  return [...prose.matchAll(/(?<!`)`([^`]+)`(?!`)/g)].map((match) => ({
    place: `${name}:${prose.slice(0, match.index).split("\n").length}`,
    text: (match[1] as string).replace(/\s*\n\s*/g, " ").replaceAll("\\|", "|"),
  }));
}

/** Targets of links and pictures. */
export function links(name: string): Found[] {
  const found: Found[] = [];
  for (const [index, line] of page(name).split("\n").entries())
    for (const [, text = ""] of line.matchAll(/\]\(([^)\s]+)\)/g)) found.push({ place: `${name}:${index + 1}`, text });
  return found;
}

/** The lines of `sh` and `console` blocks, without comments; of `console`, those after a `$ ` prompt. */
export function blockCommands(name: string): Found[] {
  const commands: Found[] = [];
  for (const { place, language, info, text } of blocks(name)) {
    // A whole program with a name of its own is run by the test of what starts it.
    if ((language !== "sh" && language !== "console") || info !== language) continue;
    const first = Number(place.split(":")[1]);
    let joined = "";
    for (const [index, line] of text.split("\n").entries()) {
      joined += language === "console" ? (/^\$ (.*)/.exec(line)?.[1] ?? "") : line;
      if (joined.endsWith("\\")) {
        joined = joined.slice(0, -1);
        continue;
      }
      const command = joined.replace(/(^|\s+)#\s.*$/, "").trim();
      if (command !== "") commands.push({ place: `${name}:${first + index}`, text: command });
      joined = "";
    }
  }
  return commands;
}

/** The examples of every `--help`. */
export async function helpCommands(): Promise<Found[]> {
  const commands = await Promise.all(["", ...Object.keys(COMMANDS)].map((name) => loadCommand(name)));
  const own = commands.flatMap(({ name, examples }) =>
    examples.map(([text]) => ({ place: `buddy ${name} --help`, text })),
  );
  const root = (rootHelp().split("Examples:\n")[1] ?? "").split("\n");
  const lines = root.map((line) => line.replace(/(^|\s+)#\s.*$/, "").trim());
  return [...own, ...lines.filter((text) => text !== "").map((text) => ({ place: "buddy --help", text }))];
}

/** Headings as links name them. */
export function anchors(name: string): Set<string> {
  const headings = [...page(name).matchAll(/^#+ (.+)$/gm)].map(([, text = ""]) => text.toLowerCase());
  return new Set(headings.map((text) => text.replace(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-")));
}
