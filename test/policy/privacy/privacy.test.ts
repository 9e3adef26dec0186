import { describe, expect, test } from "bun:test";
import { Privacy } from "../../../src/policy/privacy/privacy.ts";
import { KEY_BLOCK, SECRETS } from "../../support/planted-secrets.ts";

const { aws, github, password, plain } = SECRETS;
const at = (output?: "variables" | "secrets" | "settings" | "screen") => ({ from: "test", ...(output && { output }) });

function fresh(own: readonly string[] = []): Privacy {
  return new Privacy({ mask: true, own: () => own });
}

describe("names", () => {
  test("are the same for the same value, count up, and tell the kind", () => {
    const privacy = fresh();
    expect(privacy.mask(`a ${aws} b ${github} c ${aws}`, at())).toBe(
      "a ‹secret-1: AWS key› b ‹secret-2: GitHub token› c ‹secret-1: AWS key›",
    );
    expect(privacy.mask(github, at())).toBe("‹secret-2: GitHub token›");
    expect(privacy.list().map(({ number, kind, from }) => [number, kind, from])).toEqual([
      [1, "AWS key", "test"],
      [2, "GitHub token", "test"],
    ]);
  });

  test("what has names in it is left as it is", () => {
    const privacy = fresh();
    const once = privacy.mask(`password=${password}\nAuthorization: Bearer ${github}\n${KEY_BLOCK}`, at());
    expect(privacy.mask(once, at())).toBe(once);
    expect(privacy.mask(once, at("variables"))).toContain("password=‹secret-1: password›");
  });

  test("a private key is one name, and its lines alone are known", () => {
    const privacy = fresh();
    expect(privacy.mask(KEY_BLOCK, at())).toBe("‹secret-1: private key›\n");
    const line = KEY_BLOCK.split("\n")[2] ?? "";
    expect(privacy.mask(`cut out: ${line}`, at())).toBe("cut out: ‹secret-1, part›");
  });

  test("another form of a known secret is not a name that could be used", () => {
    const privacy = fresh();
    privacy.mask(github, at());
    const encoded = Buffer.from(github).toString("base64").replace(/=+$/, "");
    const shown = privacy.mask(`x ${encoded}`, at());
    expect(shown).toContain("‹secret-1, encoded›");
    expect(privacy.used(shown)).toEqual({ names: [], unknown: ["‹secret-1, encoded›"] });
  });

  test("a plain word is masked in its place only, until its name was used", () => {
    const privacy = fresh();
    expect(privacy.mask('{"password": "postgres"}', at())).toBe('{"password": "‹secret-1: password›"}');
    expect(privacy.mask("postgres is running", at())).toBe("postgres is running");
    expect(privacy.reveal("‹secret-1: password›")).toBe("postgres");
    expect(privacy.mask("postgres is running", at())).toBe("‹secret-1: password› is running");
  });

  test("what base64 hides is known, too", () => {
    const privacy = fresh();
    const auth = Buffer.from(`bob:${password}`).toString("base64");
    privacy.mask(`{"auths":{"r.example":{"auth":"${auth}"}}}`, at());
    expect(privacy.mask(`it was ${password}`, at())).not.toContain(password);
  });

  test("buddy's own keys get no name", () => {
    const privacy = fresh([github]);
    expect(privacy.mask(`x ${github}`, at())).toBe("x [redacted]");
    expect(privacy.list()).toEqual([]);
  });

  test("off: everything but buddy's own keys stays as it is", () => {
    const privacy = new Privacy({ mask: false, own: () => [github] });
    expect(privacy.mask(`${aws} ${github}`, at())).toBe(`${aws} [redacted]`);
    expect(privacy.stars()(`${aws} ${github}`)).toBe(`${aws} ${"*".repeat(github.length)}`);
  });

  test("a dropped secret is forgotten, and its number is not given again", () => {
    let changes = 0;
    const privacy = new Privacy({ mask: true, own: () => [], changed: () => changes++ });
    privacy.mask(aws, at());
    expect(privacy.drop(1)).toBe(true);
    expect(changes).toBe(2);
    expect(privacy.list()).toEqual([]);
    expect(privacy.used("‹secret-1: AWS key›").unknown).toEqual(["‹secret-1: AWS key›"]);
    expect(privacy.mask(aws, at())).toBe("‹secret-2: AWS key›");
  });

  test("a resumed session has its names again", () => {
    const before = fresh();
    before.mask(`${aws} ${github}`, at());
    const privacy = fresh();
    privacy.restore(before.list());
    expect(privacy.mask(github, at())).toBe("‹secret-2: GitHub token›");
    expect(privacy.reveal("‹secret-1: AWS key›")).toBe(aws);
    expect(privacy.mask(`token=${SECRETS.awsSecret}`, at())).toBe("token=‹secret-3: token›");
  });
});

