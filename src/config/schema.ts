/**
 * Every setting of buddy.toml: section, key, type, default and meaning. docs/configuration.md is made from this table.
 * Also the built-in profiles.
 */
import {
  allowDeny,
  amount,
  anyText,
  commandLine,
  commandLines,
  decimal,
  duration,
  jsonTable,
  oneOf,
  optional,
  patterns,
  type Setting,
  textLike,
  textOrTexts,
  texts,
  textTable,
  type ValueOf,
  wholeNumber,
  yesNo,
  yesNoOr,
  yesNoOrText,
} from "./setting.ts";
import { once } from "../lib/values.ts";

/** No tool puts more than this many characters into the conversation, whatever [limits] says. */
const MAX_CHARACTERS = 128 * 1024;

const SECOND = 1000;
const MINUTE = 60 * SECOND;

const LEVELS = ["block", "ask", "off"] as const;
const limit = (text: string) =>
  wholeNumber(0, MAX_CHARACTERS, 0, `characters ${text}; 0 scales with the model's context`);

const effort = (text: string) =>
  optional(oneOf(["none", "minimal", "low", "medium", "high", "xhigh", "max"], "medium", text));

export const SETTINGS = {
  agent: {
    name: textLike(
      /^[A-Za-z0-9_-]{0,32}$/,
      "",
      "letters, digits, - and _, at most 32",
      "names the tmux session buddy-NAME; empty: buddy- and 12 hex digits of the target",
    ),
    model: anyText("gpt-codex", "the active profile: a name below [models], or demo"),
    system_prompt: anyText("", "your own instructions, added to the built-in ones"),
    max_iterations: wholeNumber(1, 10_000, 50, "model turns one prompt may take"),
    temperature: decimal(0, 2, "sampling temperature; if not set, the model's default"),
    top_p: decimal(0, 1, "nucleus sampling; if not set, the model's default"),
    reasoning_effort: effort("how long a reasoning model thinks; if not set, the model's default"),
  },
  tools: {
    shell_enabled: yesNo(true, "run_shell and background shells"),
    files_enabled: yesNo(true, "read_file, write_file, edit_file"),
    fetch_enabled: yesNo(true, "fetch_url"),
    search_enabled: yesNo(true, "web_search"),
    shell_confirm: yesNo(true, "ask before commands, writes and MCP calls that are not approved automatically"),
    fetch_confirm: yesNoOr(
      "new-domain",
      "new-domain",
      "ask before fetching a page: only if its host is neither listed nor in your prompt, always (true), or never (false)",
    ),
    shell_auto_approve: oneOf(
      ["none", "read-only", "operator", "developer"],
      "read-only",
      "commands that run without a question: none, or those proven read-only; operator adds reads with your credentials, developer everyday build and git commands",
    ),
    shell_allow: texts([], 'commands that run without a question, by their first words: "systemctl status"'),
    shell_denylist: patterns(
      ["shutdown", "reboot", "halt", "poweroff", "systemctl poweroff", "systemctl reboot", "systemctl halt"],
      "commands that never run: first words, or /regex/ for the raw text",
    ),
    shell_roots: texts([], "if set, commands run only below these directories"),
    shell_timeout: duration(120 * SECOND, "how long run_shell waits for a command"),
    shell_timeout_slow: duration(15 * MINUTE, 'the same with mode = "slow"'),
    background_timeout: duration(24 * 60 * MINUTE, "how long a background shell may run"),
    files_allowed_paths: texts([], "if set, files are written only below these directories"),
    fetch_allowed_domains: texts([], "if set, only these hosts are fetched, private ones too; subdomains included"),
    fetch_blocked_domains: texts([], "hosts that are never fetched; subdomains included"),
  },
  safety: {
    git_add: oneOf(LEVELS, "block", "git add of everything (-A, ., *)"),
    force_push: oneOf(LEVELS, "block", "git push --force; --force-with-lease is allowed"),
    dangerous_rm: oneOf(LEVELS, "block", "rm -r of /, home, .git, * and system directories"),
    disk: oneOf(LEVELS, "block", "writing to disks, formatting, chmod or chown -R of root"),
    fork_bomb: oneOf(LEVELS, "block", "fork bombs"),
    lockout: oneOf(
      ["block", "guard", "ask", "off"],
      "guard",
      "changes that can lock you out: firewall, sshd, network, PAM, sudoers, accounts; only a person can approve them; guard also reverts them unless you keep them",
    ),
    lockout_revert: duration(2 * MINUTE, "with guard: how long you have to keep such a change"),
    data: oneOf(
      LEVELS,
      "ask",
      "commands that delete data: DROP, TRUNCATE, volumes, storage of a cluster or cloud; only a person can approve them",
    ),
    read_only_namespace: oneOf(
      ["auto", "required", "off"],
      "auto",
      "run read-only commands where no file can be written; auto: if the machine supports it; required: otherwise ask",
    ),
  },
  privacy: {
    to_model: oneOf(
      ["mask", "off"],
      "mask",
      "whether the model gets names instead of secrets (‹secret-3: AWS key›), or everything unchanged",
    ),
    mask_output: texts(
      [],
      'more commands whose output is secrets, by their first words: "mycli secrets show"; many are built in',
    ),
  },
  limits: {
    shell: limit("of a command's output that the model gets"),
    file: limit("of a file"),
    page: limit("of a fetched page"),
    search: limit("of search results"),
    capture: limit("of a captured pane"),
    mcp: limit("of a result of an MCP server"),
    cost_session: amount(1_000_000, "USD a session may cost before buddy asks or stops; 0: no limit; also --max-cost"),
    tokens_turn: wholeNumber(
      0,
      1_000_000_000,
      0,
      "tokens, sent and received, one prompt may use before buddy asks or stops; 0: no limit",
    ),
  },
  audit: {
    journal: yesNo(false, "also log each decision and effect on the machine concerned (logger -t buddy)"),
    required: yesNo(false, "change nothing while the record cannot be written"),
    rotate_mb: wholeNumber(1, 1024, 16, "size in MB at which the record continues in a new file; none is removed"),
  },
  tmux: {
    socket: textLike(
      /^[A-Za-z0-9_.-]{0,64}$/,
      "buddy",
      "letters, digits, ., - and _, at most 64",
      "name of buddy's own tmux server (tmux -L); empty: your default server",
    ),
    max_sessions: wholeNumber(1, 32, 1, "maximum number of managed sessions"),
    max_panes: wholeNumber(1, 64, 5, "maximum number of managed panes in a session"),
    idle: duration(24 * 60 * MINUTE, "how long a session that is not in use is kept"),
  },
  fleet: {
    inventory: anyText("", "an Ansible inventory file, whose hosts and groups become names for --on; empty: none"),
    parallel: wholeNumber(1, 1000, 32, "maximum number of machines at once; if not set, reads are not limited"),
  },
  network: {
    api_timeout: duration(120 * SECOND, "how long a model may stay silent"),
    answer_timeout: duration(60 * MINUTE, "how long one answer may take, even while text keeps arriving"),
    fetch_timeout: duration(20 * SECOND, "how long fetching a page may take"),
    retries: wholeNumber(0, 20, 4, "how often a failed model request is repeated"),
  },
  display: {
    color: oneOf(["auto", "always", "never"], "auto", "colour; true is auto, false is never", ["auto", "never"]),
    markdown: yesNo(true, "render answers on a terminal"),
    show_tokens: yesNo(false, "token counts after each answer"),
    show_tool_calls: yesNo(true, "what tools are called with and what they return"),
    show_reasoning: yesNo(true, "the model's reasoning, dimmed"),
    persist_history: yesNo(true, "keep the lines typed in the REPL"),
    theme: oneOf(
      ["auto", "dark", "light", "high-contrast", "none"],
      "auto",
      "colours; auto asks the terminal for its background",
    ),
    notify: oneOf(
      ["auto", "bell", "osc9", "off"],
      "auto",
      "notify when a task of over 20 s ends or waits and the terminal has no focus",
    ),
  },
} as const satisfies Record<string, Record<string, Setting<unknown>>>;

