/** OpenRouter's sign-in: the browser grants a key, which is kept in its own file. */
import { BuddyError } from "../lib/errors.ts";
import { isLoopback } from "../lib/network.ts";
import { browserFlow } from "./browser-flow.ts";
import { json, post } from "./openai-device.ts";
import { isToken } from "./store.ts";

const HOME = "https://openrouter.ai";
/** The only local port that OpenRouter redirects to. */
const PORTS = [3000];
const OTHER_WAY = "Or create a key at https://openrouter.ai/settings/keys and set OPENROUTER_API_KEY.";

export interface OpenRouterScreen {
  say(text: string): void;
  /** Shows the address in a browser, if there is one. */
  open(url: string): void;
}

/** Returns the key and stores nothing. Tests set `home`, `ports` and `waitMs`. */
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
  const request = json({ code, code_verifier: verifier, code_challenge_method: "S256" });
  const { status, body } = await post(url, request, signal);
  if (status === 200 && isToken(body.key)) return body.key;
  throw new BuddyError("auth", `OpenRouter did not return a key (HTTP ${status})`, {
    hint: `Try again. ${OTHER_WAY}`,
  });
}
