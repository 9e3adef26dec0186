/** Every fuzzer by name, for the suite (`fuzz.test.ts`) and for `bun run fuzz`. */
import { CONFIG } from "./config.ts";
import { MASKING } from "./masking.ts";
import { POLICY } from "./policy.ts";
import type { Property } from "./property.ts";
import { STREAM } from "./stream.ts";
import { TERMINAL } from "./terminal.ts";
import { URLS } from "./urls.ts";

export const FUZZERS: Readonly<Record<string, readonly Property[]>> = {
  policy: POLICY,
  masking: MASKING,
  stream: STREAM,
  terminal: TERMINAL,
  config: CONFIG,
  urls: URLS,
};
