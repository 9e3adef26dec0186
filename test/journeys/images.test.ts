/** Pictures: from the command line, from the target, and what is said where they cannot be sent. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "bun:test";
import { call } from "../support/calls.ts";
import { containerTarget } from "../support/container.ts";
import { execRig } from "../support/exec.ts";
import { needs } from "../support/needs.ts";
import { sshTarget } from "../support/sshd.ts";

const ssh = await needs("sshd");
const container = await needs("podman");

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

test("exec attaches what its prompt names with @, behind the pictures of --image", async () => {
  await using rig = execRig([{ text: "two dots" }]);
  rig.box.write("cwd/shot.png", PNG);
  rig.box.write("cwd/my notes.txt", "the needle\n");
  for (const name of ["a.png", "b.png"]) rig.box.write(`cwd/${name}`, PNG);
  const prompt = "compare @shot.png with @my\\ notes.txt and tell @ops";
  const { code, stderr } = await rig.exec(["--no-tmux", "--image", "a.png", "--image=b.png", prompt]);
  expect([code, stderr.includes("@ops: no such file on the target; sent as text")]).toEqual([0, true]);
  const sent = rig.requests[0]?.body["messages"] as { content: unknown }[];
  expect(sent[1]?.content).toMatchObject([
    { type: "text", text: expect.stringContaining("the needle") },
    ...Array.from({ length: 3 }, () => ({ type: "image_url", image_url: { url: DATA } })),
  ]);
});

test("a prompt on standard input names files with @; text attached to a prompt does not", async () => {
  await using rig = execRig([{ text: "seen" }, { text: "seen" }]);
  rig.box.write("cwd/note.txt", "the needle\n");
  await rig.exec(["--no-tmux", "-"], { stdin: "what is in @note.txt" });
  await rig.exec(["--no-tmux", "what is this?"], { stdin: "see @note.txt" });
  const sent = rig.requests.map(({ body }) => JSON.stringify(body["messages"]).includes("the needle"));
  expect(sent).toEqual([true, false]);
});

ssh.test("a picture of a machine behind ssh, with @ and with read_file", async () => {
  const { host, env, server } = await sshTarget();
  await using rig = execRig([call("read_file", { path: "shot.png" }), { text: "a dot" }], {
    env: { PATH: env["PATH"] ?? "" },
  });
  writeFileSync(join(server.remoteHome, "shot.png"), PNG);
  await rig.exec(["--ssh", host, "--cd", server.remoteHome, "--no-tmux", "look at @shot.png"]);
  expect(pictures(rig.requests.at(-1)?.body)).toBe(2);
});

container.test("a picture of a container, with @ and with read_file", async () => {
  await using inside = await containerTarget({ run: ["--workdir", "/root"] });
  await using rig = execRig([call("read_file", { path: "shot.png" }), { text: "a dot" }], {
    env: { PATH: inside.env["PATH"] ?? "" },
  });
  const shot = rig.box.write("cwd/shot.png", PNG);
  expect(await inside.engine("cp", shot, `${inside.name}:/root/shot.png`)).toBe("");
  await rig.exec(["--container", inside.name, "--no-tmux", "look at @shot.png"]);
  expect(pictures(rig.requests.at(-1)?.body)).toBe(2);
});

function pictures(body: unknown): number {
  return JSON.stringify(body).split(DATA).length - 1;
}

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
  const named = await rig.exec(["--no-tmux", "look at @shot.png"]);
  expect([named.code, named.stderr.includes("set images = true in [models.test]")]).toEqual([0, true]);
  expect(rig.lastResult()).toContain("images");
});

test.each([
  ["missing.png", undefined, /cannot be read/],
  ["text.png", "just text", /not an image/],
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
