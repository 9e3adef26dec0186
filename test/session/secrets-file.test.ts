import { expect, test } from "bun:test";
import { chmodSync, readdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { copySecrets, readSecrets, removeSecrets, writeSecrets } from "../../src/session/secrets-file.ts";
import { temporaryDirectory } from "../support/temporary.ts";

const state = temporaryDirectory();

const ONE = "aaaa-bbbb-cccc-0001";
const TWO = "aaaa-bbbb-cccc-0002";
const secrets = [{ number: 1, kind: "password", from: "prompt", value: "s3cret" }];
const path = (session: string) => join(state, "secrets", `${session}.json`);

test("what is written is read again, copied and removed; the file is private", () => {
  expect(writeSecrets(state, ONE, secrets)).toBeUndefined();
  expect(statSync(path(ONE)).mode & 0o777).toBe(0o600);
  expect(readSecrets(state, ONE)).toEqual(secrets);
  expect(copySecrets(state, ONE, TWO)).toBeUndefined();
  expect(readSecrets(state, TWO)).toEqual(secrets);
  removeSecrets(state, ONE);
  expect(readdirSync(join(state, "secrets"))).toEqual([`${TWO}.json`]);
});

test.each(["", "{", '{"v":1}', '{"secrets":[{"number":"1"}]}', "null"])("a damaged file gives none: %j", (text) => {
  writeSecrets(state, ONE, secrets);
  writeFileSync(path(ONE), text);
  expect(readSecrets(state, ONE)).toEqual([]);
});

test("a file that others can read is not trusted", () => {
  writeSecrets(state, ONE, secrets);
  chmodSync(path(ONE), 0o644);
  expect(readSecrets(state, ONE)).toEqual([]);
});

test("a session without secrets has no file", () => {
  writeSecrets(state, ONE, []);
  expect(readdirSync(join(state, "secrets"))).not.toContain(`${ONE}.json`);
});

test("files of sessions that were not used for a month go when a new one comes", () => {
  writeSecrets(state, TWO, secrets);
  const old = new Date(Date.now() - 31 * 24 * 3600 * 1000);
  utimesSync(path(TWO), old, old);
  writeSecrets(state, ONE, secrets);
  expect(readdirSync(join(state, "secrets"))).toEqual([`${ONE}.json`]);
});

test("a place that cannot be written is reported", () => {
  expect(writeSecrets(join(path(ONE), "x"), TWO, secrets)).toContain(path(ONE));
});
