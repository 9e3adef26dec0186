/** The access token of a login profile: refreshed ahead of expiry, by one process at a time. */
import { BuddyError } from "../lib/errors.ts";
import { type OpenAiDevice, SignInEnded } from "./openai-device.ts";
import { type AuthStore, AuthUnwritable, type SignIn } from "./store.ts";

export function tokenSource(store: AuthStore, device: OpenAiDevice, provider = "openai") {
  let inFlight: Promise<SignIn> | undefined;
  /** The token that requests of this process carry. */
  let handed: string | undefined;

  /** `used` is the token known to be too old or refused; another process may have replaced it meanwhile. */
  async function renew(used: SignIn, forced: boolean, signal: AbortSignal): Promise<SignIn> {
    const next = await store.update(
      provider,
      async (current) => {
        if (current === undefined) throw notSignedIn();
        if (current.access_token !== used.access_token && fresh(current)) return current;
        try {
          return await device.refresh(current, signal);
        } catch (error) {
          // Another process may have renewed it without a lock: its token is as good.
          const stored = error instanceof SignInEnded ? store.read(provider) : undefined;
          if (stored !== undefined && stored.refresh_token !== current.refresh_token) return stored;
          // The refresh is ahead of time: as long as the token itself holds, a sign-in server that is down does not matter.
          if (!forced && current.expires_at > Date.now() && !(error instanceof SignInEnded)) return current;
          throw error;
        }
      },
      signal,
    );
    if (next === undefined) throw notSignedIn();
    return next;
  }

  return {
    async token(
      options: { readonly forceRefresh?: boolean } = {},
      signal: AbortSignal = new AbortController().signal,
    ): Promise<{ accessToken: string; accountId?: string }> {
      let current = store.read(provider);
      if (current === undefined) throw notSignedIn();
      // A refused token that is no longer the stored one says nothing about the stored one.
      const refused = options.forceRefresh === true && (handed === undefined || handed === current.access_token);
      if (refused || !fresh(current)) {
        const known = current;
        inFlight ??= renew(current, options.forceRefresh === true, signal)
          .catch((error: unknown) => {
            if (error instanceof AuthUnwritable && options.forceRefresh !== true && known.expires_at > Date.now())
              return known;
            throw error;
          })
          .finally(() => {
            inFlight = undefined;
          });
        current = await inFlight;
      }
      handed = current.access_token;
      return {
        accessToken: current.access_token,
        ...(current.account_id === undefined ? {} : { accountId: current.account_id }),
      };
    },
  };
}

const REFRESH_AHEAD_MS = 5 * 60_000;

/** Tokens that live for minutes only are used for most of that time. */
function fresh({ issued_at, expires_at }: SignIn): boolean {
  return expires_at - Date.now() > Math.min(REFRESH_AHEAD_MS, (expires_at - issued_at) / 5);
}

function notSignedIn(): BuddyError {
  return new BuddyError("auth", "not signed in", { hint: "Sign in with: buddy login" });
}
