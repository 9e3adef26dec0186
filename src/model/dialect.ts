/** Whose rules an endpoint follows, by the profile's `provider`, its address, or the model's name. */
import type { Shape } from "./adjustments.ts";
import type { Api } from "./types.ts";

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

export function dialectOf(endpoint: EndpointNames): Dialect {
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
