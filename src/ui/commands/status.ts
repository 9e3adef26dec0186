/** /status, /context, /tools and the first screen: what buddy is connected to, how full the window is. */
import { clip } from "../../lib/text.ts";
import type { ApprovalMode } from "../../policy/approvals.ts";
import type { MachinesMode, ReplFacts, ReplHost, StatusRow } from "../repl/host.ts";
import type { Theme } from "../theme.ts";
import { clock, compactNumber, labelled, oneLine } from "../words.ts";
import type { CommandScreen } from "./slash-commands.ts";

export function status(screen: CommandScreen, which: string): void {
  if (which !== "" && which !== "all")
    return screen.fail(`/status takes only the word all, not "${oneLine(which)}"`, "usage: /status [all]");
  const { host, tasks, style } = screen;
  const facts = host.facts();
  const rules = rulesWords(facts);
  const machines = facts.target.machines?.length ?? 0;
  const panes = `/attach lists the panes of ${machines} ${machines === 1 ? "machine" : "machines"}`;
  const open = tasks.list.filter((task) => task.state.kind !== "over");
  const more = host.status();
  const now: StatusRow[] = [
    { label: "where", value: oneLine(targetWords(facts)) },
    ...(rules === undefined ? [] : [{ label: "rules", value: rules }]),
    ...(facts.target.notes ?? []).map((note) => ({ label: "notes", value: oneLine(note) })),
    // Several machines have one each.
    ...(facts.target.cwd === "" ? [] : [{ label: "directory", value: oneLine(facts.target.cwd) }]),
    { label: "watch", value: machines === 0 ? oneLine(facts.target.attach ?? "no shared pane") : panes },
    { label: "model", value: oneLine(`${facts.model} (profile ${facts.profile})`) },
    { label: "approvals", value: approvalWords(host.approvals.mode, Date.now()) },
    ...more.filter(({ label }) => label === "read-only"),
    ...(host.approvals.remembered().length > 0
      ? [{ label: "always", value: host.approvals.remembered().map(oneLine).join(", ") }]
      : []),
    ...(facts.dryRun ? [{ label: "dry run", value: "nothing is changed" }] : []),
    ...(open.length === 0
      ? []
      : [{ label: "tasks", value: open.map((task) => `${task.id} ${screen.doing(task)}`).join(", ") }]),
    { label: "context", value: contextWords(facts) },
    ...more.filter(({ label }) => label === "tokens" || label === "budget"),
    { label: "session", value: facts.session + (facts.resumed ? " (resumed)" : "") },
  ];
  const rest: StatusRow[] = [
    ...more.filter(({ label }) => !now.some((row) => row.label === label)),
    {
      label: "tools",
      value: host
        .tools()
        .filter(({ off }) => off === undefined)
        .map(({ name }) => name)
        .join(" "),
    },
    { label: "buddy", value: host.version },
  ];
  const all = which === "all";
  screen.say([
    ...labelled(all ? [...now, ...rest] : now, screen.columns, style.grey),
    ...(all ? [] : [style.grey("More: /status all (endpoint, tools, instructions, files, versions)")]),
  ]);
}

export function context(screen: CommandScreen): void {
  const facts = screen.host.facts();
  const { contextUsed: used, contextLimit: limit, contextState } = facts;
  const share = limit > 0 ? Math.min(1, used / limit) : 0;
  const width = Math.max(10, Math.min(40, screen.columns - 12));
  const filled = Math.round(share * width);
  const bar = `[${"#".repeat(filled)}${"·".repeat(width - filled)}] ${Math.round(share * 100)}%`;
  const advice =
    contextState === "compact"
      ? "nearly full: /compact makes room, /new starts a new conversation"
      : contextState === "warn"
        ? "filling up: buddy compacts automatically at 90 %; /compact does it now"
        : "";
  screen.say([
    contextState === "ok" ? bar : screen.style.warning(bar),
    ...labelled(
      [
        { label: "context", value: contextWords(facts) },
        ...screen.host.status().filter(({ label }) => /token|cost|turn/i.test(label)),
      ],
      screen.columns,
      screen.style.grey,
    ),
    ...(advice === "" ? [] : [advice]),
  ]);
}

export function cost(screen: CommandScreen): void {
  const rows = screen.host.status().filter(({ label }) => /token|cost|turn|budget|endpoint/i.test(label));
  screen.say(
    labelled(
      [...rows, { label: "context", value: contextWords(screen.host.facts()) }],
      screen.columns,
      screen.style.grey,
    ),
  );
}

export function config(screen: CommandScreen): void {
  screen.say(labelled(screen.host.config(), screen.columns, screen.style.grey));
}

export function tools(screen: CommandScreen): void {
  const { style } = screen;
  const rows = screen.host.tools();
  const wide = Math.min(24, Math.max(4, ...rows.map(({ name }) => name.length)));
  screen.say(
    rows.map(({ name, description, off }) => {
      const words = off === undefined ? oneLine(description) : `off: ${off}`;
      const label = name.padEnd(wide);
      return clip(
        `${off === undefined ? style.toolName(label) : style.grey(label)}  ${style.grey(words)}`,
        screen.columns,
      );
    }),
  );
}

