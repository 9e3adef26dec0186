/** /model: switch to another profile, by name, by number, or from a list; `PROFILE:` lists what its endpoint offers. */
import { closestMatch } from "../../lib/text.ts";
import type { CommandScreen, SlashCommand } from "./slash-commands.ts";
import { oneLine } from "../transcript/tool-view.ts";

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
      screen.say([
        `model: ${oneLine(other)} (profile ${name})`,
        ...notes.map((note) => screen.style.grey(`  ${note}`)),
      ]);
      return;
    }
    const index = /^\d+$/.test(wanted) ? Number(wanted) - 1 : -1;
    const profile = profiles.find(({ name }) => name === wanted) ?? profiles[index];
    if (profile === undefined) {
      const names = profiles.map(({ name }) => name);
      const wide = Math.max(...names.map((name) => name.length));
      const near = closestMatch(wanted, names);
      screen.fail(
        `no profile "${oneLine(wanted)}"${near === undefined ? "" : `; did you mean ${near}?`}`,
        profiles.map(({ name, model }, i) => `${i + 1} ${name.padEnd(wide)}  ${model}`).join("\n"),
      );
      return;
    }
    if (profile.active) {
      screen.say([`${profile.name} (${profile.model}) is already active`]);
      return;
    }
    const before = profiles.find(({ active }) => active);
    const notes = [...(await host.switchModel(profile.name))];
    if (before !== undefined && before.api !== profile.api) notes.push(`protocol: ${before.api} → ${profile.api}`);
    if (before !== undefined && before.auth !== profile.auth && profile.name !== "demo") {
      notes.push(profile.auth === "login" ? `signs in with an account (/login ${profile.name})` : "uses an API key");
    }
    screen.say([
      `model: ${profile.model} (profile ${profile.name})`,
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
  if (ids?.length === 0) screen.fail(`the endpoint of ${profile} lists no models`, `name one: /model ${profile}:MODEL`);
  if (ids === undefined || ids.length === 0) return undefined;
  const choices = ids.map((id) => ({ value: id, label: oneLine(id), hint: "" }));
  return (await screen.pick(`Model of ${profile}:`, choices, 0))?.value;
}