/** Keys of [models.<name>]. */
export const PROFILE_SETTINGS = {
  api_base_url: textLike(
    /^https?:\/\/[^\s@]+$/,
    "https://api.openai.com/v1",
    'an http or https address without user or password, such as "http://localhost:11434/v1"',
    "the endpoint",
  ),
  api: oneOf(["completions", "responses", "anthropic"], "completions", "the protocol the endpoint speaks"),
  provider: optional(
    anyText("", 'the provider whose rules apply, such as "mistral"; if not set, derived from address and model'),
  ),
  auth: oneOf(["api-key", "login"], "api-key", "a key, or the sign-in of buddy login"),
  model: optional(anyText("", "the model's id at the endpoint; without it, the profile's name")),
  api_key_env: optional(
    textLike(/^[A-Za-z_][A-Za-z0-9_]*$/, "", "the name of an environment variable", "variable that holds the key"),
  ),
  api_key_file: optional(anyText("", "file that holds the key; ~ and paths relative to this file work")),
  api_key: optional(anyText("", "the key itself (keep the file private)")),
  api_key_command: commandLine(
    "program that prints the key, or JSON with a token and its expiry; run without a shell; a token is kept in memory until it expires",
  ),
  api_key_header: optional(
    textLike(
      /^[A-Za-z0-9-]+$/,
      "",
      'the name of an HTTP header, such as "api-key"',
      "header for the plain key, instead of Authorization: Bearer",
    ),
  ),
  headers: textTable("HTTP headers to add; ${NAME} is replaced by that environment variable"),
  query: textTable("parameters to add to the address of every request, such as api-version"),
  context_limit: optional(
    wholeNumber(1024, 100_000_000, 0, "the model's context window in tokens; if not set, from the catalog"),
  ),
  max_tokens: optional(wholeNumber(1, 100_000_000, 0, "longest answer in tokens; if not set, the server's default")),
  temperature: decimal(0, 2, "as in [agent], for this profile"),
  top_p: decimal(0, 1, "as in [agent], for this profile"),
  reasoning_effort: effort("as in [agent], for this profile"),
  extra_body: jsonTable("fields to add to the body of every request; they replace buddy's own"),
  images: optional(yesNo(false, "whether the model reads images; if not set, from the catalog")),
  proxy: optional(
    textLike(/^https?:\/\/\S+$/, "", 'an http or https address such as "http://proxy:3128"', "proxy for this profile"),
  ),
  ca_file: optional(anyText("", "file with the certificates (PEM) to trust for this endpoint")),
  stream: yesNo(true, "stream answers"),
} as const satisfies Record<string, Setting<unknown>>;

