import { expect, test } from "bun:test";
import { stillThere } from "../../../src/targets/tmux/typed-keys.ts";

const place = { cwd: "/srv", user: "me", typed: "ls " };

test("the same place takes the keys", () => {
  stillThere({ ...place, typed: "ls" }, place);
  stillThere({ ...place, program: "less", pane: "%2" }, { ...place, program: "less", pane: "%2" });
});

test.each([
  [{ program: "psql" }, "psql"],
  [{ user: "root" }, "root"],
  [{ cwd: "/" }, "in /"],
  [{ typed: "rm x" }, "the line"],
  [{ pane: "buddy:p2" }, "buddy:p2"],
])("%j gets none", (now, why) => {
  expect(() => stillThere({ ...place, ...now }, place)).toThrow(why);
});
