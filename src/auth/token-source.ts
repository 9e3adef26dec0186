/**
 * The access token of a login profile, refreshed ahead of expiry by one process at a time, and where its requests go.
 */
import { BuddyError } from "../lib/errors.ts";
import { unlessAborted, within } from "../lib/waiting.ts";
import { type OpenAiDevice, SignInEnded } from "./openai-device.ts";
import { type AuthStore, AuthUnwritable, type SignIn } from "./store.ts";
import { isLoopback } from "../lib/network.ts";

export function tokenSource(store: AuthStore, device: OpenAiDevice, provider = "openai") {
  let inFlight: Promise<SignIn> | undefined;

  /** `used` is the token known to be too old or refused; another process may have replaced it meanwhile. */
  async function renew(used: SignIn, refused: boolean): Promise<SignIn> {
    const next = await store.update(provider, async (current) => {
      if (current === undefined) throw notSignedIn();
      if (current.access_token !== used.access_token && fresh(current)) return current;
      try {
        return await device.refresh(current);
      } catch (error) {
        // Another process may have renewed it without a lock: its token is as good.
        const stored = error instanceof SignInEnded ? store.read(provider) : undefined;
        if (stored !== undefined && stored.access_token !== current.access_token)
          return fresh(stored) ? stored : device.refresh(stored);
        // The refresh is ahead of time: as long as the token itself holds, a sign-in server that is down does not
        // matter.
        if (!refused && current.expires_at > Date.now() && !(error instanceof SignInEnded)) return current;
        throw error;
      }
    });
    if (next === undefined) throw notSignedIn();
    return next;
  }

  return {
    /** `refused`: the token that the server did not take. Where another one is stored, it says nothing about that. */
    async token(
      { refused }: { readonly refused?: string | undefined } = {},
      signal: AbortSignal = new AbortController().signal,
    ): Promise<{ accessToken: string; accountId?: string }> {
      let current = store.read(provider);
      if (current === undefined) throw notSignedIn();
      const isRefused = refused === current.access_token;
      if (isRefused || !fresh(current)) {
        const known = current;
        inFlight ??= renew(current, isRefused)
          .catch((error: unknown) => {
            if (error instanceof AuthUnwritable && !isRefused && known.expires_at > Date.now()) return known;
            throw error;
          })
          .finally(() => {
            inFlight = undefined;
          });
        current = await unlessLeft(inFlight, signal);
      }
      return {
        accessToken: current.access_token,
        ...(current.account_id === undefined ? {} : { accountId: current.account_id }),
      };
    },
  };
}

/**
 * Ctrl-C does not end a refresh: its answer may be the only token that is still good. It gets a moment to come and be
 * stored; then those that wait for it leave.
 */
async function unlessLeft<T>(refresh: Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await unlessAborted(signal, refresh);
  } catch (error) {
    if (signal.aborted) await within(Promise.allSettled([refresh]), LEAVE_MS);
    throw error;
  }
}

const LEAVE_MS = 3000;
const REFRESH_AHEAD_MS = 5 * 60_000;

/** Tokens that live for minutes only are used for most of that time. */
function fresh({ issued_at, expires_at }: SignIn): boolean {
  return expires_at - Date.now() > Math.min(REFRESH_AHEAD_MS, (expires_at - issued_at) / 5);
}

function notSignedIn(): BuddyError {
  return new BuddyError("auth", "not signed in", { hint: "Sign in with: buddy login" });
}

/** Where requests of a signed-in profile go: a token of OpenAI's is never sent to anyone else. */
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
    hint: 'The sign-in is OpenAI\'s. For another endpoint use auth = "api-key" with one of its keys.',
  });
}
