/** Signing in with a device code as the user sees it: an address, a code, and the time left. */
import { printable, plural } from "../lib/text.ts";
import type { OpenAiDevice } from "./openai-device.ts";
import type { AuthStore, SignIn } from "./store.ts";

export interface SignInScreen {
  /** Lines to show once. */
  say(text: string): void;
  /** The line that changes while waiting; undefined takes it away. */
  progress(text: string | undefined): void;
}

/** The same with the browser of this machine. */
export async function signInWithBrowser(
  { device, store, provider }: { device: OpenAiDevice; store: AuthStore; provider: string },
  screen: SignInScreen,
  open: (url: string) => void,
  signal: AbortSignal,
): Promise<SignIn> {
  await store.checkWritable(signal);
  try {
    const signedIn = await device.browser(signal, (url) => {
      screen.say(`To sign in, open this address in a browser on this machine:\n\n    ${url}\n`);
      open(url);
      screen.progress("waiting for the browser");
    });
    await store.update(provider, async () => signedIn, signal);
    return signedIn;
  } finally {
    screen.progress(undefined);
  }
}

/** Stores the sign-in and returns it; Ctrl-C (the signal) leaves everything as it was. */
export async function signIn(
  { device, store, provider }: { device: OpenAiDevice; store: AuthStore; provider: string },
  screen: SignInScreen,
  signal: AbortSignal,
): Promise<SignIn> {
  await store.checkWritable(signal);
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
      "Continue there only if you started this sign-in yourself.",
    ].join("\n"),
  );
  try {
    const signedIn = await device.finish(code, signal, (left) => screen.progress(`waiting, ${minutes(left)} left`));
    await store.update(provider, async () => signedIn, signal);
    return signedIn;
  } finally {
    screen.progress(undefined);
  }
}

/** What `login --check` says; never the token. */
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
