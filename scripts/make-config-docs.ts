/**
 * Writes docs/configuration.md and docs/buddy.schema.json from the table of settings: `bun
 * scripts/make-config-docs.ts`.
 */
import { join } from "node:path";
import * as z from "zod/mini";
import { CONFIG_TEMPLATE } from "../src/config/create.ts";
import {
  hookSettings,
  machineRuleSettings,
  mcpSettings,
  NAMED_SETTINGS,
  PROFILE_SETTINGS,
  ruleSettings,
  SETTINGS,
  targetSettings,
} from "../src/config/schema.ts";
import { type Setting, shownValue } from "../src/config/setting.ts";
import { expectation, schemaOf } from "../src/config/value-schemas.ts";

type Table = Readonly<Record<string, Setting<unknown>>>;

const SECTIONS: Readonly<Record<keyof typeof SETTINGS, string>> = {
  agent: "The active profile and how the loop runs.",
  tools: "Which tools the model has, and what they may do without a question.",
  safety:
    "Commands that are nearly always a mistake, delete data or can lock you out: `block`, `ask` or `off`, for `lockout` also `guard`. A guardrail, not a boundary ([details](policy.md#dangers)).",
  privacy: "How secrets are kept from the model ([how it works](security.md#secrets)).",
  limits:
    "Characters of a tool's result that the model gets (it can read the rest later), and budgets: at 80 % buddy warns; at the limit the REPL asks and `exec` ends with exit code 1.",
  audit: "The record of decisions and effects ([details](audit.md)).",
  tmux: "The tmux server and session of the shared pane.",
  fleet: "Many machines at once, and where their names come from.",
  network: "Time-outs and retries.",
  display: "What you see.",
};