function targetWords(facts: ReplFacts): string {
  const { target } = facts;
  const who =
    target.host === undefined ? target.name : target.user === undefined ? target.host : `${target.user}@${target.host}`;
  if (target.kind === "fleet") return target.state === "open" ? target.name : `${target.name}, connecting`;
  const where =
    target.kind === "local"
      ? `${who} (this machine)`
      : target.kind === "ssh"
        ? `${who} over ssh`
        : target.kind === "container"
          ? `${who} in container ${target.name}`
          : target.host === undefined
            ? target.name
            : `${who} (${target.name})`;
  if (target.state === "opening" && target.kind !== "local") return `${where}, connecting`;
  if (target.lostAt !== undefined) return `${where}, reconnecting for ${clock(Date.now() - target.lostAt)}`;
  return target.state === "failed" ? `${where}: ${oneLine(target.problem ?? "not connected")}` : where;
}

/** "PROD, read-only: no change can be approved"; of several machines "web02 read-only: …". */
export function rulesWords({ target: { label, modes = [] } }: ReplFacts): string | undefined {
  const words = [
    ...(label === undefined ? [] : [label]),
    ...modes.map(({ mode, machines }) => `${machines === undefined ? "" : `${machines} `}${mode}: ${MODES[mode]}`),
  ];
  return words.length === 0 ? undefined : oneLine(words.join(", "));
}

const MODES: Readonly<Record<MachinesMode["mode"], string>> = {
  guarded: "high risk needs the machine's name typed",
  "read-only": "no change can be approved",
};

export function approvalWords(mode: ApprovalMode, now: number): string {
  switch (mode.kind) {
    case "ask":
      return "buddy asks before it makes a change";
    case "all":
      return "auto-approving everything until /approve ask";
    case "none":
      return "denying everything that needs approval";
    case "until":
      return `auto-approving everything for ${clock(Math.max(0, mode.at - now))}`;
  }
}

function contextWords({ contextUsed, contextLimit }: ReplFacts): string {
  const share = contextLimit > 0 ? Math.round((contextUsed / contextLimit) * 100) : 0;
  return `${compactNumber(contextUsed)} of ${compactNumber(contextLimit)} tokens (${share}% used)`;
}

// ── The first screen: what buddy is connected to, how to watch it, what to type. At most six short lines.

export function welcome(host: ReplHost, columns: number, style: Theme): string[] {
  const facts = host.facts();
  const row = (label: string, value: string): string => clip(`${style.grey(label.padEnd(8))} ${value}`, columns);
  const { mode } = host.approvals;
  const lines = [
    clip(`${style.prompt("buddy")} ${style.grey(host.version)}`, columns),
    row("model", `${oneLine(facts.model)} ${style.grey(`(${oneLine(facts.profile)})`)}`),
    row("target", oneLine(targetWords(facts))),
  ];
  const rules = rulesWords(facts);
  if (rules !== undefined) lines.push(clip(`${style.grey("rules".padEnd(8))} ${style.warning(rules)}`, columns));
  if (facts.target.notes !== undefined) lines.push(...facts.target.notes.map((note) => row("notes", oneLine(note))));
  if (facts.target.attach !== undefined) lines.push(...attachLines(facts.target.attach, columns, style));
  if (facts.resumed) lines.push(row("session", `${facts.session}, resumed${lastWords(facts.lastPrompt, style)}`));
  if (facts.dryRun) lines.push(row("dry run", "nothing will be changed"));
  else if (mode.kind !== "ask")
    lines.push(clip(style.warning(`approvals: ${approvalWords(mode, Date.now())}`), columns));
  lines.push(clip(style.grey("Type a request. /help lists commands."), columns));
  return lines;
}

function lastWords(prompt: string | undefined, style: Theme): string {
  return prompt === undefined ? "" : style.grey(` after “${clip(oneLine(prompt), LAST_WORDS)}”`);
}

const LAST_WORDS = 60;

/** How to watch the shared pane: in one piece, to be copied. */
export function attachLines(attach: string, columns: number, style: Theme): string[] {
  const command = oneLine(attach);
  const label = "watch".padEnd(8);
  if (label.length + 1 + Bun.stringWidth(command) <= columns) return [`${style.grey(label)} ${command}`];
  return [style.grey("watch"), command];
}

// What to do about an error, with the commands of the REPL.

/** Hints are written for the command line; inside the REPL its own commands do the same. */
export function replHint(hint: string, profile: string): string {
  return (
    hint
      .replace(/\bbuddy login(?= [\w.-]+)/g, "/login")
      .replace(/\bbuddy login\b/g, `/login ${profile}`)
      .replace(/\bbuddy models( [\w.-]+)?/g, (_, name = ` ${profile}`) => `/model${name}:`)
      .replace(/\bbuddy sessions\b(?! --| (?:export|output|rm)\b)/g, "/session")
      .replace(/\bbuddy resume\b/g, "/resume")
      .replace(/`?\bbuddy (targets|skills|changes|logout|mcp)\b(?! --| (?:check|add|remove|login|logout)\b)`?/g, "/$1")
      // Its argument is taken as it is, without a shell.
      .replace(/\/targets '([^']*)'/g, "/targets $1")
      .replace(/(?<![\w-])--on(?= \S)/g, "/on")
      .replace(/(?:, )?(?<![\w-])--model(?: \S+)?(?=[\s,.;)]|$)/g, (flag) => (flag.startsWith(",") ? "" : "/model"))
  );
}
