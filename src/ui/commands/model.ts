/** /model: switch to another profile, by name, by number, or from a list. */
import { closestMatch } from "../../lib/text.ts";
import type { SlashCommand } from "./slash-commands.ts";
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
    const other = rest.join(":");
    if (other !== "" && profiles.some((profile) => profile.name === name)) {
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
        `no profile ${oneLine(wanted)}${near === undefined ? "" : `; did you mean ${near}?`}`,
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