/** Run by buddy itself: no key, no network. */
export const DEMO_PROFILE = "demo";

const OPENAI_LOGIN = {
  ...(defaultsOf(PROFILE_SETTINGS) as unknown as ProfileSettings),
  api: "responses",
  auth: "login",
} as const;

/** An empty file is a working configuration. A profile of the same name in the file replaces one of these. */
export const BUILT_IN_PROFILES: Readonly<Record<string, ProfileSettings>> = {
  "gpt-codex": { ...OPENAI_LOGIN, model: "gpt-5.3-codex" },
  "gpt-spark": { ...OPENAI_LOGIN, model: "gpt-5.3-codex-spark" },
};

// The tables below are created only for a file that has such sections.

/** Keys of [mcp.<name>]: a server that offers tools, started as a program or reached at a URL. */
export const mcpSettings = once(
  () =>
    ({
      command: commandLine("program and arguments of a server that uses stdin and stdout"),
      url: optional(
        textLike(
          /^https?:\/\/[^\s@]+$/,
          "",
          'an http or https address without user or password, such as "https://mcp.example.com/mcp"',
          "URL of a server that uses HTTP (streamable)",
        ),
      ),
      env: textTable("variables to add to the program's environment; ${NAME} is replaced by that environment variable"),
      headers: textTable("HTTP headers to send to the URL; ${NAME} is replaced by that environment variable"),
      oauth_client_id: optional(anyText("", "client id for the sign-in, if the server does not register clients")),
      enabled: yesNo(true, "false keeps the server out of every session"),
      tools: allowDeny(
        "which of its tools are offered, by patterns such as get_*: a list, or { allow = […], deny = […] }; deny wins",
      ),
      timeout: duration(60 * SECOND, "how long one call may take since its last progress report"),
      start_timeout: duration(10 * SECOND, "how long the first request waits for a server that was never seen before"),
      trust_read_only: yesNo(false, "tools that the server calls read-only run without a question"),
    }) as const satisfies Record<string, Setting<unknown>>,
);

