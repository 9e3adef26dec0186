/** The fuzzers at the size of the suite, and every text that was ever found; `bun run fuzz` runs them at any size. */
import { describe, expect, test } from "bun:test";
import { cases, LONG } from "../support/seeded.ts";
import CORPUS from "./corpus.json";
import { type Found, tryProperty, tryText } from "./property.ts";
import { FUZZERS } from "./table.ts";

describe.each(Object.keys(FUZZERS))("%s", (fuzzer) => {
  const properties = FUZZERS[fuzzer] ?? [];
  const found = (CORPUS as readonly Found[]).filter((one) => one.fuzzer === fuzzer);

  test.each(properties)(
    "$name",
    async (property) => {
      expect(await tryProperty(property, { seed: 1, cases: cases(property.usual) })).toBeUndefined();
      for (const { text, about } of found) expect([about, await tryText(property, text)]).toEqual([about, undefined]);
    },
    LONG,
  );
});
