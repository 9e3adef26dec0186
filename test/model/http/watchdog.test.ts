/** The time a server may be silent. */
import { expect, test } from "bun:test";
import { Watchdog } from "../../../src/model/http/exchange.ts";
import { until } from "../../support/until.ts";

test("time in which this process did not run is not the server's silence; silence after it is", async () => {
  const watchdog = new Watchdog(new AbortController().signal);
  watchdog.expect(200, "silent");
  Bun.spawnSync(["sleep", "0.5"]);
  const woke = performance.now();
  let gaveUp = 0;
  watchdog.signal.addEventListener("abort", () => (gaveUp = performance.now()));
  await until(() => watchdog.expired, "the silence is noticed");
  expect(watchdog.expired).toEqual({ words: "silent", retryable: true });
  // A timer may come late, never early: all of the silence lies after the standstill.
  expect(gaveUp - woke).toBeGreaterThan(150);
  watchdog.release();
});
