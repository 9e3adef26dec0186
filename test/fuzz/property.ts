/**
 * Properties that hold for any text, and how they are tried: each case from its seed and number, a failing one made
 * small.
 */
import { Seeded } from "../support/seeded.ts";

export interface Property {
  readonly name: string;
  /** How many cases the suite tries. */
  readonly usual: number;
  /** One text; whatever else a case needs is drawn in `wrong`. */
  make(random: Seeded): string;
  /** Why it does not hold for this text; undefined when it does. */
  wrong(text: string, random: Seeded): string | undefined | Promise<string | undefined>;
}

/** A text for which some property did not hold once. */
export interface Found {
  readonly fuzzer: string;
  readonly text: string;
  /** What it was. */
  readonly about: string;
}

export interface Failure {
  readonly property: string;
  readonly seed: number;
  readonly at: number;
  readonly text: string;
  readonly why: string;
}

export interface Trial {
  readonly seed: number;
  readonly cases: number;
  /** The first case. */
  readonly from?: number;
  /** Called now and then with how many are done. */
  readonly progress?: (done: number) => void;
}

const OFTEN = 20_000;

/** The first case that fails, as small as it was made; undefined when all hold. */
export async function tryProperty(property: Property, trial: Trial): Promise<Failure | undefined> {
  const { seed, cases, from = 0, progress } = trial;
  for (let at = from; at < from + cases; at++) {
    const text = property.make(seededFor(seed, at));
    const failed = whyWrong(property, text, seed, at);
    const why = failed instanceof Promise ? await failed : failed;
    if (why !== undefined)
      return { property: property.name, seed, at, ...(await smallest(property, text, why, seed, at)) };
    if ((at + 1) % OFTEN === 0) progress?.(at + 1 - from);
  }
  return undefined;
}

/** The corpus holds texts only: every property of the fuzzer is tried on them. */
export async function tryText(property: Property, text: string): Promise<string | undefined> {
  return await whyWrong(property, text, 1, 0);
}

function whyWrong(property: Property, text: string, seed: number, at: number): ReturnType<Property["wrong"]> {
  const thrown = (error: unknown): string =>
    `it throws ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
  try {
    const why = property.wrong(text, seededFor(seed, at, 1));
    return why instanceof Promise ? why.catch(thrown) : why;
  } catch (error) {
    return thrown(error);
  }
}

/** Takes out ever smaller pieces for as long as it still fails. */
async function smallest(
  property: Property,
  found: string,
  first: string,
  seed: number,
  at: number,
): Promise<{ text: string; why: string }> {
  let text = found;
  let why = first;
  for (let size = Math.ceil(text.length / 2), tries = 0; size > 0 && tries < 5000;) {
    let shorter = false;
    for (let start = 0; start < text.length && tries < 5000; tries++) {
      const less = text.slice(0, start) + text.slice(start + size);
      const still = await whyWrong(property, less, seed, at);
      if (still === undefined) start += size;
      else [text, why, shorter] = [less, still, true];
    }
    if (!shorter) size = size === 1 ? 0 : Math.ceil(size / 2);
  }
  return { text, why };
}

function seededFor(seed: number, at: number, stream = 0): Seeded {
  return new Seeded(Math.imul(seed, 0x9e3779b1) ^ Math.imul(at + 1, 0x85ebca6b) ^ Math.imul(stream, 0xc2b2ae35));
}
