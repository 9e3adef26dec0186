/** Keys that a program prints. */
import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { keyFromCommand } from "../../src/auth/key-command.ts";
import { done, startModel } from "../support/model.ts";
import { temporaryDirectory } from "../support/temporary.ts";

const root = temporaryDirectory();

const signal = new AbortController().signal;
const options = { profile: "p", cwd: root, env: { PATH: process.env["PATH"] } };

/** A program that prints `text` and counts its runs in a file. */
function printing(text: string, name: string): readonly string[] {
  writeFileSync(join(root, `${name}.txt`), text);
  return ["sh", "-c", `echo x >>${name}.runs; cat ${name}.txt`];
}
const runs = (name: string) => readFileSync(join(root, `${name}.runs`), "utf8").length / 2;

test("a plain key is run for once", async () => {
  const source = keyFromCommand(printing("k-1\n", "plain"), options);
  expect([await source.token({}, signal), await source.token({}, signal)]).toEqual([
    { accessToken: "k-1" },
    { accessToken: "k-1" },
  ]);
  expect(runs("plain")).toBe(1);
});

test("a token is kept until it expires", async () => {
  const soon = new Date(Date.now() + 30_000).toISOString();
  const source = keyFromCommand(printing(JSON.stringify({ accessToken: "t", expiresOn: soon }), "soon"), options);
  await source.token({}, signal);
  await source.token({}, signal);
  expect(runs("soon")).toBe(2);
  const lasting = keyFromCommand(printing('{"access_token":"t","expires_in":3600}', "long"), options);
  await lasting.token({}, signal);
  await lasting.token({}, signal);
  expect(runs("long")).toBe(1);
});

test("a refused key is asked for again, once", async () => {
  const source = keyFromCommand(printing("k-2", "refused"), options);
  const refusal = { fault: { status: 401, body: { error: { message: "expired" } } } };
  await using model = startModel([refusal, { text: "in" }], { login: source, keyHeader: "api-key" });
  expect((await done(model.client)).message.content).toBe("in");
  expect(runs("refused")).toBe(2);
  expect(model.requests.map(({ headers }) => headers["api-key"])).toEqual(["k-2", "k-2"]);
});

test.each([
  ["a password manager with notes below the key", "sk-0123456789abcdef\\r\\nurl: https://x\\n", "sk-0123456789abcdef"],
  ["a key in quotes", '"az-token"\\n', "az-token"],
])("%s", async (_name, printed, key) => {
  const source = keyFromCommand(["printf", printed], options);
  expect(await source.token({}, signal)).toEqual({ accessToken: key });
});

test.each([
  ["a program that does not exist", ["/no/such/program"], /cannot be started: it does not exist/],
  ["a failing program", ["sh", "-c", "echo locked >&2; exit 3"], /exit code 3: locked/],
  ["an empty answer", ["true"], /nothing that looks like a key/],
  ["a page of text", ["printf", "a\\nb\\n"], /nothing that looks like a key/],
] as const)("%s is an error of the sign-in", async (_name, argv, words) => {
  const source = keyFromCommand(argv, options);
  await expect(source.token({}, signal)).rejects.toMatchObject({
    code: "auth",
    message: expect.stringMatching(words),
  });
});
