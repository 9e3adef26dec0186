import { expect, test } from "bun:test";
import { redactedStream, redactor } from "../../../src/lib/secrets/redact.ts";
import { LONG, Seeded, cases } from "../../support/seeded.ts";

const KEY = 'k3y/with+odd=chars&"q"';
const redact = redactor([KEY, "abc", "two words of secret"]);

test.each([
  [`key ${KEY}.`],
  [encodeURIComponent(KEY)],
  [JSON.stringify({ key: KEY })],
  [JSON.stringify(JSON.stringify({ key: KEY }))],
  [Buffer.from(KEY).toString("hex")],
  [Buffer.from(KEY).toString("base64url")],
  ...["", ":", "u:", "me:", "user:"].map((user) => [`Basic: ${Buffer.from(user + KEY).toString("base64")}`]),
  ["two words of secret"],
])("a configured key does not survive in %j", (text) => {
  const out = redact(text);
  expect(out).toContain("[redacted]");
  expect(out).not.toContain("odd");
  expect(out).not.toContain("words of");
});

test.each([
  ["Authorization: Bearer abcdefghijklmnop1234", "Authorization: Bearer [redacted]"],
  ["> authorization: bearer x.y.z1", "> authorization: bearer [redacted]"],
  ['{"Authorization":"Bearer abc.def"}', '{"Authorization":"Bearer [redacted]"}'],
  ["Proxy-Authorization: Basic dXNlcjpwYXNz", "Proxy-Authorization: Basic [redacted]"],
  ["x-api-key: 0123456789", "x-api-key: [redacted]"],
  ["Cookie: sid=abcdef", "Cookie: [redacted]"],
  ["Cookie: theme=dark; sid=abcdef\nHost: x", "Cookie: [redacted]\nHost: x"],
  ['{"cookie":"theme=dark; sid=abcdef","x":1}', '{"cookie":"[redacted]","x":1}'],
  ["Set-Cookie: sid=abcdef; Path=/; Secure", "Set-Cookie: [redacted]; Path=/; Secure"],
  ["'set-cookie': [ 'sid=abcdef; Path=/' ]", "'set-cookie': [ '[redacted]; Path=/' ]"],
  ["key sk-proj-abcdefghij1234567890 end", "key [redacted] end"],
  ["sk-or-v1-0123456789abcdef", "[redacted]"],
  ["sk-ant-api03-abcdefghijklmnop", "[redacted]"],
  ["ghp_0123456789012345678901234567890123ab", "[redacted]"],
  ["github_pat_11ABCDEFG0123456789_abcdefghij", "[redacted]"],
  ["https://ghp_0123456789012345678901234567890123ab@github.com/x", "https://[redacted]@github.com/x"],
  ["xoxb-123456789012-abcdef", "[redacted]"],
  ["AKIAIOSFODNN7EXAMPLE", "[redacted]"],
  ["AIzaSyA1234567890abcdefghijklmnopqrstuv", "[redacted]"],
  ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-def", "[redacted]"],
  ["glpat-abcdefghij0123456789", "[redacted]"],
  ["a\n-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz\nAAAA\n-----END OPENSSH PRIVATE KEY-----\nz", "a\n[redacted]\nz"],
  ["-----BEGIN RSA PRIVATE KEY-----\\nMIIEpAIBAAKCAQEA0123456789\\n", "[redacted]\\n"],
  ["https://user:hunter2@host/x", "https://user:[redacted]@host/x"],
  ["postgres://u:p%40ss@db:5432/x", "postgres://u:[redacted]@db:5432/x"],
  ["redis://:pass@db", "redis://:[redacted]@db"],
  ["buddy --api-key abcd1234 exec", "buddy --api-key [redacted] exec"],
  ["mysql --password 'hunter22' db", "mysql --password '[redacted]' db"],
  [
    "-----BEGIN PGP PRIVATE KEY BLOCK-----\nComment: a (b) - c\n\nlQOYBF\n=ab12\n-----END PGP PRIVATE KEY BLOCK-----",
    "[redacted]",
  ],
  ["OPENAI_API_KEY=abcd1234efgh", "OPENAI_API_KEY=[redacted]"],
  ["?access_token=abc123def456&x=1", "?access_token=[redacted]&x=1"],
  ['{"refresh_token":"abcdefgh","x":1}', '{"refresh_token":"[redacted]","x":1}'],
  ['api_key = "0123abcd4567"', 'api_key = "[redacted]"'],
  ["password: hunter2x9", "password: [redacted]"],
  ["  api_key: '0123abcd4567'", "  api_key: '[redacted]'"],
  ["sshpass -p hunter2x9 ssh h", "sshpass -p [redacted] ssh h"],
  ["mysql -u root -phunter2x9 db", "mysql -u root -p[redacted] db"],
  ["curl -s -u bob:hunter2x9 https://h", "curl -s -u bob:[redacted] https://h"],
])("%j becomes %j", (text, out) => {
  expect(redact(text)).toBe(out);
  expect(redact(redact(text))).toBe(out);
});

