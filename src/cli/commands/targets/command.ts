/** `buddy targets`: machines by name, what the names lead to, and whether they can be worked on. */
import { BuddyError, EXIT } from "../../../lib/errors.ts";
import { log } from "../../../lib/log.ts";
import { defineCommand } from "../../command.ts";

export const command = defineCommand({
  name: "targets",
  args: {
    what: {
      type: "positional",
      required: false,
      description: "names, groups, globs, web[01-12], lists, @FILE, - for stdin; all if omitted",
    },
    check: { type: "boolean", description: "open them all and report problems" },
    sessions: { type: "boolean", description: "list buddy's tmux sessions on the machine" },
    end: { type: "boolean", description: "with --sessions: end those that are not in use, after a question" },
    yes: { type: "boolean", description: "with --end: do not ask" },
    json: { type: "boolean", description: "print as JSON" },
  },
  examples: [
    ["buddy targets", "the names of [targets] and ~/.ssh/config"],
    ["buddy targets prod", "the machines of a group, and where they are"],
    ["buddy targets 'web*' --check", "exit code 1 if something is wrong with one"],
    ["buddy targets --sessions", "on this machine, or on the one that --ssh, --container or a name gives"],
    ["buddy targets --sessions --end", "end those that no buddy, client or program uses"],
  ],
  async run({ args, globals }) {
    for (const [flag, needs] of [
      ["end", "sessions"],
      ["yes", "end"],
    ] as const)
      if (args[flag] === true && args[needs] !== true)
        throw new BuddyError("usage", `--${flag} requires --${needs}`, {
          hint: "buddy targets --sessions --end --yes ends the sessions that are not in use",
        });
    if (args.check === true && args.sessions === true)
      throw new BuddyError("usage", "--check and --sessions cannot be combined", { hint: "Give one of them" });
    const { loadConfiguration } = await import("../../../app/configuration.ts");
    const { uncertainRules } = await import("../../../app/machines/machine-rules.ts");
    const { chosenPlace, chosenPlaces, placeSources } = await import("../../../app/machines/places.ts");
    const { what } = args;
    const named = what !== undefined && (globals.on ?? globals.ssh ?? globals.container) !== undefined;
    if (named)
      throw new BuddyError("usage", "the machines are named twice", { hint: "Give WHAT, or --on, --ssh, --container" });
    const chosen = what === undefined ? globals : { ...globals, on: what };
    const loaded = await loadConfiguration(globals, { create: false });
    const stdin = () => Bun.stdin.text();
    if (args.sessions === true) {
      const { targetSessions } = await import("./sessions.ts");
      return targetSessions(await chosenPlace(chosen, loaded, { stdin }), loaded, args);
    }
    const anyChosen = (chosen.on ?? chosen.ssh ?? chosen.container) !== undefined;
    if (args.check === true) {
      const { checkPlaces } = await import("./check-places.ts");
      const all = Object.keys(loaded.config.targets).join(",") || "local";
      const places = await chosenPlaces(anyChosen ? chosen : { on: all }, loaded, { stdin });
      for (const warning of uncertainRules(loaded.config, places)) log.warn(warning);
      return checkPlaces(places, loaded, globals, args);
    }
    const { listNames, listPlaces } = await import("./list-places.ts");
    if (!anyChosen) return listNames(placeSources(loaded), loaded, args);
    const places = await chosenPlaces(chosen, loaded, { stdin });
    for (const warning of uncertainRules(loaded.config, places)) log.warn(warning);
    await listPlaces(places, loaded, args);
    return EXIT.ok;
  },
});
