/** /theme: the colours of the screen. */
import { isThemeName, THEME_NAMES } from "../theme.ts";
import type { SlashCommand } from "./slash-commands.ts";
import { oneLine } from "../words.ts";

export const themeCommand: SlashCommand = {
  name: "theme",
  args: "[NAME]",
  summary: `colours: ${THEME_NAMES.join(", ")}`,
  anytime: true,
  complete: () => THEME_NAMES.map((value) => ({ value, hint: "", complete: true })),
  async run(screen, args) {
    const { style } = screen;
    let wanted = args;
    if (wanted === "") {
      const choices = THEME_NAMES.map((name) => ({
        value: name,
        label: name,
        hint: name === style.active ? "active" : "",
      }));
      const active = THEME_NAMES.findIndex((name) => name === style.active);
      wanted = (await screen.pick("Theme:", choices, active))?.value ?? "";
      if (wanted === "") return;
    }
    if (!isThemeName(wanted)) {
      screen.fail(`no theme "${oneLine(wanted)}"`, THEME_NAMES.join(", "));
      return;
    }
    style.use(wanted);
    screen.say([`theme: ${wanted}; [display] theme = "${wanted}" keeps it`]);
  },
};
