import { expect, test } from "bun:test";
import { fileKind, outputKind } from "../../../src/policy/privacy/output-kind.ts";

const kind = (command: string, extra: string[] = []) => outputKind([command.split(" ")], extra);

test.each([
  ["env", "variables"],
  ["/usr/bin/env", "variables"],
  ["env -0", "variables"],
  ["env A=1 make", "ordinary"],
  ["printenv", "variables"],
  ["printenv HOME", "ordinary"],
  ["printenv HOME DB_PASSWORD", "opaque"],
  ["jq -n env", "opaque"],
  ["set", "variables"],
  ["set -e x", "ordinary"],
  ["export -p", "variables"],
  ["export A=1 B", "ordinary"],
  ["export A=1; echo done", "ordinary"],
  ["set -e; echo done", "ordinary"],
  ["declare -x", "variables"],
  ["env A=1", "variables"],
  ["declare -p X", "variables"],
  ["cat .env", "variables"],
  ["cat /srv/app/.env.production", "variables"],
  ["cat .env.example", "settings"],
  ["cat /proc/1/environ", "variables"],
  ["ls .env", "ordinary"],
  ["cat id_rsa", "secrets"],
  ["cat id_rsa.pub", "ordinary"],
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

test.each([
  ["cat .e*", "variables"],
  ["cat ./.en?", "variables"],
  ["cat *.k*y", "secrets"],
  ["cat *", "ordinary"],
  ["cat *.txt", "ordinary"],
  ["rev .env", "opaque"],
  ["grep -o . .env", "opaque"],
  ["tail -c 20 .env", "opaque"],
  ["nl .env", "opaque"],
  ["tac -s = .env", "opaque"],
  ["comm --output-delimiter=# /dev/null .env", "opaque"],
  ["grep KEY .env", "variables"],
  ["tail -n 2 .env", "variables"],
  ["openssl rsa -in server.key", "opaque"],
  ["jq -n env.DB_PASSWORD", "opaque"],
  ["jq -rn $ENV.DB_PASSWORD", "opaque"],
  ["yq -n strenv(DB_PASSWORD)", "opaque"],
  ["awk BEGIN{print(ENVIRON[0])}", "opaque"],
  ["jq .environment settings.json", "settings"],
  ["jq .items pods.json", "settings"],
  ["cut -d= -f1 .env", "variables"],
  ["cut -d= -f2 .env", "opaque"],
  ["find . -name .env", "ordinary"],
  ["find . -name .env -exec cat {} +", "variables"],
])("%s: %s", (command, wanted) => {
  expect(kind(command)).toBe(wanted as ReturnType<typeof kind>);
});

test("a file in a program's text, and one that another command finds", () => {
  expect(outputKind([["python3", "-c", 'print(open(".env").read())']], [])).toBe("opaque");
  expect(
    outputKind(
      [
        ["find", ".", "-name", ".env"],
        ["xargs", "cat"],
      ],
      [],
    ),
  ).toBe("variables");
  expect(outputKind([["git", "commit", "-m", "document .env"]], [])).toBe("ordinary");
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
