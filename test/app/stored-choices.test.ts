/** What a stored session brings along, and what the command line keeps. */
import { expect, test } from "bun:test";
import { chosenPlaces } from "../../src/app/machines/places.ts";
import { samePlace, storedModel, withStoredTarget } from "../../src/app/run-sessions.ts";
import { loadConfig } from "../../src/config/load.ts";
import type { Replay } from "../../src/session/read.ts";
import { Here } from "../support/in-process.ts";

const stored = (fields: Partial<Replay>) =>
  ({ target: "local", cwd: "", places: [], profile: "", model: "", ...fields }) as Replay;

test("the target of the session, unless the command line names one", async () => {
  await using here = new Here();
  const globals = here.globals();
  expect(withStoredTarget(globals, stored({}))).toBe(globals);
  expect(withStoredTarget(globals, stored({ target: "ssh deploy@web1", cwd: "/srv" }))).toMatchObject({
    ssh: "deploy@web1",
    cd: "/srv",
  });
  const both = withStoredTarget(
    here.globals({ cd: "/opt" }),
    stored({ target: "container api on ssh web1", cwd: "/srv" }),
  );
  expect(both).toMatchObject({ ssh: "web1", container: "api", cd: "/opt" });
  expect(withStoredTarget(here.globals({ ssh: "web2" }), stored({ target: "ssh web1" })).ssh).toBe("web2");
  expect(withStoredTarget(here.globals({ container: "x" }), stored({ target: "ssh web1" })).ssh).toBeUndefined();
});

test("a session continues where it worked, whatever its name means by now; a command only when it is still configured", async () => {
  const box = { name: "box", path: [{ kind: "via", argv: ["env", "X=1"] }] } as const;
  const web = { name: "web", path: [{ kind: "ssh", destination: "deploy@web1" }] } as const;
  await using here = new Here([], { config: '[targets.box]\nvia = ["env", "X=1"]\n[targets.web]\nssh = "web2"\n' });
  const loaded = await loadConfig({ env: process.env, cwd: here.cwd, create: false });
  const [first, second] = await chosenPlaces({}, loaded, { stored: [box, web] });
  expect(first).toMatchObject(box);
  expect(second).toMatchObject({ ...web, names: expect.arrayContaining(["web", "web1"]) });
  const other = { name: "box", path: [{ kind: "via", argv: ["env", "X=2"] }] } as const;
  await expect(chosenPlaces({}, loaded, { stored: [other] })).rejects.toMatchObject({ code: "usage" });
  expect(await chosenPlaces({ on: "local" }, loaded, { stored: [other] })).toHaveLength(1);
});

test("the model of the session, unless something else chose one", async () => {
  await using here = new Here();
  const globals = here.globals();
  expect(storedModel(globals, stored({}), undefined)).toBeUndefined();
  expect(storedModel(globals, stored({ profile: "p", model: "m" }), "m")).toBe("p");
  expect(storedModel(globals, stored({ profile: "p", model: "m" }), "other")).toBe("p:m");
  expect(storedModel(globals, stored({ profile: "demo", model: "m" }), undefined)).toBe("demo");
  expect(storedModel(here.globals({ model: "x" }), stored({ profile: "p", model: "m" }), "m")).toBeUndefined();
  process.env.BUDDY_MODEL = "x";
  expect(storedModel(globals, stored({ profile: "p", model: "m" }), "m")).toBeUndefined();
});

test("one place under two labels", () => {
  expect(samePlace("local", "local")).toBe(true);
  expect(samePlace("ssh web1", "ssh deploy@web1")).toBe(true);
  expect(samePlace("ssh root@web1", "ssh deploy@web1")).toBe(false);
  expect(samePlace("container api", "container web")).toBe(false);
});

test("a session whose profile is gone continues with the active one, and says so", async () => {
  await using here = new Here([{ text: "one" }, { text: "two" }], {
    config: '[models.gone]\napi_base_url = "http://127.0.0.1:9/v1"\nmodel = "gpt-4o"\n',
  });
  here.write(
    "home/.config/buddy/buddy.toml",
    here.read("home/.config/buddy/buddy.toml").replace("http://127.0.0.1:9/v1", here.model.url),
  );
  await here.exec({ prompt: "first" }, { "no-tmux": true, model: "gone" });
  here.write(
    "home/.config/buddy/buddy.toml",
    here.read("home/.config/buddy/buddy.toml").replace("[models.gone]", "[models.other]"),
  );
  const { code, stderr } = await here.exec({ prompt: "second", resume: "last" });
  expect(code).toBe(0);
  expect(stderr).toMatch(/profile.*\bgone\b/);
  expect(here.model.requests.at(-1)?.model).toBe("gpt-4o");
});