/** Keys of [targets.<name>]: a machine, several, or a group of names. */
export const targetSettings = once(
  () =>
    ({
      ssh: textOrTexts('hosts as --ssh takes them, one or a list; ranges: "deploy@web[01-12]"'),
      container: optional(
        textLike(
          /^[A-Za-z0-9][A-Za-z0-9_.-]*$/,
          "",
          "the name or id of a container",
          "container, on the ssh host if there is one",
        ),
      ),
      via: commandLines(
        "command that starts a program in the target with piped stdio; in a list of commands, each is one step further",
      ),
      attach_via: commandLines("the same command for a terminal, to attach: kubectl exec -it …; one for each in via"),
      cd: optional(anyText("", "directory to work in")),
      tmux: yesNoOrText(
        /^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$/,
        "true, false or the name of a tmux session",
        "true: require tmux; false: do not use it; a name: use that session",
      ),
      include: optional(texts([], "other names, hosts of ~/.ssh/config, globs and ranges; makes it a group of them")),
    }) as const satisfies Record<string, Setting<unknown>>,
);

/** Keys of [rules."PATTERN"]: settings for the machines whose names match. */
export const machineRuleSettings = once(
  () =>
    ({
      mode: optional(
        oneOf(
          ["normal", "guarded", "read-only"],
          "normal",
          "guarded: high risk needs the machine's name typed; read-only: no change can be approved",
        ),
      ),
      label: optional(
        textLike(
          /^[^\p{C}\s](?:[^\p{C}]{0,22}[^\p{C}\s])?$/u,
          "",
          "1 to 24 visible characters",
          "label of the machine in prompts, questions and events, such as PROD",
        ),
      ),
      shell_auto_approve: optional(
        oneOf(["none", "read-only", "operator", "developer"], "read-only", "as in [tools], on these machines"),
      ),
      deny: optional(patterns([], "commands that never run on these machines, in addition to shell_denylist")),
      allow: optional(texts([], "commands that run on these machines without a question, instead of shell_allow")),
      approve_max: optional(
        duration(10 * MINUTE, "the longest duration of /approve and --approve on these machines; 0: not at all", 0),
      ),
      notes: optional(anyText("", "notes on these machines: shown at the start and sent to the model")),
    }) as const satisfies Record<string, Setting<unknown>>,
);

/** Sections of tables that the user names: [mcp.grafana]. The name must match the pattern. */
export const NAMED_SETTINGS = {
  mcp: {
    keys: mcpSettings,
    name: /^[a-z0-9](?:-?[a-z0-9])*$/,
    expects: "lower-case letters, digits and single hyphens",
    most: 32,
    why: "a program would be started, or your conversation sent to its address",
  },
  targets: {
    keys: targetSettings,
    name: /^[A-Za-z0-9][A-Za-z0-9._-]*$/,
    expects: "letters, digits, ., - and _, beginning with a letter or a digit",
    most: 64,
    why: "commands could run on a different machine than the name says, or through a program the file chooses",
  },
  rules: {
    keys: machineRuleSettings,
    // A rule whose pattern can never match must be an error: lists of files, negations, half a range.
    name: /^(?![@!,])(?:[^\p{C}[\]!]|\[[\da-z]+(?:-[\da-z]+)?(?:, ?[\da-z]+(?:-[\da-z]+)?)*\]|\[[^[\]\p{C}]*:[^[\]\p{C}]*\])+$/iu,
    expects: "names, hosts, machine-ids or containers, with *, ?, ranges and commas",
    most: 200,
    why: "rules of machines would be weaker",
    strict: true,
  },
} as const satisfies Record<string, NamedSection>;

