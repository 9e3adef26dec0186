/** OpenRouter's sign-in: the browser grants a key, which is kept in its own file. */
import { BuddyError, messageOf } from "../lib/errors.ts";
import { isLoopback, proxyFor, boundedText, fetchVia } from "../lib/network.ts";
import { browserFlow } from "./browser-flow.ts";
import { isToken } from "./store.ts";

const HOME = "https://openrouter.ai";
/** The only port on this machine that OpenRouter comes back to. */
const PORTS = [3000];
const OTHER_WAY = "Or make a key at https://openrouter.ai/settings/keys and set OPENROUTER_API_KEY.";

export interface OpenRouterScreen {
  say(text: string): void;
  /** Shows the address in a browser, if there is one. */
  open(url: string): void;
}

/** The key; nothing is stored. `home` points it elsewhere, for tests. */
export async function openRouterKey(
  screen: OpenRouterScreen,
  signal: AbortSignal,
  {
    home = HOME,
    ports = PORTS,
    waitMs,
  }: { readonly home?: string; readonly ports?: readonly number[]; readonly waitMs?: number } = {},
): Promise<string> {
  const url = URL.parse(home);
  if (url === null || !(url.protocol === "https:" || isLoopback(url.hostname)))
    throw new BuddyError("auth", `the sign-in address ${JSON.stringify(home)} is not an https URL`);
  const flow = await browserFlow({
    ports,
    path: "/callback",
    checksState: false,
    otherWay: OTHER_WAY,
    ...(waitMs !== undefined && { waitMs }),
    address: ({ redirectUri, challenge }) =>
      `${home}/auth?${new URLSearchParams({ callback_url: redirectUri, code_challenge: challenge, code_challenge_method: "S256" })}`,
  });
  try {
    const port = new URL(flow.redirectUri).port;
    screen.say(
      `To get a key from OpenRouter, open this address in a browser on this machine:\n\n    ${flow.url}\n\n` +
        `If your browser is on another machine, first run there: ssh -L ${port}:127.0.0.1:${port} THIS_MACHINE`,
    );
    screen.open(flow.url);
    const code = await flow.code(signal);
    return await exchange(new URL("/api/v1/auth/keys", home), code, flow.verifier, signal);
  } finally {
    flow.close();
  }
}

async function exchange(url: URL, code: string, verifier: string, signal: AbortSignal): Promise<string> {
  const response = await fetchVia(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code, code_verifier: verifier, code_challenge_method: "S256" }),
    redirect: "error",
    signal,
    proxy: proxyFor(url, process.env) ?? false,
  } as BunFetchRequestInit).catch((error: unknown) => {
    if (signal.aborted) throw signal.reason;
    throw new BuddyError("auth", `cannot reach ${url.host}: ${messageOf(error)}`, {
      hint: "Check the network and proxy settings, then try again.",
      cause: error,
    });
  });
  const { text } = await boundedText(response, 64 * 1024);
  let key: unknown;
  try {
    ({ key } = JSON.parse(text) as { key?: unknown });
  } catch {
    key = undefined;
  }
  if (response.ok && isToken(key)) return key;
  throw new BuddyError("auth", `OpenRouter did not give a key (HTTP ${response.status})`, {
    hint: `Try again. ${OTHER_WAY}`,
  });
}
