import { describe, expect, test } from "bun:test";
import { findSecrets } from "../../../src/lib/secrets/find-secrets.ts";
import "../../../src/lib/secrets/long-texts.ts";
import { placeHint, shapeHint } from "../../../src/lib/secrets/secret-shapes.ts";
import { KnownSecrets } from "../../../src/lib/secrets/known-secrets.ts";
import { Seeded } from "../../support/seeded.ts";

/** What is found in a text, alone and behind so much other text that it is looked for in another way. */
const found = (text: string) => {
  const list = (whole: string) => findSecrets(whole).map(({ start, end, kind }) => [kind, whole.slice(start, end)]);
  expect(list(LINES + text)).toEqual(list(text));
  return list(text);
};
const LINES = "another line of this text\n".repeat(1_000);

describe("a secret is found with its kind", () => {
  test.each([
    ["AKIAIOSFODNN7EXAMPLE", "AWS key", "AKIAIOSFODNN7EXAMPLE"],
    [
      "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
      "AWS secret key",
      "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    ],
    [
      '"SecretAccessKey": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"',
      "AWS secret key",
      "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    ],
    ["ghp_0123456789012345678901234567890123ab", "GitHub token", "ghp_0123456789012345678901234567890123ab"],
    ["glpat-abcdefghij0123456789", "GitLab token", "glpat-abcdefghij0123456789"],
    ["xoxb-123456789012-abcdef", "Slack token", "xoxb-123456789012-abcdef"],
    ["sk_live_0123456789abcdefghij", "Stripe key", "sk_live_0123456789abcdefghij"],
    ["sk-proj-abcdefghij1234567890", "OpenAI key", "sk-proj-abcdefghij1234567890"],
    ["sk-ant-api03-abcdefghijklmnop", "Anthropic key", "sk-ant-api03-abcdefghijklmnop"],
    ["AIzaSyA1234567890abcdefghijklmnopqrstuv", "Google key", "AIzaSyA1234567890abcdefghijklmnopqrstuv"],
    ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-def", "JWT", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-def"],
    ["DATABASE_URL=postgres://shop:hunter22@db:5432/shop", "password in a URL", "hunter22"],
    ["DB_PASSWORD=p4$$(w0rd)!", "password", "p4$$(w0rd)!"],
    ["redis-cli -h db -a Gr8tPass77 ping", "secret", "Gr8tPass77"],
    ["docker login -u bob -p Gr8tPass77 r.io", "secret", "Gr8tPass77"],
    ["ldapsearch -x -D cn=a -w Gr8tPass77", "secret", "Gr8tPass77"],
    ["htpasswd -b users bob Gr8tPass77", "password", "Gr8tPass77"],
    ["vault login s.Gr8tPass77", "secret", "s.Gr8tPass77"],
    ["smbclient //h/s -U bob%Gr8tPass77", "secret", "Gr8tPass77"],
    ["rclone --sftp-pass Gr8tPass77", "password", "Gr8tPass77"],
    ["<password>Gr8tPass77</password>", "password", "Gr8tPass77"],
    ["define('DB_PASSWORD', 'Gr8tPass77');", "password", "Gr8tPass77"],
    ["$cfg['password'] = 'Gr8tPass77';", "password", "Gr8tPass77"],
    ['dbPassword := "Gr8tPass77"', "password", "Gr8tPass77"],
    ["bindpw Gr8tPass77", "password", "Gr8tPass77"],
    ["the password is Gr8tPass77", "password", "Gr8tPass77"],
    ["password for user bob: Gr8tPass77", "password", "Gr8tPass77"],
    ["PGPASSWORD=swordfish psql", "password", "swordfish"],
    ['"DB_PASSWORD=swordfish",', "password", "swordfish"],
    ["PGPASSWORD=hunter2x9 psql", "password", "hunter2x9"],
    ['"dbPassword": "correct-horse"', "password", "correct-horse"],
    ["spring.datasource.password=Sup3rGeheim", "password", "Sup3rGeheim"],
    ["    token: c2VjcmV0LXRva2VuLTEyMzQ", "token", "c2VjcmV0LXRva2VuLTEyMzQ"],
    ['{"api_token":"p4Zx9Qw7Lm2Rt5","user":"bob"}', "token", "p4Zx9Qw7Lm2Rt5"],
    ['{"secret" : "p4Zx9Qw7Lm2Rt5"}', "secret", "p4Zx9Qw7Lm2Rt5"],
    ["'db_pass' => 'p4Zx9Qw7',", "password", "p4Zx9Qw7"],
    ["    client-key-data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURQ==", "private key", "LS0tLS1CRUdJTiBSU0EgUFJJVkFURQ=="],
    ['"auths": {"r.example": {"auth": "dXNlcjpodW50ZXIy"}}', "sign-in", "dXNlcjpodW50ZXIy"],
    ["machine api.example login bob password hunter2", "password", "hunter2"],
    ["machine api.example\n  login bob\n  password hunter2\n", "password", "hunter2"],
    ["db.example:5432:shop:bob:hunter2", "password", "hunter2"],
    ["*:*:*:postgres:hunter2x", "password", "hunter2x"],
    [
      "root:$6$abcdefgh$0123456789abcdefghij0123456789:19000:0:",
      "password hash",
      "$6$abcdefgh$0123456789abcdefghij0123456789",
    ],
    [
      "PrivateKey = yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=",
      "private key",
      "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=",
    ],
    ["AccountName=x;AccountKey=abcdefghij0123456789ABCDEFGHIJ==;", "key", "abcdefghij0123456789ABCDEFGHIJ=="],
    [
      "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
      "webhook URL",
      "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
    ],
  ])("%j", (text, kind, secret) => {
    expect(found(text)).toEqual([[kind, secret]]);
    // The first texts of a process are searched for words instead of patterns.
    const hints = [shapeHint(), placeHint()].filter((hint) => hint.compile().test(text));
    expect(hints.filter((hint) => !hint.hasWord(text))).toEqual([]);
  });

  test("a whole private key is one secret", () => {
    const key = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz\nAAAA\n-----END OPENSSH PRIVATE KEY-----";
    expect(found(`a\n${key}\nz`)).toEqual([["private key", key]]);
  });

  test("the secret key beside an AWS key, as a console's CSV has them", () => {
    expect(found("bob,AKIAIOSFODNN7EXAMPLE,wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY").map(([kind]) => kind)).toEqual([
      "AWS key",
      "AWS secret key",
    ]);
  });

  test("the values of a Kubernetes Secret in YAML, not those of the ConfigMap beside it", () => {
    const text = [
      "apiVersion: v1",
      "items:",
      "- apiVersion: v1",
      "  data:",
      "    password: aHVudGVyMg==",
      "    user: Ym9i",
      "  kind: Secret",
      "  metadata:",
      "    name: db",
      "- apiVersion: v1",
      "  data:",
      "    color: blue",
      "  kind: ConfigMap",
      "kind: List",
    ].join("\n");
    expect(found(text)).toEqual([
      ["Kubernetes secret", "aHVudGVyMg=="],
      ["Kubernetes secret", "Ym9i"],
    ]);
  });

  test("a block scalar of a Secret's stringData is one secret", () => {
    const text = "kind: Secret\nstringData:\n  config: |\n    user = bob\n    pin = 1\n  other: x1y2\nmetadata: {}\n";
    expect(found(text).map(([, value]) => value)).toEqual(["user = bob\n    pin = 1", "x1y2"]);
  });

  test("the values of a Kubernetes Secret in JSON, also in its annotation", () => {
    const applied = JSON.stringify({ kind: "Secret", data: { pin: "MTIzNA==" } });
    const secret = { kind: "Secret", data: { pin: "MTIzNA==" }, metadata: { annotations: { applied } } };
    for (const text of [JSON.stringify(secret), JSON.stringify(secret, null, 2)])
      expect(found(text).map(([, value]) => value)).toEqual(["MTIzNA==", "MTIzNA=="]);
  });
});

describe("everyday output holds no secret", () => {
  test.each([
    "docker login r.io",
    "vault login -method=oidc",
    "the password is required",
    "Failed password for root from 10.0.0.5 port 4711 ssh2",
    "redis-cli -h db1 ping",
    "commit 3f786850e387550fdab836ed7e6dc881de23001b\nAuthor: Bob <bob@example.org>\nDate:   Mon Nov 16 14:07:10 2026",
    "f47ac10b-58cc-4372-a567-0e02b2c3d479",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08  file.tar.gz",
    '"integrity": "sha512-z1tZ0FZJ5rm9C0eYqkqL8sVYwSDqQ0C0x1x7g4X7mQ5q3nqCw6n7LRqk6Q8mV5m8g=="',
    "golang.org/x/crypto v0.17.0 h1:r8bRNjWL3GshPW3gkd+RpvzWrZAwPS49OmTGZ/uhM4k=",
    'checksum = "c3c1a368f70d6cf7302d78f8f7093da241fb8e8807c05cc9e51a125895a6d5b"',
    "256 SHA256:uNiVztksCsDhcc0u9e8BgrJXVGLgr5Ma5wcb1VHZL9g root@web1 (ED25519)",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl bob@laptop",
    "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBa\n-----END CERTIFICATE-----",
    "root:x:0:0:root:/root:/bin/bash\nbob:x:1000:1000:Bob:/home/bob:/bin/zsh",
    "/etc/group:1:root:x:0:\n5:adm:x:4:syslog,bob",
    'tcp   LISTEN 0 511 0.0.0.0:80 0.0.0.0:* users:(("nginx",pid=812,fd=6))',
    "Nov 16 14:07:10 web1 sshd[4711]: Accepted publickey for deploy from 10.0.0.7 port 50022 ssh2",
    "security:\n  authorization: enabled\nnet:\n  port: 27017",
    "const token = await getToken(user1);\nfunction login(password: string, token?: string): Promise<Token2> {}",
    "password = data.get('password1')\napi_key: str = os.environ['API_KEY1']",
    "token: ${{ secrets.GITHUB_TOKEN }}\npassword: {{ vault_password1 }}\nsecret = var.secret1_name",
    'terraform: password = (sensitive value)\n"nextPageToken": "CAUQAA123456"\nmax_tokens: 4096000',
    "PasswordAuthentication no\nPermitRootLogin prohibit-password\nPubkeyAuthentication yes",
    "passwd: password updated successfully\npassword expires                  : never",
    "NAME        TYPE     DATA   AGE\ndb-secret   Opaque   2      14d\nregistry    kubernetes.io/dockerconfigjson   1   14d",
    "dbus.socket loaded active running\nssh-key.service loaded\nkeyboard-setup.service loaded active exited",
    "drwxr-xr-x 2 root root 4096 Nov 16 14:07 secrets\n-rw------- 1 root root 1679 token.json",
    "https://example.org/a/b:c@d ssh://git@github.com/x/y.git git@github.com:x/y.git",
    "monkey=banana123456 turkey: roast-2026 keyboard: us-intl-1",
    "password=prompt token=next_token secret=hidden PASSWORD=changeme TOKEN=token API_KEY=your-key-here",
    "sk-ssh-ed25519-cert-v01@openssh.com,sk-ecdsa-sha2-nistp256@openssh.com",
    "curl -u user:password https://x; export PASSWORD=password",
    "class sk-estimator-doc-link sk-toggleable__content",
    'curl -u "$USER:$PASS" https://x ; mysql -p"$PW" ; export API_KEY=$(cat key)',
  ])("%j", (text) => {
    expect(found(text)).toEqual([]);
  });
});

describe("a known secret is found", () => {
  const SECRET = "hV7/kQ2+pL9xZr4T";
  const known = new KnownSecrets<string>();
  known.add(SECRET, "one", { encoded: true, parts: 12 });

  test.each([
    [`x${SECRET}y`, "whole"],
    [encodeURIComponent(SECRET), "encoded"],
    [Buffer.from(SECRET).toString("hex"), "encoded"],
    [Buffer.from(`u:${SECRET}`).toString("base64"), "encoded"],
    [[...SECRET].toReversed().join(""), "encoded"],
    [`cut ${SECRET.slice(2)} off`, "part"],
  ])("in %j as %s", (text, form) => {
    expect(known.find(text)[0]).toMatchObject({ tag: "one", form });
  });

  test("not in a few of its characters", () => {
    expect(known.find(SECRET.slice(0, 11))).toEqual([]);
  });

  test("several times, and beside others", () => {
    const two = new KnownSecrets<number>();
    two.add("first-one", 1);
    two.add("first-one-longer", 2);
    expect(two.find("first-one first-one-longer first-one").map(({ tag }) => tag)).toEqual([1, 2, 1]);
  });
});

test("known secrets are found at the same places in a long text as in a short one", () => {
  const random = new Seeded(7);
  const letters = ["a", "b", "1", "é"];
  for (let round = 0; round < 40; round++) {
    const secrets = Array.from({ length: 12 }, () => `s${random.text(letters, 8)}-${random.text(letters, 14)}abcdef`);
    const short = new KnownSecrets<string>();
    const long = new KnownSecrets<string>();
    for (const [index, secret] of secrets.entries()) {
      const parts = index % 2 === 0 ? 12 : 0;
      short.add(secret, secret, { parts });
      long.add(secret, secret, { parts });
      // Some are learned after a search.
      if (index === 5) long.find(LINES);
    }
    const text = random.text([...secrets, ...letters, "s-", "abcdef", "\n"], 40);
    const moved = short.find(text).map((span) => {
      return { ...span, start: span.start + LINES.length, end: span.end + LINES.length };
    });
    expect(long.find(LINES + text)).toEqual(moved);
  }
});