export interface NamedSection {
  readonly keys: () => Readonly<Record<string, Setting<unknown>>>;
  readonly name: RegExp;
  /** Ends "the name must be". */
  readonly expects: string;
  /** Characters of a name, at most. */
  readonly most: number;
  /** Why a table of a working directory's file needs trust. */
  readonly why: string;
  /** An unknown key is an error, not a warning: a misspelt rule must not be ignored. */
  readonly strict?: boolean;
}

/** Keys of [[model_rules]], which override the built-in catalog; exactly one of exact, prefix, contains. */
export const ruleSettings = once(
  () =>
    ({
      exact: optional(anyText("", "the model's id")),
      prefix: optional(anyText("", "the beginning of the id")),
      contains: optional(anyText("", "a part of the id")),
      context_limit: optional(wholeNumber(1024, 100_000_000, 0, "the model's context window in tokens")),
      max_output: optional(wholeNumber(1, 100_000_000, 0, "longest answer in tokens")),
      price_in: decimal(0, 1_000_000, "USD per million tokens sent"),
      price_out: decimal(0, 1_000_000, "USD per million tokens received"),
      price_cached: decimal(0, 1_000_000, "USD per million tokens sent that the provider had cached"),
      images: optional(yesNo(false, "whether it reads images")),
    }) as const satisfies Record<string, Setting<unknown>>,
);

/** Keys of [[hooks]]: the operator's programs, started on events; a before-tool hook can deny the call. */
export const hookSettings = once(
  () =>
    ({
      on: optional(
        oneOf(
          ["before-tool", "after-tool", "approval", "session-start", "session-end"],
          "after-tool",
          "the event that starts it",
        ),
      ),
      command: commandLine("the program and its arguments, run without a shell; it gets the event as JSON on stdin"),
      match: textOrTexts("names of tools, with * and ?; if not set, all"),
      machine: textOrTexts("names, hosts or labels of machines, with * and ?; if not set, all"),
      timeout: duration(10 * SECOND, "how long it may run; a before-tool hook that takes longer denies the call"),
    }) as const satisfies Record<string, Setting<unknown>>,
);

export function defaultsOf(table: Readonly<Record<string, Setting<unknown>>>): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const key of Object.keys(table)) values[key] = table[key]?.fallback;
  return values;
}

type Values<T> = { readonly [K in keyof T]: ValueOf<T[K]> };

export type Settings = { readonly [S in keyof typeof SETTINGS]: Values<(typeof SETTINGS)[S]> };
export type ProfileSettings = Values<typeof PROFILE_SETTINGS>;
export type ModelRule = Values<ReturnType<typeof ruleSettings>>;
export type MachineRuleSettings = Values<ReturnType<typeof machineRuleSettings>> & { readonly pattern: string };
export type McpSettings = Values<ReturnType<typeof mcpSettings>>;
/** One [[hooks]] table; `on` and `command` are always set. */
export type HookSettings = Omit<Values<ReturnType<typeof hookSettings>>, "on" | "command"> & {
  readonly on: NonNullable<ValueOf<ReturnType<typeof hookSettings>["on"]>>;
  readonly command: readonly string[];
};

/** `written`: its keys in file order, which is the order in which places nest. */
export type TargetSettings = Values<ReturnType<typeof targetSettings>> & { readonly written: readonly string[] };

/** Durations are milliseconds. */
export interface Config extends Settings {
  readonly targets: Readonly<Record<string, TargetSettings>>;
  readonly models: Readonly<Record<string, ProfileSettings>>;
  readonly model_rules: readonly ModelRule[];
  readonly mcp: Readonly<Record<string, McpSettings>>;
  readonly hooks: readonly HookSettings[];
  /** In the order of the files, the operator's first. */
  readonly rules: readonly MachineRuleSettings[];
}
