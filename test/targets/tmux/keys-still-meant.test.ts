import { expect, test } from "bun:test";
import { stillThere } from "../../../src/targets/tmux/typed-keys.ts";

const place = { cwd: "/srv", user: "me", typed: "ls " };

test("the same place takes the keys", () => {
  stillThere({ ...place, typed: "ls" }, place);
  stillThere({ ...place, program: "less", pane: "%2" }, { ...place, program: "less", pane: "%2" });
});

test.each([
  [{ program: "psql" }, "psql is in the foreground"],
  [{ user: "root" }, "belongs to root"],
  [{ cwd: "/" }, "the shell is in / now"],
  [{ typed: "rm x" }, "another text"],
  [{ pane: "buddy:p2" }, "typed into buddy:p2"],
])("%j gets none", (now, why) => {
  expect(() => stillThere({ ...place, ...now }, place)).toThrow(why);
});
