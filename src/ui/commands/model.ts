/** /model, /login and /logout: which model answers, and the sign-in for it. */
import { alignColumns, closestMatch } from "../../lib/text.ts";
import type { CommandScreen, SlashCommand, ArgumentValues } from "./slash-commands.ts";
import type { ProfileRow, ReplHost } from "../repl/host.ts";
import { oneLine } from "../words.ts";

export const model: SlashCommand = {
  name: "model",
  args: "[PROFILE|PROFILE:MODEL|N]",
  summary: "switch the model",
  anytime: false,
  complete: (host) =>
    host.profiles().map((profile) => ({
      value: profile.name,
      hint: `${profile.model}${profile.active ? " (active)" : ""}`,
      complete: true,
    })),
  async run(screen, args) {
    const { host } = screen;
    const profiles = host.profiles();
    let wanted = args;
    if (wanted === "") {
      const choices = profiles.map(({ name, model, api, auth, active }) => ({
        value: name,
        label: name,
        hint: `${model} · ${name === "demo" ? "built in" : `${api} · ${auth === "login" ? "sign-in" : "key"}`}${active ? " · active" : ""}`,
      }));
      const chosen = await screen.pick(
        "Model:",
        choices,
        profiles.findIndex(({ active }) => active),
      );
      if (chosen === undefined) return;
      wanted = chosen.value;
    }
    const [name = "", ...rest] = wanted.split(":");
    if (rest.length > 0 && profiles.some((profile) => profile.name === name)) {
      const other = rest.join(":") || (await offered(screen, name));
      if (other === undefined) return;
      wanted = `${name}:${other}`;
      const notes = await host.switchModel(wanted);
      return screen.say([
        `model: ${oneLine(other)} (profile ${name})`,
        ...notes.map((note) => screen.style.grey(`  ${note}`)),
      ]);
    }
    const index = /^\d+$/.test(wanted) ? Number(wanted) - 1 : -1;
    const profile = profiles.find(({ name }) => name === wanted) ?? profiles[index];
    if (profile === undefined) {
      const names = profiles.map(({ name }) => name);
      const near = closestMatch(wanted, names);
      return screen.fail(
        `no profile "${oneLine(wanted)}"${near === undefined ? "" : `; did you mean ${near}?`}`,
        alignColumns(profiles.map(({ name, model }, i) => [`${i + 1} ${name}`, model])).join("\n"),
      );
    }
    if (profile.active && profile.own === undefined)
      return screen.say([`${profile.name} (${profile.model}) is already active`]);
    const before = profiles.find(({ active }) => active);
    const notes = [...(await host.switchModel(profile.name))];
    if (before !== undefined && before.api !== profile.api) notes.push(`protocol: ${before.api} → ${profile.api}`);
    if (before !== undefined && before.auth !== profile.auth && profile.name !== "demo") {
      notes.push(profile.auth === "login" ? `signs in with an account (/login ${profile.name})` : "uses an API key");
    }
    screen.say([
      `model: ${profile.own ?? profile.model} (profile ${profile.name})`,
      ...notes.map((note) => screen.style.grey(`  ${note}`)),
    ]);
  },
};

/** One of the models that the endpoint of a profile lists. */
async function offered(screen: CommandScreen, profile: string): Promise<string | undefined> {
  let ids: readonly string[] | undefined;
  await screen.interruptible(async (signal) => {
    screen.waiting(`asking the endpoint of ${profile}`);
    ids = await screen.host.offeredModels(profile, signal);
  });
  if (ids?.length === 0) screen.fail(`the endpoint of ${profile} lists no models`, `Name one: /model ${profile}:MODEL`);
  if (ids === undefined || ids.length === 0) return undefined;
  const choices = ids.map((id) => ({ value: id, label: oneLine(id), hint: "" }));
  return (await screen.pick(`Model of ${profile}:`, choices, 0))?.value;
}

/** /login and /logout: sign in for a profile, and out, without leaving the REPL. */
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
