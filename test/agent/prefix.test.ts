/** What every request of a session begins with stays the same, so that providers find it in their caches. */
import { expect, test } from "bun:test";
import { Here } from "../support/in-process.ts";
import { shell } from "../support/calls.ts";

const FREELY = { "no-tmux": true, approve: "all" } as const;
const moving = [shell("cd sub"), shell("pwd"), shell("cd /usr"), { text: "done" }];

test.each(["completions", "responses", "anthropic"] as const)("%s: no byte before the newest changes", async (api) => {
  await using here = new Here(moving, { api });
  here.write("cwd/sub/file", "x");
  await here.turn(FREELY);
  const bodies = here.model.requests.map(({ text }) => text);
  expect(bodies.length).toBe(4);
  for (const [at, body] of bodies.slice(1).entries()) {
    const before = bodies[at]!;
    let same = 0;
    while (before[same] === body[same]) same++;
    // Only the end of the list, and a mark for the cache, differ.
    expect(before.length - same).toBeLessThan(60);
  }
});

test("a directory that changed is named once, with the result that changed it", async () => {
  await using here = new Here(moving);
  here.write("cwd/sub/file", "x");
  const { results } = await here.turn(FREELY);
  expect(results.map((text) => /\[cwd: (.*)\]/.exec(String(text))?.[1]?.split("/").at(-1))).toEqual([
    "sub",
    undefined,
    "usr",
  ]);
});

test("the same call with the same outcome is warned about, then ends the turn", async () => {
  await using here = new Here([...Array.from({ length: 30 }, () => shell("echo same")), { text: "done" }]);
  const { results, events } = await here.turn(FREELY);
  expect(results[1]).not.toContain("Do not send it again");
  expect(results[2]).toContain("has now given the same result 3 times in a row. Do not send it again");
  expect(events.filter(({ type }) => type === "tool_finished")).toHaveLength(10);
  expect(events.at(-1)).toMatchObject({ type: "done", status: "failed" });
});
