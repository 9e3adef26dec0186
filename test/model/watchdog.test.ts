/** The time a server may be silent. */
import { expect, test } from "bun:test";
import { Watchdog } from "../../src/model/watchdog.ts";
import { until } from "../support/until.ts";

test("time in which this process did not run is not the server's silence; silence after it is", async () => {
  const watchdog = new Watchdog(new AbortController().signal);
  watchdog.expect(200, "silent");
  Bun.spawnSync(["sleep", "0.5"]);
  const { promise: checked, resolve } = Promise.withResolvers<void>();
  setTimeout(resolve, 1);
  await checked;
  expect(watchdog.bitten).toBeUndefined();
  await until(() => watchdog.bitten, "the silence is noticed");
  expect(watchdog.bitten).toEqual({ words: "silent", retryable: true });
  watchdog.release();
});
