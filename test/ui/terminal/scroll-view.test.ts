/** The built-in view of long text, on a real emulator. */
import { expect, test } from "bun:test";
import { ScrollView } from "../../../src/ui/terminal/scroll-view.ts";
import { theme } from "../../../src/ui/theme.ts";
import { Emulator } from "../../support/emulator.ts";

test.each([theme(false), theme(true)])(
  "every character of wide lines and of lines with tabs is seen",
  async (style) => {
    const emulator = new Emulator(20, 8);
    const view = new ScrollView(["first", "x".repeat(19) + "END" + "y".repeat(17), "a\tb\tc\td", "last"], style);
    emulator.write(view.frame(20, 8));
    await emulator.settle();
    const rows = emulator
      .screen()
      .split("\n")
      .map((row) => row.trimEnd());
    expect(rows.slice(0, 4)).toEqual(["first", `${"x".repeat(19)}E`, `ND${"y".repeat(17)}`, "a       b       c"]);
    expect(rows[4]!.trim()).toBe("d");
    expect(rows[5]).toBe("last");
    emulator.dispose();
  },
);