/** The whole page. */
export function configurationPage(): string {
  const sections = Object.entries(SECTIONS).map(([name, text]) =>
    [`### \`[${name}]\``, "", text, "", ...rows(SETTINGS[name as keyof typeof SETTINGS])].join("\n"),
  );
  return `# Configuration

<!-- Made by scripts/make-config-docs.ts from src/config/schema.ts: change that, then run the script. -->

Your own file is the first of these that exists:

1. the file that \`--config PATH\` or \`BUDDY_CONFIG\` names (a missing file is an error; no other file is read),
2. \`$XDG_CONFIG_HOME/buddy/buddy.toml\`, otherwise \`~/.config/buddy/buddy.toml\`,
3. \`agent/agent.toml\` in the same place, such as \`~/.config/agent/agent.toml\` (the older name).

Unless you named a file, \`./buddy.toml\` (or \`./agent.toml\`, the older name) in the working directory is merged over it,
key by key; see below.

If none of them exists, a start that needs one writes the second from the template below; if the home is not writable,
the template is used without a file. In a terminal \`buddy\` first asks which model to use, and \`buddy init\` asks a few questions
more; \`buddy init --force\` keeps the old file as
\`buddy.toml.<seconds>.bak\`. An empty file is a working configuration: every key has a default.

Flags override environment variables, these override the files, and the files override the defaults. \`buddy doctor\` shows where
values come from. An unknown key is a warning that suggests the closest known one. All mistakes of a file are reported together, each with file, line,
what was found and what is expected.

The file that buddy writes refers to a schema next to it, \`buddy.schema.json\`, with which editors that have a TOML language server
(taplo, Even Better TOML) complete keys, show their meaning and mark mistakes. The same schema is in the documentation
([buddy.schema.json](buddy.schema.json)).

Durations are \`500ms\`, \`10s\`, \`5m\`, \`2h\`, \`1d\`, combinations (\`1h30m\`), or a bare number of seconds; at most 24 days.

## Files of the working directory

A \`buddy.toml\` in the working directory may have come with a repository. It can tighten your settings without a question; to
loosen them, it needs your trust. Every value is compared with yours:

- deny lists (\`shell_denylist\`, \`fetch_blocked_domains\`, \`mask_output\`) are added to yours;
- allow lists (\`shell_allow\`, \`shell_roots\`, \`files_allowed_paths\`, \`fetch_allowed_domains\`) may only
  become shorter or narrower;
- switches, levels and numbers may only become stricter: tools off, questions on, \`shell_auto_approve\` and
  \`[safety]\` towards \`none\`, \`block\` and \`required\`, \`[audit]\` on, \`show_tool_calls\` on, \`persist_history\` off, fewer turns,
  panes, sessions and machines at once, shorter background shells, smaller budgets (\`operator\` and \`developer\` are two ways to loosen \`read-only\`: neither is stricter);
- \`[rules]\` are added to yours, and the strictest applies; \`shell_auto_approve\` and \`allow\` of a rule may not be weaker
  than yours in \`[tools]\`, \`label\` and \`notes\` need trust;
- the rest of \`[display]\`, \`[limits]\` in characters, other time-outs, retries and sampling may have any value, and \`agent.model\` may
  choose \`demo\` or a profile of your own file (unless \`--api-key\` or \`BUDDY_API_KEY\` is set, because that profile would get the key).

Everything else needs trust, whatever the value: \`system_prompt\`, \`agent.name\`, \`tmux.socket\`, \`tmux.idle\`, \`lockout_revert\`,
every profile below \`[models]\`, \`[[model_rules]]\`, \`[[hooks]]\`, every server below \`[mcp]\`, every target below
\`[targets]\`, \`fleet.inventory\`. On a terminal buddy shows these settings and asks; the answer is remembered in
\`~/.config/buddy/trust.json\` for the content of the file and of the
programs, scripts and settings in its directory that it names; you will be asked again if they change. Without a
terminal they are ignored with a warning. \`--config ./buddy.toml\` uses the file for one run, instead of yours.
\`buddy doctor\` shows both files and which value came from which.

## Profiles

\`-m\`, \`BUDDY_MODEL\`, \`/model\` and \`agent.model\` name a profile: a table \`[models.<name>]\` (\`[model.<name>]\` works,
too). \`gpt-codex\`, \`gpt-spark\` and \`demo\` are built in; a table of the same name replaces either of the first two. On the command
line and in \`BUDDY_MODEL\` two more forms work:

| written | means |
|---|---|
| \`-m ollama\` | the profile |
| \`-m ollama:mistral\` | the profile with another model |
| \`-m deepseek/deepseek-v3.2\` | a model id (it has a digit or a slash, or comes with \`--base-url\`) at the active profile's endpoint |

${rows(PROFILE_SETTINGS).join("\n")}

The key is the first of: \`--api-key\` (other users can see it in \`ps\`), \`BUDDY_API_KEY\`, the key of the profile. A profile with
two sources of a key is an error. For \`openrouter.ai\`, the key from \`buddy login openrouter\` is used if there is no other. A
server on this machine or in a private network needs no key, nor does a profile with a key in \`headers\`.

\`--base-url\` and \`BUDDY_BASE_URL\` replace the address of the profile chosen at the start. A sign-in is never sent to
another host: with another address, a profile with \`auth = "login"\` uses a key and the \`completions\` protocol.

## Targets

Machines by name, for \`--on\` ([names and places](targets.md#machines-by-name)): one table \`[targets.NAME]\` each. The
keys are the steps to the target: first \`ssh\`, then \`container\` and \`via\` in the order written.

${rows(targetSettings()).join("\n")}

## Rules of machines

Settings for some machines only ([how rules are matched](targets.md#rules-of-a-machine)): one table \`[rules."PATTERN"]\` each.
An unknown key in it is an error.

${rows(machineRuleSettings()).join("\n")}

## Sections

${sections.join("\n\n")}

### \`[mcp.NAME]\`

A server that offers tools over the Model Context Protocol; either \`command\` or \`url\`. NAME is lower-case letters, digits and
hyphens ([how it works](extending.md#mcp-servers)).

${rows(mcpSettings()).join("\n")}

### \`[[model_rules]]\`

Facts about models that are missing or wrong in buddy's catalog; exactly one of \`exact\`, \`prefix\`,
\`contains\` in each. The first match counts, before the catalog.

${rows(ruleSettings()).join("\n")}

### \`[[hooks]]\`

Your own programs that get events, and may deny a tool call before it runs ([how they work](extending.md#hooks)).

${rows(hookSettings()).join("\n")}

## Environment

The first six are also read as \`AGENT_…\` if the \`BUDDY_…\` one is unset or empty.

| variable | same as |
|---|---|
| \`BUDDY_API_KEY\` | a key for any profile |
| \`BUDDY_BASE_URL\` | \`--base-url\` |
| \`BUDDY_MODEL\` | \`--model\` |
| \`BUDDY_CONFIG\` | \`--config\` |
| \`BUDDY_API_TIMEOUT\` | \`network.api_timeout\` |
| \`BUDDY_FETCH_TIMEOUT\` | \`network.fetch_timeout\` |
| \`BUDDY_LOG\` | how much is reported: \`error\` (as \`-q\`), \`info\`, \`verbose\` (as \`-v\`), \`debug\` (as \`-vv\`) |
| \`BUDDY_TRACE_FILE\` | file of the trace, as \`--trace\` |
| \`BUDDY_PLAIN=1\` | the REPL line by line, for screen readers |
| \`BUDDY_SEARCH_URL\` | the server that \`web_search\` asks |
| \`BUDDY_INSTALL_BASE_URL\` | the mirror that \`buddy update\` and \`install.sh\` download from |
| \`NO_COLOR\`, \`FORCE_COLOR\` | no colour; colour also in a pipe. \`--no-color\` overrides both |
| \`CLICOLOR=0\`, \`CLICOLOR_FORCE=1\` | the same; those two override them |

## The template

\`\`\`toml
${CONFIG_TEMPLATE.trim()}
\`\`\`
`;
}

