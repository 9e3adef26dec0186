/** A faster search for secrets in long texts: one pass finds where shapes and leads may begin. */
import { inLongTexts, type Place, placeAt, placeOf, type SecretSpan, shapeAt } from "./find-secrets.ts";
import { HEAD, HEADS, headOf, inLongTexts as knownInLongTexts } from "./known-secrets.ts";
import { KEYS, PLACE, SHAPE_STARTS } from "./secret-shapes.ts";
import { detached } from "../text.ts";
import { once } from "../values.ts";

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

/** Cached: a file repeats the same few leads. */
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

/** How shapes begin, how leads begin, and `key`: most of the words that may precede it are common in any text. */
const scan = once(
  () =>
    new WordScan([
      SHAPE_STARTS.split(" "),
      `authorization bearer cookie client-key token secret passw passp _pass -pass _pw -pw bindpw rootpw --pass psk
      sshpass mysql curl redis docker podman vault sqlcmd ldap openssl htpasswd smbclient credential device code_ codev
      rootpwm modpw rootpw community rocom rwcom com2sec createuser defauth defpriv defpass snmp requirepass masterauth insecure-p
      stats identified ipmitool rabbitmq mosquitto useradd usermod olcroot userp auth akia asia ://`.split(/\s+/),
      [KEY],
    ]),
);

/** Where words of several lists may begin in a long text, in one pass and without a regular expression. */
class WordScan {
  /** By the first three characters: a bit for each list, and another if one of its words has only three. */
  readonly #heads = new Uint8Array(1 << (3 * BITS));
  /** By a hash of the first four characters. */
  readonly #more = new Uint8Array(MORE);
  readonly #lists: number;

  /** Words of three characters or more, in any case. */
  constructor(lists: readonly (readonly string[])[]) {
    this.#lists = lists.length;
    for (const [list, words] of lists.entries())
      for (const word of words) {
        let head = 0;
        for (let at = 0; at < 3; at++) head = (head << BITS) | classOf(word.charCodeAt(at));
        const d = word.length > 3 ? classOf(word.charCodeAt(3)) : undefined;
        const bit = 1 << list;
        this.#heads[head] = (this.#heads[head] ?? 0) | bit | (d === undefined ? bit << SHORT : 0);
        if (d !== undefined) this.#more[hash(head, d)] = (this.#more[hash(head, d)] ?? 0) | bit;
      }
  }

  /** For each list the positions, in order; some of them are false matches. */
  places(text: string): number[][] {
    const found = Array.from({ length: this.#lists }, (): number[] => []);
    const heads = this.#heads;
    let head = 0;
    for (let at = 0; at < text.length; at++) {
      head = ((head << BITS) | classOf(text.charCodeAt(at))) & MASK;
      const bits = heads[head] as number;
      if (bits !== 0) this.#note(bits, head, text, at, found);
    }
    return found;
  }

  #note(bits: number, head: number, text: string, at: number, found: number[][]): void {
    const more = this.#more[hash(head, at + 1 < text.length ? classOf(text.charCodeAt(at + 1)) : 0)] as number;
    const sure = (bits >> SHORT) | (bits & more);
    for (let list = 0; list < found.length; list++) if ((sure & (1 << list)) !== 0) found[list]?.push(at - 2);
  }
}

const BITS = 6;
const MASK = (1 << (3 * BITS)) - 1;
const SHORT = 4;
const MORE = 1 << 16;

const hash = (head: number, next: number) => ((head * 31) ^ (next << 9)) & (MORE - 1);

const CLASSES = new Uint8Array(128);
for (const [index, characters] of [...'abcdefghijklmnopqrstuvwxyz0123456789_-.$/:"\\'].entries())
  for (const one of new Set([characters, characters.toUpperCase()])) CLASSES[one.charCodeAt(0)] = index + 1;

function classOf(code: number): number {
  return code < 128 ? (CLASSES[code] as number) : 0;
}

/**
 * Positions in a long text where one of many candidates may begin: the last four characters of a window, which is as
 * long as the shortest candidate, say how far the search can skip.
 */
export class WindowSteps {
  readonly #window: number;
  readonly #steps: Uint8Array;

  /** No candidate is shorter than the window. */
  constructor(window: number) {
    this.#window = window;
    this.#steps = new Uint8Array(HEADS).fill(window - HEAD + 1);
  }

  add(candidate: string): void {
    const last = this.#window - HEAD;
    for (let at = 0; at <= last; at++) {
      const hash = headOf(candidate, at);
      this.#steps[hash] = Math.min(this.#steps[hash] as number, last - at);
    }
  }

  /** The next position, or -1. */
  next(text: string, from: number): number {
    const steps = this.#steps;
    const window = this.#window;
    for (let at = from; at + window <= text.length;) {
      const step = steps[headOf(text, at + window - HEAD)] as number;
      if (step === 0) return at;
      at += step;
    }
    return -1;
  }
}