describe("where text is cut", () => {
  const text = `first line\ntoken: ${github} and ${aws}\npassword=${password}\n${KEY_BLOCK}last line\n`;

  test("a stream masks the same wherever it is cut in two", () => {
    const whole = fresh().mask(text, at());
    for (let cut = 0; cut <= text.length; cut++) {
      const stream = fresh().stream(at());
      const out = stream.push(text.slice(0, cut)) + stream.push(text.slice(cut)) + stream.end();
      if (out !== whole) expect([cut, out]).toEqual([cut, whole]);
    }
  });

  test("a stream of single characters masks the same", () => {
    const stream = fresh().stream(at());
    expect([...text].map((char) => stream.push(char)).join("") + stream.end()).toBe(fresh().mask(text, at()));
  });

  test("what stands behind a telling name without a blank was let through at some cuts", () => {
    const line = `{"Cookie":"theme=dark; sid=abcdef","password":"hunter!two","x":1}\n`;
    const whole = fresh().mask(line, at());
    for (let cut = 0; cut <= line.length; cut++) {
      const stream = fresh().stream(at());
      const out = stream.push(line.slice(0, cut)) + stream.push(line.slice(cut)) + stream.end();
      expect([cut, out]).toEqual([cut, whole]);
    }
  });

  test("a question at the end of a stream is not held back", () => {
    expect(fresh().stream(at()).push("Overwrite? [y/N]")).toBe("Overwrite? [y/N]");
  });

  test("half a secret at an edge does not get through", () => {
    for (let cut = 4; cut < github.length; cut++) {
      const head = fresh().mask(`see ${github.slice(0, cut)}`, { ...at(), cutEnd: true });
      if (cut >= 4) expect(head).not.toContain(github.slice(0, 8));
      const tail = fresh().mask(`${github.slice(cut)} seen`, { ...at(), cutStart: true });
      if (github.length - cut >= 12) expect(tail).not.toContain(github.slice(cut));
    }
    const [, , second = "", third = ""] = KEY_BLOCK.split("\n");
    const inside = fresh().mask(`${second.slice(20)}\n${third}\n`, { ...at(), cutStart: true });
    expect(inside).not.toContain(third);
  });

  test("ordinary text at an edge stays", () => {
    expect(fresh().mask("lib/very-long-name.ts", { ...at(), cutStart: true })).toBe("lib/very-long-name.ts");
    expect(fresh().mask("3f786850e387550fdab836", { ...at(), cutEnd: true })).toBe("3f786850e387550fdab836");
  });

  test("stars keep the number of bytes", () => {
    const odd = `ä password=${password} 漢 ${aws}\n`;
    const out = fresh().stars()(odd);
    expect(Buffer.byteLength(out)).toBe(Buffer.byteLength(odd));
    expect(out).toBe(`ä password=${"*".repeat(password.length)} 漢 ${"*".repeat(aws.length)}\n`);
  });
});

describe("output that is known to hold secrets", () => {
  test("variables: names stay, values that cannot be secret stay", () => {
    const text = [
      "PATH=/usr/local/bin:/usr/bin",
      "HOME=/root",
      "NODE_ENV=production",
      "DB_HOST=db.internal",
      "DB_PORT=5432",
      "DEBUG=true",
      "AWS_REGION=eu-central-1",
      `LICENSE=${plain}`,
      "DB_PASSWORD=hunter",
      "SSH_AUTH_SOCK=/tmp/ssh-XX/agent.1",
      "EMPTY=",
      "# a comment",
    ].join("\n");
    const out = fresh().mask(text, at("variables"));
    expect(out).toContain("LICENSE=‹secret-1: value of LICENSE›");
    expect(out).toContain("DB_PASSWORD=‹secret-2: password›");
    const others = text.split("\n").filter((line) => !/LICENSE|PASSWORD/.test(line));
    expect(out.split("\n").filter((line) => !line.includes("‹"))).toEqual(others);
  });

  test.each([
    ["hunter2\n", "‹secret-1: secret›\n"],
    ['Error from server (NotFound): secrets "x" not found', 'Error from server (NotFound): secrets "x" not found'],
    ["bash: vault: command not found", "bash: vault: command not found"],
    [
      "NAME   TYPE     DATA   AGE\ndb     Opaque   2      14d",
      "NAME   TYPE     DATA   AGE\ndb     Opaque   2      14d",
    ],
    [
      "Key         Value\n---         -----\npassword    swordfish\nversion     3",
      "Key         Value\n---         -----\npassword    ‹secret-1: value of password›\nversion     3",
    ],
    [
      '{\n  "Name": "db",\n  "SecretString": "open sesame",\n  "VersionStages": [\n    "AWSCURRENT"\n  ]\n}',
      '{\n  "Name": "db",\n  "SecretString": "‹secret-1: key›",\n  "VersionStages": [\n    "‹secret-2: secret›"\n  ]\n}',
    ],
    [
      "swordfish\nlogin: bob\nurl: x",
      "‹secret-1: secret›\nlogin: ‹secret-2: value of login›\nurl: ‹secret-3: value of url›",
    ],
  ])("secrets: %j", (text, out) => {
    const shown = fresh().mask(text, at("secrets"));
    expect(shown.replaceAll(/‹secret-(\d): [^›]*›/g, "‹$1›")).toBe(out.replaceAll(/‹secret-(\d): [^›]*›/g, "‹$1›"));
  });

  test("a host name of a listing is not masked everywhere afterwards", () => {
    const privacy = fresh();
    privacy.mask("CLUSTER_ID=web-01-production", at("variables"));
    expect(privacy.mask("ssh web-01-production uptime", at())).toBe("ssh web-01-production uptime");
  });

  test("lines of .env files in the output of grep", () => {
    expect(fresh().mask("./app/.env:3:LICENSE=swordfish\n./a.ts:1:x=swordfish", at())).toBe(
      "./app/.env:3:LICENSE=‹secret-1: value of LICENSE›\n./a.ts:1:x=swordfish",
    );
  });

  test("settings: plain words behind telling names", () => {
    expect(fresh().mask("db:\n  user: shop\n  password: swordfish\n", at("settings"))).toBe(
      "db:\n  user: shop\n  password: ‹secret-1: password›\n",
    );
    expect(fresh().mask("requirepass swordfish\nport 6379\n", at("settings"))).toBe(
      "requirepass ‹secret-1: password›\nport 6379\n",
    );
  });
});
