/** Secrets: planted anywhere they never survive, come back by name, and it does not matter how the text was cut. */
import { redactedStream, redactor } from "../../src/lib/secrets/redact.ts";
import { Privacy } from "../../src/policy/privacy/privacy.ts";
import { SECRETS } from "../support/planted-secrets.ts";
import type { Seeded } from "../support/seeded.ts";
import type { Property } from "./property.ts";

const { aws, github } = SECRETS;
const OWN = 'k3y/with+odd=chars&"q"';
const PIECES = [
  ..." \n\t'\"=:;,&?/\\{}[]()<>@.-_",
  "key",
  "token=",
  "password: ",
  "Bearer ",
  "Authorization: ",
  "https://",
  "漢",
  "‹",
  "›",
  "‹secret-1: x›",
  "a1b2",
  "-----",
];
const FROM = { from: "fuzz" };
const fresh = (): Privacy => new Privacy({ mask: true, own: () => [OWN] });
const around = (random: Seeded): string => random.text(PIECES, 12);

export const MASKING: readonly Property[] = [
  {
    name: "planted secrets never survive, and come back by name",
    usual: 8_000,
    make: (random) => `${around(random)} ${github} ${around(random)} ${aws} ${around(random)}`,
    wrong(text) {
      const privacy = fresh();
      const out = privacy.mask(text, FROM);
      if (out.includes(github) || out.includes(aws)) return `it is still there: ${JSON.stringify(out)}`;
      const planted = text.includes(github) && text.includes(aws) && !text.includes("‹");
      return planted && privacy.reveal(out) !== text ? `it does not come back: ${JSON.stringify(out)}` : undefined;
    },
  },
  {
    name: "a value that was seen is masked in every later text, whatever stands beside it",
    usual: 4_000,
    make: around,
    wrong(text) {
      const privacy = fresh();
      privacy.mask(`export TOKEN=${github} and ${aws}`, FROM);
      const out = privacy.mask(`${text}${github}${text} ${aws}`, FROM);
      return out.includes(github) || out.includes(aws) ? `it is still there: ${JSON.stringify(out)}` : undefined;
    },
  },
  {
    name: "a key of buddy's own never survives, in any form, and is never put back",
    usual: 20_000,
    make: (random) => `${around(random)}${random.of(FORMS)}${around(random)}`,
    wrong(text) {
      const redacted = redactor([OWN])(text);
      if (holdsOwn(redacted)) return `redacted: ${JSON.stringify(redacted)}`;
      const privacy = fresh();
      const masked = privacy.mask(text, FROM);
      if (holdsOwn(masked)) return `masked: ${JSON.stringify(masked)}`;
      return holdsOwn(privacy.reveal(masked)) ? "it was put back" : undefined;
    },
  },
  {
    name: "pieces give the same as the whole, wherever a stream is cut",
    usual: 8_000,
    make: (random) => `${around(random)}${random.of([OWN, github, "two words of secret"])}${around(random)}`,
    wrong(text, random) {
      const secrets = [OWN, "two words of secret"];
      const whole = redactor(secrets)(text);
      const stream = redactedStream(secrets);
      let out = "";
      for (let at = 0; at < text.length;) {
        const size = 1 + random.below(9);
        out += stream.push(text.slice(at, at + size));
        at += size;
      }
      out += stream.end();
      if (holdsOwn(out)) return `it is still there: ${JSON.stringify(out)}`;
      return out === whole ? undefined : JSON.stringify({ whole, out });
    },
  },
];

const FORMS = [
  OWN,
  encodeURIComponent(OWN),
  JSON.stringify(OWN),
  JSON.stringify(JSON.stringify(OWN)),
  Buffer.from(OWN).toString("hex"),
  Buffer.from(OWN).toString("base64"),
  Buffer.from(OWN).toString("base64url"),
];

function holdsOwn(text: string): boolean {
  return FORMS.some((form) => text.includes(form));
}
