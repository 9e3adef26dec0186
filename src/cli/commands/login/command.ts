/** `buddy login`: sign in for profiles with `auth = "login"`. */
import { BuddyError, EXIT, type ExitCode } from "../../../lib/errors.ts";
import { defineCommand } from "../../command.ts";
import { stderrLine } from "../../../lib/stderr-line.ts";

export const command = defineCommand({
  name: "login",
  args: {
    profile: { type: "positional", required: false, description: "the profile to sign in for (default: the active)" },
    check: { type: "boolean", description: "tell whether you are signed in and until when" },
    reset: { type: "boolean", description: "sign out: revoke and remove what is stored" },
  },
  examples: [
    ["buddy login", "shows an address and a code to enter there"],
    ["buddy login --check", "exit code 4 when not signed in"],
  ],
  async run({ args, globals }) {
    if (args.check && args.reset) throw new BuddyError("usage", "--check and --reset contradict each other");
    const { openSignIn } = await import("../../../app/sign-in.ts");
    const account = await openSignIn(args.profile, globals);
    if (args.check) return check(account);
    if (args.reset) return reset(account);
    return login(account);
  },
});

type Account = Awaited<ReturnType<typeof import("../../../app/sign-in.ts").openSignIn>>;

async function login({ device, store, provider, profile }: Account): Promise<ExitCode> {
  const { signIn } = await import("../../../auth/sign-in.ts");
  const { signInScreen, untilInterrupted } = await import("../../../app/sign-in.ts");
  await untilInterrupted((signal) => signIn({ device, store, provider }, signInScreen(), signal));
  stderrLine(`Signed in. Profile ${profile} is ready: try  buddy exec -m ${profile} "hello"`);
  return EXIT.ok;
}

/** The answer on stdout; a token about to expire is refreshed first, so that the answer is true. */
async function check({ device, store, provider }: Account): Promise<ExitCode> {
  const { describeSignIn } = await import("../../../auth/sign-in.ts");
  const { tokenSource } = await import("../../../auth/token-source.ts");
  if (store.read(provider) !== undefined) await tokenSource(store, device, provider).token();
  const { signedIn, text } = describeSignIn(store.read(provider));
  console.log(text);
  return signedIn ? EXIT.ok : EXIT.auth;
}

async function reset({ device, store, provider }: Account): Promise<ExitCode> {
  const current = store.read(provider);
  if (current === undefined) {
    stderrLine("not signed in; nothing to remove");
    return EXIT.ok;
  }
  let revoked = true;
  await store.update(provider, async (stored) => {
    try {
      await device.revoke(stored ?? current, AbortSignal.timeout(REVOKE_TIMEOUT_MS));
    } catch (error) {
      // Removed all the same: what matters most is that this machine no longer has it.
      revoked = false;
      stderrLine(`buddy: could not revoke the sign-in: ${(error as Error).message}`);
    }
    return undefined;
  });
  stderrLine(revoked ? "signed out: revoked and removed" : "removed here; revoke it in your account's settings, too");
  return EXIT.ok;
}

const REVOKE_TIMEOUT_MS = 15_000;
