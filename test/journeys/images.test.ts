/** Pictures: from the command line, from the target, and what is said where they cannot be sent. */
import { join } from "node:path";
import { expect, test } from "bun:test";
import { call } from "../support/calls.ts";
import { execRig } from "../support/exec.ts";

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const DATA = `data:image/png;base64,${PNG.toString("base64")}`;
const NO_IMAGES = `[[model_rules]]\nexact = "gpt-4o"\nimages = false\n`;

test("exec --image sends the picture with the prompt", async () => {
  await using rig = execRig([{ text: "a dot" }]);
  rig.box.write("cwd/shot.png", PNG);
  expect((await rig.exec(["--image", "shot.png", "what is it?"])).code).toBe(0);
  expect(rig.requests[0]?.body["messages"]).toMatchObject([
    { role: "system" },
    { role: "user", content: [{ type: "text" }, { type: "image_url", image_url: { url: DATA } }] },
  ]);
});

test("read_file of a picture attaches it, behind the results where the protocol wants that", async () => {
  await using rig = execRig([call("read_file", { path: "shot.png" }), { text: "a dot" }]);
  rig.box.write("cwd/shot.png", PNG);
  await rig.exec(["--no-tmux", "look at shot.png"]);
  const sent = rig.requests[1]?.body["messages"] as { role: string; content: unknown }[];
  expect(sent.map(({ role }) => role)).toEqual(["system", "user", "assistant", "tool", "user"]);
  expect(JSON.stringify(sent[4]?.content)).toContain(DATA);
  expect(rig.lastResult()).toContain("image/png");
});

test("Anthropic gets it inside the result", async () => {
  await using rig = execRig([call("read_file", { path: "shot.png" }), { text: "a dot" }], { api: "anthropic" });
  rig.box.write("cwd/shot.png", PNG);
  await rig.exec(["--no-tmux", "look at shot.png"]);
  const { messages } = rig.requests[1]!.body as { messages: { content: { type: string; content: unknown }[] }[] };
  expect(messages.at(-1)?.content[0]).toMatchObject({
    type: "tool_result",
    content: [{ type: "text" }, { type: "image", source: { media_type: "image/png" } }],
  });
});

test("a model that does not read images says so, to the user and to the model", async () => {
  await using rig = execRig([call("read_file", { path: "shot.png" }), { text: "sorry" }], { config: NO_IMAGES });
  rig.box.write("cwd/shot.png", PNG);
  const { code, stderr } = await rig.exec(["--image", "shot.png", "what is it?"]);
  expect([code, stderr.includes("set images = true in [models.test]")]).toEqual([2, true]);
  expect(rig.requests).toHaveLength(0);
  await rig.exec(["--no-tmux", "look at shot.png"]);
  expect(rig.lastResult()).toContain("this model does not read images");
});

test.each([
  ["missing.png", undefined, /cannot be read/],
  ["text.png", "just text", /not a picture/],
  ["huge.png", Buffer.concat([PNG, Buffer.alloc(4_000_000)]), /scale it down/],
])("--image %s is an error before anything is sent", async (name, content, words) => {
  await using rig = execRig([{ text: "never" }]);
  if (content !== undefined) rig.box.write(`cwd/${name}`, content);
  const { code, stderr } = await rig.exec(["--image", name, "what is it?"]);
  expect([code, words.test(stderr), rig.requests.length]).toEqual([2, true, 0]);
});

test("--image of a pipe is an error that says so", async () => {
  await using rig = execRig([{ text: "never" }]);
  expect(Bun.spawnSync(["mkfifo", join(rig.box.cwd, "pipe.png")]).exitCode).toBe(0);
  const { code, stderr } = await rig.exec(["--image", "pipe.png", "what is it?"]);
  expect([code, stderr.includes("it is not a regular file"), rig.requests.length]).toEqual([2, true, 0]);
});
