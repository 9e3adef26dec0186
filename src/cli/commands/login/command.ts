/** `buddy login`: sign in for profiles with `auth = "login"`. */
import { BuddyError, EXIT, type ExitCode } from "../../../lib/errors.ts";
import { defineCommand } from "../../command.ts";
import { log } from "../../../lib/log.ts";

export const command = defineCommand({
  name: "login",
  args: {
    profile: {
      type: "positional",
      required: false,
      description: "the profile to sign in for (default: the active one)",
    },
    browser: { type: "boolean", description: "use this machine's browser instead of a code" },
    check: { type: "boolean", description: "show whether you are signed in and until when" },
    reset: { type: "boolean", description: "the same as buddy logout" },
  },
  examples: [
    ["buddy login", "shows an address and a code to enter there"],
    ["buddy login --check", "exit code 4 if not signed in"],
  ],
  notes:
    "For a profile on OpenRouter (or: buddy login openrouter) you approve a key in\n" +
    "this machine's browser; it is stored in ~/.config/buddy/keys/openrouter.",
  async run({ args, globals }) {
    if (args.check && args.reset) throw new BuddyError("usage", "--check and --reset cannot be combined");
    const { openRouterProfile, openSignIn, signOut } = await import("../../../app/model/sign-in.ts");
    if (args.reset) {
      await signOut(args.profile, globals, (line) => log.info(line));
      return EXIT.ok;
    }
    const profile = args.check ? undefined : await openRouterProfile(args.profile, globals);
    if (profile !== undefined) return openRouter(profile);
    const account = await openSignIn(args.profile, globals);
    if (args.check) return check(account);
    return login(account, args.browser === true, args.profile);
  },
});

/** The key goes into a file that every profile on OpenRouter reads. */
async function openRouter(profile: string): Promise<ExitCode> {
  const { openInBrowser, untilInterrupted } = await import("../../../app/model/sign-in.ts");
  const { openRouterKey } = await import("../../../auth/openrouter.ts");
  const { requirePaths } = await import("../../../config/paths.ts");
  const { providerKeyFile } = await import("../../../config/keys.ts");
  const { writeFileAtomic } = await import("../../../lib/files.ts");
  const path = providerKeyFile(requirePaths(process.env, "the key", "auth").dir, "openrouter");
  const home = process.env["BUDDY_OPENROUTER_URL"];
  const key = await untilInterrupted((signal) =>
    openRouterKey({ say: (text) => log.info(text), open: openInBrowser }, signal, home ? { home, ports: [0] } : {}),
  );
  writeFileAtomic(path, `${key}\n`);
  log.info(`The key is in ${path}. Try:  buddy exec -m ${profile} "hello"`);
  return EXIT.ok;
}

type Account = Awaited<ReturnType<typeof import("../../../app/model/sign-in.ts").openSignIn>>;

/** `named`: the profile, if it is not the active one. */
async function login(account: Account, browser: boolean, named: string | undefined): Promise<ExitCode> {
  const { device, store, provider, profile } = account;
  const { signIn } = await import("../../../auth/sign-in.ts");
  const { openInBrowser, signInScreen, untilInterrupted } = await import("../../../app/model/sign-in.ts");
  const parts = { device, store, provider };
  const screen = await signInScreen();
  await untilInterrupted((signal) => signIn(parts, screen, signal, browser ? openInBrowser : undefined));
  const how = named === undefined ? "buddy" : `buddy exec -m ${profile} "hello"`;
  log.info(`Signed in. Profile ${profile} is ready: try  ${how}`);
  return EXIT.ok;
}

/** The answer on stdout; a token about to expire is refreshed first, so that the answer is true. */
async function check({ device, store, provider }: Account): Promise<ExitCode> {
  const { describeSignIn, tokenSource } = await import("../../../auth/sign-in.ts");
  if (store.read(provider) !== undefined) await tokenSource(store, device, provider).token();
  const { signedIn, text } = describeSignIn(store.read(provider));
  console.log(text);
  return signedIn ? EXIT.ok : EXIT.auth;
}
