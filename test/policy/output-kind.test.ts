import { expect, test } from "bun:test";
import { fileKind, outputKind } from "../../src/policy/output-kind.ts";

const kind = (command: string, extra: string[] = []) => outputKind([command.split(" ")], extra);

test.each([
  ["env", "variables"],
  ["/usr/bin/env", "variables"],
  ["env -0", "variables"],
  ["env A=1 make", "ordinary"],
  ["printenv HOME", "variables"],
  ["set", "variables"],
  ["set -e x", "ordinary"],
  ["export -p", "variables"],
  ["export A=1 B", "ordinary"],
  ["declare -p X", "variables"],
  ["cat .env", "variables"],
  ["cat /srv/app/.env.production", "variables"],
  ["cat .env.example", "settings"],
  ["cat /proc/1/environ", "variables"],
  ["ls .env", "ordinary"],
  ["cat id_rsa", "secrets"],
  ["cat id_rsa.pub", "ordinary"],
  ["openssl rsa -in server.key", "secrets"],
  ["openssl x509 -in server.crt", "ordinary"],
  ["cat config.yml", "settings"],
  ["kubectl get secret", "secrets"],
  ["kubectl -n prod get secrets db -o yaml", "secrets"],
  ["kubectl get secret/db", "secrets"],
  ["kubectl get cm,secret", "secrets"],
  ["kubectl get pods", "ordinary"],
  ["vault kv get -field=x secret/db", "secrets"],
  ["aws --profile p secretsmanager get-secret-value --secret-id x", "secrets"],
  ["aws s3 ls", "ordinary"],
  ["op read op://vault/item", "secrets"],
  ["pass show mail", "secrets"],
  ["gcloud secrets versions access latest", "secrets"],
  ["gcloud secrets list", "ordinary"],
  ["sops -d x.enc", "secrets"],
  ["git status", "ordinary"],
])("%s: %s", (command, wanted) => {
  expect(kind(command)).toBe(wanted as ReturnType<typeof kind>);
});

test("entries of mask_output count like the built-in ones", () => {
  expect(kind("mycli --json secrets show x", ["mycli secrets show"])).toBe("secrets");
  expect(kind("mycli users show x", ["mycli secrets show"])).toBe("ordinary");
});

test("the strictest of several commands holds", () => {
  expect(outputKind([["ls"], ["cat", "a.yml"], ["env"]], [])).toBe("variables");
});

test("files by their names", () => {
  expect(["a/.pgpass", "x.pem", "home/.aws/credentials", "notes.md"].map(fileKind)).toEqual([
    "secrets",
    "secrets",
    "secrets",
    "ordinary",
  ]);
});
