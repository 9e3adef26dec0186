/** Where requests of a signed-in profile go: a token of OpenAI's is never sent to anybody else. */
import { BuddyError } from "../lib/errors.ts";
import { isLoopback } from "../lib/network.ts";

const SIGNED_IN_BASE = "https://chatgpt.com/backend-api/codex";

/** BUDDY_LOGIN_BASE_URL points it elsewhere, for tests; so does a profile on this machine itself. */
export function loginBaseUrl(
  profileBaseUrl: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
): string {
  const chosen = env.BUDDY_LOGIN_BASE_URL || profileBaseUrl;
  const url = URL.parse(chosen);
  if (url?.hostname === "api.openai.com" || url?.hostname === "chatgpt.com") return SIGNED_IN_BASE;
  if (url !== null && isLoopback(url.hostname)) return chosen.replace(/\/+$/, "");
  throw new BuddyError("config", `a profile with auth = "login" cannot use ${url?.host ?? JSON.stringify(chosen)}`, {
    hint: 'The sign-in is OpenAI\'s. For another endpoint use auth = "api-key" with a key of theirs.',
  });
}
