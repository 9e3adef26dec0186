/** The pages of the documentation that the binary carries: `buddy help TOPIC` works without a network. */
import configuration from "../../../../docs/configuration.md" with { type: "text" };
import connect from "../../../../docs/connect.md" with { type: "text" };
import events from "../../../../docs/events.md" with { type: "text" };
import policy from "../../../../docs/policy.md" with { type: "text" };
import providers from "../../../../docs/providers.md" with { type: "text" };
import repl from "../../../../docs/repl.md" with { type: "text" };
import security from "../../../../docs/security.md" with { type: "text" };
import targets from "../../../../docs/targets.md" with { type: "text" };
import troubleshooting from "../../../../docs/troubleshooting.md" with { type: "text" };
import undo from "../../../../docs/undo.md" with { type: "text" };
import { print } from "../../../lib/output.ts";
import { isTerminal, wantsColor } from "../../../lib/terminal.ts";
import type { Topic } from "./command.ts";

const PAGES: Readonly<Record<Topic, string>> = {
  keys: repl,
  config: configuration,
  policy,
  targets,
  undo,
  events,
  connect,
  providers,
  troubleshooting,
  security,
};

/** Rendered on a terminal; otherwise the Markdown as it is. */
export async function topicPage(topic: Topic, color: false | undefined): Promise<string> {
  // Comments are for those who edit the page.
  const page = PAGES[topic].replace(/<!--[^]*?-->\n*/g, "");
  if (!isTerminal(1) || process.env["TERM"] === "dumb") return page;
  const { MarkdownStream } = await import("../../../ui/markdown/markdown-stream.ts");
  const { theme } = await import("../../../ui/theme.ts");
  const style = theme(wantsColor({ flag: color, env: process.env, isTty: true }));
  const rows = new MarkdownStream(style, false, () => process.stdout.columns || 80);
  rows.push(page);
  rows.end();
  return `${rows.take().join("\n")}\n`;
}

/** A text longer than the terminal opens in $PAGER or less, as a man page does. */
export async function showPage(text: string): Promise<void> {
  const { pagerCommand, runPager } = await import("../../../ui/terminal/outside-programs.ts");
  const pager = process.env["PAGER"] ? pagerCommand(process.env) : Bun.which("less") === null ? undefined : "less";
  const lines = text.trimEnd().split("\n");
  const fits = !isTerminal(0) || !isTerminal(1) || lines.length < (process.stdout.rows || 24);
  if (fits || pager === undefined || process.env["TERM"] === "dumb") return print([text]);
  await runPager(pager, lines, process.env);
}
