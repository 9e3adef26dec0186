/** Signing in as the user sees it: an address, perhaps a code, and the time left. */
import { BuddyError } from "../lib/errors.ts";
import { isLoopback } from "../lib/network.ts";
import { plural, printable } from "../lib/text.ts";
import { unlessAborted, within } from "../lib/waiting.ts";
import { type OpenAiDevice, SignInEnded } from "./openai-device.ts";
import { type AuthStore, AuthUnwritable, type SignIn } from "./store.ts";

export interface SignInScreen {
  /** Lines to show once. */
  say(text: string): void;
  /** The line that changes while waiting; undefined removes it. */
  progress(text: string | undefined): void;
}

/** Stores the sign-in; Ctrl-C (the signal) changes nothing. With `open`, in the browser of this machine. */
export async function signIn(
  { device, store, provider }: { device: OpenAiDevice; store: AuthStore; provider: string },
  screen: SignInScreen,
  signal: AbortSignal,
  open?: (url: string) => void,
): Promise<void> {
  await store.checkWritable(signal);
  try {
    const signedIn = await (open === undefined
      ? withCode(device, screen, signal)
      : withBrowser(device, screen, signal, open));
    await store.update(provider, async () => signedIn, signal);
  } finally {
    screen.progress(undefined);
  }
}

function withBrowser(
  device: OpenAiDevice,
  screen: SignInScreen,
  signal: AbortSignal,
  open: (url: string) => void,
): Promise<SignIn> {
  return device.browser(signal, (url) => {
    screen.say(`To sign in, open this address in a browser on this machine:\n\n    ${url}\n`);
    open(url);
    screen.progress("waiting for the browser");
  });
}

async function withCode(device: OpenAiDevice, screen: SignInScreen, signal: AbortSignal): Promise<SignIn> {
  const code = await device.begin(signal);
  screen.say(
    [
      "To sign in, open this address in any browser, on any machine:",
      "",
      `    ${code.url}`,
      "",
      "and enter this code, valid for 15 minutes:",
      "",
      `    ${printable(code.userCode)}`,
      "",
      "Continue in the browser only if you started this sign-in yourself.",
    ].join("\n"),
  );
  return device.finish(code, signal, (left) => screen.progress(`waiting, ${minutes(left)} left`));
}

/** For `login --check` and `doctor`; never contains the token. */
export function describeSignIn(signedIn: SignIn | undefined): { signedIn: boolean; text: string } {
  if (signedIn === undefined) return { signedIn: false, text: "not signed in" };
  const left = signedIn.expires_at - Date.now();
  const until = new Date(signedIn.expires_at).toISOString().slice(0, 16).replace("T", " ");
  const token =
    left > 0 ? `the token is valid until ${until} UTC (${minutes(left)})` : `the token expired at ${until} UTC`;
  const account = signedIn.account_id === undefined ? "" : `, account ${printable(signedIn.account_id)}`;
  return { signedIn: true, text: `signed in${account}; ${token} and is refreshed automatically` };
}

function minutes(ms: number): string {
  const total = Math.ceil(ms / 60_000);
  return total >= 120 ? `${Math.round(total / 60)} hours` : plural(total, "minute");
}

/**
 * The access token of a login profile, refreshed before it expires by one process at a time, and where its requests go.
 */
export function tokenSource(store: AuthStore, device: OpenAiDevice, provider = "openai") {
  let inFlight: Promise<SignIn> | undefined;

  /** `used` is too old or was refused; another process may have replaced it meanwhile. */
  async function renew(used: SignIn, refused: boolean): Promise<SignIn> {
    const next = await store.update(provider, async (current) => {
      if (current === undefined) throw notSignedIn();
      if (current.access_token !== used.access_token && fresh(current)) return current;
      try {
        return await device.refresh(current);
      } catch (error) {
        // Another process may have renewed it without the lock.
        const stored = error instanceof SignInEnded ? store.read(provider) : undefined;
        if (stored !== undefined && stored.access_token !== current.access_token)
          return fresh(stored) ? stored : device.refresh(stored);
        // While the old token is valid, a sign-in server that is down does not matter.
        if (!refused && current.expires_at > Date.now() && !(error instanceof SignInEnded)) return current;
        throw error;
      }
    });
    if (next === undefined) throw notSignedIn();
    return next;
  }

  return {
    /** `refused`: the token that the server did not accept; it is ignored if another token is stored by now. */
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
        current = await finishedOrAborted(inFlight, signal);
      }
      return {
        accessToken: current.access_token,
        ...(current.account_id === undefined ? {} : { accountId: current.account_id }),
      };
    },
  };
}

/**
 * Ctrl-C does not end a refresh: its answer may contain the only token that is still valid. There is a moment to
 * receive and store it.
 */
async function finishedOrAborted<T>(refresh: Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await unlessAborted(signal, refresh);
  } catch (error) {
    if (signal.aborted) await within(Promise.allSettled([refresh]), AFTER_ABORT_MS);
    throw error;
  }
}

const AFTER_ABORT_MS = 3000;
const REFRESH_AHEAD_MS = 5 * 60_000;

/** A token that is valid for minutes only is used for most of that time. */
function fresh({ issued_at, expires_at }: SignIn): boolean {
  return expires_at - Date.now() > Math.min(REFRESH_AHEAD_MS, (expires_at - issued_at) / 5);
}

function notSignedIn(): BuddyError {
  return new BuddyError("auth", "not signed in", { hint: "Sign in with: buddy login" });
}

/** Where requests of a signed-in profile go: OpenAI's tokens are never sent to another host. */
const SIGNED_IN_BASE = "https://chatgpt.com/backend-api/codex";

/** Tests set BUDDY_LOGIN_BASE_URL, or a profile whose address is on this machine. */
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