function rows(table: Table): string[] {
  const lines = Object.entries(table).map(([key, setting]) => {
    const fallback = setting.fallback === undefined ? "" : `\`${shownValue(setting, setting.fallback)}\``;
    return `| \`${key}\` | ${cell(expectation(setting.of))} | ${cell(fallback)} | ${cell(setting.text)} |`;
  });
  return ["| key | value | default | |", "|---|---|---|---|", ...lines];
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}

export const CONFIG_SCHEMA = join(import.meta.dir, "../docs/buddy.schema.json");

/** For editors: what may stand in buddy.toml, made from the same schemas that check it. */
export function configurationSchema(): Record<string, unknown> {
  const named = Object.entries(NAMED_SETTINGS).map(([name, { keys, name: pattern }]) => [
    name,
    { type: "object", propertyNames: { pattern: pattern.source }, additionalProperties: tableSchema(keys()) },
  ]);
  const profiles = { type: "object", additionalProperties: tableSchema(PROFILE_SETTINGS) };
  const properties = {
    ...Object.fromEntries(Object.entries(SETTINGS).map(([name, table]) => [name, tableSchema(table)])),
    models: profiles,
    model: profiles,
    ...Object.fromEntries(named),
    model_rules: { type: "array", items: tableSchema(ruleSettings()) },
    hooks: { type: "array", items: tableSchema(hookSettings()) },
  };
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "buddy.toml",
    type: "object",
    additionalProperties: false,
    properties,
  };
}

function tableSchema(table: Table): Record<string, unknown> {
  const properties = Object.entries(table).map(([key, setting]) => {
    const { $schema: _, ...shape } = z.toJSONSchema(schemaOf(setting.of), { io: "input" });
    return [key, { description: setting.text, ...shape, ...defaultOf(setting) }];
  });
  return { type: "object", additionalProperties: false, properties: Object.fromEntries(properties) };
}

/** As it would be written in the file. */
function defaultOf(setting: Setting<unknown>): { default?: unknown } {
  if (setting.fallback === undefined) return {};
  try {
    return { default: JSON.parse(shownValue(setting, setting.fallback)) };
  } catch {
    return {};
  }
}

if (import.meta.main) {
  await Bun.write(CONFIG_SCHEMA, `${JSON.stringify(configurationSchema(), undefined, 2)}\n`);
  await Bun.write(join(import.meta.dir, "../docs/configuration.md"), configurationPage());
}
