/** Secrets in long texts: one pass finds where shapes and places may begin, for which short texts need two. */
import { inLongTexts, placeAt, type SecretSpan, shapeAt } from "./find-secrets.ts";
import { KEYS, PLACE, SHAPE_STARTS } from "./secret-shapes.ts";
import { once } from "./values.ts";
import { WordScan } from "./word-scan.ts";

inLongTexts.find = (text, spans) => {
  const [shapes = [], places = [], keys = []] = scan().places(text);
  const shape = shapeStart();
  let next = 0;
  for (const at of shapes) {
    const mark = at < next ? undefined : matchAt(shape, text, at);
    if (mark !== undefined) next = shapeAt(text, at, mark, spans);
  }
  findInPlaces(text, places, keys, spans);
};

function findInPlaces(text: string, places: readonly number[], keys: readonly number[], spans: SecretSpan[]): void {
  const place = placeStart();
  let next = 0;
  let key = 0;
  const keysBefore = (end: number): void => {
    for (; key < keys.length && (keys[key] as number) < end; key++) {
      const from = keys[key] as number;
      const front = beforeKey().exec(text.slice(Math.max(0, from - LONGEST_BEFORE_KEY), from))?.[0];
      const at = from - (front?.length ?? 0);
      if (front !== undefined && at >= next) next = placeAt(text, at, `${front}key`, spans);
    }
  };
  for (const at of places) {
    keysBefore(at);
    const word = at < next ? undefined : matchAt(place, text, at);
    if (word !== undefined) next = placeAt(text, at, word, spans);
  }
  keysBefore(text.length);
}

function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

const shapeStart = once(() => new RegExp(SHAPE_STARTS.split(" ").map(RegExp.escape).join("|"), "y"));
const placeStart = once(() => new RegExp(PLACE, "iy"));
const beforeKey = once(() => new RegExp(`(?:${KEYS})[_-]?$`, "i"));
const LONGEST_BEFORE_KEY = 13;

/** How shapes begin, how places begin, and `key`: of many words that may be in front of it most are in any text. */
const scan = once(
  () =>
    new WordScan([
      SHAPE_STARTS.split(" "),
      `authorization bearer cookie client-key token secret passw passp _pass -pass _pw -pw bindpw rootpw --pass psk
      sshpass mysql curl redis docker podman vault sqlcmd ldap openssl htpasswd smbclient credential device code_ codev
      auth akia asia ://`.split(/\s+/),
      ["key"],
    ]),
);
