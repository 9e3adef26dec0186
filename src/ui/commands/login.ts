/** /login: sign in for a profile without leaving the REPL. */
import type { SlashCommand } from "./slash-commands.ts";
import { oneLine } from "../transcript/tool-view.ts";

export const login: SlashCommand = {
  name: "login",
  args: "[PROFILE]",
  summary: "sign in for a profile that uses an account",
  anytime: false,
  complete: (host) =>
    host
      .profiles()
      .filter(({ auth }) => auth === "login")
      .map(({ name, model }) => ({ value: name, hint: model, complete: true })),
  async run(screen, args) {
    const profile = screen.host.profiles().find(({ name, active }) => (args === "" ? active : name === args));
    if (args !== "" && profile === undefined) {
      screen.fail(
        `no profile ${oneLine(args)}`,
        screen.host
          .profiles()
          .map(({ name }) => name)
          .join("\n"),
      );
      return;
    }
    if (profile?.name === "demo") {
      screen.fail("the demo model needs neither a key nor a sign-in", "/login PROFILE signs in for another one");
      return;
    }
    if (profile !== undefined && profile.auth !== "login") {
      screen.fail(
        `profile ${profile.name} uses an API key, not a sign-in`,
        "set BUDDY_API_KEY, or the profile's api_key_env or api_key_file",
      );
      return;
    }
    await screen.interruptible((signal) =>
      screen.host.login(
        profile?.name,
        { say: (line) => screen.say([line]), waiting: (text) => screen.waiting(text) },
        signal,
      ),
    );
  },
};
