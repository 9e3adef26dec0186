/** /login and /logout: sign in for a profile, and out, without leaving the REPL. */
import type { ProfileRow, ReplHost } from "../repl/host.ts";
import type { ArgumentValues, CommandScreen, SlashCommand } from "./slash-commands.ts";
import { oneLine } from "../transcript/tool-view.ts";

export const login: SlashCommand = {
  name: "login",
  args: "[PROFILE]",
  summary: "sign in for a profile that uses an account",
  anytime: false,
  complete: signInProfiles,
  async run(screen, args) {
    const profile = profileFor(screen, args, "login");
    if (profile === undefined) return;
    await screen.interruptible((signal) =>
      screen.host.login(
        profile.name,
        { say: (line) => screen.say([line]), waiting: (text) => screen.waiting(text) },
        signal,
      ),
    );
  },
};

export const logout: SlashCommand = {
  name: "logout",
  args: "[PROFILE]",
  summary: "sign out: revoke and remove the sign-in",
  anytime: false,
  complete: signInProfiles,
  async run(screen, args) {
    const profile = profileFor(screen, args, "logout");
    if (profile === undefined) return;
    await screen.interruptible(() => screen.host.logout(profile.name, (line) => screen.say([line])));
  },
};

function signInProfiles(host: ReplHost): ArgumentValues {
  return host
    .profiles()
    .filter(({ auth }) => auth === "login")
    .map(({ name, model }) => ({ value: name, hint: model, complete: true }));
}

/** The named profile or the active one, if it has a sign-in; otherwise says why not. */
function profileFor(screen: CommandScreen, args: string, command: string): ProfileRow | undefined {
  const profiles = screen.host.profiles();
  const profile = profiles.find(({ name, active }) => (args === "" ? active : name === args));
  if (profile === undefined) screen.fail(`no profile "${oneLine(args)}"`, profiles.map(({ name }) => name).join("\n"));
  else if (profile.name === "demo")
    screen.fail("the demo model needs neither a key nor a sign-in", `/${command} PROFILE names another one`);
  else if (profile.auth !== "login")
    screen.fail(
      `profile ${profile.name} uses an API key, not a sign-in`,
      command === "logout"
        ? "there is nothing to sign out of; remove the key where you set it"
        : "set BUDDY_API_KEY, or the profile's api_key_env or api_key_file",
    );
  else return profile;
  return undefined;
}
