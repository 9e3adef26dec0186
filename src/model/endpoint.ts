/** The endpoint of a profile: its addresses, and the headers and credentials every request to it carries. */
import { BuddyError } from "../lib/errors.ts";
import { proxyFor, trimSlash } from "../lib/network.ts";
import { echoRedactor } from "../lib/secrets/redact.ts";
import type { Shape } from "./adjustments.ts";
import type { ModelOptions } from "./client.ts";
import { cancelled, ModelError } from "./errors.ts";
import type { Situation } from "./explain.ts";
import type { Api } from "./types.ts";

export class Endpoint {
  readonly host: string;
  /** Scheme, host and path; never a credential. */
  readonly baseUrl: string;
  readonly dialect: Dialect;
  readonly #options: ModelOptions;
  readonly #base: URL;

  constructor(options: ModelOptions) {
    const base = new URL(baseOf(options));
    base.username = base.password = base.hash = "";
    // Examples of providers often show the whole address of a request.
    const whole = trimSlash(base.pathname);
    if (whole.endsWith(OWN_PATH[options.api])) base.pathname = whole.slice(0, -OWN_PATH[options.api].length);
    // Addresses for this protocol are given with the version and without it.
    if (options.api === "anthropic" && !/\/v\d+\/*$/.test(base.pathname))
      base.pathname += `${base.pathname.endsWith("/") ? "" : "/"}v1`;
    this.#options = options;
    this.#base = base;
    this.host = base.host;
    this.baseUrl = trimSlash(`${base.origin}${base.pathname}`);
    this.dialect = dialectOf({ ...options, host: base.hostname });
  }

  /** With a sign-in in place of a key: paid by subscription, and with rules of its own. */
  get usesLogin(): boolean {
    return this.#options.auth === "login" && !this.#options.key;
  }

  /** Whether a refused credential can be renewed. */
  get renews(): boolean {
    return this.#options.login !== undefined && !this.#options.key;
  }

  /** Whether its list of models says how large their windows are: a private server, reached directly. */
  get reportsWindow(): boolean {
    const { proxy, env = {} } = this.#options;
    const direct = proxy === undefined && proxyFor(this.#base, env) === undefined;
    return direct && !this.dialect.wellKnown && !this.renews && !this.usesLogin;
  }

  /** The base URL keeps its own query, after the path. */
  url(path: string, query: Readonly<Record<string, string>> = {}): string {
    const url = new URL(this.#base);
    url.pathname = `${trimSlash(url.pathname)}${path}`;
    for (const [name, value] of Object.entries({ ...this.#options.query, ...query })) url.searchParams.set(name, value);
    return url.href;
  }

  /** Headers of one request, and what messages about it need to know. */
  async request(
    { refused, session }: { readonly refused?: string | undefined; readonly session?: string | undefined },
    signal: AbortSignal,
  ): Promise<{
    readonly headers: Record<string, string>;
    readonly situation: Situation;
    /** Only one that can be renewed. */
    readonly token: string | undefined;
  }> {
    const { key, secrets = [] } = this.#options;
    const hidden: string[] = key ? [key, ...secrets] : [...secrets];
    const headers: Record<string, string> = {
      "user-agent": this.#options.userAgent ?? "buddy",
      ...PROTOCOL_HEADERS[this.#options.api],
    };
    for (const [name, value] of Object.entries(this.dialect.headers)) {
      const filled = value.replace("{session}", session ?? "");
      if (filled !== "") headers[name] = filled;
    }
    const token = await this.#authorize(headers, hidden, refused, signal);
    if (this.usesLogin && session !== undefined) headers["session_id"] = headers["conversation_id"] = session;
    for (const [name, value] of Object.entries(this.#options.headers ?? {})) {
      headers[name.toLowerCase()] = value;
      hidden.push(value);
    }
    return { headers, situation: this.#situation(hidden), token };
  }

  #situation(hidden: readonly string[]): Situation {
    const { name, model, api, auth, key, keySource, env = {}, proxy, ca } = this.#options;
    return {
      host: this.host,
      profile: name,
      model,
      api,
      auth,
      baseUrl: this.baseUrl,
      hasKey: Boolean(key) || (auth === "api-key" && this.renews),
      keySource: keySource ?? (this.renews ? "api_key_command" : undefined),
      proxy: proxy ?? proxyFor(this.#base, env),
      ownCa: ca !== undefined,
      redact: echoRedactor(hidden),
    };
  }

  async #authorize(
    headers: Record<string, string>,
    hidden: string[],
    refused: string | undefined,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { name, key, keySource, login, api } = this.#options;
    const keyHeader = this.#options.keyHeader ?? (api === "anthropic" ? "x-api-key" : "authorization");
    const put = (secret: string) => {
      const header = keyHeader.toLowerCase();
      headers[header] = header === "authorization" ? `Bearer ${secret}` : secret;
    };
    if (key) put(sendable(key, keySource));
    else if (!login && this.usesLogin) throw notSignedIn(name);
    if (key || !login) return undefined;
    const { accessToken, accountId } = await login.token({ refused }, signal).catch((error: unknown) => {
      throw signal.aborted ? cancelled(signal) : error;
    });
    hidden.push(accessToken);
    if (this.usesLogin) {
      headers["authorization"] = `Bearer ${accessToken}`;
      headers["originator"] = "buddy";
      if (accountId) headers["chatgpt-account-id"] = accountId;
    } else put(sendable(accessToken, "api_key_command"));
    return accessToken;
  }
}

const OWN_PATH: Readonly<Record<Api, string>> = {
  completions: "/chat/completions",
  responses: "/responses",
  anthropic: "/messages",
};

const PROTOCOL_HEADERS: Readonly<Record<Api, Readonly<Record<string, string>>>> = {
  completions: {},
  responses: {},
  anthropic: { "anthropic-version": "2023-06-01" },
};

function baseOf({ baseUrl, name }: ModelOptions): string {
  const url = URL.parse(baseUrl);
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    throw new BuddyError("config", `api_base_url of profile "${name}" is not an HTTP(S) URL`, {
      hint: 'Expected something like "https://api.openai.com/v1".',
    });
  }
  return baseUrl;
}

function notSignedIn(profile: string): ModelError {
  return new ModelError("auth", `not signed in for profile "${profile}"`, {
    hint: `Sign in with \`buddy login ${profile}\`.`,
  });
}

function sendable(key: string, source: string | undefined): string {
  if (/^[\u0021-\u007e]+$/.test(key)) return key;
  throw new ModelError(
    "auth",
    `the key from ${source ?? "the configuration"} contains spaces, line breaks or other characters that no key has`,
    { hint: "Check that it is the key and nothing else." },
  );
}

// ── Whose rules an endpoint follows, by the profile's `provider`, its address, or the model's name.

export interface Dialect {
  /** What the history must look like. */
  readonly shapes: ReadonlySet<Shape>;
  /** Unknown fields of a message are refused. */
  readonly strict: boolean;
  /** Takes `prompt_cache_key`. */
  readonly cacheKey: boolean;
  /** Takes `cache_control` marks in chat completions. */
  readonly cacheMarks: boolean;
  /** Takes `parallel_tool_calls`. */
  readonly parallelCalls: boolean;
  /** Streams its token counts unasked, and refuses to be asked. */
  readonly countsUnasked: boolean;
  /** A provider whose models the catalog describes. */
  readonly wellKnown: boolean;
  /** HTTP headers that the provider asks for; {session} is the conversation's id. */
  readonly headers: Readonly<Record<string, string>>;
}

function dialectOf(endpoint: EndpointNames): Dialect {
  const provider = providerOf(endpoint);
  const rules = provider === undefined ? {} : RULES[provider];
  const shapes = new Set<Shape>(rules.shapes ?? []);
  const model = endpoint.model.toLowerCase();
  // Servers of open weights check what the model's template checks. Gateways translate by themselves.
  if (provider === undefined) for (const shape of shapesOf(model)) shapes.add(shape);
  return {
    shapes,
    strict: rules.strict ?? false,
    cacheKey: rules.cacheKey ?? false,
    cacheMarks: (rules.cacheMarks ?? false) && /claude|anthropic|qwen|gemini/.test(model),
    parallelCalls: rules.parallelCalls ?? false,
    countsUnasked: rules.countsUnasked ?? false,
    wellKnown: provider !== undefined,
    headers: rules.headers ?? {},
  };
}

interface EndpointNames {
  readonly provider?: string | undefined;
  readonly host: string;
  readonly model: string;
  readonly api: Api;
}

type Provider = keyof typeof HOSTS;

/** What the profile says, then the address. */
function providerOf({ provider, host }: EndpointNames): Provider | undefined {
  const named = provider?.toLowerCase().replaceAll(/[^a-z]/g, "");
  const names = Object.keys(HOSTS) as Provider[];
  return (
    names.find((name) => name === named || ALIASES[named ?? ""] === name) ??
    names.find((name) => HOSTS[name].some((domain) => isBelow(host.toLowerCase(), domain)))
  );
}

function isBelow(host: string, domain: string): boolean {
  return host === domain || host.endsWith(`.${domain}`);
}

const ALIASES: Readonly<Record<string, string>> = {
  azure: "openai",
  azureopenai: "openai",
  gemini: "google",
  vertex: "google",
  kimi: "moonshot",
  moonshotai: "moonshot",
  grok: "xai",
  claude: "anthropic",
};

const HOSTS = {
  openai: ["openai.com", "openai.azure.com", "chatgpt.com", "cognitiveservices.azure.com"],
  openrouter: ["openrouter.ai"],
  anthropic: ["anthropic.com"],
  google: ["googleapis.com"],
  mistral: ["mistral.ai"],
  groq: ["groq.com"],
  cerebras: ["cerebras.ai"],
  deepseek: ["deepseek.com"],
  moonshot: ["moonshot.ai", "moonshot.cn", "kimi.com"],
  xai: ["x.ai"],
} as const satisfies Record<string, readonly string[]>;

type Rules = Partial<Omit<Dialect, "shapes">> & { readonly shapes?: readonly Shape[] };

const RULES: Readonly<Record<Provider, Rules>> = {
  openai: { shapes: ["max_completion_tokens"], cacheKey: true, parallelCalls: true },
  openrouter: {
    cacheMarks: true,
    parallelCalls: true,
    headers: { "http-referer": "https://github.com/buddy-terminal/buddy", "x-title": "buddy" },
  },
  anthropic: {},
  google: { shapes: ["thought_signatures"], strict: true },
  mistral: { shapes: ["short_ids", "assistant_after_tool"], strict: true, parallelCalls: true, countsUnasked: true },
  groq: { strict: true, parallelCalls: true },
  cerebras: { strict: true },
  deepseek: { shapes: ["echo_reasoning"] },
  moonshot: { shapes: ["echo_reasoning"], cacheKey: true },
  xai: { headers: { "x-grok-conv-id": "{session}" } },
};

/** Families whose own servers check these, wherever the weights run. */
function shapesOf(model: string): readonly Shape[] {
  if (model.includes("tral") && /(mis|mix|pix|code|dev|mini|magis)s?tral/.test(model))
    return ["short_ids", "assistant_after_tool"];
  return model.includes("gemini") && /gemini-[3-9]/.test(model) ? ["thought_signatures"] : [];
}
