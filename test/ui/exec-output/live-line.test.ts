/** The line that says what is being waited for, and whose terminal it is. */
import { expect, test } from "bun:test";
import { lendTerminal } from "../../../src/lib/terminal.ts";
import { until } from "../../support/until.ts";
import { LiveLine } from "../../../src/ui/exec-output/live-line.ts";

test("the line leaves the screen before ssh asks, and comes back afterwards", async () => {
  const written: string[] = [];
  const line = new LiveLine(
    (text) => written.push(text),
    () => 80,
  );
  line.wait("connecting");
  await until(() => written.at(-1)?.includes("connecting"), "the line is shown");
  await lendTerminal(async () => {
    expect(written.at(-1)).toBe("\r\u001b[K");
    written.length = 0;
  });
  expect(written).toEqual([]);
  await until(() => written.at(-1)?.includes("connecting"), "the line is shown again");
  line.stop();
});

test("a line longer than the terminal is wide left a row behind with every picture of the spinner", async () => {
  const written: string[] = [];
  const line = new LiveLine(
    (text) => written.push(text),
    () => 20,
  );
  line.show("a command that is longer than the terminal is wide");
  line.stop();
  expect(Bun.stringWidth(Bun.stripANSI(written.find((text) => text.includes("command"))!).trim())).toBeLessThan(20);
});