test.each([
  "abc abc",
  "disk-encryption-something-long-4",
  "risk-free sk-learn",
  "API_KEY=$FOO curl -H 'Authorization: Bearer $TOKEN' x",
  'api_key_env = "OPENAI_API_KEY"',
  'password=os.environ["X"]',
  "max_tokens=4096000 token=config.token",
  "Bearer of bad news arrives today",
  "use --token FILE or --password --prompt, --secret $SECRET1",
  "grep -r '-----BEGIN PRIVATE KEY-----' src",
  "http://host:8080/x@y ssh://git@host/x https://example.com/a:b@c",
  "commit 3f786850e387550fdab836ed7e6dc881de23001b",
])("%j is left alone", (text) => {
  expect(redact(text)).toBe(text);
});

const SECRET = "s3cr3t0123456789abcdef";

test("secrets inside JSON lines, at the start of a line of text, in JSON inside JSON", () => {
  for (const text of [
    `first\nsk-proj-${SECRET}`,
    `first\tpassword=${SECRET}\nnext`,
    `x\nbearer ${SECRET}\ny`,
    `API_KEY="${SECRET}" run`,
    `\x1b${"ghp_"}${SECRET}0000`,
    JSON.stringify({ access_token: SECRET }),
    `{"headers":{"x-api-key":"${SECRET}"}}`,
    `-----BEGIN PRIVATE KEY-----\n${SECRET}\n"quoted"\n-----END PRIVATE KEY-----\n`,
  ]) {
    const line = JSON.stringify({ type: "x", text, n: null });
    expect([text, redact(text).includes(SECRET)]).toEqual([text, false]);
    expect([line, redact(line).includes(SECRET)]).toEqual([line, false]);
    expect(JSON.parse(redact(line))).toMatchObject({ type: "x", n: null });
    const twice = JSON.stringify({ line });
    expect([twice, redact(twice).includes(SECRET)]).toEqual([twice, false]);
    expect(JSON.parse(JSON.parse(redact(twice)).line)).toMatchObject({ type: "x" });
  }
});

test(
  "a JSON line is still JSON with the same shape after redaction, whatever it holds",
  () => {
    const random = new Seeded(0x150);
    const keys = ["authorization", "password", "token", "access_token", "x-api-key", "cookie", "a", "secret"];
    const bits = [
      ..." \n\t'\"=:;,&?/\\\\{}[]()<>@.-_0",
      "-----BEGIN PRIVATE KEY-----",
      "-----END PRIVATE KEY-----",
      "Authorization: Bearer ",
      "token=",
      "--password ",
      "https://u:",
      "abc123",
      SECRET,
      "cookie: a=",
      '"password":"',
      "sk-",
      "\x1b",
    ];
    const values = [null, true, 12345678, 0.5, [], {}, ["authorization", "x"], { password: null }];
    for (let i = 0; i < cases(20_000); i++) {
      const value: Record<string, unknown> = {};
      for (let k = random.below(5); k >= 0; k--)
        value[random.of(keys)] = random.below(3) === 0 ? random.of(values) : random.text(bits, 10);
      const line = JSON.stringify({ type: "event", value });
      const out = redact(line);
      let parsed: { type: string; value: object };
      try {
        parsed = JSON.parse(out);
      } catch (cause) {
        throw new Error(`case ${i} is no JSON any more: ${line}\n${out}`, { cause });
      }
      if (parsed.type !== "event" || Object.keys(parsed.value).join() !== Object.keys(value).join())
        throw new Error(`case ${i} changed its shape: ${line}\n${out}`);
    }
  },
  LONG,
);

const STREAMED = [
  "> Cookie: theme=dark; sid=abcdef\n{ 'set-cookie': [ 'sid=abcdef' ], \"cookie\": \"a=b; c=d\" }\n",
  `say ${KEY} twice ${KEY}\n`,
  "curl -H 'Authorization: Bearer abcdefghijklmnop1234' https://u:hunter22@host/ && echo done\n",
  "the two words of secret are out, two words of nothing are not\n",
  "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA\nAAAA\n-----END OPENSSH PRIVATE KEY-----\nafter it\n",
  'api_key = "0123abcd4567" and sk-proj-abcdefghij1234567890, then text\n',
].join("");

test("pieces give the same as the whole, wherever they are cut", () => {
  const secrets = [KEY, "two words of secret"];
  const whole = redactor(secrets)(STREAMED);
  for (let cut = 0; cut <= STREAMED.length; cut++) {
    const stream = redactedStream(secrets);
    expect(stream.push(STREAMED.slice(0, cut)) + stream.push(STREAMED.slice(cut)) + stream.end()).toBe(whole);
  }
  const stream = redactedStream(secrets);
  expect([...STREAMED].map((unit) => stream.push(unit)).join("") + stream.end()).toBe(whole);
});

test("what is held back has a bound, and words are not held", () => {
  const stream = redactedStream([KEY]);
  expect(stream.push("two words and")).toBe("two words ");
  let out = 0;
  for (let i = 0; i < 300; i++) out += stream.push("x".repeat(1000)).length;
  expect(out).toBeGreaterThan(200_000);
});

test("no text makes it slow: the time of odd texts grows with their length, not its square", () => {
  const odd = [
    "sk-",
    "-----BEGIN PRIVATE KEY-----\n",
    "authorization: ",
    "a_",
    "a://",
    "eyJ",
    "password=",
    "a-",
    "x",
    "://u:",
  ];
  for (const piece of odd) expect(redact(piece.repeat(200_000)).length).toBeGreaterThan(0);
});
