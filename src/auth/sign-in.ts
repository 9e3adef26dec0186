/** Signing in as the user sees it: an address, perhaps a code, and the time left. */
import { printable, plural } from "../lib/text.ts";
import type { OpenAiDevice } from "./openai-device.ts";
import type { AuthStore, SignIn } from "./store.ts";

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
