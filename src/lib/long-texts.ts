/** Secrets in long texts: one pass finds where shapes and places may begin, for which short texts need two. */
import { inLongTexts, type Place, placeAt, placeOf, type SecretSpan, shapeAt } from "./find-secrets.ts";
import { inLongTexts as knownInLongTexts } from "./known-secrets.ts";
import { KEYS, PLACE, SHAPE_STARTS } from "./secret-shapes.ts";
import { detached } from "./text.ts";
import { once } from "./values.ts";
import { WindowSteps } from "./window-steps.ts";
import { WordScan } from "./word-scan.ts";

knownInLongTexts.steps = (window) => new WindowSteps(window);

inLongTexts.find = (text, spans) => {
  const [shapes = [], places = [], keys = []] = scan().places(text);
  const shape = shapeStart();
  let next = 0;
  for (const at of shapes) {
    const end = at < next ? 0 : matchEnd(shape, text, at);
    if (end > 0) next = shapeAt(text, at, text.slice(at, end), spans);
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
      if (front !== undefined && at >= next) next = placeAt(text, at, front.length + KEY.length, spans, knownPlace);
    }
  };
  for (const at of places) {
    keysBefore(at);
    const end = at < next ? 0 : matchEnd(place, text, at);
    if (end > 0) next = placeAt(text, at, end - at, spans, knownPlace);
  }
  keysBefore(text.length);
}

/** A file has the same few leads again and again. */
function knownPlace(lead: string): Place {
  let place = knownPlaces.get(lead);
  if (place !== undefined) return place;
  if (knownPlaces.size >= MOST_PLACES) knownPlaces.clear();
  place = placeOf(lead);
  knownPlaces.set(detached(lead), place);
  return place;
}

const knownPlaces = new Map<string, Place>();
const MOST_PLACES = 256;

/** 0 where it does not match. */
function matchEnd(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : 0;
}

const shapeStart = once(() => new RegExp(SHAPE_STARTS.split(" ").map(RegExp.escape).join("|"), "y"));
const placeStart = once(() => new RegExp(PLACE, "iy"));
const beforeKey = once(() => new RegExp(`(?:${KEYS})[_-]?$`, "i"));
const KEY = "key";
const LONGEST_BEFORE_KEY = 13;

/** How shapes begin, how places begin, and `key`: of many words that may be in front of it most are in any text. */
const scan = once(
  () =>
    new WordScan([
      SHAPE_STARTS.split(" "),
      `authorization bearer cookie client-key token secret passw passp _pass -pass _pw -pw bindpw rootpw --pass psk
      sshpass mysql curl redis docker podman vault sqlcmd ldap openssl htpasswd smbclient credential device code_ codev
      auth akia asia ://`.split(/\s+/),
      [KEY],
    ]),
);
