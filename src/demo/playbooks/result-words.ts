/** A tool's real result in plain words. */
import type { Round } from "./rounds.ts";

export function resultWords(what: string, round: Round): string {
  const verb = VERB[round.tool] ?? "answered";
  switch (round.outcome) {
    case "ok":
      return round.text.trim() === ""
        ? `${what} ${verb}; there was no output.`
        : `${what} ${verb}:\n\n${block(round.text)}`;
    case "failed":
      return `${what} failed with exit code ${round.exitCode}${round.text.trim() === "" ? "." : `:\n\n${block(round.text)}`}`;
    case "unfinished":
      return `${what} did not end as usual:\n\n${block(round.text)}`;
    case "timed-out":
      return `${what} did not finish in time:\n\n${block(round.text)}`;
    case "blocked":
      return `${what} was not run, the policy does not allow it: ${oneLine(round.text.replace(/^not allowed:?\s*/i, ""))}`;
    case "refused":
      return `${what} was not run: ${firstSentence(round.text.replace(/^refused:?\s*/i, ""))}`;
    case "dry-run":
      return `${what} was not run, this is a dry run: ${oneLine(round.text)}`;
    case "cancelled":
      return `${what} was cancelled.`;
    case "error":
      return `${what} did not work: ${oneLine(round.text.replace(/^[a-z ]+:\s*/i, ""))}`;
  }
}

const VERB: Readonly<Record<string, string>> = {
  run_shell: "succeeded",
  read_file: "contains",
  fetch_url: "says",
  web_search: "found",
};

const MOST_LINES = 60;

/** As code, so that nothing in it is taken for Markdown; a fence longer than any inside. */
export function block(text: string): string {
  const lines = text.replace(/\s+$/, "").split("\n");
  const shown =
    lines.length > MOST_LINES ? [...lines.slice(0, MOST_LINES), `… ${lines.length - MOST_LINES} more lines`] : lines;
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${shown.join("\n")}\n${fence}`;
}

/** What follows is advice for a model that could think about it. */
function firstSentence(text: string): string {
  return oneLine(text).split(/(?<=[.!?])\s/)[0] ?? "";
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
